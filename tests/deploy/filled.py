#!/usr/bin/env python3
"""Fills a file system of 48 MiB under load, again and again: who finds no room is told so, what was acknowledged is
there when the server is started again, on the full file system too, and all goes on when there is room.

    python3 tests/deploy/filled.py [--rounds 20] [--clients 4] [BINARY]      default: target/debug/dovetail

Each round has a file system of its own. Clients work as in `kills.py` until all that insert rows were refused with 53100
(or 08007, where that cannot be told from done), and a moment longer; then the server is killed or stopped, by turns, and
started again on the full file system: the ledger of the clients is compared, and `CHECK DATABASE` finds nothing. More
than five seconds to the first answer are a failure.

Needs root and loop devices; without them all is skipped. Each kind of statement on a full disk: `full_disk.py`.
"""

import argparse
import pathlib
import random
import signal
import sys
import tempfile
import time

import kills
from mounted import FileSystem, Unavailable, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
READY_S_MAX = 5
SIZE_MIB = 48
# A stop in order ends connections with 57P01.
FULL = ("53100", "08007", "57P01")


def is_full(error):
    return error.state in FULL


def play(args, server, rng, is_killed):
    """Clients until the disk is full, and the end of the server; the clients, and what is wrong."""
    works = [kills.transfer] * args.clients + [kills.line] * args.clients
    clients = [kills.Client(server.port, work, rng.getrandbits(64), is_full) for work in works]
    for client in clients:
        client.start()
    wrong = []
    for client in clients[args.clients:]:
        client.join(120)
        if client.is_alive():
            wrong.append(f"{client.work.__name__} found no full disk in two minutes")
    time.sleep(rng.uniform(0, 1))
    if not is_killed:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    server.kill()
    for client in clients:
        client.join()
        if client.defect:
            wrong.append(f"{client.work.__name__}: {client.defect}")
    return clients, wrong


def round_(args, number, folder, rng, ready):
    ledger, file_system = kills.Ledger(), FileSystem(folder, SIZE_MIB)
    try:
        server = kills.Server(args.binary.resolve(), folder, file_system.root)
        kills.wire.Connection(server.port).query(kills.SETUP)
        clients, wrong = play(args, server, rng, number % 2 == 0)
        for client in clients:
            ledger.note(client)
        server = kills.Server(args.binary.resolve(), folder, file_system.root)
        ready.append(server.ready_s)
        if server.ready_s > READY_S_MAX:
            wrong.append(f"ready again after {server.ready_s:.2f} s only")
        wrong += ledger.check(server.port)
        server.kill()
    finally:
        file_system.unmount()
    return ledger, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("binary", nargs="?", default=ROOT / "target/debug/dovetail", type=pathlib.Path)
    args = parser.parse_args()
    rng, ready, broken, transfers, lines = random.Random(args.seed), [], 0, 0, 0
    for number in range(args.rounds):
        with tempfile.TemporaryDirectory(prefix="dovetail-filled-") as folder:
            try:
                ledger, wrong = round_(args, number, pathlib.Path(folder), rng, ready)
            except Unavailable as reason:
                skip(reason)
        transfers, lines = transfers + len(ledger.transfers), lines + len(ledger.lines)
        broken += bool(wrong)
        for what in wrong:
            print(f"FAILED   round {number} (seed {args.seed}): {what}", flush=True)
    print(f"{args.rounds} file systems of {SIZE_MIB} MiB filled, {transfers} transfers and {lines} rows acknowledged; "
          f"ready again after {kills.range_of(ready)}")
    word = "FAILED" if broken else "ok"
    print(f"test result: {word}. {args.rounds - broken} passed; {broken} failed; 0 ignored;")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

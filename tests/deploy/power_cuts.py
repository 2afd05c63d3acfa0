#!/usr/bin/env python3
"""Cuts the power of the file system below a server under load, again and again: what was acknowledged is there, what
was not is there whole or not at all, and the server is ready again soon.

    python3 tests/deploy/power_cuts.py [--cuts 30] [--clients 8] [BINARY]    default: target/debug/dovetail

The database lies on an ext4 of its own, in a file. Clients work as in `kills.py`; then the file system is shut down by
its ioctl, by turns with and without a last flush of its own log: all that the kernel still had is lost, and each write
and sync fails. The server is killed while it finds that out, the file system is mounted again, which recovers its log,
and the server is started on it. Then the ledger of the clients is compared, and `CHECK DATABASE` finds nothing. The
time from the start to the first answer is printed; more than five seconds are a failure.

Needs root and loop devices; without them all is skipped. What the device itself would lose is tested in the simulation.
"""

import argparse
import pathlib
import random
import sys
import tempfile
import threading
import time

import kills
from mounted import LOGFLUSH, NOLOGFLUSH, FileSystem, Unavailable, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
READY_S_MAX = 5
SIZE_MIB = 2048


class Round:
    """One life of the server."""

    def __init__(self, server, file_system, rng, clients):
        self.server, self.file_system, self.rng = server, file_system, rng
        self.is_cut, self.wrong = threading.Event(), []
        works = [kills.transfer] * clients + [kills.line] * clients + [kills.define]
        self.clients = [kills.Client(server.port, work, rng.getrandbits(64), self.expects) for work in works]

    def expects(self, _error):
        """From the cut on every error is one of the file system."""
        return self.is_cut.is_set()

    def play(self, flags, ledger):
        for client in self.clients:
            client.start()
        time.sleep(self.rng.uniform(0.05, 1.5))
        self.is_cut.set()
        self.file_system.cut(flags)
        time.sleep(self.rng.choice([0, 0.05, 0.3]))
        self.server.kill()
        for client in self.clients:
            client.join()
            ledger.note(client)
            if client.defect:
                self.wrong.append(f"{client.work.__name__}: {client.defect}")
        self.file_system.unmount()
        self.file_system.mount()


def run(args, folder, file_system):
    rng, ledger, ready, broken = random.Random(args.seed), kills.Ledger(), [], 0
    server = kills.Server(args.binary.resolve(), folder, file_system.root)
    kills.wire.Connection(server.port).query(kills.SETUP)
    for number in range(args.cuts):
        round_ = Round(server, file_system, rng, args.clients)
        round_.play([NOLOGFLUSH, LOGFLUSH][number % 2], ledger)
        server = kills.Server(args.binary.resolve(), folder, file_system.root)
        ready.append(server.ready_s)
        if server.ready_s > READY_S_MAX:
            round_.wrong.append(f"ready again after {server.ready_s:.2f} s only")
        round_.wrong += ledger.check(server.port)
        broken += bool(round_.wrong)
        for what in round_.wrong:
            print(f"FAILED   cut {number} (seed {args.seed}): {what}", flush=True)
    server.kill()
    print(f"{args.cuts} power cuts of an ext4, {ledger}; ready again after {kills.range_of(ready)}")
    word = "FAILED" if broken else "ok"
    print(f"test result: {word}. {args.cuts - broken} passed; {broken} failed; 0 ignored;")
    return broken == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("binary", nargs="?", default=ROOT / "target/debug/dovetail", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dovetail-power-") as folder:
        folder = pathlib.Path(folder)
        try:
            file_system = FileSystem(folder, SIZE_MIB)
        except Unavailable as reason:
            skip(reason)
        try:
            sound = run(args, folder, file_system)
        finally:
            file_system.unmount()
    sys.exit(not sound)


if __name__ == "__main__":
    main()

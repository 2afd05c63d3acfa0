#!/usr/bin/env python3
"""Kills a server under load, again and again: what it acknowledged is there, what it did not is there whole or not at
all, and it is ready again soon.

    python3 tests/deploy/kills.py [--rounds 100] [--clients 8] [BINARY]      default: target/debug/dovetail

Clients transfer amounts between accounts in blocks, note them in a ledger of the database and, when they are
acknowledged, in one of their own; others insert rows one by one; one makes tables, indexes and checkpoints. After each
SIGKILL the server is started on the file as it is. Then: each acknowledged transfer and row is in the ledger; the
accounts are what all transfers of the ledger make of them; `CHECK DATABASE` finds nothing; and the time from the
start to the first answer is printed. A server that ends before it is killed is a failure.

The process is killed, not the machine: what was written and not synced stays with the kernel. That commits are synced
is tested in the simulation.
"""

import argparse
import atexit
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import wire  # noqa: E402

ACCOUNTS = 500
SETUP = f"""
    create table account (id int primary key, balance bigint not null);
    create table ledger (id bigint primary key, giver int not null, taker int not null, amount bigint not null);
    create index ledger_giver on ledger (giver);
    create table line (id bigint primary key, said text);
    insert into account select i, 0 from generate_series(0, {ACCOUNTS - 1}) i"""


class Server:
    """A server on a file that outlives it: of the folder with its log, or of another one."""

    def __init__(self, binary, folder, data=None):
        self.log = open(folder / "log", "a+")
        begin = self.log.seek(0, 2)
        command = [binary, "serve", "--no-http", "--workers", "2", "--memory", "128MB", "--listen", "127.0.0.1:0",
                   "--data", (data or folder) / "t.dovetail"]
        started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        # Whatever becomes of the test: who waits for its end would wait for the server's, too.
        atexit.register(self.process.kill)
        while True:
            self.log.seek(begin)
            text = self.log.read()
            if "Listening at 127.0.0.1:" in text:
                break
            if self.process.poll() is not None:
                sys.exit(f"FAILED   the server did not start:\n{text}")
            time.sleep(0.01)
        self.port = int(text.split("Listening at 127.0.0.1:")[1].split()[0].rstrip(".,;"))
        wire.Connection(self.port).query("select 1")
        self.ready_s = time.monotonic() - started

    def kill(self):
        """Ends it; how it had ended before, if it had."""
        ended = self.process.poll()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()
        return None if ended is None else f"the server ended by itself, with status {ended}"


class Client(threading.Thread):
    """Works until its connection breaks, or until an error that is none: one that `expects` says yes to."""

    def __init__(self, port, work, seed, expects=lambda error: False):
        super().__init__(daemon=True)
        self.port, self.work, self.random = port, work, random.Random(seed)
        self.expects, self.acknowledged, self.defect = expects, [], None

    def run(self):
        try:
            session = wire.Connection(self.port)
            while True:
                self.work(self, session)
        except (OSError, EOFError):
            pass
        except wire.Refused as error:
            # 57P01 would be a stop in order; a table that another client has just dropped is no defect.
            self.defect = None if self.expects(error) else str(error)


def transfer(client, session):
    number, amount = client.random.getrandbits(62), client.random.randint(1, 1000)
    giver, taker = client.random.sample(range(ACCOUNTS), 2)
    session.query("begin")
    try:
        session.query(f"update account set balance = balance - {amount} where id = {giver}")
        session.query(f"update account set balance = balance + {amount} where id = {taker}")
        session.query(f"insert into ledger values ({number}, {giver}, {taker}, {amount})")
    except wire.Refused as error:
        if error.state != "40P01":
            raise
        # Two clients have locked each other's accounts.
        session.query("rollback")
        return
    if client.random.random() < 0.1:
        session.query("rollback")
        return
    session.query("commit")
    client.acknowledged.append(number)


def line(client, session):
    number = client.random.getrandbits(62)
    said = "x" * client.random.choice([1, 10, 100, 5000])
    session.query(f"insert into line values ({number}, '{said}')")
    client.acknowledged.append(number)


def define(client, session):
    name = f"made{client.random.getrandbits(40)}"
    session.query(f"create table {name} (a int primary key, b int)")
    session.query(f"insert into {name} select i, i from generate_series(1, 3000) i")
    session.query(f"create index on {name} (b)")
    client.acknowledged.append(name)
    if client.random.random() < 0.3:
        session.query("checkpoint")
    if client.random.random() < 0.8:
        # From here on nobody knows whether it is there.
        client.acknowledged.remove(name)
        session.query(f"drop table {name}")


class Ledger:
    """What was acknowledged, over all rounds."""

    def __init__(self):
        self.transfers, self.lines, self.tables = set(), set(), set()

    def note(self, client):
        {transfer: self.transfers, line: self.lines, define: self.tables}[client.work].update(client.acknowledged)

    def check(self, port):
        return check(port, self.transfers, self.lines, self.tables)

    def __str__(self):
        return f"{len(self.transfers)} transfers, {len(self.lines)} rows and {len(self.tables)} tables acknowledged"


def range_of(times):
    """Median and range of how long servers took to be ready."""
    return f"{sorted(times)[len(times) // 2]:.2f} s ({min(times):.2f}-{max(times):.2f})"


def check(port, transfers, lines, tables):
    """What is wrong, as a list of texts."""
    session, wrong = wire.Connection(port, timeout=600), []
    ledger = {int(row[0]) for row in session.query("select id from ledger")}
    said = {int(row[0]) for row in session.query("select id from line")}
    there = {row[0] for row in session.query("select relname from pg_class where relkind = 'r'")}
    for what, lost in [("transfers", transfers - ledger), ("rows", lines - said), ("tables", tables - there)]:
        if lost:
            wrong.append(f"{len(lost)} acknowledged {what} are lost")
    differ = session.query("""
        select count(*) from account a where balance <>
            coalesce((select sum(amount) from ledger where taker = a.id), 0)
            - coalesce((select sum(amount) from ledger where giver = a.id), 0)""")
    if differ != [["0"]]:
        wrong.append(f"{differ[0][0]} accounts are not what the ledger makes of them")
    problems = session.query("check database")
    if problems:
        wrong.append(f"check database: {problems[:3]}")
    session.close()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("binary", nargs="?", default=ROOT / "target/debug/dovetail", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    rng, ready, broken, failed, ledger = random.Random(args.seed), [], set(), 0, Ledger()
    with tempfile.TemporaryDirectory(prefix="dovetail-kills-") as folder:
        folder = pathlib.Path(folder)
        server = Server(args.binary.resolve(), folder)
        wire.Connection(server.port).query(SETUP)
        for number in range(args.rounds):
            works = [transfer] * args.clients + [line] * args.clients + [define]
            clients = [Client(server.port, work, rng.getrandbits(64)) for work in works]
            for client in clients:
                client.start()
            time.sleep(rng.uniform(0.05, 1.5))
            died = server.kill()
            if died:
                failed, broken = failed + 1, broken | {number}
                print(f"FAILED   round {number} (seed {args.seed}): {died}")
            for client in clients:
                client.join()
                if client.defect:
                    failed, broken = failed + 1, broken | {number}
                    print(f"FAILED   round {number}: {client.work.__name__}: {client.defect}")
                ledger.note(client)
            server = Server(args.binary.resolve(), folder)
            ready.append(server.ready_s)
            for what in ledger.check(server.port):
                failed, broken = failed + 1, broken | {number}
                print(f"FAILED   round {number} (seed {args.seed}): {what}")
        server.kill()
    print(f"{args.rounds} kills, {ledger}; ready again after {range_of(ready)}")
    word = "FAILED" if failed else "ok"
    print(f"test result: {word}. {args.rounds - len(broken)} passed; {len(broken)} failed; 0 ignored;")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

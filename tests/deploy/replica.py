#!/usr/bin/env python3
"""A primary and its replica as processes, each killed again and again: what the replica shows is a state that the
primary had, and it catches up; at last it takes over.

    python3 tests/deploy/replica.py [--rounds 6] [--folder] [BINARY]      default: target/debug/dovetail

One client inserts numbers one after the other, with a transfer between accounts in the same transaction, others make
tables, loads and checkpoints. A reader asks the replica all the time: the accounts' sum is the same in each answer, and
the numbers are a beginning of those that were inserted. In each round the primary, the replica, or both are killed and
started again. The replica follows the primary's port; with --folder its archive.

At the end the replica has all that was acknowledged; `dovetail promote` makes it a database of its own, which takes
writes, is intact, and is chosen by psql, where that is installed, among two hosts that have to take writes. pg_dump,
where that is installed, makes the same of both.
"""

import argparse
import atexit
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import wire  # noqa: E402

ACCOUNTS = 100
SETUP = f"""
    create table account (id int primary key, balance bigint not null);
    create table number (id bigint primary key);
    insert into account select i, 10 from generate_series(0, {ACCOUNTS - 1}) i"""
STATE = """select (select sum(balance) from account), count(*), coalesce(max(id), 0) from number"""


def fail(message):
    sys.exit(f"FAILED   {message}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server that may be killed and started again at the same port."""

    def __init__(self, binary, name, folder, *flags):
        self.binary, self.name, self.folder, self.flags = binary, name, folder, flags
        self.port, self.process = free_port(), None
        atexit.register(lambda: self.process and self.process.kill())

    def start(self):
        command = [self.binary, "serve", "--no-http", "--workers", "2", "--memory", "128MB",
                   "--listen", f"127.0.0.1:{self.port}", "--data", self.folder / f"{self.name}.dovetail", *self.flags]
        log = open(self.folder / f"{self.name}.log", "a")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                fail(f"the {self.name} did not start:\n{(self.folder / f'{self.name}.log').read_text()[-3000:]}")
            try:
                connection = wire.Connection(self.port)
                connection.query("select 1")
                return connection
            except (OSError, EOFError, wire.Refused):
                time.sleep(0.02)
        fail(f"the {self.name} did not answer in time")

    def kill(self):
        if self.process.poll() is not None:
            fail(f"the {self.name} ended by itself, with status {self.process.returncode}")
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Worker(threading.Thread):
    """Repeats something over connections of its own until it is told to end."""

    def __init__(self, server, work):
        super().__init__(daemon=True)
        self.server, self.work, self.ends, self.defect = server, work, threading.Event(), None
        self.start()

    def run(self):
        while not self.ends.is_set():
            try:
                connection = wire.Connection(self.server.port, timeout=60)
                while not self.ends.is_set():
                    self.work(connection)
            except (OSError, EOFError):
                time.sleep(0.02)
            except wire.Refused as error:
                # Errors that come with the end of the server, or of a state that was too old.
                if error.state[:2] not in ("57", "08") and error.state != "40001":
                    self.defect = f"{self.server.name}: {error}"
                    return
            except AssertionError as error:
                self.defect = f"{self.server.name}: {error}"
                return

    def end(self):
        self.ends.set()
        self.join(90)
        if self.defect:
            fail(self.defect)


class Numbers:
    """Inserts the next number; those that were acknowledged."""

    def __init__(self, seed):
        self.next, self.acknowledged, self.random = 1, 0, random.Random(seed)

    def __call__(self, connection):
        # After a lost connection nobody knows whether the last one is there.
        found = int(connection.query("select coalesce(max(id), 0) from number")[0][0])
        assert found >= self.acknowledged, f"{self.acknowledged} was acknowledged, {found} is there"
        self.next = found + 1
        while True:
            giver, taker = self.random.sample(range(ACCOUNTS), 2)
            connection.query(f"""begin; insert into number values ({self.next});
                update account set balance = balance - 1 where id = {giver};
                update account set balance = balance + 1 where id = {taker}; commit""")
            self.acknowledged, self.next = self.next, self.next + 1
            if self.next % 50 == 0:
                return


class Definitions:
    def __init__(self):
        self.count = 0

    def __call__(self, connection):
        self.count += 1
        connection.query("drop table if exists loaded")
        connection.query("create table loaded as select i as a, 'some text' as b from generate_series(1, 3000) g(i)")
        connection.query("create index on loaded (a)")
        connection.query("checkpoint")
        time.sleep(0.3)


class Reader:
    def __init__(self):
        self.states, self.last = 0, 0

    def __call__(self, connection):
        total, count, last = (int(cell) for cell in connection.query(STATE)[0])
        assert total == 10 * ACCOUNTS, f"the sum is {total}"
        assert count == last, f"{count} numbers up to {last}: they are no beginning"
        assert last >= self.last, f"{last} after {self.last}: the replica went back"
        self.states += last > self.last
        self.last = last


def caught_up(primary, replica, seconds=60):
    """The replica has what the primary has now; how long that took."""
    began = time.monotonic()
    wanted = wire.Connection(primary.port).query("select coalesce(max(id), 0) from number")[0][0]
    connection = wire.Connection(replica.port)
    while int(connection.query("select coalesce(max(id), 0) from number")[0][0]) < int(wanted):
        if time.monotonic() - began > seconds:
            fail(f"the replica has not come to {wanted}: {connection.query('select * from pg_stat_wal_receiver')}")
        time.sleep(0.02)
    return time.monotonic() - began


def takes_over(binary, primary, replica, numbers):
    lines = subprocess.run([binary, "promote", replica.folder / "replica.dovetail"], capture_output=True, text=True)
    if lines.returncode != 0:
        fail(f"dovetail promote: {lines.stderr}")
    connection = wire.Connection(replica.port)
    deadline = time.monotonic() + 20
    while connection.query("select pg_is_in_recovery()")[0][0] != "f":
        if time.monotonic() > deadline:
            fail("the replica does not take over")
        time.sleep(0.02)
    connection.query(f"insert into number values ({numbers.acknowledged + 1000000})")
    total, count, _ = (int(cell) for cell in connection.query(STATE)[0])
    if total != 10 * ACCOUNTS or count < numbers.acknowledged:
        fail(f"sum {total}, {count} numbers of {numbers.acknowledged}")
    connection.query("check database")
    if shutil.which("psql"):
        primary.kill()
        hosts = f"host=127.0.0.1,127.0.0.1 port={primary.port},{replica.port} user=dovetail dbname=x"
        for attrs in ("read-write", "primary", "any"):
            asked = ["psql", "-XAtc", "show in_hot_standby", f"{hosts} target_session_attrs={attrs}"]
            found = subprocess.run(asked, capture_output=True, text=True)
            if found.stdout.strip() != "off":
                fail(f"psql, {attrs}: {found.stdout}{found.stderr}")


def chosen(primary, replica):
    """Which of both psql chooses."""
    if not shutil.which("psql"):
        return
    hosts = f"host=127.0.0.1,127.0.0.1 port={primary.port},{replica.port} user=dovetail dbname=x"
    wanted = {"read-write": "off", "primary": "off", "read-only": "on", "standby": "on", "prefer-standby": "on"}
    for attrs, expected in wanted.items():
        asked = ["psql", "-XAtc", "show in_hot_standby", f"{hosts} target_session_attrs={attrs}"]
        found = subprocess.run(asked, capture_output=True, text=True)
        if found.stdout.strip() != expected:
            fail(f"psql, {attrs}: {found.stdout}{found.stderr}")


def dumped(primary, replica):
    """pg_dump makes the same of both."""
    if not shutil.which("pg_dump"):
        return
    dumps = []
    for server in (primary, replica):
        command = ["pg_dump", "-h", "127.0.0.1", "-p", str(server.port), "-U", "dovetail", "x"]
        dump = subprocess.run(command, capture_output=True, text=True)
        if dump.returncode != 0:
            fail(f"pg_dump of the {server.name}: {dump.stderr}")
        # The key of these lines is made up for each dump.
        dumps.append([line for line in dump.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))])
    if dumps[0] != dumps[1]:
        fail("pg_dump makes something else of the replica")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.5, help="how long a round lasts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="store_true", help="the replica follows the archive, not the port")
    parser.add_argument("binary", nargs="?", default=ROOT / "target/debug/dovetail")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dovetail-replica-"))
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True))
    chance = random.Random(options.seed)
    primary = Server(options.binary, "primary", folder, "--archive", folder / "archive")
    connection = primary.start()
    connection.query(SETUP)
    if options.folder:
        connection.query(f"backup database to '{folder / 'replica.dovetail'}'")
        replica = Server(options.binary, "replica", folder, "--replica-of", folder / "archive")
    else:
        replica = Server(options.binary, "replica", folder, "--replica-of", f"127.0.0.1:{primary.port}")
    replica.start()
    chosen(primary, replica)
    numbers, reader = Numbers(options.seed), Reader()
    workers = [Worker(primary, numbers), Worker(primary, Definitions()), Worker(replica, reader)]
    killed = {"primary": 0, "replica": 0}
    for _ in range(options.rounds):
        time.sleep(options.seconds * (0.5 + chance.random()))
        victims = chance.choice([[primary], [replica], [primary, replica]])
        for server in victims:
            server.kill()
            killed[server.name] += 1
        for server in victims:
            server.start()
        for worker in workers:
            if worker.defect:
                fail(worker.defect)
    for worker in workers[:2]:
        worker.end()
    took = caught_up(primary, replica)
    workers[2].end()
    dumped(primary, replica)
    takes_over(options.binary, primary, replica, numbers)
    print(f"ok       {numbers.acknowledged} transactions, {reader.states} states seen, killed {killed}, "
          f"caught up in {took:.2f} s")
    print("test result: ok. 1 passed; 0 failed; 0 ignored;")


if __name__ == "__main__":
    main()

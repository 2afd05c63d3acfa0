#!/usr/bin/env python3
"""Clients that fill what a server has: its memory, by what sessions keep and by messages that do not end.

    tests/deploy/fills.py [--gate] [--only TEXT] [BINARY]     default: the debug build that cargo has made

The server has 256 MB and one worker. Printed is by how much its memory (RssAnon) has grown at the end of each attack,
how it was answered, and how many answers a client beside it has had meanwhile. What counts: memory stays below a limit,
what is refused has the SQLSTATE that is expected, the neighbour is answered, and the server goes on. With `--gate` the
counts are small, for a debug build in a gate. The last line is that of a test harness.
"""

import argparse
import os
import pathlib
import re
import struct
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import served  # noqa: E402
import wire  # noqa: E402

# Private memory of the whole server, at most: what it was told to take, and a half more for the allocator.
RSS_LIMIT_MB = 384
# How long anything may take before it counts as hanging.
PATIENCE_S = 120


def message(tag, body=b""):
    return tag + struct.pack("!i", len(body) + 4) + body


def parse(name, text):
    return message(b"P", name.encode() + b"\0" + text.encode() + b"\0" + struct.pack("!h", 0))


def bind(portal, statement, *values):
    body = portal.encode() + b"\0" + statement.encode() + b"\0" + struct.pack("!hh", 0, len(values))
    for value in values:
        body += struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack("!h", 0))


SYNC = message(b"S")


class Flood(wire.Connection):
    """A session that sends messages without waiting, while what comes back is read beside."""

    def __init__(self, port):
        super().__init__(port, timeout=PATIENCE_S)
        self.states = set()

    def send_all(self, chunks):
        """Sends all, then reads to the end of the pipeline."""
        failed = []

        def send():
            try:
                for chunk in chunks:
                    self.stream.sendall(chunk)
                self.stream.sendall(SYNC)
            except OSError as error:
                failed.append(error)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            self.answer()
        except wire.Refused as refused:
            self.states.add(refused.state)
        sender.join(PATIENCE_S)
        if failed:
            raise failed[0]

    def end_copy(self):
        """Ends a COPY whose data was sent without waiting for leave, and reads all that it answers. What is sent
        behind the end is passed over, and must not hold the answer back."""
        self.stream.sendall(message(b"c") + message(b"d", b"x") + message(b"c"))
        kind, error = b"", None
        while kind != b"Z":
            head = self.input.read(5)
            if len(head) < 5:
                raise EOFError("the server closed the connection")
            kind, body = head[:1], self.input.read(struct.unpack("!i", head[1:])[0] - 4)
            error = wire.refusal(body) if kind == b"E" else error
        if error:
            raise error


def named_statements(server, count):
    """Parse with names, none of which is closed."""
    session = Flood(server.port)
    session.send_all(parse(f"s{i}", f"select $1::int + {i}") for i in range(count))
    return session


def long_statements(server, count):
    session = Flood(server.port)
    text = "select " + ", ".join(str(i) for i in range(300))
    session.send_all(parse(f"s{i}", text) for i in range(count // 10))
    return session


def prepared_as_text(server, count):
    session = Flood(server.port)
    for begin in range(0, count // 4, 500):
        try:
            session.query("".join(f"prepare p{i} as select {i};" for i in range(begin, begin + 500)))
        except wire.Refused as refused:
            session.states.add(refused.state)
            break
    return session


def portals(server, count):
    session = Flood(server.port)
    chunks = [parse("", "select $1::text")] + [bind(f"p{i}", "", b"x" * 100) for i in range(count)]
    session.send_all(chunks)
    return session


def long_values(server, count):
    """Values that are bound and never executed."""
    session = Flood(server.port)
    value = b"x" * (20 << 20)
    session.send_all([parse("", "select $1::text")] + [bind(f"p{i}", "", value) for i in range(max(count // 300, 12))])
    return session


def held_cursors(server, count):
    session = Flood(server.port)
    for i in range(max(count // 20, 100)):
        try:
            session.query(f"declare c{i} cursor with hold for select repeat('x', 1000) from generate_series(1, 1000)")
        except wire.Refused as refused:
            session.states.add(refused.state)
            break
    return session


def long_settings(server, count):
    session = Flood(server.port)
    for name in ("application_name", "search_path", "DateStyle", "TimeZone", "default_tablespace"):
        try:
            session.query(f"select set_config('{name}', repeat('x', 20000000), false)")
        except wire.Refused as refused:
            session.states.add(refused.state)
    length = session.query("select length(current_setting('application_name'))")
    if length != [["63"]]:
        session.states.add(f"application_name has {length}")
    return session


def savepoints(server, count):
    session = Flood(server.port)
    session.query("begin; insert into t values (-1, 'x')")
    for begin in range(0, count, 1000):
        try:
            session.query("".join(f"savepoint s{i}; insert into t values ({-i - 2}, 'y');" for i in range(begin, begin + 1000)))
        except wire.Refused as refused:
            session.states.add(refused.state)
            break
    return session


def row_locks(server, count):
    session = Flood(server.port)
    try:
        session.query("begin; select count(*) from (select id from t for update) s")
    except wire.Refused as refused:
        session.states.add(refused.state)
    return session


def open_transaction(server, count):
    """A transaction that was forgotten, while others change the same row again and again."""
    session = Flood(server.port)
    session.query("begin isolation level repeatable read; select count(*) from t")
    other = wire.Connection(server.port)
    for begin in range(0, count, 500):
        other.query("".join(f"update t set v = '{'z' * 200}{i}' where id = {i % 100 + 1};" for i in range(begin, begin + 500)))
    other.close()
    return session


def deaf_listener(server, count):
    session = Flood(server.port)
    session.query("listen c; begin")
    other = wire.Connection(server.port)
    for begin in range(0, count, 200):
        try:
            other.query("begin;" + "".join(f"select pg_notify('c', '{i}' || repeat('n', 5000));" for i in range(begin, begin + 200)) + "commit")
        except wire.Refused as refused:
            session.states.add(refused.state)
            break
    other.close()
    return session


def notices(server, count):
    """A flood of notices, which a client does not read."""
    session = Flood(server.port)
    session.stream.settimeout(5)
    text = "drop table if exists " + ", ".join(f"no_such_table_{i}" for i in range(200))
    body = text.encode() + b"\0"
    try:
        for _ in range(max(count // 20, 200)):
            session.stream.sendall(message(b"Q", body))
    except OSError:
        pass
    return session


def deaf_reader(server, count):
    """Rows that a client does not read."""
    session = Flood(server.port)
    session.stream.sendall(message(b"Q", b"select repeat('x', 1000) from generate_series(1, 1000000)\0"))
    time.sleep(2)
    return session


def copied(session, statement, head, count):
    """A COPY of one field that has no end."""
    session.stream.sendall(message(b"Q", statement + b"\0"))
    try:
        if head:
            session.stream.sendall(message(b"d", head))
        for _ in range(max(count // 50, 20)):
            session.stream.sendall(message(b"d", b"x" * (4 << 20)))
        session.end_copy()
    except wire.Refused as refused:
        session.states.add(refused.state)
    except OSError:
        session.states.add("closed")
    return session


def long_copy_line(server, count):
    session = Flood(server.port)
    session.query("create temp table c (v text)")
    return copied(session, b"copy c from stdin", b"", count)


def binary_copy(server, count):
    """A field of a binary COPY that says to be long."""
    session = Flood(server.port)
    session.query("create temp table b (v bytea)")
    head = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0) + struct.pack("!hi", 1, 0x7FFFFFF0)
    return copied(session, b"copy b from stdin (format binary)", head, count)


def long_messages(server, count):
    """Messages that announce many bytes and send them slowly, over several connections."""
    sessions = [Flood(server.port) for _ in range(12)]
    for session in sessions:
        session.stream.settimeout(20)
        session.stream.sendall(b"Q" + struct.pack("!i", (100 << 20) + 4))
    for _ in range(20):
        for session in sessions:
            session.stream.sendall(b"x" * (1 << 20))
    sessions[0].others = sessions[1:]
    return sessions[0]


ATTACKS = {
    "statements with names": named_statements,
    "long statements with names": long_statements,
    "statements of PREPARE": prepared_as_text,
    "portals": portals,
    "long values that are bound": long_values,
    "cursors WITH HOLD": held_cursors,
    "long settings": long_settings,
    "savepoints": savepoints,
    "row locks": row_locks,
    "a forgotten transaction": open_transaction,
    "a deaf listener": deaf_listener,
    "notices that nobody reads": notices,
    "rows that nobody reads": deaf_reader,
    "a long line of COPY": long_copy_line,
    "a long field of a binary COPY": binary_copy,
    "long messages on their way": long_messages,
}
# The refusals that are right; without an entry, those of `REFUSALS`. Each attack may succeed as well.
ALLOWED = {
    "long settings": {"22023"},
    "a long line of COPY": {"53200", "54000"},
    "a long field of a binary COPY": {"53200", "54000", "22P04"},
}
# 53200: out of memory; 54000: a limit of the program; 53400: a limit of the configuration.
REFUSALS = {"53200", "54000", "53400"}


class Neighbour(threading.Thread):
    """Counts its answers."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.session, self.count, self.ends, self.error = wire.Connection(port, timeout=PATIENCE_S), 0, False, None

    def run(self):
        try:
            while not self.ends:
                self.session.query("select 1")
                self.count += 1
                time.sleep(0.02)
        except (wire.Refused, EOFError, OSError) as error:
            self.error = error
        self.session.close()


class Served(served.Served):
    """A server with one worker."""

    def __init__(self, binary, folder):
        data = pathlib.Path(folder, "t.dovetail")
        super().__init__(binary, data, "--memory", "256MB", "--workers", "1", log_in=data.parent)

    def private_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) // 1024


class Sampler(threading.Thread):
    """The most memory that was seen."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.most, self.ends = server, 0, False

    def run(self):
        while not self.ends and self.server.process.poll() is None:
            self.most = max(self.most, self.server.private_mb())
            time.sleep(0.01)


def attacked(server, name, count):
    """The fault, if there is one, and a line about it."""
    before = server.private_mb()
    neighbour, sampler = Neighbour(server.port), Sampler(server)
    neighbour.start()
    sampler.start()
    states, session = set(), None
    try:
        session = ATTACKS[name](server, count)
        states = session.states
    except (EOFError, OSError) as error:
        states = {f"lost: {error!r}"}
    kept = server.private_mb() if server.process.poll() is None else 0
    sampler.ends = neighbour.ends = True
    neighbour.join(PATIENCE_S)
    sampler.join()
    wrong = []
    if server.process.poll() is not None:
        return ["the server is gone"], ""
    if sampler.most > RSS_LIMIT_MB:
        wrong.append(f"{sampler.most} MB of memory")
    if not states <= ALLOWED.get(name, REFUSALS):
        wrong.append(f"answered with {sorted(states)}")
    if neighbour.error or neighbour.is_alive():
        wrong.append(f"the neighbour had {neighbour.count} answers, {neighbour.error!r}")
    for each in [session, *getattr(session, "others", [])] if session else []:
        each.stream.close()
        each.input.close()
    line = f"{before:>5} {kept:>6} {sampler.most:>6} MB  {neighbour.count:>5}  {','.join(sorted(states)) or 'ok':<12} {name}"
    return wrong, line


def check_all(binary, names, count, keeps):
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as folder:
        server = None
        print("before   kept   most   answers beside  outcome      attack")
        for number, name in enumerate(names):
            if server is None or not keeps or server.process.poll() is not None:
                if server and server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()
                sub = pathlib.Path(folder, str(number))
                sub.mkdir()
                server = Served(binary, sub)
                rows = 20_000 if keeps else 200_000
                wire.Connection(server.port).query(
                    f"create table t (id int primary key, v text); insert into t select i, 'v' from generate_series(1, {rows}) as g(i)")
            wrong, line = attacked(server, name, count)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{line}{'    FAILED: ' + '; '.join(wrong) if wrong else ''}", flush=True)
        passed, failed = (passed + 1, failed) if server.stop(patience_s=PATIENCE_S) == 0 else (passed, failed + 1)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; 0 ignored;")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("binary", nargs="?", default=target / "debug" / "dovetail", type=pathlib.Path)
    given = parser.parse_args()
    names = [name for name in ATTACKS if given.only in name]
    sys.exit(not check_all(given.binary.resolve(), names, 1_000 if given.gate else 100_000, given.gate))


if __name__ == "__main__":
    main()

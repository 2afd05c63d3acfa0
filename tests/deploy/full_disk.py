#!/usr/bin/env python3
"""A disk that is full during every kind of write.

    tests/deploy/full_disk.py [BINARY]      default: the debug build that cargo has made

The database lies on a small file system of its own. A ballast file leaves it next to no room; then
each kind of write must end with 53100, leave the tables as they were, and the server at work. What
frees space must work there: in and out of blocks, undone and done, beside another session's block,
after a restart and after an end without warning, whose log is replayed. When the ballast is gone the
same writes must succeed. In the end the file is checked online and offline. Needs root, for the file system; without it all is skipped. The last line is that of a
test harness.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from served import Checks, Served  # noqa: E402
from mounted import FileSystem, Unavailable, skip  # noqa: E402
import wire  # noqa: E402

ROOM = 256 << 10
ROWS = 60_000

SETUP = f"""
    create table base (a int primary key, b text, c int);
    insert into base select i, repeat('x', 100) || i, i % 7 from generate_series(1, {ROWS}) as g(i);
    create table child (a int primary key references base (a) on delete cascade, b text);
    insert into child select i, repeat('y', 50) from generate_series(1, {ROWS // 3}) as g(i);
    create table kept (a int primary key, b text, c int);
    insert into kept select i, repeat('k', 100) || i, i % 7 from generate_series(1, {ROWS // 3}) as g(i);
    create index kept_c on kept (c, b);
    create table gone (a int primary key, b text);
    insert into gone select i, repeat('g', 100) || i from generate_series(1, {ROWS // 3}) as g(i);
    create table long (a int primary key, b text);
    insert into long select i, repeat('l', 20000) || i from generate_series(1, 100) as g(i);
    analyze base;
"""

# Each needs some megabytes.
WRITES = {
    "insert .. select": f"insert into base select i, repeat('z', 100), 1"
                        f" from generate_series({ROWS + 1}, {3 * ROWS}) as g(i)",
    "insert of long values": f"insert into child select i, repeat('z', 30000)"
                             f" from generate_series({ROWS // 2}, {ROWS // 2 + 300}) as g(i)",
    "update": "update base set b = b || repeat('w', 200)",
    "update of another table": "update child set b = b || repeat('w', 300)",
    "create table as": "create table copied as select a, b || repeat('v', 200) as b from base",
    "create index": "create index base_c on base (c, b)",
    "alter table": "alter table base add column d text not null default repeat('d', 150)",
    "sort": "set work_mem = '2MB'; select count(*) from (select b, c from base order by b desc, c"
            " offset 1) as sorted",
    "aggregation": f"set work_mem = '4MB'; select count(*) from (select repeat('s', 200) || a as s,"
                   f" count(*) from generate_series(1, {ROWS * 4}) as g(a) group by 1) as grouped",
    "reorganize": "reorganize table base",
}

STATE = """select (select count(*) from base), (select sum(length(b)) from base),
                  (select count(*) from child), (select sum(length(b)) from child)"""


class Ballast:
    """Takes all room of the file system but a little."""

    def __init__(self, folder):
        self.file, self.folder = folder / "ballast", folder

    def add(self):
        stat = os.statvfs(self.folder)
        self.file.write_bytes(b"")
        take = stat.f_bavail * stat.f_frsize - ROOM
        with open(self.file, "r+b") as out:
            os.posix_fallocate(out.fileno(), 0, max(take, 1))

    def drop(self):
        self.file.unlink(missing_ok=True)


def fill(server):
    """Fills the pages of the file that nothing uses: tables are written anew when many rows come, so
    what is left free may be much."""
    count = 0
    for rows in (20_000, 2_000, 200, 20, 1):
        while True:
            text = (f"create table filler{count} as select i, repeat('f', 900) as b"
                    f" from generate_series(1, {rows}) as g(i)")
            answer = server.ask(text)
            if not isinstance(answer, list):
                break
            count += 1
    return count, answer


def without_room(server, checks, before):
    count, answer = fill(server)
    checks.check(f"{count} tables until the disk is full", answer.state == "53100", answer)
    for name, text in WRITES.items():
        answer = server.ask(text)
        state = getattr(answer, "state", "no error")
        checks.check(f"{name}, without room: 53100", state == "53100", answer)
        now = server.ask(STATE)
        checks.check(f"{name}, without room: nothing changed", now == before, f"{now}, was {before}")
    checks.check("without room: sound", server.ask("check database") == [], server.log.read_text())
    small = server.ask("select b from base where a = 17")
    checks.check("without room: answers", small == [["x" * 100 + "17"]], small)


# Statements that free space, one after the other. Each is undone first, where a block may have it.
FREEING = {
    "delete of one": ("delete from kept where a = 1", "kept", "delete from kept where a = 2"),
    "delete of some": ("delete from kept where a <= 300", "kept", None),
    "delete here and there": ("delete from kept where a % 397 = 5", "kept", None),
    "delete of long values": ("delete from long where a <= 4", "long", None),
    "delete with references": ("delete from base where a between 100 and 160", "child", None),
    "update that shortens": ("update kept set b = 'short' where a between 1000 and 1200", "kept", None),
    "delete of all": ("delete from gone", "gone", None),
    "truncate": ("truncate filler1", "filler1", None),
    "drop index": ("drop index kept_c", "kept", None),
    "drop table": ("drop table filler0", "kept", None),
}


def found(server, table):
    return server.ask(f"select count(*), sum(length(b)) from {table}")


def frees(server, checks, name, when):
    """A statement that frees space is undone, by ROLLBACK and by a savepoint, and done."""
    text, table, other = FREEING[name]
    before = found(server, table)
    to_savepoint = f"begin; savepoint s; {text}; rollback to s; commit"
    for undone in (f"begin; {text}; rollback", to_savepoint):
        answer = server.ask(undone)
        checks.check(f"{name}, undone, {when}", isinstance(answer, list), answer)
        now = found(server, table)
        checks.check(f"{name}, undone, {when}: as before", now == before, f"{now}, was {before}")
    answer = server.ask(f"begin; {text}; commit" if other is None else f"{text}; {other}")
    checks.check(f"{name}, {when}", isinstance(answer, list), answer)
    now = found(server, table)
    changed = now != before or text.startswith("drop")
    checks.check(f"{name}, {when}: has worked", changed, now)


def beside_a_block(server, checks):
    """Tables go while a block has changed rows of another: the log of that checkpoint has what these were."""
    before = found(server, "kept")
    session = wire.Connection(server.port)
    try:
        session.query("begin; delete from kept where a between 5000 and 5050")
    except wire.Refused as refused:
        checks.check("a block deletes", False, refused)
    for text in ("drop table filler2", "truncate filler3"):
        answer = server.ask(text)
        checks.check(f"{text}, beside a block", isinstance(answer, list), answer)
    session.query("rollback")
    session.close()
    now = found(server, "kept")
    checks.check("the block is undone: as before", now == before, f"{now}, was {before}")


def refused_delete(server, checks):
    """What takes more than there is, is refused before it has changed anything."""
    before = found(server, "kept")
    answer = server.ask("delete from kept where a % 2 = 0 and a > 6000")
    now = found(server, "kept")
    as_before = now == before and getattr(answer, "state", "") == "53100"
    checks.check("delete of every other row: done or refused", isinstance(answer, list) or as_before,
                 f"{answer}: {now}, was {before}")


def frees_space(binary, file, checks, log_in):
    """The disk is full, and stays so: what gives space back works, and nothing is lost."""
    names = list(FREEING)
    parts = [names[:4], names[4:7], names[7:]]
    for part, number in zip(parts, [signal.SIGTERM, signal.SIGKILL, signal.SIGTERM]):
        server = Served(binary, file, "--memory", "512MB", log_in=log_in)
        for name in part:
            frees(server, checks, name, "without room")
        if part == names[4:7]:
            beside_a_block(server, checks)
        refused_delete(server, checks)
        vacuum = server.ask("vacuum")
        checks.check("vacuum, without room", vacuum == [], vacuum)
        sound = server.ask("check database")
        checks.check("space was freed: sound", sound == [], f"{sound} {server.log.read_text()}")
        before = [server.ask(STATE), found(server, "kept"), found(server, "long")]
        server.stop(number)
        server = Served(binary, file, "--memory", "512MB", log_in=log_in)
        now = [server.ask(STATE), found(server, "kept"), found(server, "long")]
        checks.check(f"after signal {number}, without room: as before", now == before,
                     f"{now}, was {before}")
        server.stop()


def uses_what_was_freed(server, checks):
    """The space that DROP and TRUNCATE have given back takes rows again."""
    answer = server.ask("insert into kept select i, repeat('n', 100) || i, 1"
                        " from generate_series(100001, 101000) as g(i)")
    checks.check("what was freed is used again", isinstance(answer, list), answer)


def with_room(server, checks):
    for name, text in WRITES.items():
        answer = server.ask(text)
        checks.check(f"{name}, with room", isinstance(answer, list), answer)
    problems = server.ask("check database")
    checks.check("with room: sound", problems == [], problems)


def run(binary, folder):
    checks, ballast = Checks(), Ballast(folder)
    server = Served(binary, folder / "t.dovetail", "--memory", "512MB", log_in=folder.parent)
    answer = server.ask(SETUP)
    checks.check("setup", isinstance(answer, list), answer)
    before = server.ask(STATE)
    ballast.add()
    without_room(server, checks, before)
    checks.check("stops without room", server.stop() == 0, server.log.read_text())
    server = Served(binary, folder / "t.dovetail", "--memory", "512MB", log_in=folder.parent)
    now = server.ask(STATE)
    checks.check("after a restart without room: as before", now == before, now)
    server.stop()
    frees_space(binary, folder / "t.dovetail", checks, folder.parent)
    server = Served(binary, folder / "t.dovetail", "--memory", "512MB", log_in=folder.parent)
    uses_what_was_freed(server, checks)
    ballast.drop()
    with_room(server, checks)
    after = server.ask(STATE)
    checks.check("stops", server.stop() == 0, server.log.read_text())
    done = subprocess.run([binary, "check", folder / "t.dovetail"], capture_output=True, text=True)
    checks.check("checked offline", done.returncode == 0, done.stdout + done.stderr)
    server = Served(binary, folder / "t.dovetail", "--memory", "512MB", log_in=folder.parent)
    checks.check("after a restart: as before", server.ask(STATE) == after)
    server.stop()
    return result(checks.passed, checks.failed, 0)


def result(passed, failed, skipped):
    word = "FAILED" if failed else "ok"
    print(f"test result: {word}. {passed} passed; {failed} failed; {skipped} ignored;")
    return failed == 0


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = pathlib.Path(*sys.argv[1:2] or [target / "debug" / "dovetail"]).resolve()
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as scratch:
        try:
            file_system = FileSystem(scratch, 1024)
        except Unavailable as reason:
            skip(reason)
        try:
            sound = run(binary, file_system.root)
        finally:
            file_system.unmount()
    sys.exit(not sound)


main()

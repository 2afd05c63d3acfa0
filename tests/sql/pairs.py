#!/usr/bin/env python3
"""Each kind of statement beside each other kind: two clients, each of which repeats its statement on the same tables.

    python3 tests/sql/pairs.py [--seconds 2] [--ring uring,threads] [--kinds DELETE,SELECT] [--binary FILE]
    python3 tests/sql/pairs.py --quick        # 0.06 s a pair, half of the pairs on each ring, checked in groups

The kinds are those of the engine's own table (`kinds!` in crates/engine/src/privileges.rs): a kind that is missing in
`KINDS` here fails the run. No pair may show an error that `ALLOWED` does not name with its reason, lose a row that was
acknowledged, keep one that was deleted, miscount what was updated, or show a reader one row twice or an untouched row
not at all; behind each pair `CHECK DATABASE` finds nothing, the indexes give the rows that the table has, and a new
client is served. Prints each pair that failed, then a line like those of a test harness; ends with 1 if one failed.
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE_OF_KINDS = ROOT / "crates" / "engine" / "src" / "privileges.rs"
ANCHORS, ROWS = 100, 400
# The role that a new database has: others may not log in once there are more roles.
USER = "dovetail"
TABLES = f"""
create table t(id int primary key, k int, v int not null default 0, w text default 'w');
create index t_k on t(k);
insert into t select i, i / 2 % 10, 0, 'w' || i from generate_series(1, {ROWS}) g(i);
create view tv as select k, count(*) as c from t group by k;
create sequence sq;
"""
LEFT = """
drop view if exists tv, made_view; drop table if exists t, made, gone cascade; drop sequence if exists sq, made_sq;
drop role if exists made_role
"""


class Ledger:
    """What the acknowledged statements of both clients must have left behind."""

    def __init__(self):
        self.inserted, self.deleted, self.added, self.truncated = set(), set(), 0, False
        self.lock = threading.Lock()

    def note(self, inserted=(), deleted=(), added=0, truncated=False):
        with self.lock:
            self.inserted.update(inserted)
            self.deleted.update(deleted)
            self.deleted.difference_update(inserted)
            self.added += added
            self.truncated |= truncated

    def faults(self, rows):
        """What is wrong with the rows (id, v) of the table."""
        held = {int(id): int(v) for id, v in rows}
        wanted = set(range(1, ROWS + 1)) | self.inserted
        surplus = held.keys() - wanted | (held.keys() & self.deleted)
        lost = wanted - self.deleted - held.keys() if not self.truncated else set()
        found = [f"rows twice: {len(rows) - len(held)}"] if len(rows) != len(held) else []
        found += [f"lost rows: {sorted(lost)[:5]}"] if lost else []
        found += [f"rows of nobody, or deleted: {sorted(surplus)[:5]}"] if surplus else []
        if not self.truncated and sum(held.values()) != self.added:
            found.append(f"updates: {self.added} acknowledged, {sum(held.values())} kept")
        return found


class Client:
    """A connection that repeats the statements of a kind and keeps the ledger."""

    def __init__(self, port, number, ledger):
        self.connection = wire.Connection(port, user=USER, timeout=60)
        self.number, self.ledger, self.turn, self.last = number, ledger, 0, 0
        self.gone = []

    def run(self, sql, data=b""):
        return self.connection.query(sql, data)

    def next_ids(self, count):
        first = (self.number + 1) * 1_000_000 + self.last
        self.last += count
        return list(range(first, first + count))

    # What a kind does in one turn.

    def select(self):
        count, distinct, anchors = self.run(
            f"select count(*), count(distinct id), count(*) filter (where id <= {ANCHORS}) from t")[0]
        whole = self.ledger.truncated or int(anchors) == ANCHORS
        if count != distinct or not whole:
            raise AssertionError(f"a reader saw {count} rows, {distinct} of them different, {anchors} of {ANCHORS} anchors")
        for _ in range(4):
            count, distinct = self.run("select count(v), count(distinct id) from t where k = 5")[0]
            if count != distinct:
                raise AssertionError(f"a reader saw {count} rows by the index, {distinct} of them different")
        self.run("select a.k, b.c from t a join tv b on a.k = b.k order by a.id limit 5")

    def insert(self):
        ids = self.next_ids(3)
        self.run(f"insert into t(id, k) values {', '.join(f'({id}, {id % 10})' for id in ids)}")
        self.ledger.note(inserted=ids)

    def update(self):
        kept = self.run("update t set v = v + 1 where k = 5 returning id")
        self.ledger.note(added=len(kept))
        # The key of the secondary index changes; the rows are others than those that clients delete.
        kept = self.run(f"update t set v = v + 1, k = (k + 1) % 10 where id = {self.turn % ANCHORS + 1} returning id")
        self.ledger.note(added=len(kept))

    def delete(self):
        """Takes out all rows of a key of the index, but the anchors, and next time puts them back."""
        if self.gone:
            self.run(f"insert into t(id, k) values {', '.join(f'({id}, 5)' for id in self.gone)}")
            self.ledger.note(inserted=self.gone)
            self.gone = []
            return
        gone = self.run(f"delete from t where k = 5 and id > {ANCHORS} and id <= {ROWS} and id % 2 = {self.number} "
                        "returning id, v")
        self.gone = [int(id) for id, _ in gone]
        self.ledger.note(deleted=self.gone, added=-sum(int(v) for _, v in gone))

    def with_writes(self):
        ids = self.next_ids(3)
        rows = ", ".join(f"({id}, {id % 10})" for id in ids)
        kept = self.run(f"with kept as (insert into t(id, k) values {rows} returning id) select id from kept")
        if sorted(int(id) for id, in kept) != ids:
            raise AssertionError(f"a WITH returned {kept} of {ids}")
        self.ledger.note(inserted=ids)

    def truncate(self):
        self.ledger.note(truncated=True)
        self.run("truncate t")

    def copy_from(self):
        ids = self.next_ids(5)
        self.run("copy t(id, k) from stdin", "".join(f"{id}\t{id % 10}\n" for id in ids).encode())
        self.ledger.note(inserted=ids)

    def copy_to(self):
        ids = [line.split("\t")[0] for line, in self.run("copy t to stdout")]
        if len(ids) != len(set(ids)):
            raise AssertionError(f"COPY TO gave a row twice: {len(ids)} rows, {len(set(ids))} different")

    def cursor(self):
        self.block("declare c cursor for select * from t order by id", "fetch 10 from c", "fetch 1000 from c",
                   "close c")

    def transaction(self):
        end = "rollback" if self.turn % 2 else "commit"
        self.block("select count(*) from t", "select max(id) from t where k = 3", end=end)

    def lock(self):
        mode = "access share" if self.turn % 2 else "exclusive"
        self.block(f"lock table t in {mode} mode", "select count(*) from t")

    def block(self, *statements, end="commit"):
        self.run("begin")
        try:
            for statement in statements:
                self.run(statement)
        except wire.Refused:
            self.run("rollback")
            raise
        self.run(end)

    def prepare(self):
        self.run("prepare one(int) as select count(*), max(v) from t where k = $1")
        self.run("deallocate one")

    def execute(self):
        if self.turn == 0:
            self.run("prepare kept(int) as select count(*), max(v) from t where k = $1")
        self.run(f"execute kept({self.turn % 10})")

    def back_up(self):
        path = pathlib.Path(tempfile.gettempdir()) / f"dovetail-{os.getpid()}-{self.number}-{self.turn}.backup"
        try:
            self.run(f"backup database to '{path}'")
        finally:
            path.unlink(missing_ok=True)

    def member(self):
        """A database in one file takes members only while nobody has it open."""
        try:
            self.run("alter database drop member '/no/such/member'")
        except wire.Refused as refused:
            if refused.state != "22023":
                raise

    def role(self):
        self.run("create role made_role")
        self.run("grant select on t to made_role")
        self.run("revoke select on t from made_role")
        self.run("drop role made_role")

    def drop(self):
        self.run("create table gone(id int primary key, k int)")
        self.run("create index gone_k on gone(k)")
        self.run("drop index gone_k")
        self.run("drop table gone")

    def one_of(self, *statements):
        self.run(statements[self.turn % len(statements)])


def turns(*statements):
    """A kind that runs these statements in turn."""
    return lambda client: client.one_of(*statements)


KINDS = {
    "SELECT": Client.select, "INSERT": Client.insert, "UPDATE": Client.update, "DELETE": Client.delete,
    "TRUNCATE": Client.truncate, "COPY FROM": Client.copy_from, "COPY TO": Client.copy_to, "CURSOR": Client.cursor,
    "TRANSACTION": Client.transaction, "LOCK TABLE": Client.lock, "PREPARE": Client.prepare, "EXECUTE": Client.execute, "ROLE": Client.role,
    "DROP": Client.drop,
    "EXPLAIN": turns("explain select * from t where k = 5", "explain analyze select count(*) from t where k = 5",
                     "explain delete from t", "explain analyze update t set v = v where k = 5"),
    "WITH": Client.with_writes, "NOTIFY": turns("listen news", "notify news, 'a'", "unlisten news", "notify news"),
    "SET CONSTRAINTS": turns("set constraints all deferred"),
    "CREATE TABLE": turns("create table made as select * from t where id < 50", "drop table made"),
    "ALTER TABLE": turns("alter table t add column x int default 3", "alter table t drop column x",
                         "alter table t add constraint t_v check (v >= 0)", "alter table t drop constraint t_v"),
    "CREATE SEQUENCE": turns("create sequence made_sq", "select nextval('made_sq')", "drop sequence made_sq"),
    "ALTER SEQUENCE": turns("alter sequence sq restart with 5", "select nextval('sq')", "alter sequence sq increment by 2"),
    "CREATE VIEW": turns("create view made_view as select k, sum(v) from t group by k", "select * from made_view",
                         "drop view made_view"),
    "CREATE INDEX": turns("create index t_v_k on t(v, k)", "drop index t_v_k"),
    "ANALYZE": turns("analyze t"), "VACUUM": turns("vacuum t"), "REORGANIZE": turns("reorganize table t"),
    "COMMENT": turns("comment on table t is 'a table'", "comment on column t.k is 'a key'", "comment on table t is null"),
    "SET": turns("set work_mem = '1MB'", "set execution_mode = static"), "SHOW": turns("show work_mem"),
    "RESET": turns("reset work_mem", "reset all"), "CHECK DATABASE": turns("check database"),
    "CHECKPOINT": turns("checkpoint"), "BACKUP": Client.back_up,
    "ALTER DATABASE": Client.member,
    "SECRET": turns("create or replace secret made_key (type s3, key_id 'a', secret 'b')", "drop secret if exists made_key"),
    "DEALLOCATE": turns("prepare gone_soon as select count(*) from t", "deallocate gone_soon"),
    "DISCARD": turns("discard all", "discard plans"),
}
TWICE = "both clients make and drop things of one name"
# What the contract names: the states that the statements of a pair may get, and why. No other pair may show any.
ALLOWED = {
    ("CREATE TABLE", "CREATE TABLE"): ({"42P07", "42P01"}, TWICE), ("DROP", "DROP"): ({"42P07", "42P01", "42704"}, TWICE),
    ("CREATE VIEW", "CREATE VIEW"): ({"42P07", "42P01"}, TWICE), ("CREATE INDEX", "CREATE INDEX"): ({"42P07", "42704"}, TWICE),
    ("CREATE SEQUENCE", "CREATE SEQUENCE"): ({"42P07", "42P01"}, TWICE), ("ROLE", "ROLE"): ({"42710", "42704"}, TWICE),
    ("ALTER TABLE", "ALTER TABLE"): ({"42701", "42703", "42710", "42704"}, TWICE),
    ("ALTER TABLE", "EXECUTE"): ({"0A000"}, "the result of the plan has other columns (as PostgreSQL says)"),
}


def kinds_of_engine():
    text = TABLE_OF_KINDS.read_text()
    body = text[text.index("kinds! { who:") :]
    named = re.findall(r'=> "([A-Z ]+)",', body[: body.index("\n}")])
    # Some statements share a kind; a group that had it twice would find what it left behind itself.
    return list(dict.fromkeys(named))


class Beside:
    """The kinds that run beside the first of a group, one after another; `now` is the one that runs."""

    def __init__(self, first, kinds):
        self.first, self.kinds, self.now = first, kinds, kinds[0]


def loop(client, kind, beside, deadline, wrong):
    """Repeats the turn of a kind; what no pair may show that it was part of goes to `wrong`."""
    while time.monotonic() < deadline:
        before, said = beside.now, None
        try:
            KINDS[kind](client)
        except wire.Refused as refused:
            said = f"{refused.state}: {refused.message}"
        except (AssertionError, EOFError, OSError, ValueError, IndexError) as failure:
            said = f"{type(failure).__name__}: {failure}"
        client.turn += 1
        if said and not any(is_allowed((beside.first, other), said) for other in {before, beside.now}):
            wrong[f"{beside.first} beside {before}: {kind}: {said}"] += 1
            if said.startswith(("EOFError", "OSError", "Timeout")):
                return


def run_group(port, first, kinds, seconds):
    """What was wrong when one client ran `first` and another each of `kinds` in turn; and how many turns they had."""
    admin = wire.Connection(port, user=USER, timeout=60)
    admin.query(LEFT)
    for statement in TABLES.strip().split(";\n"):
        admin.query(statement)
    ledger, wrong, beside = Ledger(), collections.Counter(), Beside(first, kinds)
    clients = [Client(port, 0, ledger)]
    deadline = time.monotonic() + seconds * len(kinds)
    thread = threading.Thread(target=loop, args=(clients[0], first, beside, deadline, wrong))
    thread.start()
    for kind in kinds:
        beside.now = kind
        clients.append(Client(port, 1, ledger))
        clients[-1].last = len(clients) * 10_000
        loop(clients[-1], kind, beside, time.monotonic() + seconds, wrong)
        clients[-1].connection.close()
    thread.join()
    clients[0].connection.close()
    found = [f"{said} ({count} times)" for said, count in wrong.items()]
    pairs = f"{first} beside {', '.join(kinds) if len(kinds) < 3 else 'others'}"
    found += [f"{pairs}: {said}" for said in after(admin, port, ledger)]
    return found, sum(client.turn for client in clients)


def is_allowed(pair, said):
    states, _ = ALLOWED.get(pair) or ALLOWED.get(pair[::-1]) or (set(), "")
    return said[:5] in states


def after(admin, port, ledger):
    """What is wrong when both have ended."""
    found = ledger.faults(admin.query("select id, v from t"))
    by_index = [admin.query(f"select id from t where k = {k} order by id") for k in range(10)]
    by_table = [admin.query(f"select id from t where k + 0 = {k} order by id") for k in range(10)]
    found += ["the index t_k gives other rows than the table"] if by_index != by_table else []
    found += [f"CHECK DATABASE: {row[0]}" for row in admin.query("check database")]
    admin.close()
    fresh = wire.Connection(port, user=USER, timeout=60)
    found += [] if fresh.query("select 1") == [["1"]] else ["a new client is not served"]
    fresh.close()
    return found


class Ring:
    """A server on a ring, started again when it ends; what is counted of its groups."""

    def __init__(self, binary, ring):
        self.binary, self.ring, self.failed, self.passed, self.turns = binary, ring, 0, 0, 0
        self.start()

    def start(self):
        self.server = wire.Server(self.binary, "--ring", self.ring, "--workers", "2", "--memory", "64MB")
        self.port = self.server.__enter__()

    def run(self, first, kinds, seconds):
        try:
            wrong, turns_made = run_group(self.port, first, kinds, seconds)
            self.turns += turns_made
        except (EOFError, OSError, wire.Refused) as gone:
            wrong = [f"{first} beside {', '.join(kinds)}: {type(gone).__name__}: {gone}"]
            self.server.__exit__()
            self.start()
        bad = min(len(wrong), len(kinds))
        self.failed, self.passed = self.failed + bad, self.passed + len(kinds) - bad
        for said in wrong:
            print(f"FAILED  {self.ring}: {said}", flush=True)


def run_ring(binary, name, groups, seconds):
    """The number of pairs that passed and failed on a ring."""
    try:
        ring = Ring(binary, name)
    except SystemExit as refused:
        print(f"SKIPPED: ring {name}: {refused}")
        return 0, 0
    for first, kinds in groups:
        ring.run(first, kinds, seconds)
    ring.server.__exit__()
    print(f"ring {name}: {ring.passed + ring.failed} pairs, {ring.turns} turns, {ring.failed} failed", flush=True)
    return ring.passed, ring.failed


def chosen(names):
    """All pairs, each kind beside itself too; with names, those in which one of them is."""
    kinds = kinds_of_engine()
    missing = [kind for kind in kinds if kind not in KINDS] + [kind for kind in KINDS if kind not in kinds]
    if missing:
        sys.exit(f"FAILED: the table of kinds and KINDS here differ in {missing}")
    pairs = itertools.combinations_with_replacement(kinds, 2)
    return [pair for pair in pairs if not names or set(pair) & set(names.split(","))]


def grouped(pairs):
    """Pairs of one first kind together, so that the tables are made and checked less often. Those of TRUNCATE are
    apart: behind it nothing can be said of lost rows."""
    groups = collections.defaultdict(list)
    for first, second in pairs:
        if "TRUNCATE" in (first, second):
            groups["TRUNCATE"].append(second if first == "TRUNCATE" else first)
        else:
            groups[first].append(second)
    # Two clients of one kind leave behind what the third does not expect.
    return [(first, sorted(kinds, key=lambda kind: kind == first)) for first, kinds in groups.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--ring", default="uring,threads")
    parser.add_argument("--kinds", help="names with commas; all without it")
    parser.add_argument("--binary", default=str(ROOT / "target" / "debug" / "dovetail"))
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    pairs, rings = chosen(args.kinds), args.ring.split(",")
    seconds = 0.06 if args.quick else args.seconds
    each = [(first, [second]) for first, second in pairs]
    shares = {ring: grouped(pairs[at :: len(rings)]) if args.quick else each for at, ring in enumerate(rings)}
    started = time.monotonic()
    counts = [run_ring(args.binary, ring, share, seconds) for ring, share in shares.items()]
    passed, failed = map(sum, zip(*counts))
    skipped = sum(count == (0, 0) for count in counts)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; {skipped} ignored; "
          f"{time.monotonic() - started:.0f} s")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

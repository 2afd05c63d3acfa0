#!/usr/bin/env python3
"""Random expressions and conditions over stored vectors of every form, on PostgreSQL, row tables and column tables.

    python3 tests/sql/vectors.py [--queries 4000] [--seed 1] [--only K] [--binary target/release/dovetail]

Needs a server of PostgreSQL 15 that the environment leads to (`PGPORT`, `PGUSER`, `PGDATABASE`), or its programs in
/usr/lib/postgresql/15, of which one is started then, by the user `postgres`; a schema of its own is made and dropped.

One table has columns of all types whose vectors are constant, in runs, of few values, packed, ascending, wide, all or
half null, and texts alike in their first bytes; as a column table it is loaded at once, then some of its rows are
deleted, changed and added, so that a scan meets chunks, deleted rows and the delta. A query has `EXPRESSIONS`
expressions, mostly behind conditions of the kind that scans test on encoded values: columns beside constants of their
own type and of others, at and around the values that are there. Expressions grow as those of `compose.py`.

Rows must be PostgreSQL's, in both kinds of table and two modes. Errors of values must be, too, where no condition lets
it open which rows an expression meets. A difference is cut down and printed. Ends with 1 if there was one.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire
from generator import shrink
from generator.expressions import COMMON, Expressions, Scope
from generator.session import Prepared, Session
from generator.sides import Verdict, judge, order_of, prepare, shape
from generator.tree import Column, Expr, Grouping, Join, Order, Output, Select, Table

ROOT = pathlib.Path(__file__).resolve().parents[2]
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
EXPRESSIONS = 5
ROWS = 3000
LIMIT_S = 20

# Name, type, declared type, value of row i, and constants to compare it with.
COLUMNS = [
    ("i", "int4", "int", "i", ["1", "1024", "2047", "2048", "2049", "2999", "0", "5000"]),
    ("c", "int4", "int", "7", ["7", "6", "8", "7.0", "7.5"]),
    ("k", "int4", "int", "i % 5", ["0", "2", "4", "5", "-1", "104", "2.5", "3000000000"]),
    ("r", "int4", "int", "i / 400 - 3", ["-3", "0", "2", "4", "-0.5"]),
    ("z", "int4", "int", "case when i % 777 = 0 then 2147483647 - i % 2 when i % 778 = 0 then -2147483648 else 0 end",
     ["0", "2147483647", "-2147483648", "2147483646", "2147483648"]),
    ("w", "int8", "bigint", "(i - 1500)::bigint * 5988914691236517", ["0", "-9223372036854775808", "9223372036854775807",
                                                                       "5988914691236517", "11977829382473034.5"]),
    ("n", "int4", "int", "null::int", ["0", "1"]),
    ("h", "int2", "smallint", "case when i % 2 = 0 then i % 100 - 50 end", ["0", "-50", "48", "40000", "0.5"]),
    ("m", "num", "numeric(15,2)", "(i % 321 - 100) * 0.25", ["0", "-25", "1.25", "55.00", "0.255", "1e3", "-25.004"]),
    ("o", "num", "numeric(38,10)", "(i * 7919 % 1000 - 500) * 12345678901234567.0123456789 ",
     ["0", "12345678901234567.0123456789", "-6172839450617283506.17283945"]),
    ("e", "num", "numeric(6,2)", "1.50", ["1.50", "1.5", "1.49", "2", "100000.5"]),
    ("f", "flt", "double precision", "(i % 97 - 40) / 4.0", ["0", "0.25", "-10", "14"]),
    ("x", "flt", "double precision", "case when i % 3 > 0 then i * 0.1 end", ["0", "0.1", "150.1", "1e300"]),
    ("t", "text", "text", "case i % 7 when 0 then '' when 1 then 'ab' when 2 then 'abc' when 3 then 'Abc' when 4 "
     "then 'b' when 5 then 'grüner' end", ["''", "'ab'", "'abc'", "'b'", "'a'", "'grüner'", "'zz'"]),
    ("u", "text", "text", "'the same beginning of all ' || i", ["'the same'", "'the same beginning of all 2'",
                                                               "'the same beginning of all 2048'", "'u'"]),
    ("v", "text", "text", "'constant'", ["'constant'", "'constan'", "'d'"]),
    ("y", "text", "text", "case when i % 2 = 1 then md5(i::text) end", ["'8'", "'a87ff679a2f3e71d9181a67b7542122c'",
                                                                       "'c4ca4238a0b923820dcc509a6f75849b'"]),
    ("b", "bool", "boolean", "case when i % 11 > 0 then i % 4 = 1 end", ["true", "false"]),
    ("a", "bool", "boolean", "i > 1100", ["true", "false"]),
    ("d", "date", "date", "date '2020-01-01' + i / 100", ["date '2020-01-01'", "date '2020-01-15'", "date '2020-02-01'",
                                                          "timestamp '2020-01-15 12:00:00'"]),
    ("g", "date", "date", "case when i % 5 > 0 then date '2020-06-01' - i * 37 % 100 end",
     ["date '2020-06-01'", "date '2020-03-01'", "'2020-04-30'"]),
    ("s", "ts", "timestamp", "timestamp '2020-03-28 22:00:00' + (i % 50) * interval '13 minutes'",
     ["timestamp '2020-03-28 22:13:00'", "timestamp '2020-03-29 00:00:00'", "date '2020-03-29'"]),
    ("q", "tz", "timestamptz", "timestamptz '2020-03-28 22:00:00+00' + (i / 90) * interval '1 hour'",
     ["timestamptz '2020-03-29 00:00:00+00'", "timestamptz '2020-03-30 07:00:00+00'"]),
]
HELD = [(name, type) for name, type, _, _, _ in COLUMNS]
CONSTANTS = {name: constants for name, _, _, _, constants in COLUMNS}
SIDES = {"row": ("v", "ooo"), "column": ("vc", "ooo"), "column, static": ("vc", "static")}


def statements(table, storage=""):
    """Those that make and fill the table."""
    declared = ", ".join(f"{name} {type}" for name, _, type, _, _ in COLUMNS)
    values = ", ".join(value for _, _, _, value, _ in COLUMNS)
    filled = lambda first, last: f"insert into {table} select {values} from generate_series({first}, {last}) g(i)"
    return [f"create table {table}({declared}){storage}", filled(1, ROWS),
            f"delete from {table} where i % 17 = 3 or i between 1400 and 1450",
            f"update {table} set k = k + 100, t = 'changed', m = m + 0.01, h = null where i % 101 = 5",
            filled(ROWS + 1, ROWS + 40), "analyze"]


class Queries(Expressions):
    """Grows queries over the table."""

    def any(self):
        scope = Scope([("v", name, type) for name, type in HELD])
        where = [self.condition(scope) for _ in range(self.pick(0, 1, 1, 1, 2, 3))]
        table = Table("v", "v", HELD)
        if self.chance(0.2):
            return self.joined(table)
        if self.chance(0.2):
            return self.grouped(table, scope, where)
        outputs = [Output(Column("int4", "v", "i"), "o0")]
        outputs += [Output(self.grown(self.pick(*COMMON), scope), f"o{at + 1}") for at in range(EXPRESSIONS)]
        return Select(outputs, table, where, order=Order({"o0": ""}))

    def grouped(self, table, scope, where):
        keys = [Column(type, "v", name) for name, type in self.rng.sample(HELD[1:], self.pick(1, 1, 2))]
        outputs = [Output(key, f"o{at}") for at, key in enumerate(keys)]
        inner = Scope(scope.columns, grouped=scope, keys=keys)
        for at in range(EXPRESSIONS - 2):
            type = self.pick("int8", "num", "text", "date", "int4", "bool")
            self.fuel = 4
            outputs.append(Output(self.aggregate(type, inner.grouped, 0), f"a{at}"))
        return Select(outputs, table, where, [Grouping("", keys)])

    def joined(self, table):
        """With itself, by a key that one side has once: what a build side holds is told to the scan of the other."""
        scope = Scope([(alias, name, type) for alias in "vj" for name, type in HELD])
        key = self.pick("i", "k", "r", "c", "h", "z", "n", "u")
        on = [Expr("bool", Column("int4", "v", key), " = ", Column("int4", "j", "u" if key == "u" else "i"))]
        on += [Expr("bool", "v.t = j.t")] * self.chance(0.2)
        kind = self.pick("join", "join", "join", "left join", "right join", "full join")
        source = Join(kind, table, Table("v", "j", HELD), on)
        where = [self.condition(scope, alias) for alias in self.pick("", "v", "j", "vj")]
        outputs = [Output(Column("int4", alias, "i"), f"o{at}") for at, alias in enumerate("vj")]
        outputs += [Output(self.grown(self.pick(*COMMON), scope), f"o{at}") for at in range(2, EXPRESSIONS)]
        return Select(outputs, source, where, order=Order({"o0": "", "o1": ""}))

    def grown(self, type, scope):
        self.fuel = self.pick(3, 6, 12)
        return self.expr(type, scope, 0)

    def condition(self, scope, alias="v"):
        """Of the kind that scans test on encoded values, or any."""
        if self.chance(0.25):
            return self.grown("bool", scope)
        tests = [self.test(alias) for _ in range(self.pick(1, 1, 1, 2))]
        condition = tests[0] if len(tests) == 1 else Expr("bool", "(", tests[0], " or ", tests[1], ")")
        return Expr("bool", "(not ", condition, ")") if self.chance(0.1) else condition

    def test(self, alias):
        name, type = self.rng.choice(HELD)
        column, constant = Column(type, alias, name), lambda: self.rng.choice(CONSTANTS[name])
        compare = self.pick(" = ", " = ", " <> ", " < ", " <= ", " > ", " >= ")
        return self.pick(
            lambda: Expr("bool", "(", column, compare, constant(), ")"), lambda: Expr("bool", "(", column, compare, constant(), ")"),
            lambda: Expr("bool", "(", constant(), compare, column, ")"),
            lambda: Expr("bool", "(", column, " between ", constant(), " and ", constant(), ")"),
            lambda: Expr("bool", "(", column, self.pick(" in (", " not in ("), constant(), ", ", constant(), self.pick("", "", ", null"), "))"),
            lambda: Expr("bool", "(", column, self.pick(" is null", " is not null"), ")"),
            lambda: Expr("bool", "(", column, self.pick(" is distinct from ", " is not distinct from "), constant(), ")"),
            lambda: self.like(column) if type == "text" else Expr("bool", "(", column, " = any (array[", constant(), ", ", constant(), "]))"),
        )()

    def like(self, column):
        pattern = self.pick("ab%", "%b", "", "the same beginning of all 2%", "the same%", "c%t", "_b%", "grün%", "%e%")
        return Expr("bool", "(", column, self.pick(" like ", " not like ", " ilike "), f"'{pattern}')")


class Sides:
    """PostgreSQL, and the two tables of ours."""

    def __init__(self, reference, port):
        self.sessions = {"PostgreSQL": reference}
        for table, storage in (("v", ""), ("vc", " with (storage = column)")):
            session = Session(port, timeout=600)
            for number, statement in enumerate(statements(table, storage)):
                session.query(statement)
                # What is less than a chunk stays beside the columns: it is put in before it is changed.
                if number == 1 and storage:
                    session.query(f"reorganize table {table}")
                    plan = str(session.query(f"explain analyze select * from {table} where i = 5"))
                    assert "chunks=1 of 1" in plan, plan
        for name, (_, mode) in SIDES.items():
            self.sessions[name] = Session(port, timeout=600)
            self.sessions[name].query(f"set execution_mode = {mode}; set statement_timeout = '{LIMIT_S}s'")
        for session in self.sessions.values():
            session.query("set timezone = 'Europe/Rome'")

    def compare(self, tree):
        """The first verdict that is a defect, else `same` or why there is none; the query, and the answers."""
        query, answers = prepare(tree), {}
        for name, session in self.sessions.items():
            session.send(on_table(query, SIDES[name][0] if name in SIDES else "v"))
        for name, session in self.sessions.items():
            answers[name] = session.receive()
        theirs, verdicts = answers["PostgreSQL"], []
        for name in SIDES:
            verdict = judge(theirs, answers[name], order_of(tree), name)
            verdicts.append(errors_of(verdict, theirs, answers[name], query.sql))
        chosen = [v for v in verdicts if v.is_defect()] or [v for v in verdicts if v.kind != "same"] or verdicts
        return chosen[0], query.sql, answers


def on_table(query, table):
    return Prepared(query.sql.replace(" v v", f" {table} v").replace(" join v j", f" join {table} j"))


def errors_of(verdict, theirs, ours, sql):
    """Which rows an expression meets is open only behind conditions; without, both or none must fail."""
    is_open = any(word in sql for word in (" where ", " and ", " or ", " between ", " in (", "filter"))
    if verdict.kind == "slow" and not theirs.error:
        return Verdict("error", f"not within {LIMIT_S} s", verdict.mode)
    if theirs.error and ours.error and ours.error.state[:2] not in ("22", "0A", theirs.error.state[:2]):
        return Verdict("error", f"{theirs.error} of PostgreSQL, {ours.error} here", verdict.mode)
    if verdict.kind == "evaluation" and not is_open:
        return Verdict("error", f"{theirs.error or 'rows'} of PostgreSQL, {ours.error or 'rows'} here", verdict.mode)
    return verdict


class Postgres:
    """A server of its own, where the environment leads to none."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dovetail-vectors-"))
        shutil.chown(self.folder, "postgres")
        run = lambda *command: subprocess.run(command, user="postgres", stdout=subprocess.DEVNULL, check=True)
        run(POSTGRES / "initdb", "-D", self.folder / "pg", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        self.run, self.port = run, 5874
        options = f"-c port={self.port} -c fsync=off -c listen_addresses=127.0.0.1 -k {self.folder}"
        run(POSTGRES / "pg_ctl", "-D", self.folder / "pg", "-w", "-l", self.folder / "log", "-o", options, "start")
        return self

    def __exit__(self, *_):
        self.run(POSTGRES / "pg_ctl", "-D", self.folder / "pg", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


def reference(port, user, database):
    session = Session(port, user=user, database=database, timeout=600)
    session.query("set client_min_messages = error; set datestyle = iso; set jit = off")
    session.query("drop schema if exists dovetail_vectors cascade; create schema dovetail_vectors")
    session.query("set search_path = dovetail_vectors")
    for statement in statements("v"):
        session.query(statement)
    return session


def finding(number, tree, verdict, sides):
    """What is printed of a difference."""
    same = lambda smaller: verdict.same_as(sides.compare(smaller)[0])
    last, sql, answers = sides.compare(shrink.shrink(tree, same, 200))
    lines = [f"query {number}: {last.kind}, {last.mode}: {last.said}", f"  {sql};"]
    return "\n".join(lines + [f"  {name}: {str(answer)[:400]}" for name, answer in answers.items()])


def run(sides, args):
    counts, forms, started = collections.Counter(), set(), time.monotonic()
    numbers = [args.only] if args.only is not None else range(args.queries)
    for number in numbers:
        tree = Queries(random.Random(f"{args.seed}:{number}")).any()
        verdict, sql, _ = sides.compare(tree)
        counts[verdict.kind] += 1
        form = verdict.kind, shape(verdict.said)
        if verdict.is_defect() and (form not in forms or verdict.kind in ("rows", "order")):
            forms.add(form)
            print(finding(number, tree, verdict, sides), flush=True)
    for kind, count in counts.most_common():
        print(f"  {count} {kind}")
    defects = sum(count for kind, count in counts.items() if kind in Verdict.DEFECTS)
    print(f"{len(numbers)} queries of {EXPRESSIONS} expressions in {time.monotonic() - started:.0f} s: {defects} different")
    return defects


def with_reference(args, use):
    if "PGPORT" in os.environ:
        user = os.environ.get("PGUSER", "postgres")
        return use(reference(int(os.environ["PGPORT"]), user, os.environ.get("PGDATABASE", user)))
    if not (POSTGRES / "pg_ctl").exists():
        print("SKIPPED: there is no PostgreSQL 15")
        return 0
    with Postgres() as server:
        return use(reference(server.port, "postgres", "postgres"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one query")
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "dovetail"))
    args = parser.parse_args()
    with wire.Server(args.binary, "--memory", "1GB", "--workers", "2") as port:
        return with_reference(args, lambda session: run(Sides(session, port), args))


if __name__ == "__main__":
    sys.exit(main() > 0)

#!/usr/bin/env python3
"""Large statements: every operator, list and clause at 100, 1,000, 10,000 and 100,000 elements, on a server.

    tests/deploy/large_statements.py [--gate] [--seed N] [--seconds N] [--only TEXT] [BINARY]

default: the debug build that cargo has made. Each shape says what is right at each size: the rows (one value,
known beforehand), or the SQLSTATE of a limit, also if it is one of several. What ends the server, what is XX000,
a wrong value and any other error fail. The shapes come first, in order; then statements that a seed composes of
them (conditions joined, negated, put into lists, cases, subqueries, EXPLAIN, prepared statements), until the
time is over. Views and queries of WITH that double at each level must heed `statement_timeout`, and meanwhile a
new connection is served.

With `--gate` the size is 400, and 10,000 of what has a limit of depth; and the time is short. The last line is that of a test harness.
"""

import argparse
import os
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
import wire

SIZES, GATE_SIZES = (100, 1_000, 10_000, 100_000), (400, 10_000)
# How long a statement may take: what takes longer is cancelled, which is no failure but is counted.
TIMEOUT_S, GATE_TIMEOUT_S = 60, 3
# From its timeout to the end of a statement, on a slow machine with a debug build.
END_S = 10

SETUP = """
    create table t (a int, b int, c text, f float8, d date);
    insert into t select g, g + 1, g::text, g, date '2020-01-01' + g from generate_series(1, 20) g;
    create table one (a int);
    insert into one values (1);
    create table u (a int);
    create table k (a int primary key, b int);
    insert into k values (1, 1);
"""

# Limits: of depth, of counts, of memory.
DEEP = "54001 54000 53200 54011"


def several(item, count, joint=", "):
    return joint.join(item(i) for i in range(count))


def counted(condition):
    return f"select count(*) from t where {condition}"


def text(i):
    return f"'{i}'"


def above(count):
    """How many of the 20 rows have a number below `count`."""
    return str(min(20, count - 1))


# Texts of a shape for so many elements, and the right value for so many, or the limits besides.
SHAPES = {
    # Lists.
    "rows in a list of rows": (lambda n: f"select (1, 2) in ({several(lambda i: f'({i + 5}, {i})', n)})", "f", ""),
    "rows of columns in a list": (lambda n: counted(f"(a, b) in ({several(lambda i: f'({i}, {i + 1})', n)})"), above, ""),
    "rows not in a list": (lambda n: counted(f"(a, b) not in ({several(lambda i: f'({i}, {i})', n)})"), "20", ""),
    "a list of columns": (lambda n: counted(f"a in ({several(lambda i: f'b - 1 - {i}', n)})"), "20", ""),
    "a list without columns": (lambda n: counted(f"a not in ({several(lambda i: f'b + {i}', n)})"), "20", ""),
    "a list of integers": (lambda n: counted(f"a in ({several(str, n)})"), above, ""),
    "not in a list of integers": (lambda n: counted(f"a not in ({several(str, n)})"), lambda n: str(20 - int(above(n))), ""),
    "a list of texts": (lambda n: counted(f"c in ({several(text, n)})"), above, ""),
    "a list of doubles": (lambda n: counted(f"f in ({several(lambda i: f'{i}.5', n)})"), "0", ""),
    "a list of dates": (lambda n: counted(f"d in ({several(lambda i: f'date {chr(39)}2020-01-01{chr(39)} + {i}', n)})"), above, ""),
    "any of an array": (lambda n: counted(f"a = any(array[{several(str, n)}])"), above, ""),
    "any of an array's text": (lambda n: counted(f"a = any('{{{several(str, n)}}}')"), above, ""),
    "like any": (lambda n: counted(f"c like any (array[{several(lambda i: text(f'%x{i}'), n)}])"), "0", ""),
    "a long array": (lambda n: f"select array_length(array[{several(str, n)}], 1)", str, ""),
    "a long array's text": (lambda n: f"select array_length('{{{several(str, n)}}}'::int[], 1)", str, ""),
    "VALUES": (lambda n: f"select count(*) from (values {several(lambda i: f'({i}, {i})', n)}) v", str, ""),
    "arguments of coalesce": (lambda n: f"select count(coalesce({several(lambda i: 'a', n)})) from t", "20", ""),
    "arguments of greatest": (lambda n: f"select max(greatest({several(lambda i: 'a', n)})) from t", "20", ""),
    "arguments of concat": (lambda n: f"select min(length(concat({several(lambda i: 'c', n)}))) from t", str, ""),
    "keys of an order": (lambda n: f"select a from t order by {several(lambda i: f'a + {i}', n)} limit 1", "1", DEEP),
    "outputs": (lambda n: f"select {several(lambda i: f'a + {i} - {i}', n)} from t where a = 1", "1", DEEP),
    "relations": (lambda n: f"select count(*) from {several(lambda i: f'one o{i}', n)}", "1", DEEP),
    "joins": (lambda n: f"select count(*) from one o {several(lambda i: f'join one o{i} using (a)', n, ' ')}", "1", DEEP),
    # Chains.
    "AND": (lambda n: counted(several(lambda i: f"a <> {i + 100}", n, " and ")), "20", ""),
    "OR": (lambda n: counted(several(lambda i: f"a = {i}", n, " or ")), above, ""),
    "OR of AND": (lambda n: counted(several(lambda i: f"a = {i} and b = {i + 1}", n, " or ")), above, ""),
    "NOT of OR": (lambda n: counted(f"not ({several(lambda i: f'a = {i} and b < 0', n, ' or ')})"), "20", ""),
    "OR of IS NOT DISTINCT FROM": (lambda n: counted(several(lambda i: f"a is not distinct from {i}", n, " or ")), above, ""),
    "OR of BETWEEN": (lambda n: counted(several(lambda i: f"a between {i} and {i}", n, " or ")), above, ""),
    "AND as a value": (lambda n: f"select bool_and(x) from (select {several(lambda i: f'a <> {i + 100}', n, ' and ')} as x from t) s", "t", ""),
    "AND in HAVING": (lambda n: f"select count(*) from t having {several(lambda i: f'count(*) <> {i + 100}', n, ' and ')}", "20", ""),
    "AND in a join": (lambda n: f"select count(*) from t x join one y on {several(lambda i: f'x.a <> y.a + {i + 100}', n, ' and ')}", "20", ""),
    "AND in FILTER": (lambda n: f"select count(*) filter (where {several(lambda i: f'a <> {i + 100}', n, ' and ')}) from t", "20", ""),
    "sums": (lambda n: f"select {several(lambda i: '1', n, ' + ')}", str, DEEP),
    "sums of columns": (lambda n: f"select max(x) from (select {several(lambda i: 'a', n, ' + ')} as x from t) s", lambda n: str(20 * n), DEEP),
    "differences of products": (lambda n: f"select {several(lambda i: '1 * 1', n, ' - ')}", lambda n: str(2 - n), DEEP),
    "texts joined": (lambda n: "select length(" + several(lambda i: "'x'", n, " || ") + ")", str, DEEP),
    "texts of columns joined": (lambda n: f"select max(length(x)) from (select {several(lambda i: 'c', n, ' || ')} as x from t) s", lambda n: str(2 * n), DEEP),
    "CASE of values": (lambda n: f"select sum(case a {several(lambda i: f'when {i} then 1', n, ' ')} else 0 end) from t", above, DEEP),
    "CASE of conditions": (lambda n: f"select sum(case {several(lambda i: f'when a = {i} then 1', n, ' ')} else 0 end) from t", above, DEEP),
    "UNION ALL": (lambda n: f"select count(*) from ({several(lambda i: f'select {i}', n, ' union all ')}) s", str, DEEP),
    "UNION": (lambda n: f"select count(*) from ({several(lambda i: f'select {i}', n, ' union ')}) s", str, DEEP),
    "EXCEPT": (lambda n: f"select count(*) from ({several(lambda i: f'select {i}', n, ' except ')}) s", "1", DEEP),
    # Nesting.
    "1,000 parentheses": (lambda _: f"select {'(' * 1_000}1{')' * 1_000}", "1", ""),
    "1,000 CASE": (lambda _: f"select {'case when true then ' * 1_000}1{' end' * 1_000}", "1", ""),
    "100 derived tables": (lambda _: f"select * from {'(select * from ' * 100}(select 1) s{''.join(f') s{i}' for i in range(100))}", "1", ""),
    "parentheses": (lambda n: f"select {'(' * n}1{')' * n}", "1", DEEP),
    "calls": (lambda n: f"select {'abs(' * n}1{')' * n}", "1", DEEP),
    "CASE in CASE": (lambda n: f"select {'case when true then ' * n}1{' end' * n}", "1", DEEP),
    "NOT": (lambda n: f"select {'not ' * n}true", "t", DEEP),
    "minus": (lambda n: f"select {'- ' * n}1", "1", DEEP),
    "casts": (lambda n: f"select 1{'::int' * n}", "1", DEEP),
    "IS NULL": (lambda n: f"select {'(' * n}1{' is null)' * n}", "f", DEEP),
    "time zones": (lambda n: "select now()" + " at time zone 'UTC'" * n + " is null", "f", DEEP),
    "subqueries": (lambda n: f"select * from {'(select * from ' * n}(select 1) s{''.join(f') s{i}' for i in range(n))}", "1", DEEP),
    "scalar subqueries": (lambda n: f"select {'(select ' * n}1{')' * n}", "1", DEEP),
    "EXISTS": (lambda n: f"select {'exists (select 1 where ' * n}true{')' * n}", "t", DEEP),
    "arrays in arrays": (lambda n: f"select {'array[' * n}1{']' * n} is null", "f", DEEP + " 0A000"),
    "a nested array's text": (lambda n: f"select '{'{' * n}1{'}' * n}'::int[] is null", "f", DEEP + " 0A000 22P02"),
    "types of arrays": (lambda n: f"select null::int{'[]' * n} is null", "t", DEEP),
    "subscripts": (lambda n: f"select (array[1]){'[1]' * n} is null", "t", DEEP + " 42804 0A000"),
    "joins in parentheses": (lambda n: f"select count(*) from {'(' * n}one o{''.join(f' cross join one o{i})' for i in range(n))}", "1", DEEP),
    "WITH of WITH": (lambda n: f"with q0 as (select 1 as a){''.join(f', q{i} as (select a from q{i - 1})' for i in range(1, n))} select * from q{n - 1}", "1", DEEP),
    "a nested pattern": (lambda n: f"select 'a' ~ '{'(' * n}a{')' * n}'", "t", "2201B " + DEEP),
    "alternatives of a pattern": (lambda n: f"select '7' ~ '^({several(str, n, '|')})$'", "t", "2201B " + DEEP),
    "a LIKE pattern": (lambda n: f"select 'a' like '{'%_' * n}'", "f", "22025 2201B " + DEEP),
    "a format": (lambda n: f"select length(format('{'%%' * n}'))", str, ""),
    "fields of two rows": (lambda n: f"select ({several(str, n)}) = ({several(str, n)})", "t", DEEP),
    "fields in order": (lambda n: f"select ({several(str, n)}) <= ({several(str, n)})", "t", DEEP),
    # Statements that change something.
    "INSERT of values": (lambda n: f"insert into u values {several(lambda i: f'({i})', n)}", None, ""),
    "UPDATE by a CASE": (lambda n: f"update u set a = case {several(lambda i: f'when a = {i} then {i}', n, ' ')} else a end", None, DEEP),
    "UPDATE by a sum": (lambda n: f"update t set f = {several(lambda i: 'f', n, ' + ')} - {n - 1} * f", None, DEEP),
    "DELETE of rows": (lambda n: f"delete from u where (a, a) in ({several(lambda i: f'({i}, {i})', n)})", None, ""),
    "RETURNING": (lambda n: f"insert into u values (1) returning {several(lambda i: 'a', n, ' + ')}", str, DEEP),
    "ON CONFLICT": (lambda n: f"insert into k values (1, 1) on conflict (a) do update set b = {several(lambda i: '1', n, ' + ')}", None, DEEP),
    "a check of AND": (lambda n: f"create temp table x (a int check ({several(lambda i: f'a <> {i}', n, ' and ')})); insert into x values (-1); drop table x", None, DEEP),
    "a check of OR": (lambda n: f"create temp table x (a int check ({several(lambda i: f'a = {i}', n, ' or ')})); insert into x values (1); drop table x", None, DEEP),
    "a check of a list": (lambda n: f"create temp table x (a int check (a in ({several(str, n)}))); insert into x values (1); drop table x", None, DEEP),
    "a default": (lambda n: f"create temp table x (a int default {several(lambda i: '1', n, ' + ')}); insert into x values (default); drop table x", None, DEEP),
    "an index of a sum": (lambda n: f"create index ix on u (({several(lambda i: 'a', n, ' + ')})); drop index ix", None, DEEP + " 0A000"),
    "a partial index": (lambda n: f"create index ix on u (a) where {several(lambda i: f'a <> {i}', n, ' and ')}; drop index ix", None, DEEP + " 0A000"),
    "a view of a sum": (lambda n: f"create view x as select {several(lambda i: '1', n, ' + ')} as y; drop view x", None, DEEP),
    "a view of a list": (lambda n: f"create view x as select a in ({several(str, n)}) as y from t; select count(*) from x where y; drop view x", None, DEEP),
    "EXPLAIN": (lambda n: f"explain select {several(lambda i: 'a', n, ' + ')} from t", ..., DEEP),
    "EXPLAIN of a list": (lambda n: "explain " + counted(f"(a, b) in ({several(lambda i: f'({i}, {i})', n)})"), ..., ""),
    "PREPARE": (lambda n: f"prepare p as select {several(lambda i: '$1::int', n, ' + ')}; execute p(1); deallocate p", None, DEEP),
    "EXECUTE": (lambda n: f"prepare p (int) as select $1; execute p({several(lambda i: '1', n, ' + ')}); deallocate p", None, DEEP),
    "options of COPY": (lambda n: f"copy u from stdin with ({several(lambda i: 'format csv', n)})", ..., DEEP + " 42601"),
    "COPY of nested queries": (lambda n: f"copy ({'(' * n}select 1{')' * n}) to stdout", "1", DEEP),
    "names of a path": (lambda n: f"set search_path to {several(lambda i: 'public', n)}; reset search_path", None, "22023"),
    "tables of DROP": (lambda n: f"drop table if exists {several(lambda i: f'nothing{i}', n)}", None, DEEP),
    "columns of a table": (lambda n: f"create temp table x ({several(lambda i: f'a{i} int', n)}); drop table x", None, DEEP),
    "statements": (lambda n: "select 1;" * min(n, 1_000), "1", DEEP),
}


def doubling_views(levels):
    parts = ["drop view if exists " + ", ".join(f"vv{i}" for i in reversed(range(levels)))]
    parts += ["create view vv0 as select a from one"]
    parts += [f"create view vv{i} as select x.a from vv{i - 1} x join vv{i - 1} y using (a)" for i in range(1, levels)]
    return parts


def doubling_queries(levels):
    parts = ["q0 as (select a from one)"]
    parts += [f"q{i} as (select x.a from q{i - 1} x, q{i - 1} y where x.a = y.a)" for i in range(1, levels)]
    return f"with {', '.join(parts)} select count(*) from q{levels - 1}"


class Served:
    """A server with one worker, begun anew after its end."""

    def __init__(self, binary, memory):
        self.binary, self.memory, self.process = binary, memory, None

    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dovetail-test-")
        log = pathlib.Path(self.folder.name, "log")
        command = [self.binary, "serve", "--no-http", "--workers", "1", "--listen", "127.0.0.1:0",
                   "--memory", self.memory, "--data", pathlib.Path(self.folder.name, "t.dovetail")]
        self.process, self.log = subprocess.Popen(command, stderr=open(log, "w")), log
        while "Listening at 127.0.0.1:" not in (said := log.read_text()):
            if self.process.poll() is not None:
                sys.exit(f"the server did not start:\n{said}")
            time.sleep(0.05)
        self.port = int(said.split("Listening at 127.0.0.1:")[1].split()[0].rstrip(".,;"))
        wire.Connection(self.port).query(SETUP)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.folder.cleanup()
        return code

    def has_ended(self):
        time.sleep(0.05)
        return self.process.poll() is not None


class Check:
    """Runs statements and counts how they ended."""

    def __init__(self, server, timeout_s):
        self.server, self.timeout_s = server, timeout_s
        self.passed = self.failed = self.cancelled = 0

    def outcome(self, statement, prepared=False):
        try:
            session = wire.Connection(self.server.port, timeout=self.timeout_s + END_S)
        except OSError as error:
            return f"no connection: {error}"
        try:
            session.query(f"set statement_timeout = '{self.timeout_s}s'")
            rows = session.query(statement)
            return str(rows[0][0]) if rows else ""
        except wire.Refused as refused:
            return refused
        except (OSError, EOFError) as error:
            return f"lost: {error}"
        finally:
            session.close()

    def statement(self, name, statement, value, limits):
        began = time.monotonic()
        outcome = self.outcome(statement)
        took = time.monotonic() - began
        refused = isinstance(outcome, wire.Refused)
        late = took > self.timeout_s + END_S
        if refused and outcome.state == "57014" and not late:
            self.cancelled += 1
            print(f"{took:6.1f} s  57014       {name}", flush=True)
            return
        right = outcome.state in f"{limits} 53200".split() if refused else value in (None, ...) or outcome == value
        lost = not refused and outcome.startswith(("lost", "no connection"))
        right = right and not lost and not late
        self.passed, self.failed = self.passed + right, self.failed + (not right)
        shown = outcome.state if refused else "lost" if lost else "rows"
        wrong = "" if right else f"    FAILED: {outcome}"[:300] + ("" if value in (None, ...) else f", right is {value} {limits}")
        print(f"{took:6.1f} s  {shown:<10}  {name}{wrong}", flush=True)
        if lost or self.server.has_ended():
            print(self.server.log.read_text()[-300:])
            self.server.process.kill()
            self.server.process.wait()
            self.server.start()

    def neighbour(self, name, statement):
        """The statement ends by its timeout of a second or by a limit, and meanwhile a new connection is served."""
        ended, wait = [], 0.0

        def attack():
            session = wire.Connection(self.server.port, timeout=120)
            try:
                session.query("set statement_timeout = '1s'")
                session.query(statement)
                ended.append("rows")
            except wire.Refused as refused:
                ended.append(refused.state)
            except (OSError, EOFError) as error:
                ended.append(f"lost: {error}")

        began = time.monotonic()
        thread = threading.Thread(target=attack, daemon=True)
        thread.start()
        while thread.is_alive() and time.monotonic() - began < 60:
            asked = time.monotonic()
            try:
                wire.Connection(self.server.port, timeout=60).query("select 1")
            except (OSError, EOFError, wire.Refused) as error:
                ended.append(f"neighbour: {error}")
                break
            wait = max(wait, time.monotonic() - asked)
            thread.join(0.1)
        took = time.monotonic() - began
        right = ended and ended[0] in ("rows", "57014", "54001", "53200") and took < 1 + END_S and wait < END_S
        self.passed, self.failed = self.passed + bool(right), self.failed + (not right)
        print(f"{took:6.1f} s  {ended or 'hangs'}  {name}, a neighbour waited {wait:.1f} s{'' if right else '    FAILED'}", flush=True)
        if not right:
            self.server.process.kill()
            self.server.process.wait()
            self.server.start()


def shapes(check, only, gate):
    for name, (make, value, limits) in SHAPES.items():
        for count in GATE_SIZES[: 2 if DEEP in limits else 1] if gate else SIZES:
            label = f"{name}: {count:,}"
            if only in label:
                check.statement(label, make(count), value(count) if callable(value) else value, limits)


def doubling(check, only, gate):
    if only and only not in "doubling":
        return
    made = [part.split()[2] for part in doubling_views(11 if gate else 14) if check.outcome(part) == ""]
    for view in made[-1:] if gate else made[-4::2]:
        for words in (f"select count(*) from {view}", f"explain select * from {view}",
                      f"prepare p as select * from {view} where a > $1", f"create view w as select * from {view}",
                      f"copy (select * from {view}) to stdout", f"delete from u where a in (select a from {view})"):
            check.neighbour(words, words)
            check.outcome("drop view if exists w")
    for levels in (45,) if gate else (12, 20, 45):
        query = doubling_queries(levels)
        for words in (query, f"explain {query}", f"prepare p as {query}", f"create view w as {query}"):
            check.neighbour(f"{words[:24]}.., doubled {levels} times", words)
            check.outcome("drop view if exists w")


def condition(random, depth=0):
    """A condition over t that holds for no row or for all of them is not known: it is only to end."""
    count = random.choice((3, 30, 300, 3_000))
    columns = ("a", "b", "c", "f", "d", "a + b", "c || c", "-a", "coalesce(a, b)", "(select 1)")
    parts = [
        lambda: f"{random.choice(columns[:2])} in ({several(str, count)})",
        lambda: f"(a, b) {random.choice(('', 'not '))}in ({several(lambda i: f'({i}, {i})', count)})",
        lambda: f"c in ({several(text, count)})",
        lambda: f"a in ({several(lambda i: random.choice(columns[:2]) + f' + {i}', count)})",
        lambda: several(lambda i: f"a <> {i}", count, random.choice((" and ", " or "))),
        lambda: several(lambda i: f"(a = {i} or b = {i})", count, " and "),
        lambda: several(lambda i: "a", count, random.choice((" + ", " - "))) + " > 0",
        lambda: several(lambda i: "c", count, " || ") + " <> ''",
        lambda: f"case {several(lambda i: f'when a = {i} then {i}', count, ' ')} end = 3",
        lambda: f"a in ({several(lambda i: f'select {i}', min(count, 300), ' union ')})",
        lambda: f"exists (select 1 from one where {condition(random, depth + 1)} and one.a = t.a)",
        lambda: f"not ({condition(random, depth + 1)})",
        lambda: f"({condition(random, depth + 1)}) {random.choice(('and', 'or', '=', 'is distinct from'))} ({condition(random, depth + 1)})",
        lambda: f"({condition(random, depth + 1)}) is {random.choice(('true', 'not true', 'false', 'null', 'unknown'))}",
        lambda: f"greatest({several(lambda i: 'a', count)}) > 3",
        lambda: f"a = any (array[{several(str, count)}])",
    ]
    return random.choice(parts[:10] if depth > 3 else parts)()


def composed(check, seed, until):
    number = 0
    while time.monotonic() < until:
        chance = random.Random(f"{seed}.{number}")
        where = condition(chance)
        around = chance.choice((
            lambda: counted(where), lambda: f"explain {counted(where)}", lambda: f"prepare p as {counted(where)}; execute p; deallocate p",
            lambda: f"delete from t where a < 0 and ({where})", lambda: f"update t set b = b where {where}",
            lambda: f"select sum(case when {where} then 1 else 0 end) from t",
            lambda: f"select count(*) from t group by ({where})", lambda: f"select a from t order by ({where}), a limit 1",
            lambda: f"select count(*) from t left join (select 1 as one) s on ({where})",
            lambda: f"create temp table x as {counted(where)}; drop table x",
        ))
        check.statement(f"composed {seed}.{number}", around(), ..., DEEP + " 0A000")
        number += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="how long statements are composed")
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--only", default="", help="shapes whose names contain this")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("binary", nargs="?", default=target / "debug" / "dovetail", type=pathlib.Path)
    given = parser.parse_args()
    server = Served(given.binary.resolve(), given.memory)
    server.start()
    check = Check(server, GATE_TIMEOUT_S if given.gate else TIMEOUT_S)
    shapes(check, given.only, given.gate)
    doubling(check, given.only, given.gate)
    seconds = given.seconds if given.seconds is not None else 0 if given.gate else 300
    if not given.only:
        composed(check, given.seed, time.monotonic() + seconds)
    check.failed += server.end() != 0
    print(f"test result: {'FAILED' if check.failed else 'ok'}. {check.passed} passed; {check.failed} failed; {check.cancelled} ignored;")
    sys.exit(check.failed != 0)


if __name__ == "__main__":
    main()

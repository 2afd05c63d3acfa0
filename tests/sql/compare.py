#!/usr/bin/env python3
"""Random expressions and queries, run by PostgreSQL and by this engine: their rows must agree.

    python3 tests/sql/compare.py [--expressions N] [--queries N] [--seed N] [--modes] [--binary target/debug/dovetail]

Needs a server of PostgreSQL 15 that the environment leads to (`PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE`), as the
owner of a scratch database: the schema `public` is dropped. Batch k of a run with seed S has the seed S + k, which
is printed with every difference; `--seed S+k` with one batch repeats it (the rows are those of the seed S). Numbers are compared as values: a column of
numbers has one scale here, in PostgreSQL each value has its own. With `--modes`, the engine's three modes run as
well. What is meant to differ stands in `explained` with its reason, and is counted apart.
Prints every difference and ends with 1 if there was one.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import sys
import time
from decimal import Decimal, InvalidOperation

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire

BATCH = 1000
TABLES = """
create table t(a int, b bigint, c text, d numeric(10,2), e double precision, f date, h boolean, s smallint);
insert into t values (1,10,'x',1.50,1.5,'2020-01-01',true,1);
insert into t values (2,20,'hello',2.25,2.5,'2020-02-29',false,2);
insert into t values (3,null,'z',null,null,null,null,null);
insert into t values (4,10,null,10.00,4.5,'2021-12-31',true,-3);
insert into t values (5,-30,'Hello',-3.75,-10.25,'1999-01-01',false,7);
create table p(id int primary key, k int, n int, w text, m numeric(8,2), g date);
create table q(id int primary key, pid int, n int, w text, z bigint);
create index p_k on p(k); create index q_pid on q(pid);
create table r(k int, w text, x int, primary key (k, x));
"""


def rows_of_tables(seed):
    """Inserts for the tables of queries: small domains, nulls, duplicates, keys without partners."""
    rng = random.Random(seed)
    null = lambda value: "null" if rng.random() < 0.12 else value
    word = lambda: null(f"'{rng.choice(['a', 'b', 'ab', 'ba', 'Abc', '', 'x y'])}'")
    day = lambda: null(f"date '2020-01-01' + {rng.randint(0, 60)}")
    p = [f"({i},{null(rng.randint(1, 9))},{null(rng.randint(-5, 20))},{word()},"
         f"{null(rng.randint(-500, 900) / 100)},{day()})" for i in range(1, 41)]
    q = [f"({i},{null(rng.randint(1, 50))},{null(rng.randint(-5, 20))},{word()},{null(rng.randint(0, 6))})"
         for i in range(1, 71)]
    r = [f"({k},{word()},{x})" for k in range(1, 8) for x in rng.sample(range(10), rng.randint(1, 4))]
    return "".join(f"insert into {name} values {','.join(rows)};\n" for name, rows in zip("pqr", (p, q, r)))


class Expressions:
    """Makes expressions of a wanted type and depth."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def pick(self, *options):
        return self.rng.choice(options)

    def any(self):
        depth = self.rng.randint(1, 3)
        kind = self.pick(*["number"] * 4, *["text"] * 2, *["boolean"] * 3, "date")
        return getattr(self, kind)(depth)

    def number(self, d):
        rng = self.rng
        if d <= 0:
            literal = self.pick(str(rng.randint(-9, 99)), f"{rng.randint(0, 99)}.{rng.randint(0, 99):02}")
            return self.pick("a", "b", "d", "e::numeric(12,3)", literal, literal, "null::int", "s")
        x, y = self.number(d - 1), self.number(d - 1)
        return self.pick(
            f"({x} {self.pick('+', '-', '*')} {y})",
            f"({x} {self.pick('+', '-', '*')} {y})",
            f"({x} / nullif({y}, 0))",
            f"{self.pick('abs', 'floor', 'ceil', 'round', 'sign', 'trunc')}({x})",
            f"case when {self.boolean(d - 1)} then {x} else {y} end",
            f"{self.pick('coalesce', 'greatest', 'least')}({x}, {y})",
            f"length({self.text(d - 1)})",
        )

    def text(self, d):
        rng = self.rng
        if d <= 0:
            return self.pick("c", "'abc'", "'Hello World'", "''", "null::text", "'x,y,z'")
        x, y = self.text(d - 1), self.text(d - 1)
        function = self.pick("upper", "lower", "initcap", "reverse", "trim", "btrim", "md5")
        return self.pick(
            f"({x} || {y})",
            f"{function}({x})",
            f"substr({x}, {rng.randint(1, 4)}, {rng.randint(0, 4)})",
            f"{self.pick('left', 'right')}({x}, {rng.randint(-3, 4)})",
            f"replace({x}, 'l', 'L')",
            f"case when {self.boolean(d - 1)} then {x} end",
            f"coalesce({x}, {y})",
            f"lpad({x}, {rng.randint(0, 8)}, '*')",
        )

    def date(self, d):
        rng = self.rng
        if d <= 0:
            return self.pick("f", "date '2020-02-29'", "date '1999-12-31'")
        x = self.date(d - 1)
        unit = self.pick("months", "days", "years")
        return self.pick(
            f"({x} {self.pick('+', '-')} {rng.randint(-40, 400)})",
            f"({x} + interval '{rng.randint(1, 5)} {unit}')::date",
            f"date_trunc('{self.pick('month', 'year', 'week', 'quarter')}', {x})::date",
        )

    def boolean(self, d):
        if d <= 0:
            return self.pick("h", "a > 2", "b is null", "c = 'x'", "true", "null::boolean", "f < date '2020-06-01'")
        x, y = self.number(d - 1), self.number(d - 1)
        return self.pick(
            f"({self.boolean(d - 1)} {self.pick('and', 'or')} {self.boolean(d - 1)})",
            f"(not {self.boolean(d - 1)})",
            f"({x} {self.pick('<', '<=', '>', '>=', '=', '<>')} {y})",
            f"({x} between {y} and {self.number(d - 1)})",
            f"({self.text(d - 1)} {self.pick('like', 'not like', 'ilike')} '{self.pick('%l%', 'a%', '_b%', '%')}')",
            f"({x} in ({y}, 3))",
            f"({x} is {self.pick('', 'not ')}distinct from {y})",
            f"({self.date(d - 1)} {self.pick('<', '>=')} {self.date(d - 1)})",
        )


class Queries:
    """Makes queries over `p`, `q` and `r`. Rows are compared sorted, so no order is needed but below LIMIT."""

    COLUMNS = {
        "p": {"id": "int", "k": "int", "n": "int", "w": "text", "m": "num", "g": "date"},
        "q": {"id": "int", "pid": "int", "n": "int", "w": "text", "z": "int"},
        "r": {"k": "int", "w": "text", "x": "int"},
    }
    LINKS = {"p": ["id", "k", "n"], "q": ["pid", "z", "n"], "r": ["k", "x"]}

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.aliases = 0

    def pick(self, *options):
        return self.rng.choice(options)

    def any(self):
        self.aliases = 0
        return self.pick(
            *[self.plain] * 4, *[self.grouped] * 4, self.union, self.union, self.windowed, self.windowed,
            self.limited, self.derived, self.derived, self.cte, self.distinct, self.rollup,
        )([])

    def relation(self):
        self.aliases += 1
        return self.pick("p", "q", "q", "r"), f"t{self.aliases}"

    def source(self, most=3):
        """A FROM clause and the relations that it makes visible."""
        table, alias = self.relation()
        text, scope = f"{table} {alias}", [(table, alias)]
        for _ in range(self.rng.randint(0, most - 1)):
            other, name = self.relation()
            left, at = self.rng.choice(scope)
            link = f"{at}.{self.rng.choice(self.LINKS[left])} = {name}.{self.rng.choice(self.LINKS[other])}"
            kind = self.pick("join", "join", "left join", "left join", "right join", "full join", "cross")
            if kind == "cross":
                text += f", {other} {name}" if "join" not in text else f" cross join {other} {name}"
            else:
                extra = "" if kind == "full join" or self.rng.random() < 0.6 else (
                    f" and {self.comparison([(other, name)])}")
                text += f" {kind} {other} {name} on {link}{extra}"
            scope.append((other, name))
        return text, scope

    def column(self, scope, kind=None):
        found = [f"{alias}.{name}" for table, alias in scope
                 for name, ty in self.COLUMNS[table].items() if kind in (None, ty)]
        return self.rng.choice(found) if found else None

    def number(self, scope, d=1):
        column = self.column(scope, "int")
        if d <= 0:
            return column
        return self.pick(
            column, column, f"({column} {self.pick('+', '-', '*')} {self.number(scope, d - 1)})",
            f"coalesce({column}, {self.rng.randint(-3, 9)})", f"abs({column})",
            f"case when {self.comparison(scope)} then {column} else {self.rng.randint(0, 9)} end",
            f"length({self.column(scope, 'text')})", f"({column} % 3)", f"({column} / 2)",
        )

    def comparison(self, scope):
        column = self.column(scope, "int")
        text = self.column(scope, "text")
        return self.pick(
            f"{column} {self.pick('<', '<=', '>', '>=', '=', '<>')} {self.rng.randint(-3, 25)}",
            f"{column} between {self.rng.randint(-3, 9)} and {self.rng.randint(3, 40)}",
            f"{column} in ({', '.join(str(self.rng.randint(0, 20)) for _ in range(3))})",
            f"{text} like '{self.pick('a%', '%b', '_', '%')}'",
            f"{text} {self.pick('<', '=', '>=')} '{self.pick('a', 'b', '')}'",
            f"{self.column(scope)} is {self.pick('', 'not ')}null",
            f"{column} {self.pick('<', '=', '>')} {self.column(scope, 'int')}",
            f"{column} is {self.pick('', 'not ')}distinct from {self.column(scope, 'int')}",
        )

    def condition(self, scope, d=2):
        if d <= 0 or self.rng.random() < 0.3:
            return self.comparison(scope)
        return self.pick(
            f"({self.condition(scope, d - 1)} {self.pick('and', 'or')} {self.condition(scope, d - 1)})",
            f"not ({self.condition(scope, d - 1)})",
            self.subquery(scope), self.comparison(scope),
        )

    def subquery(self, scope):
        table, alias = self.relation()
        inner = [(table, alias)]
        column = self.rng.choice(self.LINKS[table])
        link = f"{alias}.{column} = {self.column(scope, 'int')}"
        where = f" where {link}" if self.rng.random() < 0.6 else ""
        more = f"{where}{' and ' if where else ' where '}{self.comparison(inner)}"
        return self.pick(
            f"{self.pick('', 'not ')}exists (select 1 from {table} {alias}{more})",
            f"{self.column(scope, 'int')} {self.pick('', 'not ')}in (select {alias}.{column} from {table} {alias}"
            f"{self.pick(where, more)})",
            f"{self.column(scope, 'int')} {self.pick('<', '=', '>')} (select "
            f"{self.pick('max', 'min', 'count', 'sum')}({alias}.{column}) from {table} {alias}{self.pick(where, more)})",
            f"{self.column(scope, 'int')} {self.pick('< any', '= any', '>= all', '<> all')} "
            f"(select {alias}.{column} from {table} {alias}{self.pick(where, more)})",
        )

    def where(self, scope):
        return f" where {self.condition(scope)}" if self.rng.random() < 0.75 else ""

    def outputs(self, scope, count=None):
        one = lambda: self.pick(self.column(scope), self.column(scope), self.number(scope))
        return [one() for _ in range(count or self.rng.randint(1, 4))]

    def named(self, outputs):
        return ", ".join(f"{text} as o{i}" for i, text in enumerate(outputs))

    def plain(self, _):
        text, scope = self.source()
        outputs = self.outputs(scope)
        if self.rng.random() < 0.25:
            table, alias = self.relation()
            outputs.append(
                f"(select {self.pick('max', 'min', 'count', 'sum')}({alias}.{self.LINKS[table][0]}) from {table} {alias} "
                f"where {alias}.{self.rng.choice(self.LINKS[table])} = {self.column(scope, 'int')})")
        return f"select {self.named(outputs)} from {text}{self.where(scope)}"

    def distinct(self, _):
        text, scope = self.source()
        return f"select distinct {self.named(self.outputs(scope))} from {text}{self.where(scope)}"

    def aggregate(self, scope):
        number = self.number(scope)
        distinct = "distinct " if self.rng.random() < 0.2 else ""
        filtered = f" filter (where {self.comparison(scope)})" if self.rng.random() < 0.15 else ""
        return self.pick(
            "count(*)", f"count({distinct}{self.column(scope)})", f"sum({distinct}{number})", f"min({self.column(scope)})",
            f"max({self.column(scope)})", f"avg({number})", f"bool_and({self.comparison(scope)})",
            f"sum({self.column(scope, 'num') or number})",
        ) + filtered

    def grouped(self, _):
        text, scope = self.source()
        keys = self.outputs(scope, self.rng.randint(0, 2))
        values = [self.aggregate(scope) for _ in range(self.rng.randint(1, 3))]
        having = ""
        if self.rng.random() < 0.3:
            having = f" having {self.aggregate_condition(scope)}"
        group = f" group by {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        return f"select {self.named(keys + values)} from {text}{self.where(scope)}{group}{having}"

    def aggregate_condition(self, scope):
        return self.pick(f"count(*) {self.pick('>', '<=')} {self.rng.randint(1, 5)}",
                         f"sum({self.column(scope, 'int')}) > {self.rng.randint(-5, 40)}",
                         f"max({self.column(scope, 'int')}) is not null")

    def rollup(self, _):
        text, scope = self.source(2)
        keys = [self.column(scope) for _ in range(2)]
        if keys[0] == keys[1]:
            keys.pop()
        kind = self.pick("rollup", "cube")
        return (f"select {self.named(keys + [self.aggregate(scope)])} from {text}{self.where(scope)} "
                f"group by {kind}({', '.join(keys)})")

    def union(self, _):
        parts = []
        for _ in range(self.rng.randint(2, 3)):
            text, scope = self.source(2)
            parts.append(f"select {self.column(scope, 'int')} as o0, {self.column(scope, 'text')} as o1 "
                         f"from {text}{self.where(scope)}")
        joined = parts[0]
        for part in parts[1:]:
            joined += f" {self.pick('union', 'union all', 'intersect', 'except', 'intersect all', 'except all')} {part}"
        return joined

    def windowed(self, _):
        table, alias = self.relation()
        scope = [(table, alias)]
        key = f"{alias}.id" if table != "r" else f"{alias}.k, {alias}.x"
        function = self.pick(
            "row_number()", f"sum({self.column(scope, 'int')})", "count(*)", f"max({self.column(scope)})",
            f"lag({self.column(scope, 'int')})", f"lead({self.column(scope)}, 2)", f"first_value({self.column(scope)})",
            f"last_value({self.column(scope)})", "rank()", "dense_rank()", "ntile(3)", f"avg({self.column(scope, 'int')})",
        )
        order = self.pick(key, key, f"{self.column(scope)}, {key}", f"{self.column(scope)} desc, {key}")
        part = f"partition by {self.column(scope)} " if self.rng.random() < 0.6 else ""
        frame = ""
        if self.rng.random() < 0.3:
            frame = " rows between " + self.pick("2 preceding and current row", "1 preceding and 1 following",
                                                 "unbounded preceding and 1 following", "current row and unbounded following")
        return (f"select {self.named(self.outputs(scope, 1) + [f'{function} over ({part}order by {order}{frame})'])} "
                f"from {table} {alias}{self.where(scope)}")

    def limited(self, _):
        text, scope = self.source(2)
        outputs = self.outputs(scope)
        order = ", ".join(f"{i + 1}{self.pick('', ' desc', ' nulls first')}" for i in range(len(outputs)))
        offset = f" offset {self.rng.randint(0, 5)}" if self.rng.random() < 0.4 else ""
        return (f"select {self.named(outputs)} from {text}{self.where(scope)} order by {order} "
                f"limit {self.rng.randint(0, 12)}{offset}")

    def inner(self):
        return self.pick(self.plain, self.grouped, self.distinct, self.limited, self.union)([])

    def derived(self, _):
        inner = self.inner()
        return self.pick(
            f"select count(*), count(o0), count(distinct o0) from ({inner}) s",
            f"select o0, count(*) from ({inner}) s group by o0",
            f"select s.o0, r.x from ({inner}) s join r on r.x = length(s.o0::text)",
            f"select s.o0 from ({inner}) s where s.o0 is not null",
        )

    def cte(self, _):
        first, second = self.inner(), self.inner()
        return self.pick(
            f"with c as ({first}) select o0, count(*) from c group by o0",
            f"with c as ({first}), e as ({second}) select (select count(*) from c), (select count(o0) from e)",
            f"with c as ({first}) select x.o0 from c x where exists (select 1 from c y where y.o0 = x.o0)",
            f"with recursive s(i, j) as (select {self.rng.randint(1, 3)}, 0 union all select i + 1, j + i from s "
            f"where i < {self.rng.randint(4, 9)}) select * from s, r where r.x = s.i",
        )


class Side:
    """One of the two engines, or one mode of ours."""

    def __init__(self, name, connection, setting=None):
        self.name, self.connection = name, connection
        connection.query("set client_min_messages = error" if name == "PostgreSQL" else setting)

    def prepare(self, seed):
        if self.name == "PostgreSQL":
            self.connection.query("drop schema public cascade; create schema public")
        self.connection.query(TABLES + rows_of_tables(seed))
        self.connection.query("analyze")

    def run(self, sql):
        try:
            rows = self.connection.query(sql)
        except wire.Refused as refused:
            return refused.state
        return sorted("|".join(cell(value) for value in row) for row in rows)


def cell(text):
    """A value; numbers without regard to their scale, and to 9 digits where they are not exact."""
    if text is None:
        return "NULL"
    if not re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", text):
        return text
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    return str(round(value, 9).normalize() + 0) if abs(value) < 10**15 else f"{value:.12e}"


def explained(theirs, ours):
    """Why a difference is meant to be, or None."""
    if isinstance(ours, str) and ours == "0A000":
        return "refused here, with a message (docs/limits.md)"
    if isinstance(theirs, str) and theirs == ours:
        return None
    numeric = lambda rows: isinstance(rows, str) and rows.startswith("22")
    if numeric(theirs) != numeric(ours):
        return "a value that only one of the two computes before it finds the row unwanted (order of evaluation)"
    return None


def run_batch(make, count, sides, kind, seed, totals):
    wrap = (lambda text: f"select a, {text} as v from t") if kind == "expressions" else (lambda text: text)
    for _ in range(count):
        query = wrap(make.any())
        theirs = sides[0].run(query)
        for side in sides[1:]:
            ours = side.run(query)
            totals["compared"] += 1
            if ours == theirs:
                continue
            reason = explained(theirs, ours)
            totals[reason or "DIFFERENT"] += 1
            if not reason:
                print(f"{side.name}, seed {seed}: {query};\n  PostgreSQL: {theirs}\n  here: {ours}", flush=True)
            elif reason.startswith("a value"):
                print(f"{side.name}, seed {seed}, order of evaluation: {query};\n  PostgreSQL: {str(theirs)[:99]}"
                      f"\n  here: {str(ours)[:99]}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expressions", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default="target/debug/dovetail")
    parser.add_argument("--modes", action="store_true")
    args = parser.parse_args()
    env = os.environ.get
    pg = wire.Connection(int(env("PGPORT", "5432")), user=env("PGUSER", "postgres"),
                         database=env("PGDATABASE", env("PGUSER", "postgres")))
    totals, started = collections.Counter(), time.monotonic()
    with wire.Server(args.binary) as port:
        modes = ["serial", "static", "ooo"] if args.modes else ["ooo"]
        sides = [Side("PostgreSQL", pg)]
        sides += [Side(mode, wire.Connection(port), f"set execution_mode = {mode}") for mode in modes]
        sides[0].prepare(args.seed)
        sides[1].prepare(args.seed)
        for kind, maker, wanted in [("expressions", Expressions, args.expressions), ("queries", Queries, args.queries)]:
            for number, at in enumerate(range(0, wanted, BATCH)):
                seed = args.seed + number
                run_batch(maker(seed), min(BATCH, wanted - at), sides, kind, seed, totals)
    print(f"seed {args.seed}: {args.expressions} expressions, {args.queries} queries, {len(modes)} modes, "
          f"{time.monotonic() - started:.0f} s")
    for reason, count in sorted(totals.items()):
        print(f"  {count} {reason}")
    sys.exit(totals["DIFFERENT"] > 0)


main()

#!/usr/bin/env python3
"""Random expressions, queries and changes, run by PostgreSQL and by this engine: their rows must agree.

    python3 tests/sql/compare.py [--expressions N] [--queries N] [--changes N] [--seed N] [--modes]
                                 [--binary target/debug/dovetail]

Needs a server of PostgreSQL 15 that the environment leads to (`PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE`), as the
owner of a scratch database: the schema `public` is dropped. Batch k of a run with seed S has the seed S + k, which
is printed with every difference; `--seed S+k` with one batch repeats it (the rows are those of the seed S). Numbers are compared as values: a column of
numbers has one scale here, in PostgreSQL each value has its own. With `--modes`, the engine's three modes run as
well. What is meant to differ stands in `explained` with its reason, and is counted apart.
Prints every difference and ends with 1 if there was one. Queries of all clauses, and prepared ones, are those of
`compose.py`.
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
            f"round({x}, {rng.randint(-2, 4)})",
            f"trunc({x}, {rng.randint(-1, 3)})",
            f"mod(({x})::numeric, nullif({y}, 0)::numeric)",
            f"div(({x})::numeric, nullif({y}, 0)::numeric)",
            f"nullif({x}, {y})",
            f"({x})::{self.pick('int', 'bigint', 'numeric(12,2)', 'numeric', 'double precision')}",
            f"strpos({self.text(d - 1)}, {self.text(d - 1)})",
            f"extract({self.pick('year', 'month', 'day', 'dow', 'doy', 'quarter', 'week')} from {self.date(d - 1)})",
            f"ascii({self.text(d - 1)})",
            f"case {self.number(0)} when {self.number(0)} then {x} when {self.number(0)} then {y} end",
            f"(- {x})",
            f"({self.date(d - 1)} - {self.date(d - 1)})",
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
            f"rpad({x}, {rng.randint(0, 8)}, 'ab')",
            f"concat({x}, {self.number(0)}, {y})",
            f"concat_ws('-', {x}, {y}, {x})",
            f"split_part({x}, '{self.pick(',', 'l', ' ')}', {rng.randint(1, 3)})",
            f"translate({x}, 'lox', '{self.pick('01', 'LOX', '')}')",
            f"repeat({x}, {rng.randint(-1, 3)})",
            f"nullif({x}, {y})",
            f"overlay({x} placing '{self.pick('#', 'abc', '')}' from {rng.randint(1, 4)})",
            f"({self.pick('a', 'b', 's', 'd', 'h', 'f')})::text",
            f"to_char({self.date(0)}, '{self.pick('YYYY-MM-DD', 'DD Mon YY', 'IYYY-IW', 'Day', 'HH24:MI')}')",
            f"regexp_replace({x}, '{self.pick('l+', '[aeiou]', '^.')}', '<&>')",
            f"{self.pick('greatest', 'least')}({x}, {y})",
            f"md5({x})", f"chr({rng.randint(65, 90)})", f"{self.pick('ltrim', 'rtrim')}({x}, 'Hxz ')",
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
            f"({self.text(d - 1)} {self.pick('=', '<>', '<', '>=')} {self.text(d - 1)})",
            f"({self.boolean(d - 1)}) is {self.pick('', 'not ')}{self.pick('true', 'false', 'unknown')}",
            f"({x} is {self.pick('', 'not ')}null)",
            f"({self.text(d - 1)} ~ '{self.pick('^a', 'l+o', '[xyz]', '.*')}')",
            f"({x} not between {y} and {self.number(0)})",
            f"({x} not in ({y}, {self.number(0)}, null))",
            f"({x} = any (array[{y}, {self.number(0)}]))",
            f"(({self.boolean(d - 1)}) = ({self.boolean(d - 1)}))",
            f"case when {self.boolean(d - 1)} then {self.boolean(d - 1)} end",
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
            self.lateral, self.lateral, self.regrouped, self.regrouped, self.distinct_on, self.windowed_groups,
            self.using, self.gathered, self.sets,
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
            if self.rng.random() < 0.08:
                link = link.replace(" = ", " is not distinct from ")
            kind = self.pick("join", "join", "left join", "left join", "right join", "full join", "cross")
            kind = "left join" if kind == "full join" and " is " in link else kind
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
        return self.pick(self.plain, self.grouped, self.grouped, self.distinct, self.limited, self.union)([])

    def lateral(self, _):
        text, scope = self.source(2)
        table, alias = self.relation()
        link = f"{alias}.{self.rng.choice(self.LINKS[table])} = {self.column(scope, 'int')}"
        inner = [(table, alias)]
        query = self.pick(
            f"select {self.column(inner, 'int')} as v from {table} {alias} where {link}",
            f"select {self.aggregate(inner)} as v from {table} {alias} where {link} and {self.comparison(inner)}",
            f"select {self.number(scope + inner)} as v from {table} {alias} where {self.comparison(scope + inner)}",
            f"select v.o as v from (select {self.column(inner, 'int')} as o from {table} {alias} where {link} "
            f"order by 1 limit 2) v",
            f"select count(*) as v from {table} {alias} where {link} group by {self.column(inner, 'text')}",
        )
        kind = self.pick("cross join lateral", "left join lateral")
        on = " on true" if kind.startswith("left") else ""
        return f"select {self.named(self.outputs(scope) + ['l.v'])} from {text} {kind} ({query}) l{on}{self.where(scope)}"

    def regrouped(self, _):
        """Groups of groups, whose keys are not all in the result."""
        text, scope = self.source()
        keys, value = [self.column(scope) for _ in range(self.rng.randint(1, 3))], self.aggregate(scope)
        inner = (f"select {self.named(keys + [value])} from {text}{self.where(scope)} "
                 f"group by {', '.join(str(i + 1) for i in range(len(keys)))}")
        last = len(keys) - 1
        return self.pick(
            f"select o0, count(*), count(distinct o{last}) from ({inner}) s group by o0",
            f"select count(*) from (select o0, o{last} from ({inner}) s group by o0, o{last}) t",
            f"select count(*), max(c) from (select count(*) as c from ({inner}) s group by o{last}) t",
            f"with s as ({inner}) select x.o0, count(*) from s x left join s y on x.o0 = y.o0 group by x.o0, y.o{last}",
            f"select distinct o{last} from ({inner}) s",
            f"select o0, (select count(*) from ({inner}) i where i.o0 = s.o0) from ({inner}) s group by o0",
        )

    def distinct_on(self, _):
        table, alias = self.relation()
        scope = [(table, alias)]
        key = f"{alias}.id" if table != "r" else f"{alias}.k, {alias}.x"
        first = self.column(scope)
        return (f"select distinct on ({first}) {first}, {self.column(scope)}, {key} from {table} {alias}"
                f"{self.where(scope)} order by {first}{self.pick('', ' desc', ' nulls first')}, {key}")

    def windowed_groups(self, _):
        text, scope = self.source(2)
        key = self.column(scope, "int")
        function = self.pick("sum(count(*))", "rank()", "row_number()", "max(count(*))", "lag(count(*))")
        return (f"select {key} as o0, count(*) as o1, {function} over (order by {key}) as o2 from {text}"
                f"{self.where(scope)} group by {key}")

    def using(self, _):
        left, right = self.pick(("p", "q"), ("q", "p"), ("p", "p"), ("q", "q"))
        column = self.pick("id", "n", "w")
        kind = self.pick("join", "left join", "right join", "full join")
        outputs = self.pick(f"{column}, a.id, b.id", "*", f"{column}, count(*)")
        group = f" group by {column}" if "count" in outputs else ""
        where = self.pick("", "", f" where {self.comparison([(left, 'a')])}", f" where {self.comparison([(right, 'b')])}")
        return f"select {outputs} from {left} a {kind} {right} b using ({column}){where}{group}"

    def gathered(self, _):
        text, scope = self.source(2)
        key, value, number = self.column(scope), self.column(scope, "text"), self.column(scope, "int")
        return (f"select {key} as o0, string_agg({value}, ',' order by {value}), "
                f"array_agg({'distinct ' if self.rng.random() < 0.3 else ''}{number} order by {number}), "
                f"count(distinct {value}) from {text}{self.where(scope)} group by 1")

    def sets(self, _):
        text, scope = self.source(2)
        keys = list(dict.fromkeys(self.column(scope) for _ in range(3)))
        chosen = [self.rng.sample(keys, self.rng.randint(0, len(keys))) for _ in range(self.rng.randint(1, 3))]
        lists = ", ".join(f"({', '.join(one)})" for one in chosen)
        outputs = sorted({key for one in chosen for key in one}) or ["1"]
        return (f"select {self.named(outputs + [self.aggregate(scope)])} from {text}{self.where(scope)} "
                f"group by grouping sets ({lists})")

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


CHANGED = """
create table x(id int primary key, k int unique, n int default 7 check (n < 60), w text not null default 'new', z int);
create table y(id int primary key, xid int references x on delete cascade on update cascade, v int, u text);
create table o(id int primary key, xid int references x on delete set null, v int default 3);
create index y_v on y(v); create index x_n on x(n) include (w);
insert into x select i, i * 10, i % 20, 'w' || i % 5, case when i % 4 > 0 then i % 6 end from generate_series(1, 30) g(i);
insert into y select i, nullif(i % 31, 0), i % 9, 'u' || i % 3 from generate_series(1, 60) g(i);
insert into o select i, nullif(i % 17, 0), i % 5 from generate_series(1, 25) g(i);
"""


class Statements:
    """Makes statements that change `x`, `y` and `o`."""

    COLUMNS = {"x": ["n", "z"], "y": ["v"], "o": ["v"]}
    ALL = {"x": ["id", "k", "n", "w", "z"], "y": ["id", "xid", "v", "u"], "o": ["id", "xid", "v"]}

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def pick(self, *options):
        return self.rng.choice(options)

    def any(self):
        return self.pick(*[self.insert] * 4, self.insert_query, *[self.update] * 4, self.update_from, self.delete,
                         self.delete, self.delete_using, self.upsert, self.upsert, self.key)()

    def number(self, table, d=1):
        column = f"{table}.{self.rng.choice(self.COLUMNS[table])}"
        if d <= 0:
            return self.pick(column, str(self.rng.randint(-5, 30)), "null::int")
        return self.pick(
            column, str(self.rng.randint(-5, 70)), f"{self.number(table, 0)} + {self.number(table, 0)}",
            f"coalesce({column}, 1) * 2", f"(select max(v) from {self.pick('y', 'o')})",
            f"case when {self.condition(table, 0)} then {self.number(table, 0)} else {column} end",
            f"(select count(*) from y i where i.v = {column})::int",
        )

    def condition(self, table, d=1):
        column = f"{table}.{self.rng.choice(self.COLUMNS[table])}"
        plain = self.pick(
            f"{table}.id = {self.rng.randint(1, 70)}", f"{table}.id between {self.rng.randint(1, 50)} and {self.rng.randint(1, 70)}",
            f"{column} {self.pick('<', '=', '>=')} {self.rng.randint(-2, 15)}", f"{column} is null",
            f"{table}.id % {self.rng.randint(2, 9)} = {self.rng.randint(0, 3)}",
        )
        if d <= 0:
            return plain
        return self.pick(
            plain, plain, f"({plain} and {self.condition(table, 0)})", f"({plain} or {self.condition(table, 0)})",
            f"exists (select 1 from y i where i.xid = {table}.id and i.v > {self.rng.randint(0, 8)})",
            f"{table}.id in (select xid from {self.pick('y', 'o')} where v = {self.rng.randint(0, 8)})",
        )

    def returning(self, table):
        # Neither queries nor the columns of other tables are to be had here (docs/limits.md).
        column = f"{table}.{self.rng.choice(self.COLUMNS[table])}"
        computed = self.pick(f"coalesce({column}, {self.number(table, 0)}) * 2", f"case when {self.condition(table, 0)} then {column} end")
        outputs = self.pick(f"{table}.*", f"{table}.id", f"{table}.id, {computed} as computed")
        return f" returning {outputs}" if self.rng.random() < 0.7 else ""

    def row(self, table):
        rng = self.rng
        value = {"id": str(rng.randint(1, 90)), "k": self.pick("null", str(rng.randint(1, 900))), "z": self.pick("null", "default", "4"),
                 "n": self.pick("default", str(rng.randint(0, 65))), "w": self.pick("default", "'a'", "'b'", "null" if rng.random() < 0.2 else "'c'"),
                 "xid": self.pick("null", str(rng.randint(1, 40))), "v": str(rng.randint(-2, 12)), "u": self.pick("null", "'q'")}
        return value

    def insert(self):
        table = self.pick("x", "y", "o")
        columns = [c for c in self.ALL[table] if c == "id" or self.rng.random() < 0.8]
        rows = []
        for _ in range(self.rng.randint(1, 3)):
            row = self.row(table)
            rows.append("(" + ", ".join(row[c] for c in columns) + ")")
        return f"insert into {table} ({', '.join(columns)}) values {', '.join(rows)}{self.returning(table)}"

    def insert_query(self):
        base = self.rng.randint(40, 80)
        return self.pick(
            f"insert into y (id, xid, v) select id + {base}, id, n from x where {self.condition('x')}{self.returning('y')}",
            f"insert into o select y.id + {base}, y.xid, y.v from y where {self.condition('y')}{self.returning('o')}",
            f"with c as (select * from y where {self.condition('y')}) insert into x (id, n) select id + {base}, v from c{self.returning('x')}",
        )

    def update(self):
        table = self.pick("x", "x", "y", "o")
        sets = [f"{c} = {self.number(table)}" for c in self.COLUMNS[table] if self.rng.random() < 0.7]
        if table != "x" and self.rng.random() < 0.3:
            sets.append(f"xid = {self.pick('null', str(self.rng.randint(1, 40)))}")
        if table == "x" and self.rng.random() < 0.4:
            sets.append(self.pick("w = upper(w)", "w = default", "n = default", "w = w || 'x'") if not sets else "w = upper(w)")
        sets = sets or [f"{self.COLUMNS[table][0]} = 1"]
        return f"update {table} set {', '.join(sets)} where {self.condition(table)}{self.returning(table)}"

    def update_from(self):
        return self.pick(
            f"update x set z = s.c from (select xid, count(*)::int as c from y group by xid) s where s.xid = x.id and {self.condition('x')}"
            f"{self.returning('x')}",
            f"update y set v = x.n from x where x.id = y.xid and {self.condition('x')} and {self.condition('y')}{self.returning('y')}",
            f"update o set (v, xid) = (select v, xid from y where y.id = o.id) where {self.condition('o')}{self.returning('o')}",
        )

    def delete(self):
        table = self.pick("x", "y", "y", "o")
        narrow = f" and {table}.id % {self.rng.randint(3, 9)} = 1"
        return f"delete from {table} where {self.condition(table)}{narrow}{self.returning(table)}"

    def delete_using(self):
        return self.pick(
            f"delete from y using x where x.id = y.xid and {self.condition('x')} and y.id % 5 = 2{self.returning('y')}",
            f"delete from o where not exists (select 1 from x where x.id = o.xid) and o.id % 2 = 0{self.returning('o')}",
        )

    def upsert(self):
        table = self.pick("x", "y", "o")
        row = self.row(table)
        number = self.COLUMNS[table][0]
        action = self.pick(
            "do nothing", f"do update set {number} = excluded.{number}",
            f"do update set {number} = {table}.{number} + 1 where {self.condition(table, 0)}",
        )
        target = self.pick("", "(id)") if action == "do nothing" else "(id)"
        columns = ["id", number]
        value = str(self.rng.randint(0, 65))
        return f"insert into {table} ({', '.join(columns)}) values ({row['id']}, {value}) on conflict {target} {action}{self.returning(table)}"

    def key(self):
        """Keys change, of one row: in what order others would change is not said."""
        return self.pick(
            f"update x set id = {self.rng.randint(1, 99)} where id = {self.rng.randint(1, 60)}{self.returning('x')}",
            f"update x set k = {self.pick('null', str(self.rng.randint(1, 300)))} where id = {self.rng.randint(1, 40)}{self.returning('x')}",
            f"update y set id = id + 1000 where {self.condition('y')}{self.returning('y')}",
            f"update y set id = id - 1000 where id > 1000 and {self.condition('y')}{self.returning('y')}",
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
    violated = lambda rows: isinstance(rows, str) and rows.startswith("235")
    if violated(theirs) and violated(ours):
        return "another of the constraints that a statement violates"
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


STATE = "; ".join(f"select * from {table} order by id" for table in ["x", "y", "o"])


def run_fresh(sides):
    for side in sides:
        side.connection.query("drop table if exists y, o, x cascade")
        side.connection.query(CHANGED)


def run_changes(count, sides, seed, totals):
    """The same changes on both sides, what they return, and now and then what the tables hold."""
    make = Statements(seed)
    run_fresh(sides)
    for at in range(count):
        statement = make.any()
        theirs, ours = [side.run(statement) for side in sides]
        for query in STATE.split("; ") if at % 10 == 9 or at == count - 1 else []:
            held = [side.run(query) for side in sides]
            totals["compared"] += 1
            if held[0] != held[1]:
                totals["DIFFERENT"] += 1
                print(f"seed {seed}, after {statement}: {query}\n  PostgreSQL: {held[0]}\n  here: {held[1]}", flush=True)
                return
        totals["compared"] += 1
        if theirs != ours:
            reason = explained(theirs, ours)
            if theirs == "23505" and statement.startswith("update") and not isinstance(ours, str):
                reason = "a key that is free when the statement ends, not when PostgreSQL comes to the row"
            totals[reason or "DIFFERENT"] += 1
            if theirs != ours and isinstance(theirs, str) != isinstance(ours, str):
                run_fresh(sides)
            if reason:
                continue
            print(f"{sides[1].name}, seed {seed}, change {at}: {statement};\n  PostgreSQL: {theirs}\n  here: {ours}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expressions", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=1000)
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
        for number, at in enumerate(range(0, args.changes, BATCH)):
            run_changes(min(BATCH, args.changes - at), [sides[0], sides[-1]], args.seed + number, totals)
    print(f"seed {args.seed}: {args.expressions} expressions, {args.queries} queries, {args.changes} changes, {len(modes)} modes, "
          f"{time.monotonic() - started:.0f} s")
    for reason, count in sorted(totals.items()):
        print(f"  {count} {reason}")
    sys.exit(totals["DIFFERENT"] > 0)


main()

#!/usr/bin/env python3
"""One equality and one order: each pair of types in each place that compares values, against PostgreSQL's answers.

    python3 tests/sql/equality.py --replay [--every 1] [--pairs interval] [--places in] [--binary FILE]
    python3 tests/sql/equality.py --record        # writes corpus/equality.jsonl from PostgreSQL

Values are those that trip: NaN, -0, infinities, intervals of one length, the least and the greatest, blanks at the end
of char(n), numbers of other scales, nulls. A pair of types is two columns with the same values in another order. A place
is a query whose answer names rows, so that it is the same whichever of equal values is shown. Tables are row and column
tables, each with and without indexes, in three modes and with little memory; a query is asked in one circumstance of
`--every`, by turns. What is refused with 0A000 is counted and printed, and no defect.
`--record` wants a server of PostgreSQL 15 that the environment leads to (`PGPORT`, `PGUSER`, `PGDATABASE`); it works in
tables of the session. Prints each answer that differs and a line like those of a test harness; ends with 1 if one did.
"""

import argparse
import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "sql" / "corpus" / "equality.jsonl"
MODES = {
    "serial": "set execution_mode = serial; set work_mem = '4MB'",
    "static": "set execution_mode = static; set work_mem = '4MB'",
    "ooo": "set execution_mode = ooo; set work_mem = '4MB'",
    "little memory": "set execution_mode = ooo; set work_mem = '64kB'",
}
# The tables: how each is stored, and whether it has indexes.
TABLES = {"r": ("row", False), "ri": ("row", True), "c": ("column", False), "ci": ("column", True)}

FLOATS = ["'NaN'", "'-0'", "0", "1.5", "-1.5", "'Infinity'", "'-Infinity'", "1e30", "-1e30", "2", "'NaN'", "5"]
MOMENTS = ["'infinity'", "'-infinity'", "'2024-02-29'", "'2024-03-01'", "'0001-01-01'", "'1999-12-31'", "'2024-02-29'"]
TIMES = MOMENTS + ["'2024-02-29 00:00:00.000001'", "'2024-03-01 12:00'"]
TEXTS = ["''", "'a'", "'a '", "'A'", "'b'", "'ab'", "'é'", "'abcdefghijklmnop'", "'abcdefghijklmnoq'", "' a'", "'a'"]
# The values of each type, as literals; nulls come besides. Behind them a literal for any number.
VALUES = {
    "boolean": (["true", "false", "true"], "false"),
    "smallint": (["0", "1", "-1", "32767", "-32768", "2", "5", "1"], "{n}"),
    "integer": (["0", "1", "-1", "2147483647", "-2147483648", "2", "5", "1"], "{n}"),
    "bigint": (["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "2", "5", "1"], "{n}"),
    "real": (FLOATS, "{n}.25"),
    "double precision": (FLOATS + ["1e300", "5e-324"], "{n}.25"),
    "numeric(10,2)": (["0", "1.0", "1.00", "-1.5", "99999999.99", "-99999999.99", "1.5", "2", "5"], "{n}.25"),
    "numeric": (["0", "1.0", "1.00", "-1.5", "1e20", "-1e20", "1.5", "2", "0.00001", "5"], "{n}.25"),
    "text": (TEXTS, "'t{n}'"),
    "varchar(20)": (TEXTS, "'t{n}'"),
    "char(5)": (["''", "'a'", "'a  '", "'A'", "'b'", "'ab'", "'abcde'", "'a'", "' a'"], "'{n}'"),
    "date": (MOMENTS, "date '2030-01-01' + {n}"),
    "timestamp": (TIMES, "timestamp '2030-01-01' + {n} * interval '1 hour'"),
    "timestamptz": (TIMES, "timestamptz '2030-01-01' + {n} * interval '1 hour'"),
    "time": (["'00:00'", "'24:00'", "'12:00'", "'12:00:00.000001'", "'23:59:59'", "'12:00'"], "time '01:00' + {n} * interval '1 second'"),
    "interval": (["'1 day'", "'24 hours'", "'30 days'", "'1 month'", "'720 hours'", "'0'", "'-1 month'", "'-30 days'",
                  "'1 mon -30 days'", "'1 year'", "'360 days'", "'178000 years'", "'-178000 years'", "'1 day 1 us'"],
                 "interval '1 hour' * {n}"),
    "bytea": (["''", "'\\x00'", "'\\x0000'", "'\\xff'", "'\\x01'", "'\\x00'"], "'\\x01{n:06x}'"),
    "uuid": (["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
              "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'00000000-0000-0000-0000-000000000000'"],
             "'00000000-0000-0000-0000-0000{n:08x}'"),
    "integer[]": (["'{}'", "'{1}'", "'{1,NULL}'", "'{1,2}'", "'{NULL}'", "'{2}'", "'{1,NULL}'", "'{1,2,3}'"], "'{{7,{n}}}'"),
    "text[]": (["'{}'", "'{a}'", "'{a,NULL}'", "'{a,b}'", "'{NULL}'", "'{B}'", "'{a,NULL}'"], "'{{z,{n}}}'"),
    "double precision[]": (["'{}'", "'{0}'", "'{-0}'", "'{NaN,1}'", "'{NaN,NULL}'", "'{1,NaN}'", "'{Infinity}'", "'{0,NULL}'", "'{-0,NULL}'"], "'{{7,{n}}}'"),
    "interval[]": (["'{}'", "'{1 day}'", "'{24 hours}'", "'{1 month,NULL}'", "'{30 days,NULL}'", "'{NULL,1 day}'", "'{1 day,1 hour}'"], "'{{7 days,{n} hours}}'"),
}
MIXED = [("smallint", "bigint"), ("integer", "bigint"), ("integer", "numeric"), ("bigint", "numeric(10,2)"),
         ("integer", "double precision"), ("bigint", "double precision"), ("numeric(10,2)", "numeric"),
         ("numeric", "double precision"), ("real", "double precision"), ("smallint", "real"), ("date", "timestamp"),
         ("date", "timestamptz"), ("timestamp", "timestamptz"), ("text", "varchar(20)"), ("char(5)", "text")]
PAIRS = [(ty, ty) for ty in VALUES] + MIXED
# Types that may be keys of an index here.
NO_KEYS = ("interval", "[]")
# Types of which a range of values may be a frame, and the distance.
DISTANCES = {"smallint": "1", "integer": "1", "bigint": "1", "real": "1.5", "double precision": "1.5",
             "numeric(10,2)": "0.5", "numeric": "0.5", "date": "interval '1 day'", "timestamp": "interval '1 day'",
             "timestamptz": "interval '1 day'"}

MATRIX = "select a.i, string_agg({}, '' order by b.i) from {{t}} a cross join {{t}} b group by a.i order by 1"
LETTER = "case when {} then 't' when not ({}) then 'f' else '-' end"


def matrix(condition):
    """The truth of a condition over each pair of rows."""
    return MATRIX.format(LETTER.format(condition, condition))


# Places that compare columns of one type or two.
BOTH = {
    **{f"a {op} b": matrix(f"a.x {op} b.y") for op in ("=", "<>", "<", "<=", ">", ">=", "is distinct from",
                                                      "is not distinct from")},
    "between": matrix("a.x between b.y and b.y"),
    "row =": matrix("(a.x, 1) = (b.y, 1)"),
    "row <": matrix("(a.x, a.i) < (b.y, b.i)"),
    "case": matrix("case a.x when b.y then true else false end"),
    "coalesce": matrix("coalesce(a.x, b.y) = b.y"),
    "nullif": matrix("nullif(a.x, b.y) is null"),
    "greatest": matrix("greatest(a.x, b.y) = a.x"),
    "least": matrix("least(a.x, b.y) = a.x"),
    "join": "select a.i, b.i from {t} a join {t} b on a.x = b.y order by 1, 2",
    "join of two": "select a.i, b.i from {t} a join {t} b on a.x = b.y and a.i = b.i order by 1, 2",
    "left join": "select a.i, b.i from {t} a left join {t} b on a.x = b.y and b.i > 3 order by 1, 2",
    "full join": "select a.i, b.i from {t} a full join {t} b on a.x = b.y order by 1, 2",
    "join by order": "select a.i, count(*) from {t} a join {t} b on a.x < b.y group by a.i order by 1",
    "exists": "select i from {t} a where exists (select 1 from {t} b where b.y = a.x and b.i <> a.i) order by 1",
    "not exists": "select i from {t} a where not exists (select 1 from {t} b where b.y = a.x and b.i < a.i) order by 1",
    "in subquery": "select i from {t} where x in (select y from {t} where i % 2 = 0) order by 1",
    "in subquery or": "select i from {t} where i = 1 or x in (select y from {t} where i % 2 = 0) order by 1",
    "not in subquery": "select i from {t} where x not in (select y from {t} where i % 2 = 0 and y is not null) order by 1",
    "= any subquery": "select i, x = any (select y from {t} where i < 6) from {t} order by 1",
    "< all subquery": "select i, x < all (select y from {t} where i > 6 and y is not null) from {t} order by 1",
    "scalar subquery": "select i, (select count(*) from {t} b where b.y = a.x) from {t} a order by 1",
    "lateral": "select a.i, s.n from {t} a, lateral (select count(*) as n from {t} b where b.y < a.x) s order by 1",
    "union": "select count(*), count(x) from (select x from {t} union select y from {t}) s",
    "union all": "select count(*), count(distinct x) from (select x from {t} union all select y from {t}) s",
    "intersect": "select count(*), count(x) from (select x from {t} where i < 8 intersect select y from {t} where i > 4) s",
    "intersect all": "select count(*), count(x) from (select x from {t} intersect all select y from {t} where i > 4) s",
    "except": "select count(*), count(x) from (select x from {t} except select y from {t} where i % 3 = 0) s",
    "except all": "select count(*), count(x) from (select x from {t} except all select y from {t} where i % 2 = 0) s",
    "self": "select i, x = x, x < x, x <> x, x is distinct from x from {t} order by 1",
    "contradiction": "select i, x = y and x <> y, not (x < y) and x < y, x < y or x >= y from {t} order by 1",
    "in columns": "select a.i, count(*) from {t} a join {t} b on a.x in (b.y, b.x) group by 1 order by 1",
    "any of columns": matrix("a.x = any (array[b.y, b.y])"),
}
# Places that compare values of one type.
ONE = {
    "order": "select i from {t} order by x, i",
    "order desc": "select i from {t} order by x desc, i",
    "order nulls first": "select i from {t} order by x nulls first, i desc",
    "order desc nulls last": "select i from {t} order by x desc nulls last, i",
    "order limit": "select i from {t} order by x, i limit 5 offset 1",
    "order desc limit": "select i from {t} order by x desc nulls last, i limit 4",
    "group": "select count(*), min(i), max(i) from {t} group by x order by 2",
    "group of two": "select count(*), min(i), max(i) from {t} group by x, i % 2 order by 2",
    "group having": "select min(i) from {t} group by x having count(*) > 1 order by 1",
    "rollup": "select count(*), min(i) from {t} group by rollup(x) order by 1, 2",
    "group of a group": "select n, count(*) from (select x, count(*) as n from {t} group by x) s group by n order by 1",
    "distinct": "select count(*), count(x) from (select distinct x from {t}) s",
    "distinct of two": "select count(*), count(x) from (select distinct x, i % 2 from {t}) s",
    "distinct on": "select distinct on (x) i from {t} order by x, i",
    "count distinct": "select count(distinct x), count(distinct y), count(*) from {t}",
    "count distinct by group": "select i % 2, count(distinct x) from {t} group by 1 order by 1",
    "array_agg distinct": "select array_length(array_agg(distinct x), 1) from {t}",
    "max": "select i from {t} where x = (select max(x) from {t}) order by 1",
    "min": "select i from {t} where x = (select min(x) from {t}) order by 1",
    "max by group": "select a.i from {t} a join (select i % 3 as g, max(x) as m from {t} group by 1) s on a.i % 3 = s.g and a.x = s.m order by 1",
    "min by group": "select a.i from {t} a join (select i % 3 as g, min(x) as m from {t} group by 1) s on a.i % 3 = s.g and a.x = s.m order by 1",
    "max of a window": "select i, x = max(x) over (), x = min(x) over (partition by i % 2) from {t} order by 1",
    "max of a frame": "select i, x = max(x) over (order by i rows between 2 preceding and current row), x = min(x) over (order by i rows between 1 preceding and 2 following) from {t} order by 1",
    "max so far": "select i, x = max(x) over (order by i), x = min(x) over (order by i desc) from {t} order by 1",
    "max where": "select max(i), min(i) from {t} where x >= (select min(x) from {t})",
    "partition": "select i, count(*) over (partition by x), row_number() over (partition by x order by i) from {t} order by 1",
    "rank": "select i, rank() over (order by x), dense_rank() over (order by x desc), cume_dist() over (order by x) from {t} order by 1",
    "rank in partitions": "select i, rank() over (partition by i % 2 order by x) from {t} order by 1",
    "frame range": "select i, count(*) over (order by x), count(*) over (order by x desc range between current row and unbounded following) from {t} order by 1",
    "frame groups": "select i, count(*) over (order by x groups between 1 preceding and current row) from {t} order by 1",
    "first value": "select i, first_value(i) over (partition by x order by i), last_value(i) over (partition by x order by i range between unbounded preceding and unbounded following) from {t} order by 1",
    "array_position": "select i, array_position(s.all, x), array_length(array_positions(s.all, x), 1) from {t}, (select array_agg(x order by i) as all from {t}) s order by 1",
    "array_remove": "select i, array_length(array_remove(s.all, x), 1) from {t}, (select array_agg(x order by i) as all from {t}) s order by 1",
    "array contains": "select a.i, string_agg((array[a.x] <@ array[b.y, b.x])::text || (array[a.x] && array[b.y])::text, ' ' order by b.i) from {t} a cross join {t} b group by 1 order by 1",
    "array =": matrix("array[a.x] = array[b.y]"),
    "array <": matrix("array[a.x, b.x] < array[b.y, a.x]"),
    "array of other length": matrix("array[a.x, b.x] >= array[b.y]"),
    "any": "select i, x = any (s.some), x <> all (s.some), x < any (s.some), x >= all (s.some) from {t}, (select array_agg(y order by i) as some from {t} where i < 6) s order by 1",
    "mode": "select i from {t} where x = (select mode() within group (order by x) from {t}) order by 1",
    "percentile_disc": "select i from {t} where x = (select percentile_disc(0.5) within group (order by x) from {t}) order by 1",
    "recursive union": "with recursive w(x) as (select x from {t} where i < 4 union select s.y from w, {t} s) select count(*), count(x) from w",
    "using": "select count(*) from (select x from {t}) a join (select x from {t}) b using (x)",
    "in with nulls": "select i, x in (y, null), x not in (y, null) from {t} order by 1",
    "row in": "select i from {t} where (x, 1) in (select y, 1 from {t} where i % 2 = 1) order by 1",
    "filter": "select count(*) filter (where x = y), count(*) filter (where x < y) from {t}",
    "lag": "select i, x = lag(x) over (order by x, i) from {t} order by 1",
    "string_agg by x": "select string_agg(i::text, ',' order by x desc, i) from {t}",
    "unique": "insert into u select i, x from {t} order by i on conflict do nothing returning i",
    "many groups": "select sum(n), count(*) from (select x, k, count(*) as n from {t}, generate_series(1, 400) k group by x, k) s",
    "many distinct": "select count(*), count(x) from (select distinct x, k from {t}, generate_series(1, 400) k) s",
    "many sorted": "select sum(r), max(r) from (select rank() over (order by x, k % 7) as r from {t}, generate_series(1, 200) k) s",
    "many joined": "select count(*), sum(a.k) from (select x, k from {t}, generate_series(1, 100) k) a join (select y, k from {t}, generate_series(1, 100) k) b on a.x = b.y and a.k = b.k",
}
# Places with constants; `{l}` is the literal of a value.
CONSTANT = {
    "constants": "select i, x = {l}, x < {l}, {l} <= x from {t} order by 1",
    "where =": "select i from {t} where x = {l} order by 1",
    "where <": "select i from {t} where x < {l} order by 1",
    "where >=": "select i from {t} where x >= {l} order by 1",
    "where between": "select i from {t} where x between {l} and {m} order by 1",
    "case of constants": "select i, case x when {l} then 1 when {m} then 2 else 3 end from {t} order by 1",
    "in contradiction": "select i, not (x in ({l}) and x in ({m})), x not in ({l}) or x not in ({m}), not (x = {l} and x = {m}), x in ({l}) and x not in ({l}) from {t} order by 1",
    "where not both": "select i from {t} where not (x in ({l}) and x in ({m})) order by 1",
    "in (1)": "select i, x in ({l}), x not in ({l}) from {t} order by 1",
}
LISTS = {"in (3)": 3, "in (4)": 4, "in (1000)": 1000}


def values(ty, turn=0):
    """The values of a column: those of the type, turned, and nulls."""
    known = VALUES[ty][0]
    known = known[turn % len(known):] + known[: turn % len(known)]
    return known[:3] + ["null"] + known[3:] + ["null"]


def literal(ty, value):
    return f"cast({value} as {ty})" if not value.startswith("null") else f"cast(null as {ty})"


def rows(pair):
    left, right = values(pair[0]), values(pair[1], 2)
    count = max(len(left), len(right))
    return [(i + 1, literal(pair[0], left[i % len(left)]), literal(pair[1], right[i % len(right)])) for i in range(count)]


def has_keys(ty):
    return not any(ty.endswith(end) for end in NO_KEYS)


def queries(pair):
    """The queries of a pair by their places."""
    asked = dict(BOTH)
    left, right = pair
    if left != right:
        if "numeric" in left and "double" in right or "char" in left and "char" in right:
            # The types of arrays of both are others here.
            asked.pop("any of columns")
        return asked
    asked.update(ONE)
    if left in DISTANCES:
        d = DISTANCES[left]
        asked["frame distance"] = (f"select i, count(*) over (order by x range between {d} preceding and {d} following)"
                                   " from {t} order by 1")
    known, more = VALUES[left]
    for first, (name, sql) in enumerate(CONSTANT.items()):
        # Each value has its turn in some of the places.
        for at in range(first % 3, len(known), 3):
            l, m = literal(left, known[at]), literal(left, known[(at + 3) % len(known)])
            asked[f"{name} {known[at]}"] = sql.replace("{l}", l).replace("{m}", m)
    for name, size in LISTS.items():
        items = [literal(left, v) for v in known[::2]]
        items += [literal(left, more.format(n=n)) for n in range(100, 100 + size)]
        items = ", ".join(items[-size:] if size < len(known) and size == 1 else (items[:2] + items[2:])[:size])
        asked[name] = f"select i, x in ({items}), x not in ({items}) from {{t}} order by 1"
        asked["where " + name] = f"select i from {{t}} where x in ({items}) order by 1"
    return asked


def make_tables(run, pair, tables):
    """Tables of a pair, each of that storage, and an empty one with a unique constraint."""
    given = ", ".join(f"({i}, {x}, {y})" for i, x, y in rows(pair))
    for name, (storage, is_indexed) in tables.items():
        how = f" with (storage = {storage})" if storage else ""
        run(f"create table {name}(i int, x {pair[0]}, y {pair[1]}){how}; insert into {name} values {given}")
        if storage == "column":
            run(f"reorganize table {name}")
        if is_indexed and has_keys(pair[0]) and has_keys(pair[1]):
            run(f"create index on {name}(x); create index {name}_y on {name}(y)")


def unique_table(run, pair):
    run("drop table if exists u")
    run(f"create table u(i int, x {pair[0]} unique)")


def answer(connection, sql):
    try:
        return [" ".join("~" if cell is None else cell for cell in row) for row in connection.query(sql)]
    except wire.Refused as refused:
        return f"{refused.state}: {refused.message}"


def title(pair):
    return pair[0] if pair[0] == pair[1] else f"{pair[0]}, {pair[1]}"


def record():
    env = os.environ.get
    user = env("PGUSER", "postgres")
    connection = wire.Connection(int(env("PGPORT", "5432")), user=user, database=env("PGDATABASE", user))
    connection.query("set client_min_messages = error; set timezone = 'UTC'; set jit = off; set search_path = pg_temp")
    lines = []
    for pair in PAIRS:
        connection.query("drop table if exists r")
        make_tables(connection.query, pair, {"r": (None, False)})
        answers = {}
        for place, sql in queries(pair).items():
            if place == "unique":
                unique_table(connection.query, pair)
            answers[place] = answer(connection, sql.replace("{t}", "r"))
        refused = [place for place, found in answers.items() if isinstance(found, str)]
        if refused:
            print(f"PostgreSQL refuses for {title(pair)}: {', '.join(refused)}")
        answers = {place: found for place, found in answers.items() if place not in refused}
        lines.append(json.dumps({"pair": pair, "answers": answers}, ensure_ascii=False))
    FILE.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} pairs, {FILE.stat().st_size // 1024} KiB, in {FILE.name}")
    return 0


class Replay:
    def __init__(self, options, port):
        self.options, self.counts, self.refusals = options, collections.Counter(), collections.Counter()
        self.sessions = {mode: wire.Connection(port) for mode in MODES}
        for mode, session in self.sessions.items():
            session.query(f"set timezone = 'UTC'; {MODES[mode]}")
        self.circumstances = [(mode, table) for table in TABLES for mode in MODES]
        self.turn, self.places = 0, set()

    def pair(self, pair, answers):
        first = self.sessions["serial"]
        first.query("".join(f"drop table if exists {name};" for name in TABLES))
        make_tables(first.query, pair, TABLES)
        for place, sql in queries(pair).items():
            if place not in answers or self.options.places not in place:
                continue
            self.places.add(place.split(" '")[0])
            for at, (mode, table) in enumerate(self.circumstances):
                if (at + self.turn) % self.options.every == 0:
                    self.ask(pair, place, sql.replace("{t}", table), answers[place], mode, table)
            # A number without a divisor in common with that of the circumstances.
            self.turn += 7

    def ask(self, pair, place, sql, wanted, mode, table):
        session = self.sessions[mode]
        if place == "unique":
            if not has_keys(pair[0]):
                return
            unique_table(session.query, pair)
        found = answer(session, sql)
        if found == wanted:
            self.counts["equal"] += 1
        elif isinstance(found, str) and found.startswith("0A000"):
            self.counts["refused"] += 1
            self.refusals[found] += 1
        else:
            self.counts["different"] += 1
            short = sql if len(sql) < 600 else sql[:600] + " .."
            print(f"FAILED  {title(pair)}, {place}, {mode}, table {table}:\n  {short}\n  PostgreSQL: {wanted}\n"
                  f"  here:       {found}", flush=True)


def replay(options):
    lines = [json.loads(line) for line in FILE.read_text().splitlines()]
    with wire.Server(options.binary, "--memory", "256MB") as port:
        run = Replay(options, port)
        pairs = [line for line in lines if not options.pairs or options.pairs in title(line["pair"])]
        for line in pairs:
            run.pair(tuple(line["pair"]), line["answers"])
    for message, count in run.refusals.most_common():
        print(f"  {count} refused: {message}")
    different = run.counts["different"]
    print(f"  {len(pairs)} pairs of types in {len(run.places)} places, {different} answers differ")
    print(f"test result: {'FAILED' if different else 'ok'}. {run.counts['equal']} passed; {different} failed; "
          f"{run.counts['refused']} ignored;")
    return different > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--every", type=int, default=16, help="ask each query in one circumstance of so many")
    parser.add_argument("--pairs", default="", help="only pairs with this in their types")
    parser.add_argument("--places", default="", help="only places with this in their name")
    parser.add_argument("--binary", default=str(ROOT / "target" / "debug" / "dovetail"))
    options = parser.parse_args()
    return record() if options.record else replay(options)


if __name__ == "__main__":
    sys.exit(main())

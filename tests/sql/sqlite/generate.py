#!/usr/bin/env python3
"""Writes SQL tests in the manner of SQLite's logic tests: select1 to select5, index/between, index/in.

    python3 tests/sql/sqlite/generate.py [--count N] [--seed N] [--out FOLDER]
    python3 tests/sql/record.py sqlite/select1.slt ...

The shapes of queries are those of SQLite's suite; the queries are made here, from a seed. Results are
recorded from PostgreSQL like all others.
"""

import argparse
import pathlib
import random

COLUMNS = "abcde"
OUTPUTS = [
    "a+b*2", "a+b*2+c*3", "a+b*2+c*3+d*4", "a+b*2+c*3+d*4+e*5", "(a+b+c+d+e)/5", "abs(a)",
    "abs(b-c)", "a-b", "b-c", "c-d", "d-e", "a", "b", "c", "d", "e",
    "case when c>(select avg(c) from t1) then a*2 else b*10 end",
    "case when a<b-3 then 111 when a<=b then 222 when a<b+3 then 333 else 444 end",
    "case a+1 when b then 111 when c then 222 when d then 333 when e then 444 else 555 end",
    "(select count(*) from t1 as x where x.b<t1.b)",
    "(select count(*) from t1 as x where x.c>t1.c and x.d<t1.d)",
    "coalesce(a,b,c,d,e)",
]
CONDITIONS = [
    "a>b", "b>c", "c>d", "d>e", "(e>c or e<d)", "(e>a and e<b)", "(c<=d-2 or c>=d+2)",
    "c between b-2 and d+2", "d not between 110 and 150", "e+d between a+b-10 and c+130",
    "(a>b-2 and a<b+2)", "exists(select 1 from t1 as x where x.b<t1.b)", "a is null",
    "b is not null", "coalesce(a,b,c,d,e)<>0",
]


def table(rng, nulls):
    lines = ["statement ok\ncreate table t1(a integer, b integer, c integer, d integer, e integer)"]
    for row in range(30):
        values = [100 + row * 5 + i for i in rng.sample(range(5), 5)]
        cells = ["null" if nulls and rng.random() < 0.1 else str(v) for v in values]
        lines.append(f"statement ok\ninsert into t1(a,b,c,d,e) values({','.join(cells)})")
    return lines


def select(rng, where):
    count = rng.randint(1, 7)
    outputs = rng.sample(OUTPUTS, count)
    text = "select " + ",\n       ".join(outputs) + "\n  from t1"
    if where:
        glue = rng.choice(["\n   and ", "\n    or "])
        text += "\n where " + glue.join(rng.sample(CONDITIONS, rng.randint(1, 3)))
    order = list(range(1, count + 1))
    rng.shuffle(order)
    return f"query {'I' * count}\n{text}\n order by {','.join(map(str, order))}\n----"


def selects(rng, count, nulls):
    return table(rng, nulls) + [select(rng, rng.random() < 0.8) for _ in range(count)]


def set_operations(rng, count):
    """Like select4: chains of set operations over nine tables."""
    lines = []
    for n in range(1, 10):
        names = [f"{c}{n}" for c in COLUMNS]
        kinds = ", ".join(f"{c} integer" for c in names)
        lines.append(f"statement ok\ncreate table t{n}({kinds}, x{n} varchar(30))")
        for row in range(12):
            cells = [str(rng.randint(1, 40)) for _ in names]
            lines.append(
                f"statement ok\ninsert into t{n} values({','.join(cells)},'table t{n} row {row}')"
            )
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(2, 5)):
            n = rng.randint(1, 9)
            column, other = (f"{rng.choice(COLUMNS)}{n}" for _ in range(2))
            test = rng.choice([
                f"{other} in ({','.join(str(rng.randint(1, 40)) for _ in range(8))})",
                f"not ({other} in ({','.join(str(rng.randint(1, 40)) for _ in range(20))}))",
                f"({other}={rng.randint(1, 40)} or {rng.randint(1, 40)}={column})",
            ])
            parts.append(f"select {column} from t{n} where {test}")
        text = parts[0]
        for part in parts[1:]:
            text += f"\n {rng.choice(['union', 'union all', 'except', 'intersect'])}\n{part}"
        lines.append(f"query I rowsort\n{text}\n----")
    return lines


def joins(rng, count):
    """Like select5: chains of joins over many tables of ten rows."""
    lines = []
    for n in range(1, 17):
        lines.append(
            f"statement ok\ncreate table j{n}(a{n} integer primary key, b{n} integer, x{n} varchar(40))"
        )
        partners = rng.sample(range(1, 11), 10)
        for row in range(10):
            lines.append(
                f"statement ok\ninsert into j{n} values({row + 1},{partners[row]},'table {n} row {row + 1}')"
            )
    for _ in range(count):
        size = rng.randint(2, 12)
        picked = rng.sample(range(1, 17), size)
        tests = [f"a{x}=b{y}" for x, y in zip(picked, picked[1:])]
        tests.append(f"a{picked[-1]}={rng.randint(1, 10)}")
        rng.shuffle(tests)
        order = rng.sample(picked, size)
        text = (
            f"select {','.join(f'x{n}' for n in order)}\n  from {','.join(f'j{n}' for n in picked)}"
            f"\n where " + "\n   and ".join(tests)
        )
        lines.append(f"query {'T' * size} rowsort\n{text}\n----")
    return lines


def tabs(rng):
    """The tables of SQLite's index tests: the same rows with different indexes."""
    lines, rows = [], []
    for pk in range(40):
        numbers = [rng.randint(0, 500) for _ in range(2)]
        floats = [round(rng.uniform(0, 500), 2) for _ in range(2)]
        text = "".join(rng.choice("abcdefgh") for _ in range(5))
        rows.append((pk, numbers[0], floats[0], text, numbers[1], floats[1], text[::-1]))
    for n in range(4):
        lines.append(
            f"statement ok\ncreate table tab{n}(pk integer primary key, col0 integer, col1 float, "
            "col2 text, col3 integer, col4 float, col5 text)"
        )
        for index in range(n):
            columns = ["col0", "col3, col0", "col4, col1"][index]
            lines.append(f"statement ok\ncreate index idx_tab{n}_{index} on tab{n} ({columns})")
        for r in rows:
            lines.append(
                f"statement ok\ninsert into tab{n} values"
                f"({r[0]},{r[1]},{r[2]},'{r[3]}',{r[4]},{r[5]},'{r[6]}')"
            )
    return lines


def condition(rng, depth, member):
    number = rng.choice(["col0", "col3"])
    real = rng.choice(["col1", "col4"])
    if depth > 0 and rng.random() < 0.5:
        glue = rng.choice([" and ", " or "])
        inner = glue.join(condition(rng, depth - 1, member) for _ in range(rng.randint(2, 3)))
        return f"({inner})"
    n, m = rng.randint(0, 500), rng.randint(0, 500)
    shapes = [
        f"{number} {rng.choice(['<', '<=', '>', '>=', '='])} {n}",
        f"{real} {rng.choice(['<', '<=', '>', '>='])} {n}.{m % 100:02}",
        f"{number} is null",
    ]
    if member:
        values = ",".join(str(rng.randint(0, 500)) for _ in range(rng.randint(1, 6)))
        shapes += [f"{number} in ({values})"] * 3
        test = f"{rng.choice(['col0', 'col3'])} {rng.choice(['<', '>'])} {n}"
        shapes += [f"{number} in (select {number} from tab0 where {test})"] * 2
    else:
        low, high = sorted((n, m))
        shapes += [f"{number} between {low} and {high}", f"({real} between {low}.5 and {high}.25)"] * 3
    return rng.choice(shapes)


def indexed(rng, count, member):
    lines = tabs(rng)
    for _ in range(count):
        test = condition(rng, 2, member)
        for n in range(4):
            lines.append(f"query I rowsort\nselect pk from tab{n} where {test}\n----")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    files = {
        "select1": selects(rng, args.count, False),
        "select2": selects(rng, args.count, True),
        "select3": selects(rng, args.count, True),
        "select4": set_operations(rng, args.count),
        "select5": joins(rng, args.count),
        "between": indexed(rng, args.count // 2, False),
        "in": indexed(rng, args.count // 2, True),
    }
    for name, records in files.items():
        head = f"# Made by generate.py, seed {args.seed}: in the manner of SQLite's {name}."
        (args.out / f"{name}.slt").write_text("\n\n".join([head] + records) + "\n")


main()

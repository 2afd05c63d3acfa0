#!/usr/bin/env python3
"""Random expressions, evaluated by PostgreSQL and by this engine: their rows must agree.

    python3 tests/sql/compare.py [--count N] [--seed N] [--binary target/debug/dovetail] [--modes]

Needs `psql` and a server as `record.py` does. Numbers are compared as values: a column of numbers has one
scale here, in PostgreSQL each value has its own. With `--modes`, the engine's three modes run as well.
Prints every difference and ends with 1 if there was one.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from decimal import Decimal, InvalidOperation

TABLE = """
create table t(a int, b bigint, c text, d numeric(10,2), e double precision, f date, h boolean, s smallint);
insert into t values (1,10,'x',1.50,1.5,'2020-01-01',true,1);
insert into t values (2,20,'hello',2.25,2.5,'2020-02-29',false,2);
insert into t values (3,null,'z',null,null,null,null,null);
insert into t values (4,10,null,10.00,4.5,'2021-12-31',true,-3);
insert into t values (5,-30,'Hello',-3.75,-10.25,'1999-01-01',false,7);
"""


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


def outputs(command, text):
    done = subprocess.run(
        command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    found = {}
    for block in done.stdout.split("@@@ ")[1:]:
        head, _, body = block.partition("\n")
        found[int(head)] = comparable(body.strip("\n"))
    return found


def comparable(text):
    """The SQLSTATE of an error, else rows with numbers as values."""
    error = re.search(r"ERROR:\s+([0-9A-Z]{5})", text)
    if error:
        return error.group(1)
    return "\n".join("|".join(map(cell, line.split("|"))) for line in text.split("\n"))


def cell(text):
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    return str(round(value, 9).normalize() + 0) if abs(value) < 10**15 else f"{value:.12e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default="target/debug/dovetail")
    parser.add_argument("--modes", action="store_true")
    args = parser.parse_args()
    make = Expressions(args.seed)
    queries = [f"select a, {make.any()} as v from t order by a;" for _ in range(args.count)]
    body = TABLE + "".join(f"\\echo @@@ {i}\n{q}\n" for i, q in enumerate(queries))
    fresh = "set client_min_messages = error; drop schema public cascade; create schema public;\n"
    theirs = outputs(["psql", "-X", "-q", "-A", "-t"], f"{fresh}\\set VERBOSITY verbose\n{body}")
    differences = 0
    for mode in ["serial", "static", "ooo"] if args.modes else ["ooo"]:
        with tempfile.TemporaryDirectory() as folder:
            database = str(pathlib.Path(folder) / "compare.dovetail")
            ours = outputs(
                [args.binary, "sql", "-A", "-t", "-q", "--mode", mode, "-v", "VERBOSITY=verbose",
                 "-f", "-", database],
                body,
            )
        for i, query in enumerate(queries):
            if theirs.get(i) != ours.get(i):
                differences += 1
                print(f"{mode}: {query}\n  PostgreSQL: {theirs.get(i)!r}\n  here: {ours.get(i)!r}")
    print(f"{args.count} expressions, {differences} differences")
    sys.exit(differences > 0)


main()

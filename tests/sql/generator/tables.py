"""The tables that the queries go over: keys and none, nulls, duplicates, keys without partners, an empty table, and one
that does not fit into little memory, whose rows are always the same.
"""

import random

SCHEMA = {
    "p": [("id", "int4"), ("k", "int4"), ("n", "int4"), ("w", "text"), ("m", "num"), ("g", "date")],
    "q": [("id", "int4"), ("pid", "int4"), ("n", "int4"), ("w", "text"), ("z", "int8"), ("h", "bool")],
    "r": [("k", "int4"), ("x", "int2"), ("w", "text"), ("f", "flt")],
    "s": [("a", "int4"), ("b", "text"), ("x", "int4")],
    "e": [("a", "int4"), ("b", "int4"), ("w", "text"), ("t", "tz")],
    "big": [("id", "int4"), ("k", "int4"), ("w", "text")],
    "u": [("i", "int4"), ("t", "tz"), ("l", "ts"), ("n", "int4"), ("b", "text")],
}
DDL = """
create table p(id int primary key, k int, n int, w text, m numeric(8,2), g date);
create table q(id int primary key, pid int, n int, w text, z bigint, h boolean);
create table r(k int, x smallint, w text, f double precision, primary key (k, x));
create table s(a int, b text, x int);
create table e(a int, b int, w text, t timestamptz);
create table u(i int not null unique, t timestamptz, l timestamp, n int, b text);
create table big(id int primary key, k int, w text);
insert into big select i, i * 7 % 150, repeat('x', 150) || i % 40 from generate_series(1, 400) g(i);
create index p_k on p(k); create index q_pid on q(pid); create index s_a on s(a);
"""


def without_primary_keys():
    """The tables with the same keys as unique columns."""
    return DDL.replace("id int primary key", "id int not null unique").replace("primary key (", "unique (")


WORDS = ["a", "b", "ab", "ba", "Abc", "", "x y"]
ZONES = ["UTC", "Europe/Rome", "America/New_York", "Asia/Kolkata"]


def text(rng, type):
    """A value of a type, as text. Floats are quarters: their sums do not depend on the order."""
    small = str(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -3, 12]))
    return {
        "int2": small, "int4": small, "int8": small, "bool": rng.choice(["true", "false"]),
        "num": f"{rng.choice([0, 1, 2, 5, -3])}.{rng.choice([0, 25, 50, 75]):02}",
        "flt": str(rng.randint(-12, 12) / 4), "text": rng.choice(WORDS),
        "date": f"2020-0{rng.randint(1, 3)}-{rng.choice([1, 15, 28]):02}",
        "ts": f"2020-{rng.choice(['03', '07', '10'])}-{rng.choice([1, 25, 29]):02} {rng.choice(['00', '12'])}:30:00",
        "tz": f"2020-{rng.choice(['03', '07', '10'])}-{rng.choice([1, 25, 29]):02} {rng.choice(['00', '12'])}:30:00+00",
    }[type]


def rows(seed):
    """The rows of each table, as lists of texts; None is null."""
    rng = random.Random(seed)

    def row(table, keys):
        cells = [text(rng, type) if rng.random() > 0.15 else None for _, type in SCHEMA[table][len(keys):]]
        return [str(key) for key in keys] + cells

    pairs = [(k, x) for k in range(1, 5) for x in rng.sample(range(5), rng.randint(1, 3))]
    repeated = [row("s", []) for _ in range(5)]
    return {
        "p": [row("p", [i]) for i in range(1, rng.randint(5, 14))],
        "q": [row("q", [i]) for i in range(1, rng.randint(5, 18))],
        "r": [row("r", pair) for pair in pairs],
        "s": repeated + rng.sample(repeated, 3) + [row("s", []) for _ in range(3)],
        "e": [],
        "u": [row("u", [i]) for i in range(1, rng.randint(4, 9))],
    }


def inserts(data):
    """The statements that fill the tables."""
    one = lambda cell: "null" if cell is None else "'" + cell.replace("'", "''") + "'"
    lists = {table: ", ".join(f"({', '.join(map(one, row))})" for row in held) for table, held in data.items()}
    return "".join(f"insert into {table} values {held};\n" for table, held in lists.items() if held)

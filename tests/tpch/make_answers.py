#!/usr/bin/env python3
"""Makes the reference answers of TPC-H with an independent engine: DuckDB, over our rows.

    cargo run --release -- tpch export --sf 0.01 --out /tmp/tbl
    python3 -m pip install duckdb
    python3 tests/tpch/make_answers.py 0.01 /tmp/tbl tests/tpch/answers/sf0.01

The queries are those of `tests/tpch/duckdb`, with the specification's validation parameters.
They differ from the engine's own texts in three ways, all for exactness:

- An average or a quotient is asked for as two exact columns, `x__num` and `x__den`; this script
  divides them, truncated to 25 digits after the point. (DuckDB divides in binary floating point.)
- A comparison with an average (Q17, Q22) is multiplied out.
- The fraction of Q11 is 0.0001 / SF.

An answer is one header line, then one line a row, `|` between columns, nothing quoted, null empty.
"""

import decimal
import pathlib
import sys

import duckdb

SCHEMA = {
    "region": "r_regionkey integer, r_name varchar, r_comment varchar",
    "nation": "n_nationkey integer, n_name varchar, n_regionkey integer, n_comment varchar",
    "supplier": "s_suppkey integer, s_name varchar, s_address varchar, s_nationkey integer, "
    "s_phone varchar, s_acctbal decimal(15,2), s_comment varchar",
    "part": "p_partkey integer, p_name varchar, p_mfgr varchar, p_brand varchar, p_type varchar, "
    "p_size integer, p_container varchar, p_retailprice decimal(15,2), p_comment varchar",
    "partsupp": "ps_partkey integer, ps_suppkey integer, ps_availqty integer, "
    "ps_supplycost decimal(15,2), ps_comment varchar",
    "customer": "c_custkey integer, c_name varchar, c_address varchar, c_nationkey integer, "
    "c_phone varchar, c_acctbal decimal(15,2), c_mktsegment varchar, c_comment varchar",
    "orders": "o_orderkey bigint, o_custkey integer, o_orderstatus varchar, "
    "o_totalprice decimal(15,2), o_orderdate date, o_orderpriority varchar, o_clerk varchar, "
    "o_shippriority integer, o_comment varchar",
    "lineitem": "l_orderkey bigint, l_partkey integer, l_suppkey integer, l_linenumber integer, "
    "l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), "
    "l_tax decimal(15,2), l_returnflag varchar, l_linestatus varchar, l_shipdate date, "
    "l_commitdate date, l_receiptdate date, l_shipinstruct varchar, l_shipmode varchar, "
    "l_comment varchar",
}

QUOTIENT_STEP = decimal.Decimal(1).scaleb(-25)


def load(connection, folder):
    """Loads `TABLE.tbl` files; their lines end with the delimiter, hence the last column."""
    for table, columns in SCHEMA.items():
        path = folder / f"{table}.tbl"
        pairs = [column.split(" ", 1) for column in columns.split(", ")]
        kinds = ", ".join(f"'{name}': '{kind}'" for name, kind in pairs)
        names = ", ".join(name for name, _ in pairs)
        connection.execute(
            f"create table {table} as select {names} from read_csv('{path}', delim = '|', "
            f"header = false, quote = '', escape = '', columns = {{{kinds}, 'rest': 'varchar'}})"
        )


def quotient(numerator, denominator):
    """The exact quotient, cut after 25 digits; null when either side is."""
    if numerator is None or denominator is None:
        return None
    with decimal.localcontext() as context:
        context.prec = 80
        context.rounding = decimal.ROUND_DOWN
        return (decimal.Decimal(numerator) / decimal.Decimal(denominator)).quantize(QUOTIENT_STEP)


def fold(names, row):
    """Replaces each pair `x__num`, `x__den` by `x`."""
    cells = dict(zip(names, row))
    folded = {}
    for name, value in cells.items():
        if name.endswith("__num"):
            stem = name.removesuffix("__num")
            folded[stem] = quotient(value, cells[stem + "__den"])
        elif not name.endswith("__den"):
            folded[name] = value
    return folded


def text(value):
    """A value as PostgreSQL prints it."""
    if value is None:
        return ""
    if isinstance(value, float):
        raise TypeError("a reference answer must be exact")
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


def answer(connection, sql):
    """The lines of one answer."""
    result = connection.execute(sql)
    names = [column[0] for column in result.description]
    rows = result.fetchall()
    header = list(fold(names, [decimal.Decimal(1)] * len(names)))
    lines = ["|".join(header)]
    for row in rows:
        cells = [text(value) for value in fold(names, row).values()]
        assert not any("|" in cell or "\n" in cell for cell in cells)
        lines.append("|".join(cells))
    return lines


def main():
    scale, rows, out = decimal.Decimal(sys.argv[1]), *map(pathlib.Path, sys.argv[2:4])
    queries = pathlib.Path(__file__).parent / "duckdb"
    connection = duckdb.connect()
    load(connection, rows)
    out.mkdir(parents=True, exist_ok=True)
    fraction = format(decimal.Decimal("0.0001") / scale, "f")
    for path in sorted(queries.glob("q*.sql")):
        lines = answer(connection, path.read_text().replace("{fraction}", fraction))
        (out / f"{path.stem}.csv").write_text("\n".join(lines) + "\n")
        print(f"{path.stem}: {len(lines) - 1} rows")


main()

#!/usr/bin/env python3
"""TPC-DS: the rows of its 99 queries are DuckDB's, in all three modes.

    python3 -m venv target/tpcds && target/tpcds/bin/pip install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5
    target/tpcds/bin/python tests/tpcds/run.py [--sf 0.1] [--binary target/release/dovetail] [--modes ooo,static]
                                               [--queries 1,14,99] [--memory 1GB] [--timeout 600]
                                               [--storage column]

The texts of the queries and the data are those of DuckDB's extension `tpcds`, which is installed as a package;
nothing is fetched while this runs. The tables get the keys of the specification (section 2.4) and are loaded by
COPY; column tables get them as unique indexes. Two things are made equal beforehand, and nothing else:

- Nulls: DuckDB sorts them last, PostgreSQL and Dovetail last in ascending and first in descending order. DuckDB is
  told to sort as PostgreSQL does (`default_null_order`).
- Ties: where ORDER BY leaves open which of equal rows come before LIMIT, two right answers differ. How they are compared
  then `tests/same.py` says; queries whose rows differ by that alone are counted as `ties`.

Prints a line for each query that differs or is refused, then one line a mode; ends with 1 if any did.
"""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import same
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ["serial", "static", "ooo"]
KEYS = {
    "call_center": "cc_call_center_sk", "catalog_page": "cp_catalog_page_sk",
    "catalog_returns": "cr_item_sk, cr_order_number", "catalog_sales": "cs_item_sk, cs_order_number",
    "customer": "c_customer_sk", "customer_address": "ca_address_sk", "customer_demographics": "cd_demo_sk",
    "date_dim": "d_date_sk", "household_demographics": "hd_demo_sk", "income_band": "ib_income_band_sk",
    "inventory": "inv_date_sk, inv_item_sk, inv_warehouse_sk", "item": "i_item_sk", "promotion": "p_promo_sk",
    "reason": "r_reason_sk", "ship_mode": "sm_ship_mode_sk", "store": "s_store_sk",
    "store_returns": "sr_item_sk, sr_ticket_number", "store_sales": "ss_item_sk, ss_ticket_number",
    "time_dim": "t_time_sk", "warehouse": "w_warehouse_sk", "web_page": "wp_web_page_sk",
    "web_returns": "wr_item_sk, wr_order_number", "web_sales": "ws_item_sk, ws_order_number",
    "web_site": "web_site_sk",
}


def duck(sf):
    """DuckDB with the data, and the texts of the queries; None where the packages are not installed."""
    try:
        import duckdb
        import duckdb_extension_tpcds
    except ImportError as missing:
        print(f"SKIPPED: no package {missing.name}; see the head of {pathlib.Path(__file__).name}")
        return None, {}
    folder = pathlib.Path(duckdb_extension_tpcds.__path__[0])
    extension = next(folder.rglob("tpcds.duckdb_extension"))
    con = duckdb.connect()
    con.execute(f"load '{extension}'")
    con.execute(f"call dsdgen(sf={sf})")
    con.execute("set default_null_order = 'nulls_last_on_asc_first_on_desc'")
    return con, dict(con.execute("select query_nr, query from tpcds_queries()").fetchall())


def statements(table, columns, storage):
    """Those that make the table, with its key."""
    if storage == "row":
        return f"create table {table}({columns}, primary key ({KEYS[table]}))"
    return (f"create table {table}({columns}) with (storage = {storage});"
            f"create unique index {table}_key on {table} ({KEYS[table]})")


def load(con, connection, storage):
    """The tables of DuckDB, with keys, in the other database."""
    with tempfile.TemporaryDirectory() as folder:
        for table, sql in con.execute("select table_name, sql from duckdb_tables() order by 1").fetchall():
            columns = sql[sql.index("(") + 1 : sql.rindex(")")]
            connection.query(statements(table, columns, storage))
            file = f"{folder}/{table}.csv"
            con.execute(f"copy {table} to '{file}' (format csv, header false, nullstr '')")
            connection.query(f"copy {table} from '{file}' with (format csv)")
    connection.query("analyze")


def answers(con, queries):
    run = lambda sql: con.execute(sql).fetchall()
    return {number: (same.rows_of(run, same.unlimited(sql)), same.rows_of(run, sql)) for number, sql in queries.items()}


def run_mode(mode, queries, expected, port, timeout):
    counts, started = collections.Counter(), time.monotonic()
    connection = wire.Connection(port, timeout=timeout + 60)
    connection.query(f"set execution_mode = {mode}; set statement_timeout = '{timeout}s'")
    for number, sql in queries.items():
        kind, said = same.outcome(sql, expected[number], connection.query)
        counts[kind] += 1
        if said:
            print(f"{mode}, query {number}: {kind}: {said}", flush=True)
    connection.close()
    print(f"{mode}: {counts['equal'] + counts['ties']} of {len(queries)} equal ({counts['ties']} of them with ties at "
          f"their limit), {counts['different']} different, {counts['refused']} refused, "
          f"{time.monotonic() - started:.0f} s", flush=True)
    return counts["different"] + counts["refused"]


def binary():
    built = [ROOT / "target" / kind / "dovetail" for kind in ("release", "debug")]
    return str(next((path for path in built if path.exists()), built[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sf", type=float, default=0.1)
    parser.add_argument("--binary", default=binary())
    parser.add_argument("--storage", choices=["row", "column"], default="row")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--queries", help="numbers, with commas; all without it")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a query")
    args = parser.parse_args()
    con, queries = duck(args.sf)
    if con is None:
        return 0
    if args.queries:
        queries = {number: queries[number] for number in map(int, args.queries.split(","))}
    expected = answers(con, queries)
    with wire.Server(args.binary, "--memory", args.memory) as port:
        started = time.monotonic()
        load(con, wire.Connection(port, timeout=3600), args.storage)
        print(f"scale factor {args.sf}, {args.storage} tables: loaded in {time.monotonic() - started:.0f} s", flush=True)
        return sum(run_mode(mode, queries, expected, port, args.timeout) for mode in args.modes.split(","))


if __name__ == "__main__":
    sys.exit(main() > 0)

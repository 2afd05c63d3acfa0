#!/usr/bin/env python3
"""TPC-H from text files into column tables, beside DuckDB: seconds, and bytes on disk.

    python3 tests/compare/load.py --sf 1
    python3 tests/compare/load.py --sf 10 --rounds 3

Both take the same `.tbl` files, with the same two threads and the same memory, into tables without keys in
a new database: ours by `COPY .. FROM` in the server, DuckDB by `COPY .. FROM` in this process. What is
loaded is on disk at the end of the time taken: ours commits durably, DuckDB makes a checkpoint. The sides
take turns; the files are read once before, so that both find them in the page cache as far as it reaches.
Printed is the time of each table and of all, the median (min-max), and the size of both files; and
beside them the time of `dovetail tpch load`, which makes the rows in its own process.

Needs what `hot.py` needs, and ten times the scale factor in GB of disk.
"""

import argparse
import os
import statistics
import time

import hot
from servers import Server, figures


def ours(folder, args, files):
    """Seconds for each table, and bytes."""
    os.environ["DOVETAIL_WORKERS"] = str(args.threads)
    server = Server("dovetail", folder, args.memory, args.binary, pool_share=None)
    seconds = {}
    try:
        schema = hot.without_keys((files / "schema.sql").read_text())
        server.call("psql", "-qXAt", "-v", "ON_ERROR_STOP=1",
                    text="set default_table_storage = 'column';\n" + schema)
        for table in hot.TABLES:
            began = time.perf_counter()
            server.call("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c",
                        f"copy {table} from '{files / table}.tbl' with (delimiter '|')")
            seconds[table] = time.perf_counter() - began
    finally:
        server.stop()
    return seconds, removed(folder / server.data)


def removed(path):
    """Removes a database; its bytes."""
    size = path.stat().st_size
    path.unlink()
    return size


def theirs(folder, args, files):
    import duckdb
    path = folder / "load.duckdb"
    db = duckdb.connect(str(path))
    db.execute(f"set threads = {args.threads}; set memory_limit = '{args.memory}MB'")
    db.execute("set enable_progress_bar = false")
    db.execute(hot.without_keys((files / "schema.sql").read_text()))
    seconds = {}
    for table in hot.TABLES:
        began = time.perf_counter()
        db.execute(f"copy {table} from '{files / table}.tbl' (delimiter '|', header false, quote '', "
                   "escape '')")
        db.execute("checkpoint")
        seconds[table] = time.perf_counter() - began
    db.close()
    return seconds, removed(path)


def in_process(folder, args):
    """Seconds of a load that makes its rows itself."""
    path = folder / "made.dovetail"
    began = time.perf_counter()
    hot.run_or_exit([args.binary, "tpch", "load", "--sf", args.sf, "--storage", "column", "--data", path,
                     "--memory", f"{args.memory}MB"])
    seconds = time.perf_counter() - began
    path.unlink()
    return seconds


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    hot.shared_arguments(parser, memory=4096)
    return hot.parsed(parser)


def run(folder, args):
    files = folder / "files"
    hot.run_or_exit([args.binary, "tpch", "export", "--sf", args.sf, "--out", files])
    # Lines of these files end with a delimiter, for which neither has an option.
    hot.run_or_exit(["sed", "-i", "s/|$//", *files.glob("*.tbl")])
    rounds = {"dovetail": [], "duckdb": []}
    made, sizes = [], {}
    for _ in range(args.rounds):
        for label, load in (("dovetail", ours), ("duckdb", theirs)):
            seconds, sizes[label] = load(folder, args, files)
            rounds[label].append(seconds)
        made.append(in_process(folder, args))
    print(f"{'s':8} {'dovetail':>28} {'duckdb':>28}  ratio")
    for table in hot.TABLES + ["all"]:
        of = {label: [sum(r.values()) if table == "all" else r[table] for r in side]
              for label, side in rounds.items()}
        ratio = statistics.median(of["dovetail"]) / statistics.median(of["duckdb"])
        print(f"{table:8} {figures(of['dovetail']):>28} {figures(of['duckdb']):>28}  {ratio:5.2f}")
    print(f"{'MB':8} {sizes['dovetail'] / 1e6:28.0f} {sizes['duckdb'] / 1e6:28.0f}  "
          f"{sizes['dovetail'] / sizes['duckdb']:5.2f}")
    print(f"made in process: {figures(made)} s")


def main():
    hot.beside_duckdb("load", arguments(), run)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""ClickBench: the rows of its 43 queries are DuckDB's, and how long both take.

    python3 tests/clickbench/run.py --fetch    installs DuckDB under target/duckdb
    python3 tests/clickbench/run.py [--rows 1000000] [--rounds 5] [--storage row] [--queries 0,21]
    python3 tests/clickbench/run.py --gate

`queries.sql` has the queries of the public suite, one a line, counted from 0; the rows are made up (`hits.py`). What the
suite's queries say of its 100 million rows is said of as many as there are: groups of more than 100,000 rows are those
of more than `rows / 1000`, and OFFSETs shrink alike.

The rows are compared as `tests/same.py` says: without the last LIMIT all of them. A whole result of more than `--whole`
rows is not fetched from the server: then the query as it is must have DuckDB's values in the columns that it sorts by,
and all of its rows must be in DuckDB's whole result.

Then both answer in turns, hot, with the same number of threads and the same memory: one round that is not counted, and
`--rounds` that are. Ours is asked over a socket, by this program; DuckDB runs in this process, and keeps its table in a
file. Printed are medians (min-max) in milliseconds, our median divided by DuckDB's, and the geometric mean of these
ratios. `--rounds 0` only compares. The last line is that of a test harness; the exit status is 1 when rows differ.
`--gate` compares 20,000 rows with the debug build; without DuckDB all is skipped, and counted so.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import hits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import same
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL_ROWS = 100_000_000
GATE_ROWS = 20_000
# Where the opponent is installed, and which one it is.
DUCKDB_FOLDER, DUCKDB = ROOT / "target/duckdb", "duckdb==1.5.5"
QUERY_COUNT = 43
# The column that a result is sorted by; those of 24 and 26 are not put out.
SORTED_BY = {7: 1, 8: 1, 9: 2, 10: 1, 11: 2, 12: 1, 13: 1, 14: 2, 15: 1, 16: 2, 18: 3, 21: 2, 22: 3, 23: 4, 25: 0, 27: 1,
             28: 1, 30: 2, 31: 2, 32: 2, 33: 1, 34: 2, 35: 4, 36: 1, 37: 1, 38: 1, 39: 5, 40: 2, 41: 2, 42: 0}


def queries(rows):
    """The queries by their numbers, for so many rows."""
    lines = (pathlib.Path(__file__).parent / "queries.sql").read_text().splitlines()
    assert len(lines) == QUERY_COUNT
    groups = lambda sql: re.sub(r"> 100000\b", f"> {rows // 1000}", sql)
    offset = lambda found: f"offset {int(found.group(1)) * rows // FULL_ROWS}"
    shrunk = lambda sql: re.sub(r"\boffset (\d+)", offset, groups(sql))
    return {number: shrunk(sql.rstrip(";")) for number, sql in enumerate(lines)}


class Duck:
    """DuckDB with the rows, in this process."""

    def __init__(self, duckdb, folder, args):
        self.file = f"{folder}/hits.parquet"
        self.con = duckdb.connect(f"{folder}/hits.duckdb")
        self.con.execute(f"set threads = {args.threads}; set memory_limit = '{args.memory}'")
        self.con.execute("set enable_progress_bar = false")
        hits.make(self.con, args.rows, self.file)
        started = time.monotonic()
        self.con.execute(hits.table())
        self.con.execute(f"insert into hits select * from '{self.file}'")
        self.con.execute("checkpoint")
        self.load_s = time.monotonic() - started

    def query(self, sql):
        return self.con.execute(sql).fetchall()


def load(connection, duck, storage):
    started = time.monotonic()
    connection.query(hits.table(storage))
    connection.query(f"copy hits from '{duck.file}' (format parquet)")
    took = time.monotonic() - started
    connection.query("analyze")
    return took


def compare(number, sql, duck, connection, whole_max):
    """`equal`, `ties`, or what is wrong with what is to be said of it."""
    limited = same.rows_of(duck.query, sql)
    unlimited = same.unlimited(sql)
    count = duck.query(f"select count(*) from ({unlimited})")[0][0]
    whole = same.rows_of(duck.query, unlimited)
    try:
        cut = same.rows_of(connection.query, sql)
    except wire.Refused as refused:
        return "refused", str(refused)
    keys = lambda rows: [row[SORTED_BY[number]] for row in rows] if number in SORTED_BY else []
    if not same.same_row(keys(limited), keys(cut)):
        return "different", f"sorted by {list(map(str, keys(limited)))} at DuckDB, {list(map(str, keys(cut)))} here"
    if count <= whole_max:
        return same.outcome(sql, (whole, limited), connection.query)
    return same.of_limited(limited, cut, whole)


def measure(sql, duck, connection, rounds):
    """Milliseconds of each round, ours and DuckDB's, in turns."""
    ours, theirs = [], []
    for _ in range(rounds + 1):
        for times, run in ((ours, connection.query), (theirs, duck.query)):
            began = time.perf_counter()
            run(sql)
            times.append((time.perf_counter() - began) * 1e3)
    return ours[1:], theirs[1:]


def figures(values):
    return f"{statistics.median(values):9.1f} ({min(values):.1f}-{max(values):.1f})"


def run(duckdb, args):
    chosen = queries(args.rows)
    chosen = {number: chosen[number] for number in args.queries or chosen}
    with tempfile.TemporaryDirectory(prefix="dovetail-clickbench-") as folder:
        duck = Duck(duckdb, folder, args)
        server = wire.Server(args.binary, "--memory", args.memory, "--workers", str(args.threads))
        with server as port:
            connection = wire.Connection(port, timeout=3600)
            connection.query("set statement_timeout = '600s'")
            load_s = load(connection, duck, args.storage)
            rings = set(re.findall(r"ring (\w+)", pathlib.Path(server.folder, "log").read_text()))
            size = connection.query("select pg_total_relation_size('hits')")[0][0]
            print(f"{args.rows} rows; {args.storage} tables, ring {', '.join(sorted(rings))}, {args.threads} threads "
                  f"each; loaded from Parquet in {load_s:.1f} s ({int(size) / 2**20:.0f} MiB), DuckDB "
                  f"{duckdb.__version__} in {duck.load_s:.1f} s", flush=True)
            return ask_all(chosen, duck, connection, args)


def ask_all(chosen, duck, connection, args):
    """How many queries had other rows than DuckDB, or none."""
    counts, ratios = {"equal": 0, "ties": 0, "different": 0, "refused": 0}, []
    for number, sql in chosen.items():
        kind, said = compare(number, sql, duck, connection, args.whole)
        counts[kind] += 1
        if said:
            print(f"Q{number}: {kind}: {said[:2000]}\n    {sql[:500]}", flush=True)
        elif args.rounds:
            ours, theirs = measure(sql, duck, connection, args.rounds)
            ratios.append(statistics.median(ours) / statistics.median(theirs))
            print(f"Q{number:<2} {figures(ours):>28} {figures(theirs):>28}  {ratios[-1]:6.2f}", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.2f}, largest {max(ratios):.2f}")
    failed = counts["different"] + counts["refused"]
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    print(f"test result: {'FAILED' if failed else 'ok'}. {len(chosen) - failed} passed; {failed} failed; 0 ignored")
    return failed


def numbers(text):
    found = [int(part) for part in text.split(",")]
    if any(not 0 <= number < QUERY_COUNT for number in found):
        raise argparse.ArgumentTypeError(f"numbers from 0 to {QUERY_COUNT - 1}, like 0,21")
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--storage", choices=["column", "row"], default="column")
    parser.add_argument("--queries", type=numbers)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--whole", type=int, default=200_000, help="rows of results that are compared whole")
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--fetch", action="store_true")
    args = parser.parse_args()
    if args.gate:
        args.rows, args.rounds, args.binary = GATE_ROWS, 0, str(ROOT / "target/debug/dovetail")
    return args


def fetch():
    if (DUCKDB_FOLDER / "duckdb").is_dir():
        return 0
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries",
                           "1", "--target", DUCKDB_FOLDER, DUCKDB]).returncode


def main():
    args = arguments()
    if args.fetch:
        return fetch()
    sys.path.insert(0, str(DUCKDB_FOLDER))
    try:
        import duckdb
    except ImportError:
        print("SKIPPED: no Python package duckdb")
        print(f"test result: ok. 0 passed; 0 failed; {QUERY_COUNT} ignored")
        return 0
    return run(duckdb, args)


if __name__ == "__main__":
    sys.exit(main() != 0)

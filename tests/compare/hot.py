#!/usr/bin/env python3
"""TPC-H hot, beside DuckDB.

    python3 tests/compare/hot.py --sf 0.1
    python3 tests/compare/hot.py --sf 1 --storage row --queries 1,6,18
    python3 tests/compare/hot.py --sf 1 --sql statements.sql --json before.json

Both have the same rows, the same two threads and the same memory, which holds all of them. They answer
in turns: a first round, which is not counted, brings the data into memory and compares the rows of all
sides; then each statement is timed `--rounds` times on each side. Column tables have no keys, and neither
have DuckDB's; `--storage row` has the keys and indexes of `dovetail tpch load`.

Ours runs behind its server, so its times have the way through a socket in them (psql's own figure);
DuckDB runs in this process and fetches its rows into Python. Both plan anew each time.

Printed for each query: the median of each side (min-max) in milliseconds, and our median divided by
DuckDB's: below 1 we are faster. Below them the geometric mean of these ratios. The exit status is 1 when
rows differ.

`--sql FILE` takes statements of one's own, each ended by a semicolon at the end of a line, instead of the 22.

Needs root, PostgreSQL 15 (Debian: `postgresql-15`, for psql), the Python package `duckdb`, and a release
build (`--binary`). What is loaded lies in a scratch folder that is removed; with `--data FOLDER` it stays,
and later calls with it only measure.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rows import normal
from servers import ROOT, Server, check, figures

QUERIES = ROOT / "crates/bench/queries"
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
QUERY_COUNT = 22


class Dovetail:
    """Ours, behind its server."""

    def __init__(self, folder, args):
        self.label = "dovetail"
        os.environ["DOVETAIL_WORKERS"] = str(args.threads)
        self.server = Server("dovetail", folder, args.memory, args.binary, pool_share=0.5,
                             data=ours(folder, args))

    def run(self, text):
        """Milliseconds, and the rows."""
        # The first statement of a session opens what belongs to it.
        script = f"select 1;\n\\echo BEGIN\n\\timing on\n{text};\n"
        out = self.server.call("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", text=script)
        lines = out.split("BEGIN\n", 1)[1].splitlines()
        times = [re.match(r"Time: ([\d.]+) ms", line) for line in lines]
        ms = sum(float(found.group(1)) for found in times if found)
        return ms, [line for line, found in zip(lines, times) if not found]

    def stop(self):
        self.server.stop()


class Duck:
    """DuckDB, in this process."""

    label = "duckdb"

    def __init__(self, folder, args):
        import duckdb
        self.db = duckdb.connect(str(theirs(folder, args)))
        self.db.execute(f"set threads = {args.threads}; set memory_limit = '{args.memory}MB'")
        self.db.execute("set enable_progress_bar = false")

    def run(self, text):
        """Milliseconds, and the rows."""
        began = time.perf_counter()
        rows = self.db.execute(text).fetchall()
        ms = (time.perf_counter() - began) * 1e3
        return ms, ["|".join("" if v is None else str(v) for v in row) for row in rows]

    def stop(self):
        self.db.close()


def ours(folder, args):
    return folder / f"{args.storage}-sf{args.sf:g}.dovetail"


def theirs(folder, args):
    return folder / f"sf{args.sf:g}.duckdb"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    shared_arguments(parser, memory=6144)
    query_arguments(parser)
    parser.add_argument("--storage", choices=["column", "row"], default="column",
                        help="how our tables are kept")
    parser.add_argument("--sql", type=pathlib.Path, help="a file of statements instead")
    parser.add_argument("--json", type=pathlib.Path, help="where all times are written")
    args = parsed(parser)
    if args.sql and not args.sql.is_file():
        parser.error(f"--sql: {args.sql} is no file")
    return args


def shared_arguments(parser, memory):
    """What all comparisons with DuckDB ask for."""
    parser.add_argument("--sf", type=scale, default=1.0, help="scale factor, like 0.1")
    parser.add_argument("--rounds", type=count, default=5, help="timed runs of each side")
    parser.add_argument("--threads", type=count, default=2, help="of each side")
    parser.add_argument("--memory", type=count, default=memory, help="of each side, in MB")
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--folder", help="where the scratch folder is made")


def query_arguments(parser):
    """And those that run queries over tables which may stay."""
    parser.add_argument("--queries", type=numbers, default=list(range(1, QUERY_COUNT + 1)),
                        help="like 1,6,18; all by default")
    parser.add_argument("--data", type=pathlib.Path, help="a folder that stays")


def parsed(parser):
    args = parser.parse_args()
    if not os.access(args.binary, os.X_OK):
        parser.error(f"--binary: {args.binary} is no program; build it with cargo build --release")
    return args


def scale(text):
    value = float(text)
    if not 0.001 <= value <= 100:
        raise argparse.ArgumentTypeError("a scale factor is from 0.001 to 100")
    return value


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def numbers(text):
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if any(not 1 <= n <= QUERY_COUNT for n in found):
        raise argparse.ArgumentTypeError(f"numbers from 1 to {QUERY_COUNT}, like 1,6,18")
    return found


def statements(args):
    """Name and text of what is measured."""
    if args.sql:
        texts = [t.strip() for t in re.split(r";\s*$", args.sql.read_text(), flags=re.M)]
        return [(f"S{i + 1:02}", t) for i, t in enumerate(filter(None, texts))]
    # The fraction of Q11 depends on the scale factor (TPC-H specification, 2.4.11.3).
    fraction = f"{0.0001 / args.sf:.10f}"
    texts = [(QUERIES / f"q{n:02}.sql").read_text().rstrip() for n in args.queries]
    return [(f"Q{n:02}", t.replace("0.0001000000", fraction)) for n, t in zip(args.queries, texts)]


def load(folder, args):
    """What is not there yet; a load that broke off begins anew."""
    path = ours(folder, args)
    if not path.exists():
        run_or_exit([args.binary, "tpch", "load", "--sf", args.sf, "--storage", args.storage,
                     "--data", path, "--memory", f"{args.memory}MB"])
    if not theirs(folder, args).exists():
        load_duckdb(folder, args)


def run_or_exit(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:3]))} failed")


def load_duckdb(folder, args):
    import duckdb
    files = folder / "files"
    run_or_exit([args.binary, "tpch", "export", "--sf", args.sf, "--out", files])
    partial = folder / "d.partial"
    partial.unlink(missing_ok=True)
    db = duckdb.connect(str(partial))
    db.execute(without_keys((files / "schema.sql").read_text()))
    for table in TABLES:
        columns = len(db.execute(f"describe {table}").fetchall())
        names = ", ".join(f"column{i:02}" if columns + 1 > 10 else f"column{i}" for i in range(columns))
        db.execute(f"insert into {table} select {names} from read_csv('{files / table}.tbl', "
                   "delim = '|', header = false, quote = '', escape = '', all_varchar = true)")
    db.close()
    shutil.rmtree(files)
    partial.rename(theirs(folder, args))


def without_keys(schema):
    """As our column tables: indexes would only cost."""
    schema = re.sub(r" primary key\b(?! \()", "", schema)
    return re.sub(r",\s*primary key \([^)]*\)", "", schema)


def compare(sides, name, text, rounds):
    """The times of each side; ends everything when their rows differ."""
    times, expected = {side.label: [] for side in sides}, None
    for side in sides:
        rows = normal(side.run(text)[1])
        if expected is not None and rows != expected:
            other = next(pair for pair in zip(rows + [None], expected + [None]) if pair[0] != pair[1])
            sys.exit(f"{name}: {side.label} has other rows than {sides[0].label}, first {other}")
        expected = rows
    for _ in range(rounds):
        for side in sides:
            times[side.label].append(side.run(text)[0])
    return times, len(expected)


def run(folder, args):
    load(folder, args)
    sides = [Dovetail(folder, args)]
    try:
        sides.append(Duck(folder, args))
        measure(sides, args)
    finally:
        for side in sides:
            side.stop()


def measure(sides, args):
    print(f"{'':4} {'rows':>6}  {'dovetail, ' + args.storage + ', ms':>32} {'duckdb, ms':>32}  ratio", flush=True)
    ratios, all_times = [], {}
    for name, text in statements(args):
        times, row_count = compare(sides, name, text, args.rounds)
        of_ours, of_theirs = times.values()
        ratios.append(statistics.median(of_ours) / statistics.median(of_theirs))
        all_times[name] = times
        print(f"{name:4} {row_count:6}  {figures(of_ours):>32} {figures(of_theirs):>32}  {ratios[-1]:5.2f}",
              flush=True)
    print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.2f}, largest {max(ratios):.2f}")
    if args.json:
        args.json.write_text(json.dumps(all_times, indent=1))


def beside_duckdb(name, args, run, data=None):
    """Says what is compared, and calls `run` with the folder `data`, or with one that is removed."""
    check()
    try:
        import duckdb
    except ImportError:
        sys.exit("skipped: the Python package duckdb is not installed")
    print(f"duckdb {duckdb.__version__}, scale factor {args.sf:g}, {args.threads} threads and {args.memory} MB "
          f"each, median of {args.rounds} (min-max)", flush=True)
    if data:
        data.mkdir(parents=True, exist_ok=True)
        return run(data.resolve(), args)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"dovetail-{name}-", dir=args.folder))
    try:
        return run(folder, args)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    args = arguments()
    beside_duckdb("hot", args, run, args.data)


if __name__ == "__main__":
    main()

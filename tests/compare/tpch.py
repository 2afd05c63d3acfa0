#!/usr/bin/env python3
"""Six selective queries on TPC-H, cold, beside PostgreSQL 15 and DuckDB.

    python3 tests/compare/tpch.py --sf 1 --memory 256
    python3 tests/compare/tpch.py --sf 10 --memory 2048 --queries day

The queries are those of `bench ooo`, whose rows fill a week, or with `--queries day` a row, a part and
four days.

All sides get the same tables, the same indexes (PostgreSQL) or those that they can have (DuckDB:
the same statements), and the same memory in all, by a control group each. Before each run the
servers are started anew and the page cache is emptied; then the statement is planned once by
EXPLAIN, so that catalogs are there, and its time is taken. The sides alternate; the first round is
not counted, so that caches below this machine, which nobody here can empty, treat all alike.
PostgreSQL runs with and without parallel workers, DuckDB with and without reading ahead, and the
better median counts. The rows of all sides are compared. Printed are medians (min, max) in milliseconds and ratios.

Needs root, PostgreSQL 15 (Debian: `postgresql-15`), the Python package `duckdb` (a loud skip of that
side without it), and a release build (`--binary`). Everything is made in a scratch folder of about
six times the data, which is removed; with `--data FOLDER`, in one that stays, and later calls with
it only measure. `--load` ends before measuring.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from rows import normal
from servers import ROOT, Group, Server, check, figures, in_scratch_folder, prepare

QUERIES = ROOT / "crates/bench/queries"
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]

# Runs in a process of its own, so that nothing is left of an earlier run.
DUCK = """
import sys, time, duckdb
path, limit, prefetch, text = sys.argv[1:]
db = duckdb.connect(path)
# The bar would stand in front of the time.
db.execute(f"set memory_limit = '{limit}'; set threads = 2; set enable_progress_bar = false")
db.execute(f"set storage_block_prefetch = '{prefetch}'")
if text == "-":
    for statement in sys.stdin.read().split(";"):
        db.execute(statement) if statement.strip() else None
    sys.exit()
db.execute("explain " + text).fetchall()
began = time.perf_counter()
rows = db.execute(text).fetchall()
print((time.perf_counter() - began) * 1e3)
for row in rows:
    print("|".join(map(str, row)))
"""


def empty_page_cache():
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


class Sql:
    """A server that psql asks."""

    def __init__(self, name, folder, args, settings=None, label=None):
        self.server = Server(name, folder, args.memory, args.binary, data=args.file,
                             settings=settings, pool_share=None)
        self.label = label or name
        self.server.halt()

    def load(self, files):
        # Building indexes takes more memory than using them.
        self.server.group.allow(8 << 30)
        self.server.start()
        self.server.call("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", files / "schema.sql")
        for table in TABLES:
            copy = (f"\\copy {table} from program 'LC_ALL=C sed s/.$// {files}/{table}.tbl'"
                    " with (delimiter '|', freeze)")
            # Emptied in the same transaction a table needs no log, and its rows are old at once.
            steps = ["begin", f"truncate {table}", copy, "commit"]
            steps = [x for step in steps for x in ("-c", step)]
            self.server.call("psql", "-qX", "-v", "ON_ERROR_STOP=1", *steps)
            (files / f"{table}.tbl").unlink()
        self.server.call("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", files / "indexes.sql")
        self.server.call("psql", "-qX", "-c", "vacuum analyze")
        self.server.halt()
        empty_page_cache()
        self.server.group.allow(self.server.limit_mb << 20)

    def run(self, text):
        """Milliseconds, and the rows."""
        self.server.start()
        script = f"explain {text};\n\\echo BEGIN\n\\timing on\n{text};\n"
        out = self.server.call("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", text=script)
        self.server.halt()
        lines = out.split("BEGIN\n", 1)[1].splitlines()
        ms = next(re.match(r"Time: ([\d.]+) ms", line) for line in lines if line[:5] == "Time:")
        return float(ms.group(1)), [line for line in lines if line[:5] != "Time:"]

    def stop(self):
        self.server.group.remove()


class Duck:
    """DuckDB in a process of its own for each run."""

    def __init__(self, folder, args, label="duckdb", prefetch="REMOTE_ONLY"):
        self.label, self.prefetch = label, prefetch
        self.path, self.limit = folder / "d.duckdb", f"{int(args.memory * 0.85)}MB"
        self.group = Group("duckdb", args.memory << 20)

    def call(self, text, limit=None, given=None, group=None):
        command = [sys.executable, "-c", DUCK, self.path, limit or self.limit, self.prefetch, text]
        done = subprocess.run(command, capture_output=True, text=True, input=given,
                              preexec_fn=group and group.enter)
        if done.returncode != 0:
            sys.exit(f"duckdb: {done.stderr[-2000:]}")
        return done.stdout.splitlines()

    def load(self, files):
        self.call("-", limit="8GB", given=(files / "schema.sql").read_text())
        for table in TABLES:
            stripped = files / f"{table}.stripped"
            with open(stripped, "w") as out:
                subprocess.run(["env", "LC_ALL=C", "sed", "s/.$//", files / f"{table}.tbl"], stdout=out, check=True)
            copy = f"copy {table} from '{stripped}' (delimiter '|', header false);"
            self.call("-", limit="8GB", given=copy)
            stripped.unlink()
        indexes = (files / "indexes.sql").read_text()
        self.call("-", limit="8GB", given=indexes + "checkpoint;")

    def run(self, text):
        first, *rows = self.call(text, group=self.group)
        return float(first), rows

    def stop(self):
        self.group.remove()


def compare(sides, name, text, rounds):
    """Medians of each side; ends everything when their rows differ."""
    times, expected = {side.label: [] for side in sides}, None
    for number in range(rounds + 1):
        for side in sides:
            empty_page_cache()
            ms, rows = side.run(text)
            rows = normal(rows)
            if expected is not None and rows != expected:
                sys.exit(f"{name}: {side.label} has other rows:\n{rows[:5]}\nnot\n{expected[:5]}")
            expected = rows
            if number > 0:
                times[side.label].append(ms)
    print(f"{name} ({len(expected)} rows)", flush=True)
    for label, values in times.items():
        print(f"    {label:22} {figures(values)} ms", flush=True)
    medians = {label: statistics.median(values) for label, values in times.items()}
    ours = medians.pop("dovetail")
    best = {}
    for label, ms in medians.items():
        engine = label.split(",")[0]
        best[engine] = min(ms, best.get(engine, ms))
    ratios = {engine: ms / ours for engine, ms in best.items()}
    print("    ratio                 ", *(f"{k} {v:.2f} x" for k, v in ratios.items()), flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sf", default="1")
    parser.add_argument("--memory", type=int, default=256, help="of each side in all, in MB")
    parser.add_argument("--queries", choices=["ooo", "day"], default="ooo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--folder", default=None, help="where the scratch folder is made")
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder that stays")
    parser.add_argument("--load", action="store_true", help="load, and measure nothing")
    args = parser.parse_args()
    args.file = f"tpch-sf{args.sf}.dovetail"
    if args.data:
        check()
        return in_kept_folder(args.data.resolve(), args)
    in_scratch_folder("tpch", args, run)


def in_kept_folder(folder, args):
    """Loads unless that has been done; a load that broke off begins anew."""
    loaded = folder / "loaded"
    if not loaded.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        prepare(folder)
        load(folder, args)
        loaded.touch()
    if not args.load:
        measure(folder, args)


def run(folder, args):
    load(folder, args)
    measure(folder, args)


def load(folder, args):
    """Ours beside the other two, which wait for their disk or use one core most of the time."""
    files = folder / "files"
    ours = [args.binary, "tpch"]
    subprocess.run([*ours, "export", "--sf", args.sf, "--out", files], check=True)
    command = [*ours, "load", "--sf", args.sf, "--data", folder]
    loading = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        load_others(folder, args, files)
    finally:
        failed = loading.wait()
    if failed:
        sys.exit("dovetail: the load failed")
    shutil.rmtree(files)


def load_others(folder, args, files):
    for duck in duckdb_sides(folder, args)[:1]:
        duck.load(files)
        duck.stop()
    # Last: it removes the files.
    settings = {"maintenance_work_mem": "1GB", "max_wal_size": "8GB", "fsync": "off",
                "wal_level": "minimal", "max_wal_senders": 0}
    postgres = Sql("postgresql", folder, args, settings)
    postgres.load(files)
    postgres.stop()


def duckdb_sides(folder, args):
    try:
        import duckdb
    except ImportError:
        print("SKIPPED: duckdb, the Python package is not installed")
        return []
    print(f"duckdb {duckdb.__version__}", flush=True)
    return [Duck(folder, args), Duck(folder, args, "duckdb, reading ahead", "ALWAYS_PREFETCH")]


def measure(folder, args):
    settings = {"work_mem": f"{args.memory // 16}MB", "random_page_cost": 1.1,
                "effective_io_concurrency": 128, "effective_cache_size": f"{args.memory}MB"}
    serial = settings | {"max_parallel_workers_per_gather": 0}
    sides = [Sql("dovetail", folder, args), Sql("postgresql", folder, args, settings),
             Sql("postgresql", folder, args, serial, "postgresql, serial")]
    sides += duckdb_sides(folder, args)
    try:
        ratios = [compare(sides, path.stem, path.read_text().rstrip(), args.rounds)
                  for path in sorted((QUERIES / args.queries).glob("*.sql"))]
    finally:
        for side in sides:
            side.stop()
    for label in ratios[0]:
        mean = statistics.geometric_mean(ratio[label] for ratio in ratios)
        print(f"geometric mean over {label}: {mean:.2f} x")


main()

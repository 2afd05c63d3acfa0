#!/usr/bin/env python3
"""TPC-H within little memory, beside DuckDB: does every query end, how long does it take, how much memory?

    python3 tests/compare/little_memory.py --sf 10 --memory 1024
    python3 tests/compare/little_memory.py --sf 1 --memory 128 --queries 1,9,18

Each side is told to live within `--memory` (`dovetail serve --memory`, DuckDB's `memory_limit`), with
the same two threads, on column tables without keys; what does not fit is spilled to the same disk. The
sides take turns. Before each run its process is started anew and the page cache is emptied. DuckDB reads
through the page cache, which its limit does not know and ours never uses: both are in a control group of
twice the limit, which the page cache counts for.

Printed for each query and side: the median (min-max) in milliseconds, the statement alone (ours with the
way through a socket); and the largest resident set of the process in MB and as a share of the limit. A
query that fails is shown with the reason. Rows are compared. The exit status is 1 when rows differ or a
query of ours fails.

Needs what `hot.py` needs; `--data FOLDER` takes what that has loaded.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import hot
from rows import normal
from servers import Group, Server, figures

# How far the control groups are above the limit that the engines are told.
ROOM = 2

DUCK = """
import resource, sys, time, duckdb
path, limit, threads, spill = sys.argv[1:]
db = duckdb.connect(path, read_only=True)
db.execute(f"set memory_limit = '{limit}MB'; set threads = {threads}")
db.execute(f"set temp_directory = '{spill}'; set enable_progress_bar = false")
began = time.perf_counter()
try:
    rows = db.execute(sys.stdin.read()).fetchall()
except duckdb.Error as error:
    sys.exit(f"{type(error).__name__}: {error}".splitlines()[0])
print((time.perf_counter() - began) * 1e3)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
for row in rows:
    print("|".join("" if v is None else str(v) for v in row))
"""


class Failed(Exception):
    """A statement that did not end with rows."""


class Dovetail:
    """Ours; `--memory` is the engine's own, and the pool is its default share."""

    label = "dovetail"

    def __init__(self, folder, args):
        self.folder, self.args = folder, args

    def run(self, text):
        """Milliseconds, kB of the largest resident set, and the rows."""
        args = self.args
        server = Limited("dovetail", self.folder, args.memory, args.binary, threads=args.threads,
                         data=hot.ours(self.folder, args))
        try:
            command = ["psql", "-qXAt", "-v", "ON_ERROR_STOP=1"]
            script = f"select 1;\n\\echo BEGIN\n\\timing on\n{text};\n"
            done = subprocess.run(command, env=server.environment(), capture_output=True, text=True,
                                  input=script)
            if done.returncode != 0:
                raise Failed((done.stderr.splitlines() or ["the server ended"])[0])
            lines = done.stdout.split("BEGIN\n", 1)[1].splitlines()
            times = [re.match(r"Time: ([\d.]+) ms", line) for line in lines]
            ms = sum(float(found.group(1)) for found in times if found)
            return ms, server.peak_kb(), [line for line, found in zip(lines, times) if not found]
        finally:
            server.stop()


class Limited(Server):
    """A server that is told its whole limit; its control group has room beyond."""

    def __init__(self, name, folder, memory, binary, threads, data):
        self.memory, self.threads = memory, threads
        super().__init__(name, folder, memory * ROOM, binary, data=data)

    def start_dovetail(self):
        command = ["env", f"DOVETAIL_WORKERS={self.threads}", self.binary, "serve", "--data", self.data,
                   "--memory", f"{self.memory}MB", "--listen", f"127.0.0.1:{self.port}"]
        return self.spawn(command)

    def peak_kb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1))


class Duck:
    """DuckDB, in a process for each statement."""

    label = "duckdb"

    def __init__(self, folder, args):
        self.path, self.args = hot.theirs(folder, args), args
        self.spill = folder / "duckdb-spill"
        self.group = Group("duckdb", args.memory * ROOM << 20)

    def run(self, text):
        args = self.args
        command = [sys.executable, "-c", DUCK, self.path, args.memory, args.threads, self.spill]
        done = subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True,
                              preexec_fn=self.group.enter)
        if done.returncode != 0:
            raise Failed((done.stderr.splitlines() or ["killed: its control group is full"])[0])
        lines = done.stdout.splitlines()
        return float(lines[0]), int(lines[1]), lines[2:]

    def stop(self):
        self.group.remove()
        shutil.rmtree(self.spill, ignore_errors=True)


def empty_page_cache():
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    hot.shared_arguments(parser, memory=256)
    hot.query_arguments(parser)
    # What `hot` asks for besides.
    parser.set_defaults(storage="column", sql=None)
    return hot.parsed(parser)


class Query:
    """What the sides did with one query."""

    def __init__(self, name, text, sides):
        self.name, self.text = name, text
        self.ms = {side.label: [] for side in sides}
        self.peak_kb = {side.label: 0 for side in sides}
        self.failures, self.rows = {}, None

    def run(self, side):
        if side.label in self.failures:
            return
        empty_page_cache()
        try:
            ms, peak_kb, rows = side.run(self.text)
        except Failed as failure:
            self.failures[side.label] = str(failure)
            return
        rows = normal(rows)
        if self.rows is not None and rows != self.rows:
            sys.exit(f"{self.name}: {side.label} has other rows than the run before")
        self.rows = rows
        self.ms[side.label].append(ms)
        self.peak_kb[side.label] = max(self.peak_kb[side.label], peak_kb)

    def ratio(self):
        """Our time by theirs, when both have one."""
        if self.failures:
            return None
        ours, theirs = self.ms.values()
        return statistics.median(ours) / statistics.median(theirs)

    def shown(self, label, limit_mb):
        if label in self.failures:
            return f"{self.failures[label][:44]:>44}"
        mb = self.peak_kb[label] / 1024
        return f"{figures(self.ms[label]):>28} {mb:6.0f} MB {mb / limit_mb:5.2f}"


def run(folder, args):
    hot.load(folder, args)
    sides = [Dovetail(folder, args), Duck(folder, args)]
    try:
        return measure(sides, args)
    finally:
        sides[1].stop()


def measure(sides, args):
    print(f"{'':4} {'rows':>6}  {'dovetail: ms, resident, of limit':>44}  "
          f"{'duckdb: ms, resident, of limit':>44}  ratio", flush=True)
    done = []
    for name, text in hot.statements(args):
        query = Query(name, text, sides)
        for _ in range(args.rounds):
            for side in sides:
                query.run(side)
        shown = [query.shown(side.label, args.memory) for side in sides]
        ratio = query.ratio()
        print(f"{name:4} {len(query.rows or []):6}  {shown[0]}  {shown[1]}  "
              f"{'     ' if ratio is None else f'{ratio:5.2f}'}", flush=True)
        done.append(query)
    return summary(done, args)


def summary(done, args):
    ratios = [ratio for ratio in (query.ratio() for query in done) if ratio is not None]
    if ratios:
        print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.2f}, "
              f"largest {max(ratios):.2f}")
    for label in ("dovetail", "duckdb"):
        peak = max(query.peak_kb[label] for query in done) / 1024
        failed = [query.name for query in done if label in query.failures]
        print(f"{label}: largest resident set {peak:.0f} MB, {peak / args.memory:.2f} of the limit; "
              f"failed: {', '.join(failed) or 'none'}")
    return not any("dovetail" in query.failures for query in done)


def main():
    args = arguments()
    sys.exit(not hot.beside_duckdb("little", args, run, args.data))


if __name__ == "__main__":
    main()

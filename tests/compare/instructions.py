#!/usr/bin/env python3
"""Instructions of a statement, counted by callgrind, with its commit, its log and all threads.

    python3 tests/compare/instructions.py [--count 10000] [--only look-up] [--binary target/release/dovetail]

`dovetail bench instructions` executes a statement of the embedded interface with random keys, half of them missing, on
the ring `threads` with one worker. It runs twice, with `--count` / 5 executions and with `--count` more: the difference
is that of the executions alone. Nothing is timed, so what else the machine does changes nothing. Beside the count stand
the crates whose own code has the most of it: a function of a library counts for the library.

Needs valgrind (Debian: `valgrind`); with a release build a statement takes half a minute.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = ["locked", "join", "computed", "rows"]
WORKS = ["look-up", "range", "update", "insert", "delete", "get", "put"] + SLOW
TEXTS = ["look-up", "range", "update", "insert", "delete"]
# The goals, in instructions. Statements that have no plan for all values have none yet.
GOALS = {"look-up": 4_000, "range": 12_000, "update": 15_000, "insert": 12_000, "delete": 12_000, "get": 1_500,
         "put": 6_000}
TEXT_MORE = 60_000


def counted(binary, folder, work, count, as_text):
    """Instructions in all, and by crate."""
    out = f"{folder}/callgrind.out"
    command = ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}",
               binary, "bench", "instructions", work, "--count", str(count), "--folder", folder]
    done = subprocess.run(command + ["--text"] * as_text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{work}: {done.stderr[-1500:]}")
    return by_crate(out)


def by_crate(path):
    crates, crate, skip = collections.Counter(), "?", False
    for line in open(path, errors="replace"):
        if line.startswith("fn="):
            crate = crate_of(line[3:].strip())
        elif line.startswith("calls="):
            # The next line is the cost of what is called, which stands with the callee.
            skip = True
        elif line[0].isdigit() or line[0] in "+-*":
            if not skip:
                crates[crate] += int(line.split()[1])
            skip = False
    return sum(crates.values()), crates


def crate_of(function):
    found = re.match(r"<?&?(?:mut )?(?:dyn )?([a-z_][a-z0-9_]*)(?:\[[0-9a-f]+\])?::", function)
    return found.group(1) if found else "C and unnamed"


def report(binary, folder, work, count, as_text):
    few, few_crates = counted(binary, folder, work, count // 5, as_text)
    many, many_crates = counted(binary, folder, work, count // 5 + count, as_text)
    each = (many - few) / count
    goal = f"{GOALS[work] + TEXT_MORE * as_text:7,}" if work in GOALS else "   none"
    shares = {name: (many_crates[name] - few_crates[name]) / count for name in many_crates}
    largest = sorted(shares.items(), key=lambda pair: -pair[1])[:6]
    words = ", ".join(f"{name} {value:,.0f}" for name, value in largest)
    print(f"{work:8} {'as text' if as_text else 'prepared':8}  {each:11,.0f}   goal {goal}   {words}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--only", help="one of the statements")
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("SKIPPED: there is no valgrind")
        return
    with tempfile.TemporaryDirectory(prefix="dovetail-instructions-") as folder:
        for works, as_text in [(WORKS, False), (TEXTS, True)]:
            for work in works:
                if args.only in (None, work):
                    report(args.binary, folder, work, args.count, as_text)


main()

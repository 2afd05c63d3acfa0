#!/usr/bin/env python3
"""Asks dovetail the queries that `tables.py` has written beside its tables: compare.py PROGRAM FOLDER ..

Each query goes to a file of its own by COPY; a query that fails has none, and counts as a difference.
"""

import os
import subprocess
import sys
import tempfile

program, folders = sys.argv[1], sys.argv[2:]
cases = []
for folder in folders:
    with open(os.path.join(folder, "queries.tsv")) as lines:
        for line in lines:
            query, expected = line.rstrip("\n").split("\t")
            cases.append((query.replace("@", os.path.abspath(folder)), expected))

with tempfile.TemporaryDirectory() as scratch:
    out = lambda number: os.path.join(scratch, f"{number}.csv")
    different = 0
    for mode in ("serial", "static", "ooo"):
        script = [f"set execution_mode = {mode};", "set time zone 'UTC';"]
        script += [f"copy ({query}) to '{out(number)}' (format csv);" for number, (query, _) in enumerate(cases)]
        told = subprocess.run(
            [program, "sql", os.path.join(scratch, f"{mode}.dovetail")],
            input="\n".join(script), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for number, (query, expected) in enumerate(cases):
            found = "failed"
            if os.path.exists(out(number)):
                with open(out(number)) as rows:
                    found = rows.read().rstrip("\n").replace("\n", ";")
                os.remove(out(number))
            if found != expected:
                different += 1
                print(f"{mode}: {query}\n  expected {expected}\n  found    {found}")
        if different:
            print(told.stdout[-4000:])
            break
print(f"{len(cases)} queries in 3 modes, {different} different")
sys.exit(1 if different or not cases else 0)

#!/usr/bin/env python3
"""Random queries that compose every clause over every table expression, to depth 4, on PostgreSQL and on this engine.

    python3 tests/sql/compose.py [--minutes 10 | --queries N] [--seed N] [--only K] [--modes ooo] [--binary FILE]
                                 [--lanes N] [--limit SECONDS] [--storage column] [--every N]
    python3 tests/sql/compose.py --find [--minutes 10]        # which of the known defects this binary has
    python3 tests/sql/compose.py --record [--queries N]       # writes tests/sql/corpus from PostgreSQL
    python3 tests/sql/compose.py --replay [--known]           # runs it; needs no PostgreSQL

All but `--replay` need a server of PostgreSQL 15 that the environment leads to (`PGPORT`, `PGUSER`, `PGDATABASE`); a
schema of its own is made there and dropped. Query k of a run with seed S depends on S and k alone, its rows and time
zone on S and k / 300: `--seed S --only K` repeats one. Each query runs as text or prepared, its constants as
parameters, declared or not, in text or binary, in all modes and with little memory; rows, their order as far as the
query settles it, and the types of columns and parameters are compared. With `--every N` one query in N is asked in all
modes, the others in one, by turns: planning in each mode is most of the time.

A defect is cut down, query and rows, until nothing can go without it going as well, and printed with both answers. What
is no defect is counted: refusals with 0A000 by their message, errors of values that only one side came to compute.
A query that takes longer than `--limit` on any side is not compared; it is counted as too slow, and its number printed.
Lanes are processes with a server and a schema of PostgreSQL each, as many as the machine has cores; they take batches
of queries in turn, and several queries are on their way to each side at once.
The generator is in `generator/`: `tree` what queries are, `expressions` and `queries` how they grow, `tables` the data,
`session` the wire, `sides` the comparison, `lanes` the processes, `shrink` the cutting, `mends` what `--find` knows,
`corpus` the recording.
Ends with 1 if there was a defect, with `--find` if one was not found.
"""

import argparse
import collections
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire
from generator import corpus, lanes, mends, shrink, tables
from generator.queries import Queries
from generator.sides import LIMIT_S, MODES, WINDOW, Engine, Reference, Sides, Verdict, shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 300
MEMORY = "64MB"
# Queries of the corpus: as many as the gate runs in less than two minutes.
RECORDED = 600
# How long cutting a defect down may take: what is left then is printed as it is.
CUT_S = 90


LITERAL = ("literal", False, False)


class Case:
    """Query `number` of a seed, how it is sent, and the rows and the zone that it meets."""

    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        rng = random.Random(f"{seed}:{number}")
        self.tree = Queries(rng).any()
        self.how = rng.choice([LITERAL, LITERAL, ("literal", False, True),
                               ("undeclared", False, False), ("undeclared", False, True), ("declared", False, False),
                               ("declared", True, True), ("declared", True, False)])

    def circumstances(self):
        batch = f"{self.seed}/{self.number // BATCH}"
        return tables.rows(batch), random.Random(batch).choice(tables.ZONES)


def how_said(how):
    style, binary, results = how
    formats = f", parameters in binary" * binary + ", results in binary" * results
    return {"literal": "as text", "declared": "prepared, types declared", "undeclared": "prepared"}[style] + formats


class Finding:
    """A defect, cut down; without `rows` only its query is."""

    def __init__(self, case, sides, verdict, rows=True):
        self.case, self.how, self.verdict = case, case.how, verdict
        data, zone = sides.data, sides.zone
        modes = [verdict.mode] if verdict.mode else None
        over = time.monotonic() + CUT_S
        in_time = lambda: time.monotonic() < over
        same = lambda tree: in_time() and verdict.same_as(sides.compare(tree, self.how, modes)[0])
        self.tree = shrink.shrink(case.tree, same)
        for how in [LITERAL, ("literal", False, True), ("declared", False, False)]:
            if self.how != how and verdict.same_as(sides.compare(self.tree, how, modes)[0]):
                self.how = how
                break
        self.zone, self.rows = zone, data
        if rows:
            fewer_show = lambda fewer: in_time() and (sides.load(fewer, zone) or same(self.tree))
            self.rows = shrink.shrink_rows(data, fewer_show)
            sides.load(self.rows, zone)
        self.last, self.query, self.answers = sides.compare(self.tree, self.how)
        if rows:
            sides.load(data, zone)

    def __str__(self):
        lines = [f"{self.verdict.kind}, mode {self.verdict.mode}, seed {self.case.seed}, query {self.case.number} "
                 f"({how_said(self.how)}; time zone {self.zone}): {self.last.said}"]
        lines += [f"  {line}" for line in tables.inserts(self.rows).splitlines() if self.reads(line.split()[2])]
        lines += [f"  {self.query.sql};" + (f"  -- {self.query.parameters}" if self.query.parameters else "")]
        answers = {name: str(answer)[:300] for name, answer in self.answers.items()}
        theirs = answers.pop("PostgreSQL", "")
        lines += [f"  PostgreSQL: {theirs}"] + [f"  {name}: {text}" for name, text in answers.items() if text != theirs]
        return "\n".join(lines)

    def reads(self, table):
        return f" {table} " in f"{self.query.sql} "

    def form(self):
        """What two findings of one cause mostly have in common."""
        return self.verdict.kind, shape(self.query.sql), shape(self.last.said)


class Run:
    """A run over many queries, and what it counted."""

    def __init__(self, sides, most_shrunk, rows=True, every=1):
        self.sides, self.most_shrunk, self.rows, self.every, self.batch = sides, most_shrunk, rows, every, None
        self.counts, self.refused, self.forms = collections.Counter(), collections.Counter(), set()
        self.findings, self.started, self.cut = [], time.monotonic(), collections.Counter()
        self.slow = []

    def taken(self):
        """What was counted since this was asked last."""
        taken = self.counts, self.refused, self.slow
        self.counts, self.refused, self.slow = collections.Counter(), collections.Counter(), []
        return taken

    def defects(self):
        return sum(count for kind, count in self.counts.items() if kind in Verdict.DEFECTS)

    def seconds(self):
        return time.monotonic() - self.started

    def meet(self, case):
        """Loads the rows that a query meets, if others are there."""
        batch = (case.seed, case.number // BATCH)
        if self.batch != batch:
            self.batch = batch
            self.sides.load(*case.circumstances())

    def one(self, case):
        """Compares one query; a finding if it shows a defect that was not seen in this form."""
        self.meet(case)
        return self.judged(case, self.sides.compare(case.tree, case.how)[0])

    def some(self, cases):
        """Compares queries of one batch; what they show that was not seen."""
        self.meet(cases[0])
        findings = [self.judged(case, verdict) for case, verdict in zip(cases, self.sides.compare_all(cases, self.every))]
        return [finding for finding in findings if finding]

    def judged(self, case, verdict):
        self.counts[verdict.kind] += 1
        if verdict.kind in ("refused", "memory", "taken here", "rows counted early"):
            self.refused[f"{verdict.kind}: {shape(verdict.said)}"] += 1
        if verdict.kind == "slow":
            self.slow.append((case.number, verdict.said if verdict.said == "in PostgreSQL" else verdict.mode))
        if not verdict.is_defect():
            return None
        if not self.is_worth_cutting(case, verdict):
            return None
        finding = Finding(case, self.sides, verdict, self.rows)
        self.findings.append(finding)
        if finding.form() in self.forms:
            return None
        self.forms.add(finding.form())
        return finding

    def is_worth_cutting(self, case, verdict):
        """Of errors the first two of a message, of types some, of volatile WITH one; of rows as many as are wanted."""
        message = f"{verdict.kind}: {shape(verdict.said)[:36]}" if verdict.kind == "error" else verdict.kind
        message = "volatile" if hasattr(case.tree, "is_fixed") else message
        self.cut[message] += 1
        most = {"error": 2, "parameters": 8, "types": 8, "rows counted early": 6}.get(verdict.kind, self.most_shrunk)
        return self.cut[message] <= (1 if message == "volatile" else most)


def compose(args):
    if args.only is not None:
        run = Run(args.sides(), args.shrink)
        found = run.one(Case(args.seed, args.only))
        print(found or f"no difference: {dict(run.counts)}")
        run.sides.close()
        return 1 if run.defects() else 0
    total = lanes.Total(args)
    lanes.run(args, lane, total)
    print(total.summary())
    return total.code()


def lane(args, batches, tell):
    """What a process does: batches of queries, as long as there are some and time is left."""
    run = Run(args.sides(), args.shrink, every=args.every)
    for batch in batches:
        numbers = range(batch * BATCH, min((batch + 1) * BATCH, args.queries))
        for start in range(0, len(numbers), WINDOW):
            if args.minutes and run.seconds() > args.minutes * 60:
                break
            found = run.some([Case(args.seed, number) for number in numbers[start : start + WINDOW]])
            tell(run.taken(), [(str(finding), finding.form()) for finding in found])
    run.sides.close()


def is_new(case, verdict, sides, missing):
    """Whether cutting a defect down may show one that is missing still."""
    if verdict.kind == "types":
        return "values" in missing
    if verdict.kind not in ("rows", "order") or ("with twice" not in missing and hasattr(case.tree, "is_fixed")):
        return False
    # What differs as it is sent only, is one of two; as text, it is one of the others.
    on_the_wire = case.how != LITERAL and sides.compare(case.tree, LITERAL)[0].kind not in ("rows", "order")
    return not on_the_wire or bool({"timestamptz parameter", "untyped null"} & missing.keys())


def find(args):
    """How soon each known defect is met, by what it is when cut down."""
    sides, missing = args.sides(), dict(mends.MENDS)
    run = Run(sides, 10_000, rows=False)
    run.is_worth_cutting = lambda case, verdict: is_new(case, verdict, sides, missing)
    for number in range(args.queries):
        if not missing or run.seconds() > (args.minutes or 10) * 60:
            break
        finding = run.one(Case(args.seed, number))
        for name in mends.shown(finding) if finding else []:
            if name in missing:
                print(f"found again: {missing.pop(name)}: seed {args.seed}, query {number}, "
                      f"after {run.seconds():.0f} s\n  {finding.query.sql}", flush=True)
    for what in missing.values():
        print(f"NOT FOUND within {sum(run.counts.values())} queries: {what}")
    print(f"{len(mends.MENDS) - len(missing)} of {len(mends.MENDS)} found again in {run.seconds():.0f} s")
    sides.close()
    return 1 if missing else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, help="ends the run")
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one query")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--shrink", type=int, default=40, help="defects that are cut down, of each lane")
    parser.add_argument("--lanes", type=int, default=os.cpu_count(), help="processes with a server each")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a query; beyond, it is not compared")
    parser.add_argument("--binary", default=str(ROOT / "target" / "debug" / "dovetail"))
    parser.add_argument("--every", type=int, default=1, help="queries of which one is asked in all modes")
    parser.add_argument("--storage", choices=["row", "column"], default="row", help="of our tables")
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--known", action="store_true", help="with --replay: makes differs.txt anew")
    return parser.parse_args()


def main():
    args = arguments()
    server = wire.Server(args.binary, "--memory", MEMORY)
    if args.replay:
        return corpus.replay(server, args.known)
    if args.record:
        return corpus.record(args.seed, min(args.queries, RECORDED), Case, BATCH)
    args.batch = BATCH
    args.sides = lambda: Sides(Reference(args.limit), Engine(server, args.modes.split(","), args.limit, args.storage))
    return (find if args.find else compose)(args)


if __name__ == "__main__":
    sys.exit(main())

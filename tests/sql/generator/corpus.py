"""Queries of the generator with PostgreSQL's answers, in a file, so that the gate compares without PostgreSQL.

A line of the file is either the rows and the time zone that the queries behind it meet, or a query with its answer.
`differs.txt` names the queries whose answers are known to differ, each with the reason; one that is equal must leave it.
"""

import collections
import json
import pathlib

from . import tables
from .session import Answer, Prepared
from .sides import Engine, Reference, Sides, Verdict, judge, order_of, prepare, shape

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "corpus"
FILE, DIFFERS = FOLDER / "composed.jsonl", FOLDER / "differs.txt"
MODES = ["serial", "static", "ooo"]
# A query in the file has at most so many rows, so that a person can read it.
ROWS_MAX = 30
# Answers without rows say little: so many of them are kept.
EMPTY_SHARE = 0.1


class NoEngine:
    sessions = {}


def record(seed, wanted, make_case, batch):
    """Writes the corpus: the answers are PostgreSQL's."""
    reference = Reference()
    sides, lines, kept, empty, number = Sides(reference, NoEngine()), [], 0, 0, 0
    while kept < wanted:
        case = make_case(seed, number)
        if number % batch == 0:
            data, zone = case.circumstances()
            sides.load(data, zone)
            lines.append({"zone": zone, "data": data})
        query = prepare(case.tree, *case.how)
        answer = reference.session.ask(query)
        if is_kept(answer, empty, kept):
            kept, empty = kept + 1, empty + (not answer.rows)
            lines.append(line_of(number, case, query, answer))
        number += 1
    reference.close()
    FOLDER.mkdir(exist_ok=True)
    FILE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(f"{kept} queries of {number}, {FILE.stat().st_size // 1024} KiB, in {FILE.name}")
    return 0


def is_kept(answer, empty, kept):
    if answer.error or len(answer.rows) > ROWS_MAX:
        return False
    return bool(answer.rows) or empty < kept * EMPTY_SHARE


def line_of(number, case, query, answer):
    return {"query": number, "sql": query.sql, "parameters": query.parameters, "style": query.style,
            "binary": query.binary, "binary_results": query.binary_results, "order": order_of(case.tree),
            "types": answer.types, "described": answer.parameters, "rows": answer.rows}


def known():
    """The numbers in `differs.txt`, each with how its answer differs and the reason."""
    lines = DIFFERS.read_text().splitlines() if DIFFERS.exists() else []
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    return {int(number): tuple(rest.partition(" # ")[::2]) for number, rest in pairs}


def write_known(found):
    """Makes `differs.txt` anew from what differs now; whoever does this looks at each line."""
    reasons = {number: reason for number, (_, reason) in known().items()}
    lines = [f"{number}: {what} # {reasons.get(number, 'not looked at')}" for number, what in sorted(found.items())]
    head = "# Made by compose.py --replay --known: query, how it differs from PostgreSQL, and by hand: why."
    DIFFERS.write_text("\n".join([head, *lines]) + "\n")
    print(f"{len(found)} queries in {DIFFERS.name}")


def replay(server, is_listing):
    """Compares the engine with the file in all modes; 1 if an answer differs that is not known to. `is_listing` makes
    the list of those that are known."""
    differs, counts, found = {} if is_listing else known(), collections.Counter(), {}
    engine = Engine(server, MODES)
    sides = Sides(None, engine)
    for line in map(json.loads, FILE.read_text().splitlines()):
        if "data" in line:
            met = line
            load(sides, met)
            continue
        if differs.get(line["query"], ("",))[0].startswith("server"):
            counts["not run: the server does not survive it"] += 1
            continue
        verdicts = run_line(sides, line)
        counts[outcome(line, verdicts, differs)] += 1
        if verdicts[0][0].kind == "server":
            engine.again()
            load(sides, met)
        found |= {line["query"]: f"{v.kind}: {shape(v.said)}" for v, _ in verdicts if v.kind not in ("same", "refused")}
    engine.close()
    if is_listing:
        write_known(found)
    for kind, count in counts.most_common():
        print(f"  {count} {kind}")
    failed = counts["FAILED"]
    passed = counts["equal"]
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; "
          f"{sum(counts.values()) - passed - failed} ignored;")
    return failed > 0


def load(sides, line):
    sessions = list(sides.engine.sessions.values())
    for session in sessions:
        session.query(f"set timezone = '{line['zone']}'")
    sessions[0].query("".join(f"delete from {table};" for table in line["data"]) + tables.inserts(line["data"]))
    sessions[0].query("analyze")


def run_line(sides, line):
    query = Prepared(line["sql"], line["parameters"], line["style"], line["binary"], line["binary_results"])
    theirs = Answer(line["rows"], line["types"], line["described"])
    try:
        for session in sides.engine.sessions.values():
            session.send(query)
        answers = {mode: session.receive() for mode, session in sides.engine.sessions.items()}
    except (EOFError, OSError) as gone:
        return [(Verdict("server", f"{type(gone).__name__}: {gone}"), Answer())]
    return [(judge(theirs, ours, line["order"], mode), ours) for mode, ours in answers.items()]


def outcome(line, verdicts, differs):
    """What is counted for a query; what is new is printed."""
    worst = next(((verdict, ours) for verdict, ours in verdicts if verdict.kind != "same"), None)
    number = line["query"]
    if worst is None:
        if number not in differs:
            return "equal"
        print(f"FAILED  query {number} is equal, and must leave {DIFFERS.name}", flush=True)
        return "FAILED"
    verdict, ours = worst
    how, why = differs.get(number, ("", ""))
    if how == f"{verdict.kind}: {shape(verdict.said)}":
        return f"known to differ: {why}"
    if verdict.kind == "refused":
        return f"refused: {shape(verdict.said)}"
    print(f"FAILED  query {number}, {verdict.mode}: {verdict.kind}: {verdict.said}\n  {line['sql']};"
          f"{'  -- ' + str(line['parameters']) if line['parameters'] else ''}\n"
          f"  PostgreSQL: {line['rows']} of types {line['types']}\n  here: {ours}", flush=True)
    return "FAILED"

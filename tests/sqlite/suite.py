#!/usr/bin/env python3
"""SQLite's logic tests: fetches the files and runs them through the server.

    python3 tests/sqlite/suite.py fetch                      # once; 110 MB, into target/sqlite-tests
    python3 tests/sqlite/suite.py run                        # what issue 3 names
    python3 tests/sqlite/suite.py run index/orderby random   # other folders or files
    python3 tests/sqlite/suite.py run --port 5432            # against a server that runs already, as PostgreSQL

Options of `run`: `--binary FILE` (default target/release/dovetail, else target/debug/dovetail), `--as NAME`
(the name that `skipif` and `onlyif` ask for, default postgresql; `dovetail` runs more records), `--mode NAME`,
`--jobs N`, `--every N` (only each N-th query of a file), `--verbose` (every failure, not the first three).

The files belong to SQLite (public domain) and are not part of this repository. They come from the package
net.hydromatic:sql-logic-test of Maven's central repository; `mvn` must be installed to fetch them.

A value is shown as SQLite's own runner shows it: `%d` under I, `%.3f` under R, text under T; results beyond
the threshold are compared by their MD5. What PostgreSQL 15 refuses too stands in `refused.txt` with its
reason; such a record, when it is refused here too, is counted apart, and printed with its reason.
"""

import argparse
import concurrent.futures
import contextlib
import decimal
import hashlib
import pathlib
import re
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "target" / "sqlite-tests"
ARTIFACT = ("net.hydromatic", "sql-logic-test", "0.3")
WANTED = ["select1.test", "select2.test", "select3.test", "select4.test", "select5.test",
          "evidence", "index/between", "index/in"]
SLOW_SECONDS = 3.0


def fetch(folder):
    """Has Maven fetch the package and unpacks its test files."""
    group, name, version = ARTIFACT
    subprocess.run(
        ["mvn", "-q", "dependency:get", f"-Dartifact={group}:{name}:{version}", "-Dtransitive=false"], check=True
    )
    home = pathlib.Path.home() / ".m2" / "repository" / group.replace(".", "/") / name / version
    with zipfile.ZipFile(home / f"{name}-{version}.jar") as package:
        names = [n for n in package.namelist() if n.startswith("test/") and n.endswith(".test")]
        package.extractall(folder, names)
    print(f"{len(names)} files in {folder / 'test'}")


class Record:
    """A statement or a query of a file."""

    def __init__(self, line, head, sql, result):
        self.line, self.sql, self.result = line, sql, result
        words = head.split()
        self.kind, self.words = words[0], words[1:]


def records(text, name):
    """The records that an engine of this name runs."""
    line, skip = 1, False
    for paragraph in re.split(r"(\n(?:[ \t]*\n)+)", text):
        start, line = line, line + paragraph.count("\n")
        lines = [l for l in paragraph.split("\n") if not l.startswith("#")]
        while lines and (not lines[0].strip() or lines[0].split()[0] in ("skipif", "onlyif")):
            word = lines.pop(0).split()
            if word:
                skip = skip or (word[0] == "skipif") == (word[1] == name)
        if not lines:
            continue
        head, body = lines[0], lines[1:]
        if not skip:
            if head.split()[0] == "halt":
                return
            cut = body.index("----") if "----" in body else len(body)
            yield Record(start, head, "\n".join(body[:cut]), [l for l in body[cut + 1 :] if l != ""])
        skip = False


def shown(value, kind):
    """A value as SQLite's runner prints it."""
    if value is None:
        return "NULL"
    if value in ("t", "f") and kind in "IR":
        value = "1" if value == "t" else "0"
    if kind in "IR":
        number = re.match(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", value)
        number = decimal.Decimal(number[0]) if number else decimal.Decimal(0)
        return str(int(number)) if kind == "I" else "%.3f" % float(number)
    return "".join(c if " " <= c <= "~" else "@" for c in value) if value else "(empty)"


def values(rows, kinds, sort):
    cells = [[shown(value, kind) for value, kind in zip(row, kinds)] for row in rows]
    if sort == "rowsort":
        cells.sort()
    flat = [cell for row in cells for cell in row]
    return sorted(flat) if sort == "valuesort" else flat


def digest(flat):
    return hashlib.md5("".join(f"{value}\n" for value in flat).encode()).hexdigest()


class Outcome:
    """What came of a file."""

    def __init__(self, name):
        self.name, self.passed, self.failures, self.refused, self.seconds = name, 0, [], {}, 0.0
        self.slow, self.slowest, self.tags = [], 0.0, set()


def difference(record, rows, labels):
    """Why the rows are not the expected ones; None when they are."""
    kinds, sort = record.words[0], record.words[1] if len(record.words) > 1 else "nosort"
    if any(len(row) != len(kinds) for row in rows):
        return f"{len(rows[0])} columns instead of {len(kinds)}"
    flat = values(rows, kinds, sort)
    if len(record.words) > 2:
        known = labels.setdefault(record.words[2], digest(flat))
        if known != digest(flat):
            return f"another result than the first of label {record.words[2]}"
    hashed = re.fullmatch(r"(\d+) values hashing to ([0-9a-f]{32})", "\n".join(record.result))
    if hashed:
        got = f"{len(flat)} values hashing to {digest(flat)}"
        return None if got == record.result[0] else f"{got}, not {record.result[0]}"
    return None if flat == record.result else f"{flat[:20]} instead of {record.result[:20]}"


def run_record(connection, record, labels, outcome, known):
    started = time.monotonic()
    try:
        rows, error = connection.query(record.sql), None
    except wire.Refused as refused:
        rows, error = [], refused
    took = time.monotonic() - started
    outcome.slowest = max(outcome.slowest, took)
    if took > SLOW_SECONDS:
        outcome.slow.append(f"{outcome.name}:{record.line}: {took:.1f} s")
    if record.kind == "statement":
        wanted = record.words[0] == "ok"
        why = None if wanted == (error is None) else str(error or "no error")
    else:
        why = str(error) if error else difference(record, rows, labels)
    tag = error.state if error else f"rows-{digest(values(rows, record.words[0], 'rowsort'))}"
    if record.kind == "statement" and not error:
        tag = "accepted"
    theirs = known.get(squeezed(record.sql), ())
    if why and (tag in theirs or error and any(re.fullmatch(r"[0-9A-Z]{5}", t) for t in theirs)):
        outcome.refused.setdefault(reason(tag), []).append(record.line)
    elif why:
        outcome.failures.append((record.line, record.sql, why))
        outcome.tags.add((tag, squeezed(record.sql)))
    else:
        outcome.passed += 1


def squeezed(sql):
    return " ".join(sql.split())


REASONS = {
    "22P02": "a text that is no number beside a number: SQLite compares values of any two types",
    "42883": "no such operator between these types: SQLite compares values of any two types",
    "42804": "values of types that do not go together: SQLite lets any two meet",
    "42601": "syntax of SQLite and MySQL alone: IN (), REPLACE, REINDEX of a name, triggers with a body",
    "42803": "a column that is neither grouped nor aggregated; SQLite takes any row's",
    "2BP01": "DROP VIEW of what another view names; SQLite does not look",
    "42P07": "follows from a DROP that was refused before",
    "0A000": "triggers do not exist here; PostgreSQL refuses the form without ON",
    "42704": "follows from a statement that was refused before",
    "accepted": "PostgreSQL takes what SQLite refuses",
    "rows": "follows from a statement that was refused before",
}


def reason(tag):
    kind = tag.split("-")[0]
    return f"{kind}: {REASONS.get(kind, 'PostgreSQL refuses it with this SQLSTATE')}"


def refused_too():
    """What PostgreSQL 15 does otherwise than the files say: SQL to outcomes."""
    lines = (HERE / "refused.txt").read_text().splitlines()
    known = {}
    for line in lines:
        if line and not line.startswith("#"):
            tag, sql = line.split(" ", 1)
            known.setdefault(sql, set()).add(tag)
    return known


def write_refused(tags):
    """Only ever from a run against PostgreSQL."""
    head = "# Records that PostgreSQL 15 fails too: SQLSTATE, or the MD5 of its rows, and the SQL. Written by\n" \
        "# `suite.py run --port PORT --write-refused`; the reasons are in suite.py.\n"
    lines = sorted(f"{tag} {sql}\n" for tag, sql in tags)
    (HERE / "refused.txt").write_text(head + "".join(lines))


def run_file(path, args, known):
    name = str(path.relative_to(args.folder / "test")) if args.folder in path.parents else str(path)
    outcome, labels = Outcome(name), {}
    with server(args) as port:
        connection = wire.Connection(port, user=args.user, database=args.database)
        if args.port:
            connection.query("set client_min_messages = error; drop schema public cascade; create schema public")
        if args.mode:
            connection.query(f"set execution_mode = {args.mode}")
        started = time.monotonic()
        for number, record in enumerate(records(path.read_text(), args.name)):
            if record.kind == "hash-threshold" or record.kind == "query" and number % args.every:
                continue
            try:
                run_record(connection, record, labels, outcome, known)
            except (EOFError, OSError) as gone:
                outcome.failures.append((record.line, record.sql, f"the server is gone: {gone!r}"))
                break
        outcome.seconds = time.monotonic() - started
        connection.close()
    return outcome


def server(args):
    """A server of the binary on a fresh database, or the one that runs at `--port`."""
    return contextlib.nullcontext(args.port) if args.port else wire.Server(args.binary)


def files_of(args):
    for wanted in args.what or WANTED:
        path = pathlib.Path(wanted) if pathlib.Path(wanted).is_file() else args.folder / "test" / wanted
        found = sorted(path.rglob("*.test")) if path.is_dir() else [path]
        if not found or not found[0].is_file():
            raise SystemExit(f"no such file: {path} (`suite.py fetch` first)")
        yield from found


def report(outcome, verbose):
    refused = sum(map(len, outcome.refused.values()))
    state = "ok  " if not outcome.failures else "FAIL"
    print(f"{state} {outcome.name}: {outcome.passed} passed, {len(outcome.failures)} failed, "
          f"{refused} refused as by PostgreSQL, {outcome.seconds:.1f} s (slowest {outcome.slowest * 1000:.0f} ms)",
          flush=True)
    for reason, lines in sorted(outcome.refused.items()):
        print(f"     {len(lines)} times {reason} (line {', '.join(map(str, lines[:5]))} ..)")
    for slow in outcome.slow:
        print(f"     slow: {slow}")
    for line, sql, why in outcome.failures[: None if verbose else 3]:
        print(f"     line {line}: {why}\n       {squeezed(sql)[:600]}", flush=True)


def run(args):
    known = {} if args.write_refused else refused_too()
    tags = set()
    totals = [0, 0, 0, 0]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(run_file, list(files_of(args)), *map(forever, (args, known))):
            report(outcome, args.verbose)
            tags |= outcome.tags
            refused = sum(map(len, outcome.refused.values()))
            counts = (1, outcome.passed, len(outcome.failures), refused)
            totals = [total + count for total, count in zip(totals, counts)]
    if args.write_refused:
        write_refused(tags)
    print("{} files: {} passed, {} failed, {} refused as by PostgreSQL".format(*totals))
    return totals[2] > 0


def forever(value):
    while True:
        yield value


def default_binary():
    release = ROOT / "target" / "release" / "dovetail"
    return str(release if release.exists() else ROOT / "target" / "debug" / "dovetail")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["fetch", "run"])
    parser.add_argument("what", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--binary", default=default_binary())
    parser.add_argument("--as", dest="name", default="postgresql")
    parser.add_argument("--mode")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--port", type=int)
    parser.add_argument("--write-refused", action="store_true")
    parser.add_argument("--user", default="postgres")
    parser.add_argument("--database", default="postgres")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_intermixed_args()
    if args.command == "fetch":
        return fetch(args.folder)
    if args.write_refused and not args.port:
        raise SystemExit("--write-refused needs --port, of PostgreSQL")
    return run(args)


if __name__ == "__main__":
    sys.exit(main())

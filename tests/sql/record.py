#!/usr/bin/env python3
"""Records the results of the SQL tests from PostgreSQL, never from this engine.

    python3 tests/sql/record.py                 # all files
    python3 tests/sql/record.py join/outer.slt  # some

Needs `psql` and a server (15 or later) that the environment leads to (`PGHOST`, `PGPORT`,
`PGUSER`, `PGDATABASE`), as a superuser of a scratch database: the schema `public` is dropped
before each file.

In a file, statements and queries are written by hand, results are written by this script:

- `statement ok` stays or becomes `statement error (SQLSTATE)`;
- `query ... [rowsort]` gets its column types (I integer, R other number, T the rest) and its rows,
  one a line, `|` between columns, `NULL` for null, `(empty)` for an empty text;
- `{data}` in a statement is the folder `tests/sql/data`.

A file whose first line is `# dovetail only` is about things that PostgreSQL has not; it is left
alone. A record that follows a comment `# differs: ...` is left alone too; the comment says why.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
MARK = "@@record@@"
INTEGERS = {"smallint", "integer", "bigint"}
NUMBERS = {"numeric", "real", "double precision"}


class Record:
    """A paragraph of a file: comments, a head line, SQL, and perhaps results."""

    def __init__(self, text):
        lines = text.split("\n")
        at = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        self.comments, rest = lines[:at], lines[at:]
        self.head = rest[0] if rest else ""
        body = rest[1:]
        cut = body.index("----") if "----" in body else len(body)
        self.sql, self.result = "\n".join(body[:cut]), body[cut:]

    def is_recorded(self):
        differs = any(line.startswith("# differs:") for line in self.comments)
        return self.head.split(" ")[0] in ("statement", "query") and not differs

    def text(self):
        head = [self.head] if self.head else []
        sql = self.sql.split("\n") if self.sql else []
        return "\n".join(self.comments + head + sql + self.result)


def type_letter(name):
    base = re.sub(r"\([^)]*\)", "", name)
    return "I" if base in INTEGERS else "R" if base in NUMBERS else "T"


def script(records, data):
    """A psql script that runs the records and marks where the output of each begins."""
    parts = [
        "\\set VERBOSITY sqlstate",
        "\\pset null NULL",
        "set client_min_messages = error;",
        "drop schema public cascade; create schema public;",
        "set datestyle = iso;",
    ]
    for position, record in enumerate(records):
        sql = record.sql.replace("{data}", str(data)).rstrip().rstrip(";")
        parts.append(f"\\echo {MARK} {position}")
        if not record.head or not record.is_recorded():
            continue
        if record.head.startswith("query"):
            parts.append(f"{sql}\n\\gdesc\n\\echo {MARK} rows")
        parts.append(f"{sql};")
    return "\n".join(parts) + "\n"


def run(text):
    """The output of psql, per record: the descriptions of columns, then the rows."""
    command = ["psql", "-X", "-q", "-A", "-t", "-F", "|"]
    done = subprocess.run(
        command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        sys.exit(done.stdout)
    outputs = {}
    for block in done.stdout.split(f"{MARK} ")[1:]:
        head, _, body = block.partition("\n")
        if head != "rows":
            position = int(head)
            outputs[position] = ["", ""]
        outputs[position][head == "rows"] = body
    return outputs


def apply(record, output, place):
    described, rows = output
    kind = record.head.split(" ")[0]
    error = re.search(r"^ERROR:  ([0-9A-Z]{5})$", described + rows, re.M)
    if error:
        record.head = f"{kind} error ({error.group(1)})"
        record.result = []
    elif kind == "statement":
        record.head = "statement ok"
    else:
        sort = [word for word in record.head.split(" ")[1:] if word in ("rowsort", "nosort")]
        if record.head.startswith("query error"):
            print(f"{place}: no error any more")
        types = "".join(type_letter(line.split("|")[1]) for line in described.splitlines())
        record.head = " ".join(["query", types, *sort])
        table = [line.split("|") for line in rows.splitlines()]
        if any(len(row) != len(types) for row in table):
            sys.exit(f"{place}: a value with a line break or a | in it: {table}")
        table = [[cell or "(empty)" for cell in row] for row in table]
        if sort == ["rowsort"]:
            table.sort()
        record.result = ["----"] + ["|".join(row) for row in table]


def record_file(path, data):
    text = path.read_text()
    if text.startswith("# dovetail only"):
        return
    records = [Record(part) for part in re.split(r"\n\n+", text.strip("\n"))]
    outputs = run(script(records, data))
    for position, record in enumerate(records):
        if record.is_recorded():
            apply(record, outputs[position], f"{path.name}: {record.sql}")
    path.write_text("\n\n".join(record.text() for record in records) + "\n")
    print(f"{path.relative_to(ROOT)}: {len(records)} records")


def main():
    names = sys.argv[1:]
    paths = [ROOT / name for name in names] if names else sorted(ROOT.rglob("*.slt"))
    with tempfile.TemporaryDirectory() as folder:
        # The server reads the data itself, as another user.
        os.chmod(folder, 0o755)
        data = pathlib.Path(folder) / "data"
        shutil.copytree(ROOT / "data", data)
        for path in paths:
            record_file(path, data)


main()

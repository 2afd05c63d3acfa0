#!/usr/bin/env python3
"""PostgreSQL's own regression files, statement by statement, by PostgreSQL 15 and by this engine.

    python3 tests/sql/regress.py --folder target/pg15/src/test/regress [--binary FILE] [--out FILE] [name ..]

`--folder` is `src/test/regress` of PostgreSQL's sources, version 15; they are not part of this repository. Needs
a server of PostgreSQL 15 that the environment leads to (`PGHOST`, `PGPORT`, `PGUSER`) as a superuser: the
databases `regress_base` and `regress_run` are made and dropped. Both sides begin each file with what
`test_setup.sql` makes, in UTC and ISO style, and run it without regard to the other's errors. Commands of psql
are left out but for its variables. Rows are compared without their order, errors by their SQLSTATE.
Prints, per file, how many statements agree, and the causes of differences by how many statements they break:
this engine's message with names and numbers left out. `--out` gets every difference as a line of JSON.
This is a measure of distance, not a test: most files want what is not built.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import wire

FILES = """boolean char varchar text int2 int4 int8 float4 float8 numeric uuid strings numerology date time timestamp
timestamptz interval horology comments expressions copy copyselect copydml insert insert_conflict create_table
create_view index_including constraints select drop_if_exists updatable_views errors select_into select_distinct
select_distinct_on select_implicit select_having subselect union case join aggregates transactions portals arrays
update delete namespace tablesample groupingsets generated identity create_table_like misc_functions tsrf
incremental_sort foreign_key window limit truncate alter_table sequence returning with prepare temp domain enum
json regex merge copy2 rowtypes select_views privileges tuplesort""".split()
SETTINGS = ["set statement_timeout = 20000", "set timezone = 'UTC'", "set client_min_messages = error"]


class Connection(wire.Connection):
    """A session that also copies, and tells the tag of a command that gives no rows."""

    def run(self, sql, data=""):
        """(SQLSTATE, message) of an error, or (None, rows or tag)."""
        self.data = data.encode()
        body = sql.encode() + b"\0"
        self.stream.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        rows, error, tag = None, None, ""
        while True:
            head = self.input.read(5)
            if len(head) < 5:
                raise EOFError("the server closed the connection")
            body = self.input.read(struct.unpack("!i", head[1:])[0] - 4)
            kind = head[:1]
            if kind == b"T":
                rows = []
            elif kind == b"D":
                rows.append("|".join("NULL" if v is None else v for v in wire.cells(body)))
            elif kind == b"d":
                rows = (rows or []) + [body.decode().rstrip("\n")]
            elif kind == b"G":
                message = b"d" + struct.pack("!i", len(self.data) + 4) + self.data if self.data else b""
                self.stream.sendall(message + b"c" + struct.pack("!i", 4))
            elif kind == b"E":
                refused = wire.refusal(body)
                error = error or (refused.state, refused.message)
            elif kind == b"C":
                tag = body[:-1].decode()
            elif kind == b"Z":
                return error or (None, sorted(rows) if rows is not None else tag)


TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<escape>\b[eE]'(?:[^'\\]|\\.|'')*')|(?P<string>'(?:[^']|'')*')"""
    r"""|(?P<name>"(?:[^"]|"")*")|(?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)|(?P<colon>::)"""
    r"""|:(?:'(?P<literal>\w+)'|"(?P<quoted>\w+)"|(?P<plain>[A-Za-z_]\w*))|(?P<meta>\\[^\n]*)|(?P<end>;)|.""",
    re.S,
)
COPY = re.compile(r"\s*copy\b.*\bfrom\s+stdin\b", re.I | re.S)


def statements(text, variables):
    """(SQL, data of COPY, command of psql that ends it) in order; psql's variables are filled in as it goes."""
    at, sql, depth = 0, [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        at = token.end()
        kind = token.lastgroup if token.lastgroup != "tag" else "dollar"
        if kind == "meta":
            if "".join(sql).strip() and token["meta"][1:2] == "g":
                yield "".join(sql), "", token["meta"]
                sql = []
            else:
                meta(token["meta"], variables)
        elif kind == "end" and depth <= 0:
            data = ""
            if COPY.match("".join(sql)):
                data, at = data_of_copy(text, at)
            yield "".join(sql), data, ""
            sql, depth = [], 0
        elif kind in ("literal", "quoted", "plain") and token[kind] in variables:
            value, quote = variables[token[kind]], {"literal": "'", "quoted": '"', "plain": ""}[kind]
            sql.append(quote + (value.replace(quote, quote * 2) if quote else value) + quote)
        elif kind != "comment":
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            sql.append(token[0])
        else:
            sql.append(" ")


def data_of_copy(text, at):
    """The lines up to `\\.`, and where the next statement begins. A COPY that is to fail has none."""
    start = text.index("\n", at) + 1
    end = re.compile(r"^\\\.\n", re.M).search(text, start)
    if not end or re.search(r"^(copy|select|create|drop|insert|alter|delete|truncate)\b", text[start : end.start()], re.I | re.M):
        return "", at
    return text[start : end.start()], end.end()


def meta(command, variables):
    words = command.split()
    if words[0] == "\\getenv" and words[2] == "PG_ABS_SRCDIR":
        variables[words[1]] = variables["."]
    elif words[0] == "\\getenv":
        variables[words[1]] = variables["results"]
    elif words[0] == "\\set" and len(words) > 1:
        parts = [variables.get(w[1:], "") if w[0] == ":" else w.strip("'") for w in words[2:]]
        variables[words[1]] = "".join(parts)


def gathered(connection, sql, command, variables):
    """Sets the variables that `\\gset` names."""
    if not command.startswith("\\gset"):
        return
    prefix = (command.split() + [""])[1]
    names = re.findall(r'\bas\s+"?(\w+)', sql, re.I)
    kind, rows = connection.run(sql)
    if kind is None and isinstance(rows, list) and len(rows) == 1:
        variables.update((prefix + n, v) for n, v in zip(names, rows[0].split("|")))


class Ours:
    """This engine: a server a file, on a copy of the database that the setup made."""

    def __init__(self, binary):
        self.binary, self.base = binary, None

    def session(self):
        self.server = wire.Server(self.binary)
        port = self.server.__enter__()
        if self.base:
            self.server.process.send_signal(signal.SIGTERM)
            self.server.process.wait(60)
            shutil.copytree(self.base, self.server.folder, dirs_exist_ok=True)
            self.server.process = subprocess.Popen(
                [self.binary, "serve", "--no-http", "--listen", f"127.0.0.1:{port}", "--data",
                 f"{self.server.folder}/t.dovetail"], stdout=subprocess.DEVNULL,
                stderr=open(f"{self.server.folder}/log", "w"))
            wait(port)
        return Connection(port, timeout=90)

    def finish(self, keep=False):
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(60)
        if keep:
            self.base = tempfile.mkdtemp(prefix="dovetail-regress-")
            shutil.copytree(self.server.folder, self.base, dirs_exist_ok=True)
        shutil.rmtree(self.server.folder, ignore_errors=True)


def wait(port):
    import socket
    import time
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)


class Theirs:
    """PostgreSQL: a database a file, from the template that the setup made."""

    def __init__(self):
        env = os.environ.get
        self.port, self.user, self.made = int(env("PGPORT", "5432")), env("PGUSER", "postgres"), False
        self.admin = wire.Connection(self.port, user=self.user, database="postgres")

    def session(self):
        name = "regress_run" if self.made else "regress_base"
        self.admin.query(f"drop database if exists {name} with (force)")
        template = "regress_base" if self.made else "template0"
        self.admin.query(f"create database {name} template {template} encoding 'UTF8' lc_collate 'C' lc_ctype 'C'")
        return Connection(self.port, user=self.user, database=name, timeout=90)

    def finish(self, keep=False):
        self.made = self.made or keep


def shape(message):
    """A message without what is special to one statement."""
    message = re.sub(r'"[^"]*"', '"*"', message)
    message = re.sub(r"'[^']*'", "'*'", message)
    return re.sub(r"\d+", "N", message)[:150]


def cause(theirs, ours):
    if theirs[0] is None and ours[0] is None:
        return "other rows" if isinstance(theirs[1], list) else "other tag"
    if theirs[0] is None:
        return f"{ours[0]} {shape(ours[1])}"
    if ours[0] is None:
        return f"accepted; PostgreSQL: {theirs[0]} {shape(theirs[1])}"
    return f"{ours[0]} {shape(ours[1])}; PostgreSQL: {theirs[0]} {shape(theirs[1])}"


def run_file(path, sides, variables, out, totals, keep=False):
    name, good, differing = path.stem, 0, 0
    connections = [side.session() for side in sides]
    for connection in connections:
        for setting in SETTINGS:
            connection.run(setting)
    for sql, data, command in statements(path.read_text(errors="replace"), variables):
        if not sql.strip() or "\\;" in sql:
            continue
        answers = []
        for at, connection in enumerate(connections):
            try:
                answers.append(connection.run(sql, data))
            except (EOFError, OSError) as gone:
                answers.append(("GONE", repr(gone)))
                connections[at] = Connection(connection.stream.getpeername()[1], timeout=90)
        gathered(connections[0], sql, command, variables)
        theirs, ours = answers
        if theirs == ours or theirs[0] and theirs[0] == ours[0]:
            good += 1
            continue
        differing += 1
        why = cause(theirs, ours)
        totals.setdefault(why, collections.Counter())[name] += 1
        if out:
            print(json.dumps({"file": name, "why": why, "sql": " ".join(sql.split()), "theirs": theirs, "ours": ours}),
                  file=out, flush=True)
    for connection in connections:
        connection.close()
    for side in sides:
        side.finish(keep)
    print(f"{name}: {good} of {good + differing} agree", flush=True)
    return good, differing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--binary", default="target/debug/dovetail")
    parser.add_argument("--out", type=argparse.FileType("w"))
    parser.add_argument("--causes", type=int, default=40)
    args = parser.parse_args()
    folder, totals, sums = args.folder.resolve(), {}, [0, 0]
    results = tempfile.mkdtemp(prefix="dovetail-regress-results-")
    os.makedirs(f"{results}/results")
    os.chmod(results, 0o777)
    os.chmod(f"{results}/results", 0o777)
    fresh = lambda: {".": str(folder), "results": results}
    sides = [Theirs(), Ours(args.binary)]
    run_file(folder / "sql" / "test_setup.sql", sides, fresh(), None, {}, keep=True)
    for name in args.names or FILES:
        good, differing = run_file(folder / "sql" / f"{name}.sql", sides, fresh(), args.out, totals)
        sums = [sums[0] + good, sums[1] + differing]
    shutil.rmtree(results, ignore_errors=True)
    shutil.rmtree(sides[1].base, ignore_errors=True)
    print(f"{sums[0]} of {sum(sums)} statements agree")
    for why, files in sorted(totals.items(), key=lambda item: -sum(item[1].values()))[: args.causes]:
        print(f"{sum(files.values()):6} {why}  ({', '.join(f'{f} {n}' for f, n in files.most_common(4))})")


main()

#!/usr/bin/env python3
"""Records how PostgreSQL describes statements with parameters, never from this engine.

    python3 crates/server/tests/signatures/record.py

Needs a server (15) that the environment leads to (PGHOST, PGPORT, PGUSER, PGDATABASE) and that takes
the user without a password; makes and drops the tables `sig` and `other` there. Writes `recorded.tsv`:
a statement, the types of its parameters or the SQLSTATE of the error, the types of its columns, and the
same statement without parameters, which tells whether an engine has the function at all.
Reasons behind statements that are meant to differ are kept.
"""

import os
import pathlib
import socket
import struct

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "recorded.tsv"
SETUP = (HERE / "setup.sql").read_text()

# The columns of `sig` by the numbers of their types.
COLUMNS = {
    16: "b", 17: "y", 20: "i8", 21: "i2", 23: "i4", 25: "t", 26: "o", 700: "f4", 701: "f8", 1043: "vc",
    1042: "bc", 1082: "d", 1083: "tm", 1114: "ts", 1184: "tz", 1186: "iv", 1700: "n", 2950: "u",
    1007: "ai", 1009: "at", 2283: "i4", 2277: "ai", 2776: "i4", 5077: "i4", 5078: "ai", 5079: "i4",
    2276: "i4",
}

# Internal functions: those behind operators, casts, types, aggregates, indexes and ordered-set arguments.
FUNCTIONS = """
select proname, prokind, proretset, provariadic, proargtypes::text from pg_proc p
where oid < 10000 and pronamespace = 'pg_catalog'::regnamespace and prokind in ('f', 'a', 'w')
  and pronargs > 0
  and not exists (select from pg_operator where oprcode = p.oid or oprrest = p.oid or oprjoin = p.oid)
  and not exists (select from pg_cast where castfunc = p.oid)
  and not exists (select from pg_amproc where amproc = p.oid)
  and not exists (select from pg_type where p.oid in (typinput, typoutput, typreceive, typsend, typmodin,
    typmodout))
  and not exists (select from pg_aggregate where p.oid in (aggtransfn, aggfinalfn, aggcombinefn,
    aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn) or (aggfnoid = p.oid
    and aggkind <> 'n'))
  and proname !~ '^(pg_stat_|binary_upgrade|pg_logical|pg_replication|pg_wal|lo_|ts_|RI_|pg_ls_|pg_read|in_range)'
order by proname collate "C", proargtypes::text
"""
OPERATORS = """
select oprname, oprleft, oprright from pg_operator where oid < 10000 and oprkind = 'b'
order by oprname collate "C", oprleft, oprright
"""


class Connection:
    """As much of the protocol as is needed."""

    def __init__(self):
        address = (os.environ["PGHOST"], int(os.environ["PGPORT"]))
        self.socket = socket.create_connection(address)
        self.file = self.socket.makefile("rb")
        pairs = ["user", os.environ["PGUSER"], "database", os.environ["PGDATABASE"], ""]
        body = struct.pack("!i", 196608) + "\0".join(pairs).encode() + b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.until_ready()

    def message(self, tag, body):
        self.socket.sendall(tag + struct.pack("!i", len(body) + 4) + body)

    def until_ready(self):
        answers = []
        while True:
            tag, length = self.file.read(1), struct.unpack("!i", self.file.read(4))[0]
            answers.append((tag, self.file.read(length - 4)))
            if tag == b"Z":
                return answers

    def run(self, text):
        """The rows of a simple query."""
        self.message(b"Q", text.encode() + b"\0")
        rows = []
        for tag, body in self.until_ready():
            if tag == b"E":
                raise RuntimeError(body.decode())
            if tag == b"D":
                at, row = 2, []
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    length = struct.unpack("!i", body[at:at + 4])[0]
                    row.append(body[at + 4:at + 4 + length].decode() if length >= 0 else None)
                    at += 4 + max(length, 0)
                rows.append(row)
        return rows

    def described(self, text):
        """The types of parameters and columns, or the SQLSTATE and none."""
        self.message(b"P", b"\0" + text.encode() + b"\0" + struct.pack("!h", 0))
        self.message(b"D", b"S\0")
        self.message(b"S", b"")
        parameters, columns = "", ""
        for tag, body in self.until_ready():
            if tag == b"E":
                fields = {f[:1]: f[1:].decode() for f in body.split(b"\0") if f}
                return "!" + fields[b"C"], ""
            if tag == b"t":
                oids = struct.unpack(f"!{(len(body) - 2) // 4}I", body[2:])
                parameters = " ".join(map(str, oids))
            if tag == b"T":
                columns = " ".join(map(str, column_types(body)))
        return parameters, columns


def column_types(body):
    at, types = 2, []
    for _ in range(struct.unpack("!h", body[:2])[0]):
        at = body.index(b"\0", at) + 1
        types.append(struct.unpack("!I", body[at + 6:at + 10])[0])
        at += 18
    return types


def calls(connection):
    """Each argument of each signature as a parameter, the others as columns."""
    for name, kind, is_set, variadic, types in connection.run(FUNCTIONS):
        types = [int(ty) for ty in types.split()]
        if int(variadic):
            types[-1:] = [int(variadic)] * 2
        if any(ty not in COLUMNS for ty in types):
            continue
        plain = [COLUMNS[ty] for ty in types]
        over = " over (order by i4)" if kind == "w" else ""
        control = f"select {name}({', '.join(plain)}){over} from sig"
        for place in range(len(types)):
            given = plain[:place] + ["$1"] + plain[place + 1:]
            yield f"select {name}({', '.join(given)}){over} from sig", control
        if len(types) > 1:
            given = [f"${i + 1}" for i in range(len(types))]
            yield f"select {name}({', '.join(given)}){over} from sig", control


def operations(connection):
    for name, left, right in connection.run(OPERATORS):
        left, right = int(left), int(right)
        if left not in COLUMNS or right not in COLUMNS:
            continue
        left, right = COLUMNS[left], COLUMNS[right]
        control = f"select {left} {name} {right} from sig"
        yield f"select $1 {name} {right} from sig", control
        yield f"select {left} {name} $1 from sig", control


def constructs():
    """Statements by hand, one a line."""
    for line in (HERE / "constructs.sql").read_text().split("\n"):
        if line and not line.startswith("--"):
            yield line, ""


def kept_reasons():
    if not FILE.exists():
        return {}
    rows = (line.split("\t") for line in FILE.read_text().split("\n") if line)
    return {row[0]: row[4] for row in rows if len(row) > 4 and row[4]}


def main():
    connection, reasons = Connection(), kept_reasons()
    connection.run("drop table if exists sig, other")
    connection.run(SETUP)
    lines, seen = [], set()
    for text, control in [*constructs(), *operations(connection), *calls(connection)]:
        # Some functions have a syntax of their own and cannot be called by their name.
        if text in seen or (control and connection.described(control)[0].startswith("!")):
            continue
        seen.add(text)
        row = [text, *connection.described(text), control, reasons.get(text, "")]
        lines.append("\t".join(row))
    connection.run("drop table sig, other")
    FILE.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} statements")


main()

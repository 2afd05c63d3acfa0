"""A session that runs a query as text or prepared, with parameters and results in both formats, and what came back."""

import datetime
import re
import struct
import sys
import pathlib
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import wire

OIDS = {"int2": 21, "int4": 23, "int8": 20, "num": 1700, "flt": 701, "text": 25, "bool": 16, "date": 1082, "ts": 1114,
        "tz": 1184}
NUMBERS = {20, 21, 23, 700, 701, 1700}
DAY_US = 86_400_000_000


class Prepared:
    """How a query is sent: its text, its parameters as (type, text), and the formats."""

    def __init__(self, sql, parameters=(), style="literal", binary=False, binary_results=False):
        self.sql, self.parameters, self.style = sql, list(parameters), style
        self.binary, self.binary_results = binary and style == "declared", binary_results


class Answer:
    """Rows as canonical texts with the types of their columns and of the parameters, or an error. `raw` are the rows as
    they came, which become texts when somebody looks: most answers are equal byte by byte."""

    def __init__(self, rows=None, types=(), parameters=(), error=None):
        self.types, self.parameters, self.error = list(types), list(parameters), error
        self.texts, self.raw, self.formats = rows, None, []

    @property
    def rows(self):
        if self.texts is None and self.raw is not None:
            self.texts = [row(body, self.types, self.formats) for body in self.raw]
        return self.texts

    def is_byte_by_byte(self, other, in_order):
        """Whether both have the same types and the same bytes in all rows; if not, their texts may be equal still."""
        if self.raw is None or other.raw is None or (self.types, self.formats) != (other.types, other.formats):
            return False
        return self.raw == other.raw or (not in_order and sorted(self.raw) == sorted(other.raw))

    def __str__(self):
        return str(self.error) if self.error else f"{self.rows} of types {self.types}"


class Session(wire.Connection):
    def send(self, *queries):
        """Several queries leave at once: each is answered, and a transaction, of its own."""
        self.stream.sendall(b"".join(map(self.messages, queries)))

    def messages(self, query):
        if query.style == "literal" and not query.binary_results:
            return message(b"Q", query.sql.encode() + b"\0")
        declared = [OIDS[type] for type, _ in query.parameters] if query.style == "declared" else []
        parse = b"\0" + query.sql.encode() + b"\0" + struct.pack(f"!h{len(declared)}i", len(declared), *declared)
        values = b"".join(argument(type, value, query.binary) for type, value in query.parameters)
        bind = b"\0\0" + struct.pack("!hhh", 1, query.binary, len(query.parameters)) + values
        bind += struct.pack("!hh", 1, query.binary_results)
        return (message(b"P", parse) + message(b"D", b"S\0") + message(b"B", bind) + message(b"D", b"P\0")
                + message(b"E", b"\0\0\0\0\0") + message(b"S", b""))

    def receive(self):
        """What the last query gave."""
        rows, answer = [], Answer()
        while True:
            head = self.input.read(5)
            if len(head) < 5:
                raise EOFError("the server closed the connection")
            kind, length = head[:1], struct.unpack("!i", head[1:])[0]
            body = self.input.read(length - 4)
            if kind == b"T":
                answer.types, answer.formats = described(body)
            elif kind == b"t":
                answer.parameters = list(struct.unpack(f"!{(len(body) - 2) // 4}i", body[2:]))
            elif kind == b"D":
                rows.append(body)
            elif kind == b"E":
                answer.error = wire.refusal(body)
            elif kind == b"Z":
                if not answer.error:
                    answer.raw = rows
                return answer

    def ask(self, query):
        self.send(query)
        return self.receive()


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def described(body):
    """The types and formats of a RowDescription."""
    types, formats, at = [], [], 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        at = body.index(b"\0", at) + 1
        _, _, type, _, _, format = struct.unpack("!ihihih", body[at : at + 18])
        types.append(type)
        formats.append(format)
        at += 18
    return types, formats


def row(body, types, formats):
    at, cells = 2, []
    for type, format in zip(types, formats):
        length = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        value = body[at : at + max(length, 0)]
        at += max(length, 0)
        cells.append(None if length < 0 else decoded(type, value) if format else plain(type, value.decode()))
    return cells


def plain(type, text):
    return number(text) if type in NUMBERS else text


def number(text):
    """A number without regard to its scale, and to 9 digits where it is not exact."""
    if not re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", text):
        return text
    value = Decimal(text)
    return str(round(value, 9).normalize() + 0) if abs(value) < 10**15 else f"{value:.12e}"


def decoded(type, value):
    """A value of the binary format as its text; what is no number, text or truth value, as its bytes."""
    sizes = {21: "!h", 23: "!i", 20: "!q", 700: "!f", 701: "!d"}
    try:
        if type in sizes:
            return number(repr(struct.unpack(sizes[type], value)[0]))
        if type == 1700:
            return number(numeric(value))
        if type in (25, 1043, 19):
            return value.decode()
        if type == 16:
            return "ft"[value[0]]
    except (struct.error, UnicodeDecodeError, IndexError) as wrong:
        return f"no value of type {type}: {value.hex()} ({wrong})"
    return value.hex()


def numeric(value):
    count, weight, sign, _ = struct.unpack("!hhHH", value[:8])
    if sign == 0xC000:
        return "NaN"
    digits = struct.unpack(f"!{count}h", value[8:])
    total = sum(Decimal(digit).scaleb(4 * (weight - at)) for at, digit in enumerate(digits))
    return f"{'-' if sign else ''}{total:f}"


def argument(type, value, binary):
    """A parameter of a Bind message."""
    if value is None:
        return struct.pack("!i", -1)
    encoded = encode(type, value) if binary else value.encode()
    return struct.pack("!i", len(encoded)) + encoded


def encode(type, value):
    if type in ("int2", "int4", "int8"):
        return struct.pack({"int2": "!h", "int4": "!i", "int8": "!q"}[type], int(value))
    if type == "flt":
        return struct.pack("!d", float(value))
    if type == "bool":
        return bytes([value == "true"])
    if type == "num":
        return encode_numeric(Decimal(value))
    if type == "date":
        return struct.pack("!i", days(value))
    if type in ("ts", "tz"):
        hours, minutes, seconds = map(int, value[11:19].split(":"))
        return struct.pack("!q", days(value[:10]) * DAY_US + (hours * 3600 + minutes * 60 + seconds) * 1_000_000)
    return value.encode()


def days(text):
    """Days since 2000."""
    return (datetime.date.fromisoformat(text) - datetime.date(2000, 1, 1)).days


def encode_numeric(value):
    """At most four digits before and behind the point."""
    whole, fraction = divmod(int(abs(value) * 10_000), 10_000)
    return struct.pack("!hhHHhh", 2, 0, 0x4000 if value < 0 else 0, 2, whole, fraction)

"""Types: values of Python as text forms with PostgreSQL's numbers of types, and the type objects of DB-API 2.0."""

import datetime
import decimal
import time
import uuid

from . import _errors

_BOOL, _BYTEA, _INT8, _INT4, _TEXT, _FLOAT8, _NUMERIC = 16, 17, 20, 23, 25, 701, 1700
_DATE, _TIME, _TIMESTAMP, _TIMESTAMPTZ, _INTERVAL, _UUID = 1082, 1083, 1114, 1184, 1186, 2950

# The type of an array by that of its elements.
_ARRAYS = {
    _BOOL: 1000, _BYTEA: 1001, _INT4: 1007, _TEXT: 1009, _INT8: 1016, _FLOAT8: 1022, _TIMESTAMP: 1115, _DATE: 1182,
    _TIME: 1183, _TIMESTAMPTZ: 1185, _INTERVAL: 1187, _NUMERIC: 1231, _UUID: 2951,
}

# Numbers, from the one that has the fewest to the one that has all.
_NUMBERS = [_INT4, _INT8, _NUMERIC, _FLOAT8]


def uuid_of_bytes(data):
    """A UUID of its 16 bytes."""
    return uuid.UUID(bytes=data)


def adapt(value):
    """The number of a value's type, and its text form; for values that the native module does not know itself."""
    for kind, form in _FORMS:
        if isinstance(value, kind):
            return form(value)
    # Scalars of numpy, and of those who do as it does.
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return _scalar(item())
    raise _errors.ProgrammingError(f"a value of type {type(value).__name__} has no type in SQL")


def _scalar(value):
    if isinstance(value, bool):
        return _BOOL, "true" if value else "false"
    if isinstance(value, int):
        return (_INT4 if -2**31 <= value < 2**31 else _INT8 if -2**63 <= value < 2**63 else _NUMERIC), str(value)
    if isinstance(value, float):
        return _FLOAT8, repr(value)
    if isinstance(value, str):
        return _TEXT, value
    return adapt(value)


def _decimal(value):
    # Without an exponent.
    return _NUMERIC, format(value, "f")


def _timestamp(value):
    return (_TIMESTAMP if value.tzinfo is None else _TIMESTAMPTZ), value.isoformat(sep=" ")


def _time(value):
    if value.tzinfo is not None:
        raise _errors.ProgrammingError("a time of day with a time zone has no type in SQL")
    return _TIME, value.isoformat()


def _interval(value):
    sign, rest = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    minutes, seconds = divmod(rest.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours:02}:{minutes:02}:{seconds:02}.{rest.microseconds:06}"
    return _INTERVAL, f"{sign}{rest.days} days {sign}{clock}"


def _array(values):
    element, text = _elements(values)
    # What has no elements has the type of its place.
    return (_ARRAYS[element] if element else 0), text


def _elements(values):
    """The type of all elements, and the text form of the array."""
    kind, texts = None, []
    for value in values:
        if value is None:
            texts.append("NULL")
            continue
        if isinstance(value, (list, tuple)):
            own, text = _elements(value)
        else:
            own, text = _scalar(value)
            text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        kind = _common(kind, own)
        texts.append(text)
    return kind, "{" + ",".join(texts) + "}"


def _common(one, other):
    if one is None or other is None or one == other:
        return other if one is None else one
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    raise _errors.ProgrammingError("the elements of an array have different types")


_FORMS = [
    (decimal.Decimal, _decimal),
    (datetime.datetime, _timestamp),
    (datetime.date, lambda value: (_DATE, value.isoformat())),
    (datetime.time, _time),
    (datetime.timedelta, _interval),
    (uuid.UUID, lambda value: (_UUID, str(value))),
    ((bytearray, memoryview, bytes), lambda value: (_BYTEA, "\\x" + bytes(value).hex())),
    ((list, tuple), _array),
]


class _TypeObject:
    """Equal to the codes of its types, which stand in `Cursor.description`."""

    def __init__(self, name, *codes):
        self._name, self._codes = name, frozenset(codes)

    def __eq__(self, other):
        return other in self._codes if isinstance(other, int) else self is other

    def __hash__(self):
        return hash(self._codes)

    def __repr__(self):
        return f"dovetail.{self._name}"


STRING = _TypeObject("STRING", 18, 19, _TEXT, 114, 1042, 1043)
BINARY = _TypeObject("BINARY", _BYTEA)
NUMBER = _TypeObject("NUMBER", 21, _INT4, _INT8, 700, _FLOAT8, _NUMERIC)
DATETIME = _TypeObject("DATETIME", _DATE, _TIME, _TIMESTAMP, _TIMESTAMPTZ, _INTERVAL)
ROWID = _TypeObject("ROWID", 26)

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks):  # noqa: N802 (the name is the standard's)
    """The local date of seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks):  # noqa: N802
    """The local time of day of seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks):  # noqa: N802
    """The local date and time of seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])

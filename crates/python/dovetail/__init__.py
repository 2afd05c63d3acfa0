"""Dovetail, a SQL database engine in which a core never waits: DB-API 2.0, and Arrow in and out.

    import dovetail
    con = dovetail.connect("file.dovetail")

See docs/python.md.
"""

from ._connection import Connection, connect
from ._cursor import Cursor
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._result import Result
from ._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from ._version import __version__

apilevel = "2.0"
# Threads may share the module, not a connection.
threadsafety = 1
paramstyle = "qmark"

__all__ = [
    "BINARY", "DATETIME", "NUMBER", "ROWID", "STRING", "Binary", "Connection", "Cursor", "DataError", "DatabaseError",
    "Date", "DateFromTicks", "Error", "IntegrityError", "InterfaceError", "InternalError", "NotSupportedError",
    "OperationalError", "ProgrammingError", "Result", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks",
    "Warning", "__version__", "apilevel", "connect", "paramstyle", "threadsafety",
]

"""Connections of DB-API 2.0, and what a connection offers besides."""

import atexit
import itertools
import os
import re
import shutil
import sys
import tempfile
import weakref

from . import _arrow, _errors, _native, _progress, _text
from ._cursor import Cursor
from ._result import Result

# Rows of values that are handed over at once: tens of megabytes at most, if they are not long.
_ROWS_AT_ONCE = 10_000

_UNITS = {"": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}

_open = weakref.WeakSet()


def connect(path=None, *, autocommit=False, memory=None, workers=None, progress=None):
    """Opens the database of a file, which is created if there is none. Without a path it is a temporary one.

    `autocommit`: each statement is a transaction of its own. `memory`: of the database, in bytes or as `"512MB"`.
    `workers`: threads of the engine, by default one for each core. `progress`: whether long queries show how far
    they are; by default where a terminal or a notebook shows it. Connections of one process to the same file share
    the open database, with its memory and its workers.
    """
    folder = None
    if path is None:
        folder = tempfile.mkdtemp(prefix="dovetail-")
        path = os.path.join(folder, "temporary.dovetail")
    elif os.fspath(path) in (":memory:", ""):
        raise _errors.NotSupportedError("a database has a file: connect() without a path makes a temporary one")
    try:
        native = _native.Connection(os.fspath(path), _bytes(memory), workers)
    except BaseException:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Connection(native, autocommit, _progress.is_wanted() if progress is None else progress, folder)


class Connection:
    """A session of a database. One thread at a time uses it."""

    Warning, Error, InterfaceError = _errors.Warning, _errors.Error, _errors.InterfaceError
    DatabaseError, DataError, OperationalError = _errors.DatabaseError, _errors.DataError, _errors.OperationalError
    IntegrityError, InternalError = _errors.IntegrityError, _errors.InternalError
    ProgrammingError, NotSupportedError = _errors.ProgrammingError, _errors.NotSupportedError

    def __init__(self, native, autocommit, progress, folder):
        self._native, self._autocommit, self._folder = native, autocommit, folder
        self.progress = progress
        _open.add(self)

    def cursor(self):
        """A new cursor."""
        self._check()
        return Cursor(self)

    def execute(self, operation, parameters=None):
        """Runs a statement by a new cursor, which is returned."""
        return self.cursor().execute(operation, parameters)

    def executemany(self, operation, seq_of_parameters):
        """Runs a statement for each row of values by a new cursor, which is returned."""
        return self.cursor().executemany(operation, seq_of_parameters)

    def sql(self, query, parameters=None):
        """Runs a statement; its rows as a `Result`, or `None` if it has none.

        Names of relations that are neither tables nor views may be variables of the caller, local or global, that
        hold Arrow data, or a frame of pandas or polars.
        """
        frame = sys._getframe(1)
        text, given = self._prepared(query, parameters)
        unknown, tag, rows = self._native.run(text, given, not self._autocommit, True)
        if unknown:
            tag, rows = self._run_lent(frame, unknown, text, given)
        return Result(self, rows, tag) if rows is not None else None

    def register(self, name, value):
        """Has queries of this connection read the rows of a value by a name, in which capitals count only if
        queries quote it."""
        self._check()
        self._native.lend(name, _arrow.capsules(value))

    def unregister(self, name):
        """Forgets what was registered by this name."""
        self._check()
        if not self._native.take_back(name):
            raise _errors.ProgrammingError(f'nothing is registered as "{name}"')

    def commit(self):
        """Commits the transaction that is open, if one is."""
        self._check()
        if self._native.status == "idle":
            return
        _, tag, _ = self._native.run("commit", (), False, False)
        if tag != "COMMIT":
            raise _errors.of_engine("25P02", "the transaction had failed, so nothing of it was committed",
                                    hint="Roll back after an error, or to a savepoint before it.")

    def rollback(self):
        """Undoes the transaction that is open, if one is."""
        self._check()
        if self._native.status != "idle":
            self._native.run("rollback", (), False, False)

    def interrupt(self):
        """Cancels the statement that runs, from another thread."""
        self._native.interrupt()

    def close(self):
        """Ends the connection. What was not committed is undone."""
        self._native.close()
        _open.discard(self)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def closed(self):
        """Whether it is closed."""
        return self._native.closed

    @property
    def autocommit(self):
        """Whether each statement is a transaction of its own."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value):
        if self._native.status != "idle":
            raise _errors.ProgrammingError("autocommit cannot be changed inside of a transaction")
        self._autocommit = bool(value)

    @property
    def transaction_status(self):
        """`idle`, `open` or `failed`."""
        return self._native.status

    @property
    def progress(self):
        """Whether long queries show how far they are."""
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        # Somebody's own callable is called with seconds, parts done, parts known and rows.
        self._native.progress = value if callable(value) else _progress.Bar() if value else None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Commits, or undoes what an exception has left unfinished; then the connection is closed."""
        try:
            if not self.closed:
                self.commit() if kind is None else self.rollback()
        finally:
            self.close()

    def _check(self):
        if self.closed:
            raise _errors.of_engine("08003", "the connection is closed")

    def _prepared(self, operation, parameters):
        self._check()
        given = () if parameters is None else _text.values(parameters)
        return (_text.numbered(operation) if given else operation), given

    def _run(self, operation, parameters):
        text, given = self._prepared(operation, parameters)
        _, tag, rows = self._native.run(text, given, not self._autocommit, False)
        return tag, rows

    def _run_lent(self, frame, unknown, text, given):
        """Runs a text while variables of the caller are lent to it."""
        lent = []
        try:
            for name, written in unknown:
                value = _arrow.find(frame, (written, name))
                if value is not None:
                    self._native.lend(name, _arrow.capsules(value))
                    lent.append(name)
            _, tag, rows = self._native.run(text, given, not self._autocommit, False)
        finally:
            # What has begun keeps its rows.
            for name in lent:
                self._native.take_back(name)
        return tag, rows

    def _run_many(self, operation, seq_of_parameters):
        self._check()
        text, rows = _text.numbered(operation), map(_text.values, seq_of_parameters)
        if not self._autocommit or self._native.status != "idle":
            return self._run_parts(text, rows)
        self._native.run("begin", (), False, False)
        try:
            count = self._run_parts(text, rows)
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return count

    def _run_parts(self, text, rows):
        count = 0
        while part := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            count += self._native.run_many(text, part, not self._autocommit)
        return count


def _bytes(memory):
    if memory is None or isinstance(memory, int):
        return memory
    found = re.fullmatch(r"(\d+) ?(kB|MB|GB|TB|)", memory)
    if found is None:
        raise _errors.ProgrammingError(f'memory is a number of bytes or a text such as "512MB", not {memory!r}')
    return int(found[1]) * _UNITS[found[2]]


@atexit.register
def _close_all():
    for connection in list(_open):
        connection.close()

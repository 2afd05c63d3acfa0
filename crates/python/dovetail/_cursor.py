"""Cursors of DB-API 2.0."""

from . import _errors, _text
from ._result import Result, _count


class Cursor:
    """Runs statements, one at a time, and fetches their rows."""

    def __init__(self, connection):
        self.connection = connection
        self.arraysize = 1
        self.description = None
        self.rowcount = -1
        self.lastrowid = None
        self._result = None
        self._closed = False

    def execute(self, operation, parameters=None):
        """Runs a statement with values for its parameters, which it writes as `?` or as `$1`."""
        self._begin()
        tag, rows = self.connection._run(operation, parameters)
        self._take(tag, rows)
        return self

    def executemany(self, operation, seq_of_parameters):
        """Runs a statement for each row of values, in one transaction."""
        self._begin()
        self.rowcount = self.connection._run_many(operation, seq_of_parameters)
        return self

    def fetchone(self):
        """The next row, or `None`."""
        return self._fetched(self._rows().fetchone())

    def fetchmany(self, size=None):
        """The next rows, at most `size`, or else `arraysize`."""
        return self._fetched(self._rows().fetchmany(self.arraysize if size is None else size))

    def fetchall(self):
        """The rows that are left."""
        return self._fetched(self._rows().fetchall())

    def arrow(self):
        """The rows as Arrow data: a `Result`, which pyarrow, polars and pandas take without a copy."""
        return self._rows()

    def fetch_arrow_table(self):
        """The rows as a `pyarrow.Table`."""
        return self._rows().fetch_arrow_table()

    def fetch_df(self):
        """The rows as a `pandas.DataFrame`."""
        return self._rows().fetch_df()

    def pl(self):
        """The rows as a `polars.DataFrame`."""
        return self._rows().pl()

    @property
    def rownumber(self):
        """The number of the next row, from 0; `None` without rows."""
        return self._result._taken if self._result else None

    def setinputsizes(self, sizes):
        """Does nothing: types follow from values."""

    def setoutputsize(self, size, column=None):
        """Does nothing: values of any size are fetched whole."""

    def close(self):
        """The cursor runs nothing any more; its query ends."""
        self._forget()
        self._closed = True

    def __iter__(self):
        return self

    def __next__(self):
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _begin(self):
        self._check()
        self._forget()

    def _forget(self):
        if self._result is not None:
            self._result.close()
        self._result, self.description, self.rowcount = None, None, -1

    def _take(self, tag, rows):
        if rows is None:
            self.rowcount = _count(tag)
            return
        self._result = Result(self.connection, rows, tag)
        self.description, self.rowcount = self._result.description, self._result.rowcount

    def _rows(self):
        self._check()
        if self._result is None:
            raise _errors.ProgrammingError("the last statement of this cursor gave no rows")
        return self._result

    def _fetched(self, rows):
        self.rowcount = self._result.rowcount
        return rows

    def _check(self):
        if self._closed:
            raise _errors.InterfaceError("the cursor is closed")
        self.connection._check()

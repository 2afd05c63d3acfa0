"""Rows of a query: tuples, or Arrow data that others take without a copy."""

from . import _errors

# Rows that fetching one makes into tuples at once.
_ROWS_AHEAD = 1024

# Rows of a result that are shown.
_ROWS_SHOWN = 10


class Result:
    """The rows of a query, which are pulled from it as they are wanted.

    It has the Arrow C stream interface (`__arrow_c_stream__`), so `pyarrow.table(result)`, `polars.DataFrame(result)`
    and `pandas.DataFrame.from_arrow(result)` take it. Rows are taken once: as tuples, or as Arrow data.
    """

    def __init__(self, connection, rows, tag):
        self._connection, self._rows = connection, rows
        self._ahead, self._at, self._taken = [], 0, 0
        self.description = [
            (name, code, None, size, precision, scale, None)
            for name, code, size, precision, scale in rows.columns()
        ]
        self.rowcount = _count(tag) if tag else -1

    @property
    def columns(self):
        """The names of the columns."""
        return [column[0] for column in self.description]

    def fetchone(self):
        """The next row, or `None`."""
        if self._at == len(self._ahead) and not self._pull(_ROWS_AHEAD):
            return None
        self._at, self._taken = self._at + 1, self._taken + 1
        return self._ahead[self._at - 1]

    def fetchmany(self, size):
        """The next rows, at most `size`."""
        rows = []
        while len(rows) < size:
            if self._at == len(self._ahead) and not self._pull(size - len(rows)):
                break
            end = min(len(self._ahead), self._at + size - len(rows))
            rows += self._ahead[self._at:end]
            self._at = end
        self._taken += len(rows)
        return rows

    def fetchall(self):
        """The rows that are left."""
        rows = self._ahead[self._at:]
        self._ahead, self._at = [], 0
        while more := self._rows.take(2**63 - 1):
            rows += more
        self._taken += len(rows)
        self._end()
        return rows

    def __iter__(self):
        while (row := self.fetchone()) is not None:
            yield row

    def __arrow_c_stream__(self, requested_schema=None):
        """The rows as a stream of the Arrow C interface, in their own types whatever is requested."""
        return self._stream(False)

    def __arrow_c_schema__(self):
        """Names and types, as the Arrow C interface has them."""
        return self._rows.schema()

    def fetch_arrow_table(self):
        """The rows as a `pyarrow.Table`.

        Its texts are copied into the older of their two layouts, because pyarrow computes little on the newer one;
        `pyarrow.table(result)` copies nothing.
        """
        import pyarrow

        table = pyarrow.table(self)
        fields = [field.with_type(_computable(pyarrow, field.type)) for field in table.schema]
        return table.cast(pyarrow.schema(fields))

    def fetch_df(self):
        """The rows as a `pandas.DataFrame`; pandas wants pyarrow for it."""
        return self.fetch_arrow_table().to_pandas()

    def pl(self):
        """The rows as a `polars.DataFrame`, in which numbers have 38 digits at most, and intervals no months."""
        import polars

        return polars.DataFrame(_Narrow(self))

    df = fetch_df

    def close(self):
        """The rows are wanted no longer: their query ends."""
        self._rows.close()

    def __repr__(self):
        rows = self._ahead[self._at:self._at + _ROWS_SHOWN] or self._rows.peek(_ROWS_SHOWN)
        cells = [self.columns] + [["NULL" if cell is None else str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join(lines + ["(the first rows of a result)"])

    def _stream(self, narrow):
        if self._taken or self._ahead:
            raise _errors.InterfaceError("the rows of this result are being taken as tuples")
        return self._rows.stream(narrow)

    def _pull(self, limit):
        self._ahead, self._at = self._rows.take(limit), 0
        if not self._ahead:
            self._end()
        return self._ahead

    def _end(self):
        if self.rowcount < 0:
            self.rowcount = self._taken


class _Narrow:
    """A result without the types that polars has not."""

    def __init__(self, result):
        self._result = result

    def __arrow_c_stream__(self, requested_schema=None):
        return self._result._stream(True)


def _computable(pyarrow, kind):
    """The type on which pyarrow computes, for one on which it does not."""
    if pyarrow.types.is_list(kind):
        return pyarrow.list_(_computable(pyarrow, kind.value_type))
    if kind == pyarrow.string_view():
        return pyarrow.string()
    return pyarrow.binary() if kind == pyarrow.binary_view() else kind


def _count(tag):
    """The rows that a command's tag tells of, or -1."""
    last = tag.rpartition(" ")[2]
    return int(last) if last.isdigit() else -1

"""Arrow data of others: what can be lent to queries, and where a query finds it."""

from . import _errors


def is_table(value):
    """Whether a value can stand in the place of a table."""
    return (
        hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or _library(value) in (("pandas", "DataFrame"), ("polars", "LazyFrame"))
    )


def capsules(value):
    """The capsules of its rows: a stream, or a schema and an array."""
    if _library(value) == ("polars", "LazyFrame"):
        value = value.collect()
    if hasattr(value, "__arrow_c_stream__"):
        return (value.__arrow_c_stream__(),)
    if hasattr(value, "__arrow_c_array__"):
        return tuple(value.__arrow_c_array__())
    if _library(value) == ("pandas", "DataFrame"):
        # A pandas that does not know the interface yet.
        import pyarrow

        return (pyarrow.Table.from_pandas(value, preserve_index=False).__arrow_c_stream__(),)
    kind = type(value).__name__
    raise _errors.ProgrammingError(f"a value of type {kind} is no table: it has neither __arrow_c_stream__ nor "
                                   "__arrow_c_array__")


def find(frame, names):
    """The variable of a caller that a relation means: local ones first, as it is written first."""
    for name in names:
        for variables in (frame.f_locals, frame.f_globals):
            if name in variables and is_table(variables[name]):
                return variables[name]
    return None


def _library(value):
    kind = type(value)
    return kind.__module__.partition(".")[0], kind.__name__

"""The exceptions of DB-API 2.0, with what the engine tells of an error."""


class Warning(Exception):  # noqa: A001 (the name is the standard's)
    """Something important that is no error."""


class Error(Exception):
    """Any error of the database or of this package.

    `sqlstate` is PostgreSQL's code, `detail` says more about what happened, `hint` what to do; `position` is the
    character of the statement, from 1; `context` the place in data that came with it. Each may be `None`, as may
    `table_name`, `column_name` and `constraint_name`.
    """

    sqlstate = message = detail = hint = position = context = None
    table_name = column_name = constraint_name = None

    def __str__(self):
        lines = [super().__str__()]
        for name, text in (("DETAIL", self.detail), ("HINT", self.hint), ("CONTEXT", self.context)):
            if text:
                lines.append(f"{name}:  {text}")
        return "\n".join(lines)


class InterfaceError(Error):
    """This package was used as it cannot be used."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value is out of range, or none of its type."""


class OperationalError(DatabaseError):
    """Something about the database's work that is not the program's mistake."""


class IntegrityError(DatabaseError):
    """A constraint does not hold."""


class InternalError(DatabaseError):
    """The transaction has failed before, or the engine is wrong."""


class ProgrammingError(DatabaseError):
    """The statement is wrong, or names what is not there."""


class NotSupportedError(DatabaseError):
    """The engine has no such thing."""


# By the first two characters of the SQLSTATE, as drivers of PostgreSQL sort them.
_CLASSES = {
    "08": OperationalError, "0A": NotSupportedError, "20": ProgrammingError, "21": ProgrammingError,
    "22": DataError, "23": IntegrityError, "24": InternalError, "25": InternalError, "26": OperationalError,
    "27": OperationalError, "28": OperationalError, "2B": InternalError, "2D": InternalError,
    "2F": InternalError, "34": OperationalError, "3B": InternalError, "3D": ProgrammingError,
    "3F": ProgrammingError, "40": OperationalError, "42": ProgrammingError, "44": ProgrammingError,
    "53": OperationalError, "54": OperationalError, "55": OperationalError, "57": OperationalError,
    "58": OperationalError, "F0": OperationalError, "XX": InternalError,
}

# Those that are about the program's use of this package.
_STATES = {"08003": InterfaceError, "08P01": ProgrammingError}


def of_engine(sqlstate, message, detail=None, hint=None, position=None, context=None, about=(None, None, None)):
    """The exception of an error of the engine."""
    kind = _STATES.get(sqlstate) or _CLASSES.get(sqlstate[:2], DatabaseError)
    error = kind(message)
    error.sqlstate, error.message, error.detail, error.hint = sqlstate, message, detail, hint
    error.position, error.context = position, context
    error.table_name, error.column_name, error.constraint_name = about
    return error

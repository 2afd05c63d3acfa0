//! SQL errors: SQLSTATE, primary message, detail, hint and position, as PostgreSQL reports them.

use std::fmt;

/// A five-character SQLSTATE code (PostgreSQL documentation, appendix A).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub &'static str);

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl SqlState {
            $($(#[$doc])* pub const $name: SqlState = SqlState($code);)*

            /// The state of a code that has a name here: errors of other processes bring theirs
            /// along.
            pub fn of_code(code: &[u8]) -> Option<SqlState> {
                [$(SqlState::$name),*].into_iter().find(|state| state.0.as_bytes() == code)
            }
        }
    };
}

states! {
    /// A feature that the engine does not have.
    FEATURE_NOT_SUPPORTED = "0A000";
    /// More than one row returned by a subquery used as an expression.
    CARDINALITY_VIOLATION = "21000";
    /// A value too long for its type.
    STRING_DATA_RIGHT_TRUNCATION = "22001";
    /// A number outside the range of its type.
    NUMERIC_VALUE_OUT_OF_RANGE = "22003";
    /// Text that is no date or time.
    INVALID_DATETIME_FORMAT = "22007";
    /// A date or time outside its range.
    DATETIME_FIELD_OVERFLOW = "22008";
    /// Division by zero.
    DIVISION_BY_ZERO = "22012";
    /// A parameter value out of range.
    INVALID_PARAMETER_VALUE = "22023";
    /// Text that is not valid UTF-8.
    CHARACTER_NOT_IN_REPERTOIRE = "22021";
    /// Text that does not parse as a value of its type.
    INVALID_TEXT_REPRESENTATION = "22P02";
    /// A malformed line of COPY input.
    BAD_COPY_FILE_FORMAT = "22P04";
    /// Null in a column declared not null.
    NOT_NULL_VIOLATION = "23502";
    /// A duplicate key.
    UNIQUE_VIOLATION = "23505";
    /// A role that may not connect.
    INVALID_AUTHORIZATION = "28000";
    /// A wrong password.
    INVALID_PASSWORD = "28P01";
    /// A database that does not exist.
    INVALID_CATALOG_NAME = "3D000";
    /// A name that is kept for the system.
    RESERVED_NAME = "42939";
    /// A privilege that cannot be granted so.
    INVALID_GRANT_OPERATION = "0LP01";
    /// Text that is not SQL.
    SYNTAX_ERROR = "42601";
    /// A column that does not exist.
    UNDEFINED_COLUMN = "42703";
    /// A function or operator that does not exist.
    UNDEFINED_FUNCTION = "42883";
    /// A table that does not exist.
    UNDEFINED_TABLE = "42P01";
    /// A call that several functions or operators answer to.
    AMBIGUOUS_FUNCTION = "42725";
    /// A parameter whose type nothing tells.
    INDETERMINATE_DATATYPE = "42P18";
    /// A parameter that stands for values of several types.
    AMBIGUOUS_PARAMETER = "42P08";
    /// A parameter that does not exist.
    UNDEFINED_PARAMETER = "42P02";
    /// A write or a failed statement where the transaction forbids it.
    IN_FAILED_TRANSACTION = "25P02";
    /// A connection that ended before its time.
    CONNECTION_FAILURE = "08006";
    /// A message that breaks the protocol.
    PROTOCOL_VIOLATION = "08P01";
    /// A prepared statement that does not exist.
    UNDEFINED_STATEMENT = "26000";
    /// A portal that does not exist.
    UNDEFINED_PORTAL = "34000";
    /// A prepared statement that exists already.
    DUPLICATE_STATEMENT = "42P05";
    /// Bytes that are no value of the type.
    BAD_BINARY = "22P03";
    /// More clients than the server takes.
    TOO_MANY_CONNECTIONS = "53300";
    /// The server is stopping.
    ADMIN_SHUTDOWN = "57P01";
    /// An object (index, setting) that does not exist.
    UNDEFINED_OBJECT = "42704";
    /// A table that exists already.
    DUPLICATE_TABLE = "42P07";
    /// A column named twice.
    DUPLICATE_COLUMN = "42701";
    /// A name that fits more than one column.
    AMBIGUOUS_COLUMN = "42702";
    /// Operand types that do not go together.
    DATATYPE_MISMATCH = "42804";
    /// A cast between types that have none.
    CANNOT_COERCE = "42846";
    /// A column that is always computed is given a value.
    GENERATED_ALWAYS = "428C9";
    /// No unique constraint fits.
    INVALID_COLUMN_REFERENCE = "42P10";
    /// The object is of another kind.
    WRONG_OBJECT_TYPE = "42809";
    /// The role may not do this.
    INSUFFICIENT_PRIVILEGE = "42501";
    /// Other objects depend on the one that is to go.
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
    /// Parts of a statement change the same row.
    TRIGGERED_DATA_CHANGE = "27000";
    /// A row of another table refers to the row, or the row to none.
    FOREIGN_KEY_VIOLATION = "23503";
    /// A row makes a check false.
    CHECK_VIOLATION = "23514";
    /// No numbers are left.
    SEQUENCE_LIMIT_EXCEEDED = "2200H";
    /// The constraint cannot be.
    INVALID_FOREIGN_KEY = "42830";
    /// An object of this name is there.
    DUPLICATE_OBJECT = "42710";
    /// A column that must appear in GROUP BY.
    GROUPING_ERROR = "42803";
    /// An invalid table definition.
    INVALID_TABLE_DEFINITION = "42P16";
    /// The server is out of a resource.
    OUT_OF_MEMORY = "53200";
    /// The disk is full.
    DISK_FULL = "53100";
    /// A limit of the engine (columns, depth, size).
    PROGRAM_LIMIT_EXCEEDED = "54000";
    /// An object is in use.
    OBJECT_IN_USE = "55006";
    /// The statement was cancelled.
    QUERY_CANCELED = "57014";
    /// An input or output error.
    IO_ERROR = "58030";
    /// A file that does not exist.
    UNDEFINED_FILE = "58P01";
    /// A bug of the engine.
    INTERNAL_ERROR = "XX000";
    /// Damaged data.
    DATA_CORRUPTED = "XX001";
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An error as a client sees it. Messages are lower case, without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The SQLSTATE.
    pub state: SqlState,
    /// The primary message: one line.
    pub message: String,
    /// More about what happened.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// One-based character position in the statement.
    pub position: Option<usize>,
    /// What it is about.
    pub subject: Option<Box<Subject>>,
}

/// What an error is about: programs read these instead of the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The table, of the schema `public`.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The constraint.
    pub constraint: Option<String>,
    /// Where in the data that came with the statement; see [`SqlError::context`].
    pub context: Option<String>,
    /// Which of the rows that a statement adds, from 0.
    pub row: Option<usize>,
    /// Line and column of the statement's text, from 1.
    pub place: Option<(u64, u64)>,
}

/// The result of everything that a user can make fail.
pub type SqlResult<T> = Result<T, SqlError>;

/// What somebody can do about an error of ours.
const REPORT: &str =
    "This is a bug of Dovetail. Please report it, with the statement that led to it.";

impl SqlError {
    /// An error with a state and a primary message.
    pub fn new(state: SqlState, message: impl Into<String>) -> SqlError {
        SqlError {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            subject: None,
        }
    }

    /// A bug of ours: XX000, with the request to tell us of it.
    pub fn internal(message: impl Into<String>) -> SqlError {
        SqlError::new(SqlState::INTERNAL_ERROR, message).with_hint(REPORT)
    }

    /// A feature that is not there: 0A000.
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// The statement was cancelled: 57014.
    pub fn cancelled() -> SqlError {
        SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
    }

    /// The stack would come to its end: 54001.
    pub fn too_deep() -> SqlError {
        SqlError::new(SqlState("54001"), "stack depth limit exceeded")
            .with_hint("The statement is nested too deeply; use lists or joins instead.")
    }

    /// Adds a detail line.
    pub fn with_detail(mut self, detail: impl Into<String>) -> SqlError {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a hint line.
    pub fn with_hint(mut self, hint: impl Into<String>) -> SqlError {
        self.hint = Some(hint.into());
        self
    }

    /// Adds where in the data that came with the statement it is.
    pub fn with_context(mut self, context: impl Into<String>) -> SqlError {
        self.subject.get_or_insert_default().context = Some(context.into());
        self
    }

    /// Adds a line and a column of the statement's text, from 1.
    pub fn in_line(mut self, line: u64, column: u64) -> SqlError {
        self.subject.get_or_insert_default().place = Some((line, column));
        self
    }

    /// Adds which of the rows that the statement adds it is about, from 0.
    pub fn of_row(mut self, row: usize) -> SqlError {
        self.subject.get_or_insert_default().row = Some(row);
        self
    }

    /// Where in the data that came with the statement it is.
    pub fn context(&self) -> Option<&str> {
        self.subject.as_ref()?.context.as_deref()
    }

    /// Names the table that it is about.
    pub fn of_table(mut self, table: &str) -> SqlError {
        self.subject.get_or_insert_default().table = Some(table.to_owned());
        self
    }

    /// Names the column that it is about.
    pub fn of_column(mut self, column: &str) -> SqlError {
        self.subject.get_or_insert_default().column = Some(column.to_owned());
        self
    }

    /// Names the constraint that it is about.
    pub fn of_constraint(mut self, constraint: &str) -> SqlError {
        self.subject.get_or_insert_default().constraint = Some(constraint.to_owned());
        self
    }

    /// Adds a one-based character position in the statement.
    pub fn at(mut self, position: usize) -> SqlError {
        self.position = Some(position);
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.state)?;
        if let Some(detail) = &self.detail {
            write!(f, "\nDETAIL:  {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nHINT:  {hint}")?;
        }
        if let Some(context) = self.context() {
            write!(f, "\nCONTEXT:  {context}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

//! The prepared statements of a session, by name: those of `PREPARE` and those of the protocol.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::{Field, SchemaRef};
use sql::{Depends, Parameter, Shape, Statement, Template};
use types::described::wire_type;
use types::{Datum, SqlError, SqlResult, SqlState};

use crate::activity::Announced;
use crate::held::Held;
use crate::prepared::{PointExecution, Prepared};

/// A prepared statement.
#[derive(Debug)]
pub struct NamedStatement {
    /// The statement to run; `None` is the empty one, or one that is found by its text.
    pub statement: Option<Arc<Prepared>>,
    /// The text of a statement whose literals are values of a known one. It is found by it for each
    /// execution.
    pub(crate) by_text: Option<Arc<str>>,
    /// The types of its parameters, as PostgreSQL numbers them; 0 is not known.
    pub oids: Vec<u32>,
    /// As others see it.
    pub text: Announced,
    /// What it has in common with others; none when it is empty.
    pub shape: Option<Arc<Shape>>,
    /// Whether `PREPARE` made it.
    pub from_sql: bool,
    /// When, in microseconds since 1970.
    pub prepared_us: i64,
    /// The columns that a client was told of.
    pub told: OnceLock<Option<SchemaRef>>,
    /// Its meaning and columns, if its text has come before.
    pub(crate) described: Option<Arc<Described>>,
    /// The memory that it takes.
    pub held: Option<Held>,
}

/// Definitions of a database, which are told from others.
pub(crate) type Definitions = Arc<dyn Any + Send + Sync>;

/// The meaning of a text, which lasts while the definitions that it names are as they are.
pub(crate) struct Described {
    /// The definitions by which it was found to mean that the last time.
    held: Mutex<Definitions>,
    /// Those that it depends on, where these are known one by one.
    depends: Option<Depends>,
    /// Its columns, once somebody was told of them.
    pub(crate) columns: OnceLock<Option<SchemaRef>>,
}

impl Described {
    pub(crate) fn new(held: Definitions, depends: Option<Depends>) -> Described {
        Described { held: Mutex::new(held), depends, columns: OnceLock::new() }
    }

    /// True if it means the same: by the definitions, if they are those of the last time, or by
    /// those that it depends on. `now` are the definitions, unless they are of one session.
    pub(crate) fn holds(
        &self,
        are_now: impl FnOnce(&Definitions) -> bool,
        hold: impl FnOnce(&Depends) -> bool,
        now: impl FnOnce() -> Option<Definitions>,
    ) -> bool {
        let held = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held().clone();
        if are_now(&known) {
            return true;
        }
        let holds = self.depends.as_ref().is_some_and(hold);
        if holds && let Some(now) = now() {
            *held() = now;
        }
        holds
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Described({:?})", self.columns)
    }
}

impl NamedStatement {
    /// A statement that is prepared now, whose memory is in no account yet.
    pub(crate) fn new(
        statement: Option<Arc<Prepared>>,
        oids: Vec<u32>,
        text: Announced,
        shape: Option<Arc<Shape>>,
    ) -> NamedStatement {
        NamedStatement {
            statement,
            by_text: None,
            oids,
            text,
            shape,
            from_sql: false,
            prepared_us: runtime::time::unix_us(),
            told: OnceLock::new(),
            described: None,
            held: None,
        }
    }

    /// A client is told of these columns. The first time counts, for clients keep them.
    pub fn tell(&self, columns: &Option<SchemaRef>) {
        self.told.get_or_init(|| columns.clone());
        if let Some(described) = &self.described {
            described.columns.get_or_init(|| columns.clone());
        }
    }

    /// Whether a result has the columns that the client was told of, if it was.
    ///
    /// # Errors
    /// 0A000 when tables have changed since then.
    pub fn check_result(&self, schema: &SchemaRef) -> SqlResult<()> {
        let Some(Some(told)) = self.told.get() else { return Ok(()) };
        let column = |field: &Arc<Field>| (field.name().clone(), wire_type(field).oid);
        let same = Arc::ptr_eq(told, schema)
            || told.fields().iter().map(column).eq(schema.fields().iter().map(column));
        if same {
            return Ok(());
        }
        let message = "cached plan must not change result type";
        Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }

    /// An error with its place in the statement's text.
    pub fn located(&self, error: SqlError) -> SqlError {
        let read = |text: &Arc<str>| Template::all(text).ok()?.pop();
        match (&self.statement, self.by_text.as_ref().and_then(read)) {
            (Some(prepared), _) => prepared.template().located(error),
            (None, Some(template)) => template.located(error),
            (None, None) => error,
        }
    }
}

/// Statements by name.
pub(crate) type Statements = BTreeMap<String, Arc<NamedStatement>>;

/// What an `EXECUTE` stands for.
#[derive(Clone, Debug)]
pub enum Executed {
    /// A statement with its values.
    Statement(Box<Statement>),
    /// A look-up that is planned already.
    Point(Box<PointExecution>),
}

/// 26000
pub fn no_statement(name: &str) -> SqlError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new(SqlState::UNDEFINED_STATEMENT, message)
}

/// Nulls of these types, to look at a statement before it has values.
pub fn nulls(oids: &[u32]) -> Vec<Parameter> {
    oids.iter().map(|oid| Parameter::of_type(*oid, Datum::Null)).collect()
}

//! What a setting is: one definition, from which `SET`, `SHOW`, `pg_settings`, flags, environment,
//! configuration file and documentation derive.

use types::{SqlError, SqlResult, SqlState};

use super::value::Value;
use super::{Settings, value};

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `on` or `off`.
    Bool,
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A time, counted in `unit` (`ms` or `s`) when it has none.
    Time {
        /// What a number alone counts.
        unit: &'static str,
        /// The least, in units.
        min: i64,
        /// The largest, in units.
        max: i64,
    },
    /// A size, counted in `unit` (`B` or `kB`) when it has none.
    Size {
        /// What a number alone counts.
        unit: &'static str,
        /// The least but 0, in units.
        min: i64,
        /// Whether 0 may stand for something else.
        zero: bool,
    },
    /// One of these.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A time zone.
    Zone,
    /// What a device gives: `auto`, `probe`, or figures.
    Device,
    /// A file or a folder; not absolute, it is sought where the server was started.
    Path,
    /// Texts, separated by commas.
    List,
}

/// Who may change a setting, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Nobody.
    Internal,
    /// Whoever starts the server.
    Start,
    /// Whoever runs the server, while it runs: SIGHUP.
    Reload,
    /// Each session, for itself.
    Session,
}

impl Context {
    /// As `pg_settings` says it.
    pub fn name(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Start => "postmaster",
            Context::Reload => "sighup",
            Context::Session => "user",
        }
    }
}

/// The value of a setting that nobody gave one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// This one.
    Is(&'static str),
    /// The number of cores that the process may use.
    Cores,
}

/// Where a setting's value is.
pub(crate) enum Home {
    /// In a field of [`Settings`].
    Field(fn(&Settings) -> Value, fn(&mut Settings, Value)),
    /// In the field of another setting, whose value it is in other words: configured, and reset, is that one.
    Shared { with: &'static str, get: fn(&Settings) -> Value, set: fn(&mut Settings, Value) },
    /// Kept for whoever asks: no result depends on it.
    Kept,
    /// In the configuration of the server.
    Server,
    /// There is one value, which goes by these names (letters and digits only).
    Fixed(&'static [&'static str]),
}

/// One setting.
pub struct Setting {
    /// The name, as `SHOW ALL` prints it.
    pub name: &'static str,
    /// What it belongs to.
    pub category: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Who may change it.
    pub context: Context,
    /// Its value unless somebody gave it one.
    pub unset: Unset,
    /// One sentence or two.
    pub description: &'static str,
    pub(crate) home: Home,
}

impl Setting {
    /// Whether a file, the environment or a flag may give it.
    pub fn is_given_at_start(&self) -> bool {
        self.context != Context::Internal
            && !matches!(self.home, Home::Fixed(_) | Home::Shared { .. })
    }

    /// The name of the flag.
    pub fn flag(&self) -> String {
        self.name.to_ascii_lowercase().replace('_', "-")
    }

    /// The name of the environment variable.
    pub fn variable(&self) -> String {
        format!("DOVETAIL_{}", self.name.to_ascii_uppercase())
    }

    /// The value that it has unless somebody gave it one.
    pub fn default(&self) -> Value {
        match self.unset {
            Unset::Cores => Value::Integer(runtime::Config::default().workers as i64),
            Unset::Is(text) => self.parse(text).unwrap_or_else(|_| Value::Text(text.to_owned())),
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// 22023 for one that it cannot have.
    pub(crate) fn parse(&self, text: &str) -> SqlResult<Value> {
        match self.home {
            Home::Fixed(accepted) => self.only(accepted, text),
            _ => value::parse(self.name, self.kind, text),
        }
    }

    /// There is one value; PostgreSQL looks at letters and digits only: clients send `'utf-8'`.
    fn only(&self, accepted: &[&str], text: &str) -> SqlResult<Value> {
        let Unset::Is(shown) = self.unset else { return Ok(self.default()) };
        let significant = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ',' | '.');
        let plain: String = text.to_ascii_lowercase().chars().filter(significant).collect();
        if text == shown || accepted.contains(&plain.as_str()) {
            return Ok(Value::Text(shown.to_owned()));
        }
        match self.context {
            Context::Session => {
                Err(value::invalid(self.name, text)
                    .with_hint(format!("Dovetail has only {shown}.")))
            }
            _ => Err(self.unchangeable()),
        }
    }

    /// The error of a session that would change what is not a session's.
    pub(crate) fn unchangeable(&self) -> SqlError {
        let how = match self.context {
            Context::Start => " without restarting the server",
            Context::Reload => " now",
            _ => "",
        };
        let message = format!("parameter \"{}\" cannot be changed{how}", self.name);
        let error = SqlError::new(SqlState("55P02"), message);
        match self.context {
            Context::Reload => {
                error.with_hint("Change the configuration file, and send the server SIGHUP.")
            }
            _ => error,
        }
    }
}

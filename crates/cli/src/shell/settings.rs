//! What the user can switch in the shell.

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// psql's table.
    #[default]
    Aligned,
    /// `a|b`, one line a row.
    Unaligned,
    /// Comma-separated values.
    Csv,
    /// An array of objects.
    Json,
}

impl Mode {
    /// All modes, as `\mode` lists them.
    pub const ALL: [Mode; 4] = [Mode::Aligned, Mode::Unaligned, Mode::Csv, Mode::Json];

    /// The name that `\mode` takes.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Aligned => "aligned",
            Mode::Unaligned => "unaligned",
            Mode::Csv => "csv",
            Mode::Json => "json",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// How much of an error is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Message, place, detail and hint.
    #[default]
    Default,
    /// The same with the SQLSTATE.
    Verbose,
    /// One line.
    Terse,
    /// The SQLSTATE only.
    SqlState,
}

impl Verbosity {
    /// The verbosity with psql's name for it.
    pub fn named(name: &str) -> Option<Verbosity> {
        match name {
            "default" => Some(Verbosity::Default),
            "verbose" => Some(Verbosity::Verbose),
            "terse" => Some(Verbosity::Terse),
            "sqlstate" => Some(Verbosity::SqlState),
            _ => None,
        }
    }
}

/// The switches, with psql's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How rows are printed.
    pub mode: Mode,
    /// One line a column instead of one line a row.
    pub expanded: bool,
    /// Rows only: no header, no count.
    pub tuples_only: bool,
    /// No command tags, no greeting.
    pub quiet: bool,
    /// Print how long each statement took.
    pub timing: bool,
    /// A script ends at its first error, with exit code 3.
    pub on_error_stop: bool,
    /// How much of an error is printed.
    pub verbosity: Verbosity,
}

impl Settings {
    /// Sets a psql variable; an error says what is wrong with it.
    pub fn set_variable(&mut self, name: &str, value: &str) -> Result<(), String> {
        let invalid = || format!("unrecognized value \"{value}\" for \"{name}\"");
        match name {
            "ON_ERROR_STOP" => self.on_error_stop = switch(value).ok_or_else(invalid)?,
            "QUIET" => self.quiet = switch(value).ok_or_else(invalid)?,
            "VERBOSITY" => self.verbosity = Verbosity::named(value).ok_or_else(invalid)?,
            _ => return Err(format!("unknown variable \"{name}\" (see \\?)")),
        }
        Ok(())
    }
}

/// Reads `on`, `off`, `1`, `0`, `true`, `false`; nothing at all is `on`.
pub fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" | "" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

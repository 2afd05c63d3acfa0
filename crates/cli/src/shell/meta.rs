//! Backslash commands.

use std::fs::File;
use std::io::BufReader;

use super::backend::{Backend, Table};
use super::format::{Frame, table_text};
use super::input::{Lines, Script};
use super::settings::{Mode, Verbosity, switch};
use super::{Flow, Shell, describe, report};

/// The commands with what `\?` says about them.
const HELP: &[(&str, &str)] = &[
    ("\\?", "show this help"),
    ("\\q", "quit"),
    ("\\g", "run what has been typed, as ; does"),
    ("\\p", "show what has been typed"),
    ("\\r", "throw away what has been typed"),
    ("\\d [NAME]", "list tables, or describe one"),
    ("\\dt", "list tables"),
    ("\\di", "list indexes"),
    ("\\i FILE", "run commands from a file"),
    ("\\copy ...", "COPY with a file of this machine: \\copy t from FILE csv"),
    ("\\o [FILE]", "send results to a file, or back here"),
    ("\\echo [TEXT]", "write a line"),
    ("\\mode [NAME]", "print rows as: aligned, unaligned, csv, json"),
    ("\\a", "switch between aligned and unaligned"),
    ("\\t [on|off]", "rows only"),
    ("\\x [on|off]", "one line a column"),
    ("\\timing [on|off]", "show how long statements take"),
    ("\\errverbose", "show the last error with its SQLSTATE"),
    (
        "\\set NAME [VALUE]",
        "ON_ERROR_STOP, QUIET: on, off; VERBOSITY: default, verbose, terse, sqlstate",
    ),
];

impl<B: Backend> Shell<B> {
    /// Runs a command (without its backslash) that came from `lines`.
    pub(super) fn meta(&mut self, command: &str, lines: &mut dyn Lines) -> Flow {
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let argument = unquoted(rest.trim());
        let done = match name {
            "q" => return Flow::Quit,
            "i" | "ir" => return self.include(&argument),
            "g" => return self.run_typed(lines),
            "copy" => return self.copy_file(rest, lines),
            "?" => self.show_help(),
            "p" => self.show_typed(),
            "r" => self.forget_typed(),
            "d" if !argument.is_empty() => self.describe(&argument),
            "d" | "dt" => self.list(describe::tables(&self.backend.relations()), "List of tables"),
            "di" => self.list(describe::indexes(&self.backend.relations()), "List of indexes"),
            "o" => self.redirect(&argument),
            "echo" => self.print(&format!("{argument}\n")),
            "mode" => self.set_mode(&argument),
            "a" => self.toggle_aligned(),
            "t" | "x" | "timing" => self.toggle(name, &argument),
            "errverbose" => self.show_last_error(),
            "set" => self.set_variable(&argument),
            _ => Err(format!("invalid command \\{name}\nTry \\? for help.")),
        };
        match done {
            Ok(()) => Flow::Next,
            Err(message) => {
                self.complain(&format!("{message}\n"));
                Flow::Failed
            }
        }
    }

    fn include(&mut self, path: &str) -> Flow {
        if path.is_empty() {
            self.complain("\\i: missing required argument\n");
            return Flow::Failed;
        }
        match File::open(path) {
            Ok(file) => self.run_lines(&mut Script::new(BufReader::new(file)), Some(path)),
            Err(error) => {
                self.complain(&format!("{path}: {}\n", super::os_message(&error)));
                Flow::Failed
            }
        }
    }

    fn run_typed(&mut self, lines: &mut dyn Lines) -> Flow {
        match self.scanner.take() {
            Some(statement) => self.statement(&statement, lines),
            None => Flow::Next,
        }
    }

    fn show_help(&mut self) -> Result<(), String> {
        let width = HELP.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        let line = |(command, what): &(&str, &str)| format!("  {command:width$}  {what}\n");
        let text: String = HELP.iter().map(line).collect();
        self.print(&text)
    }

    fn show_typed(&mut self) -> Result<(), String> {
        match self.scanner.take() {
            None => self.print("Query buffer is empty.\n"),
            Some(text) => {
                for line in text.lines() {
                    self.scanner.push_line(line);
                }
                self.print(&format!("{text}\n"))
            }
        }
    }

    fn forget_typed(&mut self) -> Result<(), String> {
        self.scanner.take();
        self.say("Query buffer reset (cleared).\n")
    }

    fn describe(&mut self, name: &str) -> Result<(), String> {
        let name = name.trim_end_matches(';').trim_matches('"');
        let relations = self.backend.relations();
        let Some(relation) = relations.iter().find(|relation| relation.name == name) else {
            return Err(format!("Did not find any relation named \"{name}\"."));
        };
        let title = format!("Table \"{name}\"");
        let footers = describe::footers(relation);
        let frame = Frame { title: Some(&title), footers: Some(&footers) };
        let text = table_text(&describe::columns(relation), frame, &self.settings);
        self.print(&text)
    }

    fn list(&mut self, table: Table, title: &str) -> Result<(), String> {
        if table.rows.is_empty() {
            return Err("Did not find any relations.".to_string());
        }
        let frame = Frame { title: Some(title), footers: None };
        let text = table_text(&table, frame, &self.settings);
        self.print(&text)
    }

    fn redirect(&mut self, path: &str) -> Result<(), String> {
        if path.is_empty() {
            self.redirected = None;
            return Ok(());
        }
        let file =
            File::create(path).map_err(|error| format!("{path}: {}", super::os_message(&error)))?;
        self.redirected = Some(Box::new(file));
        Ok(())
    }

    fn set_mode(&mut self, name: &str) -> Result<(), String> {
        if !name.is_empty() {
            let names = Mode::ALL.map(Mode::name).join(", ");
            self.settings.mode =
                Mode::named(name).ok_or_else(|| format!("\\mode: allowed modes are {names}"))?;
        }
        self.say(&format!("Output format is {}.\n", self.settings.mode.name()))
    }

    fn toggle_aligned(&mut self) -> Result<(), String> {
        let aligned = self.settings.mode == Mode::Aligned;
        self.set_mode(if aligned { Mode::Unaligned.name() } else { Mode::Aligned.name() })
    }

    fn toggle(&mut self, name: &str, argument: &str) -> Result<(), String> {
        let (setting, title) = match name {
            "t" => (&mut self.settings.tuples_only, "Tuples only"),
            "x" => (&mut self.settings.expanded, "Expanded display"),
            _ => (&mut self.settings.timing, "Timing"),
        };
        *setting = match argument {
            "" => !*setting,
            _ => switch(argument).ok_or_else(|| {
                format!("unrecognized value \"{argument}\" for \"\\{name}\": Boolean expected")
            })?,
        };
        let state = if *setting { "on" } else { "off" };
        self.say(&format!("{title} is {state}.\n"))
    }

    fn show_last_error(&mut self) -> Result<(), String> {
        match &self.last_error {
            None => self.print("There is no previous error.\n"),
            Some((error, statement)) => {
                let text = report::error_text(error, statement, Verbosity::Verbose);
                self.complain(&text);
                Ok(())
            }
        }
    }

    fn set_variable(&mut self, argument: &str) -> Result<(), String> {
        let (name, value) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        self.settings.set_variable(name, value.trim())
    }
}

/// The text without the single quotes around it.
fn unquoted(text: &str) -> String {
    match text.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
        Some(inner) => inner.replace("''", "'"),
        None => text.to_string(),
    }
}

//! The shell: psql's manners over an embedded database.
//!
//! It knows the database through [`Backend`] only, its input through [`Lines`] only, and writes to
//! what it is given, so the tests drive it without a terminal and without an engine.

pub mod backend;
mod copy;
mod describe;
mod format;
pub mod input;
pub mod interrupt;
mod meta;
mod report;
mod scanner;
pub mod settings;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use types::{SqlError, SqlResult, SqlState};

use backend::{Backend, Outcome, TransactionBlock};
use format::{Frame, table_text};
use input::{CopyData, Line, Lines};
use interrupt::Interrupts;
use scanner::{Piece, Scanner, is_copy_from_stdin};
use settings::{Settings, Verbosity};

/// psql's exit codes.
pub mod exit {
    /// All is well.
    pub const OK: u8 = 0;
    /// The shell itself failed, or a `-c` statement did.
    pub const FATAL: u8 = 1;
    /// The database could not be opened.
    pub const BAD_DATABASE: u8 = 2;
    /// A script failed and ON_ERROR_STOP is set.
    pub const SCRIPT_ERROR: u8 = 3;
}

/// What follows after a line, a statement or a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next one.
    Next,
    /// The next one, though this one failed.
    Failed,
    /// Nothing: the user quit.
    Quit,
    /// Nothing: an error ended the script.
    Stop,
}

/// A shell session.
pub struct Shell<B> {
    backend: B,
    settings: Settings,
    scanner: Scanner,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Where `\o` sends results.
    redirected: Option<Box<dyn Write>>,
    /// For `\errverbose`, with its statement.
    last_error: Option<(SqlError, String)>,
    /// The file that is being run, for messages.
    script: Option<String>,
    interrupts: Interrupts,
}

impl<B: Backend> Shell<B> {
    /// A shell over `backend` that prints to `out` and complains to `err`.
    pub fn new(
        backend: B,
        settings: Settings,
        interrupts: Interrupts,
        out: Box<dyn Write>,
        err: Box<dyn Write>,
    ) -> Shell<B> {
        Shell {
            backend,
            settings,
            scanner: Scanner::default(),
            out,
            err,
            redirected: None,
            last_error: None,
            script: None,
            interrupts,
        }
    }

    /// Whether ON_ERROR_STOP is set.
    pub fn stops_on_error(&self) -> bool {
        self.settings.on_error_stop
    }

    /// Runs one `-c` argument: statements or one backslash command. Data of a `COPY` come from
    /// `data`. The first error ends it.
    pub fn run_command(&mut self, command: &str, data: &mut dyn Lines) -> Flow {
        let mut scanner = Scanner::default();
        let mut pieces: Vec<Piece> =
            command.split('\n').flat_map(|line| scanner.push_line(line)).collect();
        pieces.extend(scanner.take().map(Piece::Statement));
        for piece in pieces {
            let flow = self.piece(&piece, data);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    /// Runs all lines; `script` is the file's name for messages. What an earlier source left
    /// unfinished is not continued here.
    pub fn run_lines(&mut self, lines: &mut dyn Lines, script: Option<&str>) -> Flow {
        let outer_scanner = std::mem::take(&mut self.scanner);
        let outer_script = std::mem::replace(&mut self.script, script.map(str::to_string));
        let flow = self.lines(lines).unwrap_or_else(|error| {
            self.complain(&format!("{}\n", os_message(&error)));
            Flow::Stop
        });
        self.scanner = outer_scanner;
        self.script = outer_script;
        flow
    }

    fn lines(&mut self, lines: &mut dyn Lines) -> io::Result<Flow> {
        loop {
            match lines.next_line(&self.prompt())? {
                Line::Text(line) => {
                    for piece in self.scanner.push_line(&line) {
                        let flow = self.piece(&piece, lines);
                        if self.ends(flow, lines) {
                            return Ok(flow_at_end(flow));
                        }
                    }
                }
                Line::Interrupted => {
                    self.scanner.take();
                }
                Line::End => break,
            }
        }
        // psql runs the last statement of a script even without its semicolon.
        match self.scanner.take() {
            Some(statement) if !lines.is_interactive() => {
                let flow = self.statement(&statement, lines);
                Ok(if self.ends(flow, lines) { flow_at_end(flow) } else { Flow::Next })
            }
            _ => Ok(Flow::Next),
        }
    }

    /// What a person is asked with: what is unfinished, and whether a block is open.
    fn prompt(&self) -> String {
        let block = match self.backend.block() {
            TransactionBlock::None => "",
            TransactionBlock::Open => "*",
            TransactionBlock::Failed => "!",
        };
        format!("dovetail{}{block}> ", self.scanner.prompt())
    }

    fn ends(&self, flow: Flow, lines: &dyn Lines) -> bool {
        let script_failed =
            flow == Flow::Failed && self.settings.on_error_stop && !lines.is_interactive();
        script_failed || matches!(flow, Flow::Quit | Flow::Stop)
    }

    fn piece(&mut self, piece: &Piece, lines: &mut dyn Lines) -> Flow {
        match piece {
            Piece::Statement(text) => self.statement(text, lines),
            Piece::Meta(command) => {
                lines.remember(&format!("\\{command}"));
                self.meta(command, lines)
            }
        }
    }

    /// Runs one statement and prints what comes of it.
    fn statement(&mut self, statement: &str, lines: &mut dyn Lines) -> Flow {
        lines.remember(statement);
        let start = Instant::now();
        let cancel = self.backend.canceller();
        let interrupts = self.interrupts.clone();
        let result = interrupts.during(cancel, || match () {
            () if is_copy_from_stdin(statement) => take_copy(&mut self.backend, statement, lines),
            () if copy::is_copy_to_stdout(statement) => self.print_copy(statement),
            () => self.backend.execute(statement),
        });
        self.show_notices(lines);
        let flow = match result {
            Ok(outcomes) => self.show_all(&outcomes),
            Err(error) => self.show_error(error, statement, lines),
        };
        if self.settings.timing {
            // A closed output is reported by the statement itself.
            let _ = self.print(&timing_text(start.elapsed()));
        }
        flow
    }

    fn show_notices(&mut self, lines: &dyn Lines) {
        for (severity, notice) in self.backend.notices() {
            let text = report::message_text(severity, &notice, "", self.settings.verbosity);
            self.complain(&format!("{}{text}", self.place(lines)));
        }
    }

    fn show_all(&mut self, outcomes: &[Outcome]) -> Flow {
        for outcome in outcomes {
            let text = match outcome {
                Outcome::Rows(table) => table_text(table, Frame::default(), &self.settings),
                Outcome::Command(_) if self.settings.quiet => continue,
                Outcome::Command(tag) => format!("{tag}\n"),
            };
            if let Err(message) = self.print(&text) {
                self.complain(&format!("{message}\n"));
                return Flow::Stop;
            }
        }
        Flow::Next
    }

    fn show_error(&mut self, error: SqlError, statement: &str, lines: &dyn Lines) -> Flow {
        let text = report::error_text(&error, statement, self.settings.verbosity);
        self.complain(&format!("{}{text}", self.place(lines)));
        self.last_error = Some((error, statement.to_string()));
        // Ctrl-C ends a script, as in psql: the next statement is not what the user wants.
        if self.interrupts.take() && !lines.is_interactive() { Flow::Stop } else { Flow::Failed }
    }

    /// Where a script stands, for its messages.
    fn place(&self, lines: &dyn Lines) -> String {
        match &self.script {
            Some(script) => format!("dovetail:{script}:{}: ", lines.line_number()),
            None => String::new(),
        }
    }

    /// Writes results: to the file of `\o`, or to the output.
    fn print(&mut self, text: &str) -> Result<(), String> {
        let out = self.redirected.as_mut().unwrap_or(&mut self.out);
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| format!("could not write: {}", os_message(&error)))
    }

    /// Writes a remark about the shell itself, unless it is quiet.
    fn say(&mut self, text: &str) -> Result<(), String> {
        if self.settings.quiet { Ok(()) } else { self.print(text) }
    }

    fn complain(&mut self, text: &str) {
        // There is no other place to complain to.
        let _ = self.err.write_all(text.as_bytes());
    }
}

/// Runs `COPY ... FROM STDIN`; data that an error left unread are skipped.
fn take_copy(
    backend: &mut impl Backend,
    statement: &str,
    lines: &mut dyn Lines,
) -> SqlResult<Vec<Outcome>> {
    let mut data = CopyData::new(lines);
    let result = backend.copy_in(statement, &mut data);
    let drained = data.drain();
    let outcome = result?;
    drained.map_err(|error| SqlError::new(SqlState::IO_ERROR, os_message(&error)))?;
    Ok(vec![outcome])
}

fn flow_at_end(flow: Flow) -> Flow {
    if flow == Flow::Failed { Flow::Stop } else { flow }
}

/// `Time: 12.345 ms`, from a second on with a readable form behind it.
fn timing_text(elapsed: Duration) -> String {
    let ms = elapsed.as_secs_f64() * 1e3;
    if elapsed < Duration::from_secs(1) {
        return format!("Time: {ms:.3} ms\n");
    }
    let (minutes, seconds) = (elapsed.as_secs() / 60, elapsed.as_secs_f64() % 60.0);
    format!("Time: {ms:.3} ms ({minutes:02}:{seconds:06.3})\n")
}

/// The lines for an error that ends the program.
pub fn fatal_text(error: &SqlError) -> String {
    let text = report::error_text(error, "", Verbosity::Default);
    text.replacen("ERROR:  ", "error: ", 1)
}

/// The message of an operating-system error without Rust's number behind it.
pub fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

//! Where lines come from: a script, or a person at a terminal.

use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

/// What the next line is.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break.
    Text(String),
    /// Ctrl-C at the prompt: what is unfinished is thrown away.
    Interrupted,
    /// No more lines.
    End,
}

/// A source of lines.
pub trait Lines {
    /// The next line. `prompt` is shown to a person only.
    fn next_line(&mut self, prompt: &str) -> io::Result<Line>;

    /// How many lines have been read.
    fn line_number(&self) -> usize;

    /// Whether a person types them.
    fn is_interactive(&self) -> bool {
        false
    }

    /// Remembers a statement for the arrow keys.
    fn remember(&mut self, _statement: &str) {}
}

/// The lines of a file, of standard input, or of a text.
pub struct Script<R> {
    reader: R,
    line_number: usize,
}

impl<R: BufRead> Script<R> {
    /// Reads from `reader`.
    pub fn new(reader: R) -> Script<R> {
        Script { reader, line_number: 0 }
    }
}

impl<R: BufRead> Lines for Script<R> {
    fn next_line(&mut self, _prompt: &str) -> io::Result<Line> {
        let mut bytes = Vec::new();
        if self.reader.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(Line::End);
        }
        self.line_number += 1;
        let end = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let end = end.strip_suffix(b"\r").unwrap_or(end);
        let line = std::str::from_utf8(end).map_err(|_| {
            let message = format!("line {} is not valid UTF-8", self.line_number);
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        Ok(Line::Text(line.to_string()))
    }

    fn line_number(&self) -> usize {
        self.line_number
    }
}

/// A person at a terminal, with line editing and history.
pub struct Terminal {
    editor: DefaultEditor,
    history_path: Option<PathBuf>,
    /// Lines of a paste that have not been asked for.
    pasted: Vec<String>,
    line_number: usize,
}

impl Terminal {
    /// Opens the terminal; the history is kept in `history_path`.
    pub fn open(history_path: Option<PathBuf>) -> io::Result<Terminal> {
        let mut editor = DefaultEditor::new().map_err(io::Error::other)?;
        if let Some(path) = &history_path {
            // The first session has no history to load.
            let _ = editor.load_history(path);
        }
        Ok(Terminal { editor, history_path, pasted: Vec::new(), line_number: 0 })
    }
}

impl Lines for Terminal {
    fn next_line(&mut self, prompt: &str) -> io::Result<Line> {
        if self.pasted.is_empty() {
            match self.editor.readline(prompt) {
                Ok(text) => {
                    self.pasted = text.split('\n').rev().map(str::to_string).collect();
                }
                Err(ReadlineError::Interrupted) => return Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => return Ok(Line::End),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        self.line_number += 1;
        Ok(Line::Text(self.pasted.pop().unwrap_or_default()))
    }

    fn line_number(&self) -> usize {
        self.line_number
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn remember(&mut self, statement: &str) {
        let _ = self.editor.add_history_entry(engine::without_secrets(statement));
        if let Some(path) = &self.history_path {
            // An unwritable home costs the history, not the session.
            let _ = self.editor.save_history(path);
        }
    }
}

/// The data lines of a `COPY ... FROM STDIN`: up to `\.` or the end of the source.
pub struct CopyData<'a> {
    lines: &'a mut dyn Lines,
    pending: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<'a> CopyData<'a> {
    /// The data that follow in `lines`.
    pub fn new(lines: &'a mut dyn Lines) -> CopyData<'a> {
        CopyData { lines, pending: Vec::new(), at: 0, ended: false }
    }

    /// Skips data that nobody read, so that they are not taken for statements.
    pub fn drain(mut self) -> io::Result<()> {
        while !self.ended {
            self.refill()?;
        }
        Ok(())
    }

    fn refill(&mut self) -> io::Result<()> {
        self.pending.clear();
        self.at = 0;
        match self.lines.next_line(">> ")? {
            Line::Text(line) if line == "\\." => self.ended = true,
            Line::Text(line) => {
                self.pending.extend_from_slice(line.as_bytes());
                self.pending.push(b'\n');
            }
            Line::End => self.ended = true,
            Line::Interrupted => {
                self.ended = true;
                return Err(io::Error::new(io::ErrorKind::Interrupted, "COPY was interrupted"));
            }
        }
        Ok(())
    }
}

impl Read for CopyData<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.pending.len() {
            if self.ended {
                return Ok(0);
            }
            self.refill()?;
        }
        let count = buffer.len().min(self.pending.len() - self.at);
        buffer[..count].copy_from_slice(&self.pending[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

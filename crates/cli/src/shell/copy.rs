//! `COPY` with the shell as the client: data that it prints, and `\copy` with files of its user.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use types::{SqlError, SqlResult, SqlState};

use super::backend::{Backend, Outcome};
use super::{Flow, Shell, os_message};

/// A `\copy`, as the statement that the database runs and the file at this end.
#[derive(Debug, PartialEq, Eq)]
struct FileCopy {
    statement: String,
    is_from: bool,
    /// `None` is the shell's own input or output.
    path: Option<String>,
}

/// Whether a statement is `COPY ... TO STDOUT`.
pub(super) fn is_copy_to_stdout(statement: &str) -> bool {
    let Some(rest) = after_copy(statement) else { return false };
    match direction(rest) {
        Some((at, false)) => {
            let target = rest[at + "to".len()..].trim_start().to_ascii_lowercase();
            target.starts_with("stdout") || target.starts_with("stdin")
        }
        _ => false,
    }
}

fn after_copy(statement: &str) -> Option<&str> {
    let statement = statement.trim_start();
    let (word, rest) = (statement.get(..4)?, statement.get(4..)?);
    let ends = rest.starts_with(|c: char| c.is_whitespace() || c == '(');
    (word.eq_ignore_ascii_case("copy") && ends).then_some(rest)
}

/// Where `FROM` or `TO` stands, outside of parentheses and quotes, and whether it is `FROM`.
fn direction(text: &str) -> Option<(usize, bool)> {
    let (mut depth, mut quote, mut word) = (0usize, None, 0);
    let mut found = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            (c, None) if depth == 0 && c.is_whitespace() => {
                found = found.or(at_word(text, word, at))
            }
            _ => continue,
        }
        word = at + c.len_utf8();
    }
    found
}

fn at_word(text: &str, begin: usize, end: usize) -> Option<(usize, bool)> {
    match text.get(begin..end)?.to_ascii_lowercase().as_str() {
        "from" => Some((begin, true)),
        "to" => Some((begin, false)),
        _ => None,
    }
}

/// Reads the arguments of `\copy`.
fn file_copy(arguments: &str) -> Option<FileCopy> {
    let arguments = arguments.trim().trim_end_matches(';');
    let (at, is_from) = direction(arguments)?;
    let (before, behind) = arguments.split_at(at);
    let behind = behind[if is_from { 4 } else { 2 }..].trim_start();
    let (path, options) = first_word(behind)?;
    let own = ["stdin", "stdout", "pstdin", "pstdout"].contains(&path.to_lowercase().as_str());
    let end = if is_from { "from stdin" } else { "to stdout" };
    let statement = format!("copy {before}{end} {options}").trim_end().to_owned();
    Some(FileCopy { statement, is_from, path: (!own).then_some(path) })
}

/// A word or a text in quotes, and what follows.
fn first_word(text: &str) -> Option<(String, &str)> {
    if let Some(inner) = text.strip_prefix('\'') {
        let end = inner.find('\'')?;
        return Some((inner[..end].to_owned(), &inner[end + 1..]));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

fn cannot(path: &str, error: &io::Error) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("{path}: {}", os_message(error)))
}

impl<B: Backend> Shell<B> {
    /// Runs `COPY ... TO STDOUT`. Its data are the output, so no tag is printed.
    pub(super) fn print_copy(&mut self, statement: &str) -> SqlResult<Vec<Outcome>> {
        let out = self.redirected.as_mut().unwrap_or(&mut self.out);
        self.backend.copy_out(statement, out)?;
        out.flush().map_err(|error| cannot("output", &error))?;
        Ok(vec![])
    }

    /// `\copy`
    pub(super) fn copy_file(&mut self, arguments: &str, lines: &mut dyn super::Lines) -> Flow {
        let Some(copy) = file_copy(arguments) else {
            self.complain("\\copy: parse error\n");
            return Flow::Failed;
        };
        let Some(path) = &copy.path else { return self.statement(&copy.statement, lines) };
        let copied = match copy.is_from {
            true => File::open(path)
                .map_err(|error| cannot(path, &error))
                .and_then(|mut file| self.backend.copy_in(&copy.statement, &mut file)),
            false => File::create(path).map_err(|error| cannot(path, &error)).and_then(|file| {
                let mut file = BufWriter::new(file);
                let outcome = self.backend.copy_out(&copy.statement, &mut file)?;
                file.flush().map_err(|error| cannot(path, &error))?;
                Ok(outcome)
            }),
        };
        self.show_notices(lines);
        match copied {
            Ok(outcome) => self.show_all(&[outcome]),
            Err(error) => self.show_error(error, &copy.statement, lines),
        }
    }
}

#[cfg(test)]
mod tests;

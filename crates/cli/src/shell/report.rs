//! Errors as psql prints them: severity, message, the line with a caret, detail, hint.

#[cfg(test)]
mod tests;

use types::SqlError;

use super::settings::Verbosity;

/// Characters of the offending line that are shown.
const EXCERPT_CHAR_COUNT: usize = 60;
/// Characters shown after the offending place, if the line has them.
const EXCERPT_TAIL_COUNT: usize = 10;

/// The lines to print for an error in `statement`.
pub fn error_text(error: &SqlError, statement: &str, verbosity: Verbosity) -> String {
    message_text("ERROR", error, statement, verbosity)
}

/// The lines to print for a message of this severity.
pub fn message_text(
    severity: &str,
    error: &SqlError,
    statement: &str,
    verbosity: Verbosity,
) -> String {
    let mut text = match verbosity {
        Verbosity::SqlState => return format!("{severity}:  {}\n", error.state),
        Verbosity::Verbose => format!("{severity}:  {}: {}", error.state, error.message),
        Verbosity::Default | Verbosity::Terse => format!("{severity}:  {}", error.message),
    };
    if verbosity == Verbosity::Terse {
        let place = error.position.map(|at| format!(" at character {at}")).unwrap_or_default();
        return format!("{text}{place}\n");
    }
    text.push('\n');
    if let Some(position) = error.position {
        text.push_str(&excerpt(statement, position));
    }
    if let Some(detail) = &error.detail {
        text.push_str(&format!("DETAIL:  {detail}\n"));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!("HINT:  {hint}\n"));
    }
    text
}

/// `LINE n: ...` and a caret below the character at `position` (from 1). Nothing when the position
/// lies outside of the statement.
fn excerpt(statement: &str, position: usize) -> String {
    let before: String = statement.chars().take(position.saturating_sub(1)).collect();
    if position == 0 || before.chars().count() + 1 < position {
        return String::new();
    }
    let line_number = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count();
    let line = statement.lines().nth(line_number - 1).unwrap_or_default();
    let chars: Vec<char> = line.replace('\t', " ").chars().collect();
    let (start, end) = window(chars.len(), column);
    let (head, tail) =
        (if start > 0 { "..." } else { "" }, if end < chars.len() { "..." } else { "" });
    let shown: String = chars[start..end].iter().collect();
    let prefix = format!("LINE {line_number}: {head}");
    let blanks = " ".repeat(prefix.chars().count() + column - start);
    format!("{prefix}{shown}{tail}\n{blanks}^\n")
}

/// The part of a long line to show, so that the place in it can be seen.
fn window(length: usize, column: usize) -> (usize, usize) {
    if length <= EXCERPT_CHAR_COUNT {
        return (0, length);
    }
    if column + EXCERPT_TAIL_COUNT <= EXCERPT_CHAR_COUNT {
        return (0, EXCERPT_CHAR_COUNT);
    }
    let end = (column + EXCERPT_TAIL_COUNT).min(length);
    (end.saturating_sub(EXCERPT_CHAR_COUNT).min(column), end)
}

//! Where in a statement an error is: what its message names is looked for among the tokens.
//!
//! An error that a name or a literal of the statement has caused says so in its first quotation.
//! PostgreSQL points at it when the statement is a query or changes rows, and so do we.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlState};

use super::tokens;
use super::tokens::Tokens;
use crate::parse::template::Template;

impl Template {
    /// The error with its position in the text, where it is about something that stands there.
    pub fn located(&self, error: SqlError) -> SqlError {
        if error.position.is_some() || error.context().is_some() || !points(self.tokens()) {
            return error;
        }
        if let Some((line, column)) = error.subject.as_ref().and_then(|s| s.place) {
            return error.at(tokens::position(self.text(), line, column));
        }
        let Some(at) = culprit(self.tokens(), &error) else { return error };
        // The text may end where something is missing.
        match self.tokens().get(at) {
            Some(token) => error.at(tokens::position_of(self.text(), token)),
            None => error,
        }
    }
}

/// Whether PostgreSQL points into statements of this kind.
fn points(tokens: &Tokens) -> bool {
    use Keyword as K;
    let first = tokens.iter().find_map(|token| match &token.token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    });
    let queries = [
        K::SELECT,
        K::WITH,
        K::VALUES,
        K::INSERT,
        K::UPDATE,
        K::DELETE,
        K::EXPLAIN,
        K::PREPARE,
        K::DECLARE,
        K::EXECUTE,
    ];
    let within = |keyword| tokens.iter().any(|t| is_keyword(t, keyword));
    match first {
        Some(first) if queries.contains(&first) => true,
        Some(K::CREATE) => within(K::AS) && (within(K::SELECT) || within(K::VALUES)),
        Some(K::COPY) => tokens.get(1).is_some_and(|t| t.token == Token::LParen),
        _ => false,
    }
}

/// The first token of what the error is about.
fn culprit(tokens: &Tokens, error: &SqlError) -> Option<usize> {
    let message = error.message.as_str();
    match error.state {
        SqlState::UNDEFINED_COLUMN | SqlState::AMBIGUOUS_COLUMN | SqlState::GROUPING_ERROR => {
            let named = message.strip_prefix("column ")?;
            let named = named.strip_prefix("reference ").unwrap_or(named);
            column(tokens, &name_parts(named)?)
        }
        SqlState::UNDEFINED_TABLE => {
            if let Some(alias) = message.strip_prefix("missing FROM-clause entry for table ") {
                let parts = name_parts(alias)?;
                return (0..tokens.len()).find(|&i| {
                    is_name(&tokens[i], &parts[0]) && is(tokens, i + 1, &Token::Period)
                });
            }
            relation(tokens, &name_parts(message.strip_prefix("relation ")?)?)
        }
        SqlState::UNDEFINED_FUNCTION => match message.strip_prefix("function ") {
            Some(named) => function(tokens, &name_parts(named)?),
            None => operator(tokens, message.strip_prefix("operator does not exist: ")?),
        },
        SqlState::SYNTAX_ERROR => set_operation(tokens, message),
        SqlState::INVALID_TEXT_REPRESENTATION
        | SqlState::INVALID_DATETIME_FORMAT
        | SqlState::DATETIME_FIELD_OVERFLOW
        | SqlState::NUMERIC_VALUE_OUT_OF_RANGE => literal(tokens, quoted(message)?),
        _ => None,
    }
}

/// The last quotation.
fn quoted(message: &str) -> Option<&str> {
    let start = message.find(": \"").map(|at| at + 3).or_else(|| Some(message.find('"')? + 1))?;
    let end = message.rfind('"')?;
    message.get(start..end)
}

/// The parts of the name at the beginning: `"a.b" ..`, `a.b ..`, `f(..`.
fn name_parts(text: &str) -> Option<Vec<String>> {
    let name = match text.strip_prefix('"') {
        Some(rest) => rest.split('"').next()?,
        None => text.split([' ', '(']).next()?,
    };
    let parts: Vec<String> = name.split('.').map(|p| p.trim_matches('"').to_owned()).collect();
    parts.iter().all(|p| !p.is_empty()).then_some(parts)
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(w) if w.keyword == keyword && w.quote_style.is_none())
}

/// Whether the token is this identifier.
fn is_name(token: &TokenWithSpan, name: &str) -> bool {
    match &token.token {
        Token::Word(word) if word.quote_style.is_some() => word.value == name,
        Token::Word(word) => word.value.to_lowercase() == name,
        _ => false,
    }
}

fn is(tokens: &Tokens, at: usize, token: &Token) -> bool {
    tokens.get(at).is_some_and(|t| t.token == *token)
}

/// Whether the qualified name stands at this token.
fn stands_at(tokens: &Tokens, at: usize, parts: &[String]) -> bool {
    parts.iter().enumerate().all(|(i, part)| {
        tokens.get(at + 2 * i).is_some_and(|t| is_name(t, part))
            && (i == 0 || is(tokens, at + 2 * i - 1, &Token::Period))
    })
}

/// A reference to a column: no alias that is given, no qualifier, no function.
fn column(tokens: &Tokens, parts: &[String]) -> Option<usize> {
    let found = |parts: &[String], qualified: bool| {
        (0..tokens.len()).find(|&at| {
            let after = at + 2 * parts.len() - 1;
            let given = at > 0 && is_keyword(&tokens[at - 1], Keyword::AS);
            let within = at > 0 && tokens[at - 1].token == Token::Period;
            stands_at(tokens, at, parts)
                && !given
                && (qualified || !within)
                && !is(tokens, after, &Token::Period)
                && !is(tokens, after, &Token::LParen)
        })
    };
    // What the message qualifies may stand alone, and the other way round.
    let alone = &parts[parts.len() - 1..];
    let whole = found(parts, false).or_else(|| found(alone, false));
    whole.or_else(|| {
        let mut at = found(alone, true)?;
        while at >= 2 && tokens[at - 1].token == Token::Period {
            at -= 2;
        }
        Some(at)
    })
}

/// A table: behind a word that wants one, or in a list of them.
fn relation(tokens: &Tokens, parts: &[String]) -> Option<usize> {
    use Keyword as K;
    let wanting = [K::FROM, K::JOIN, K::INTO, K::UPDATE, K::TABLE, K::ONLY, K::USING];
    (1..tokens.len()).find(|&at| {
        let before = &tokens[at - 1];
        let wanted = wanting.iter().any(|k| is_keyword(before, *k))
            || matches!(before.token, Token::Comma | Token::LParen);
        wanted
            && stands_at(tokens, at, parts)
            && !is(tokens, at + 2 * parts.len() - 1, &Token::Period)
    })
}

fn function(tokens: &Tokens, parts: &[String]) -> Option<usize> {
    let found = (0..tokens.len()).find(|&at| {
        stands_at(tokens, at, &parts[parts.len() - 1..]) && is(tokens, at + 1, &Token::LParen)
    })?;
    let qualified = found >= 2 && tokens[found - 1].token == Token::Period;
    Some(if qualified { found - 2 } else { found })
}

/// `left op right`: types are words, the operator is none.
fn operator(tokens: &Tokens, operands: &str) -> Option<usize> {
    let symbol = operands
        .split(' ')
        .find(|w| !w.is_empty() && w.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c)))?;
    tokens.iter().position(|t| t.token.to_string() == symbol)
}

/// The first output of the second query of a set operation.
fn set_operation(tokens: &Tokens, message: &str) -> Option<usize> {
    let rest = message.strip_prefix("each ")?;
    let name = rest.strip_suffix(" query must have the same number of columns")?;
    let mut at = tokens.iter().position(|t| is_name(t, &name.to_lowercase()))? + 1;
    while is_keyword(tokens.get(at)?, Keyword::ALL) || is(tokens, at, &Token::LParen) {
        at += 1;
    }
    is_keyword(tokens.get(at)?, Keyword::SELECT).then_some(at + 1)
}

fn literal(tokens: &Tokens, value: &str) -> Option<usize> {
    tokens.iter().position(|t| match &t.token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text == value,
        _ => false,
    })
}

//! Texts in quotes behind each other: one text where a line ends between them, as the standard has
//! it, and an error on the same line.

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};
use types::SqlResult;

use crate::parse::tokens::{Tokens, unexpected};

/// The tokens without white space and comments, and texts that go on behind a line's end made one.
///
/// # Errors
/// 42601 for two texts of which one follows the other on the same line, or behind a comment in the
/// form of C.
pub(crate) fn joined(text: &str, tokens: Tokens) -> SqlResult<Tokens> {
    let mut kept = Tokens::with_capacity(tokens.len());
    let (mut line_ended, mut may_go_on) = (false, false);
    for token in tokens {
        match &token.token {
            Token::Whitespace(blank) => {
                line_ended |=
                    matches!(blank, Whitespace::Newline | Whitespace::SingleLineComment { .. });
                may_go_on &= !matches!(blank, Whitespace::MultiLineComment(_));
                continue;
            }
            Token::SingleQuotedString(more) => {
                if let Some(before) = kept.last_mut().filter(|before| is_whole(&before.token)) {
                    let ends =
                        matches!(before.token, Token::DollarQuotedString(_) | Token::Number(..));
                    if ends || !(line_ended && may_go_on) {
                        return Err(unexpected(text, &token));
                    }
                    go_on(before, more);
                    before.span.end = token.span.end;
                    (line_ended, may_go_on) = (false, true);
                    continue;
                }
            }
            _ => {}
        }
        kept.push(token);
        (line_ended, may_go_on) = (false, true);
    }
    Ok(kept)
}

/// True if a text behind it is a part of it or an error: one between dollars does not go on, and no
/// number does.
fn is_whole(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Number(..)
    )
}

/// Appends what stands in quotes behind a text, in which a backslash means what it means in that.
fn go_on(before: &mut TokenWithSpan, more: &str) {
    match &mut before.token {
        Token::EscapedStringLiteral(text) => text.push_str(&read_again("E", more)),
        Token::UnicodeStringLiteral(text) => text.push_str(&read_again("U&", more)),
        Token::SingleQuotedString(text)
        | Token::NationalStringLiteral(text)
        | Token::SingleQuotedByteStringLiteral(text)
        | Token::HexStringLiteral(text) => text.push_str(more),
        _ => {}
    }
}

/// A text as it is behind a mark of its form.
fn read_again(mark: &str, text: &str) -> String {
    let written = format!("{mark}'{}'", text.replace('\'', "''"));
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, &written).tokenize();
    match tokens.ok().and_then(|tokens| tokens.into_iter().next()) {
        Some(Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text)) => text,
        _ => text.to_owned(),
    }
}

//! `VACUUM`, which the parser has no words for.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::SqlResult;

use super::tokens::{Tokens, unexpected};

/// `VACUUM`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vacuum {
    /// Statistics are made too.
    pub analyze: bool,
    /// The tables; none means all.
    pub tables: Vec<String>,
}

/// Whether the statement begins with the word.
pub(super) fn is_vacuum(tokens: &Tokens) -> bool {
    let first = tokens.first().map(|t| &t.token);
    matches!(first, Some(Token::Word(w)) if w.value.eq_ignore_ascii_case("vacuum"))
}

/// Reads the options, in parentheses or not, and the names.
pub(super) fn vacuum(text: &str, tokens: &Tokens) -> SqlResult<Vacuum> {
    let mut vacuum = Vacuum::default();
    let mut options = true;
    for token in &tokens[1..] {
        match &token.token {
            Token::LParen | Token::RParen | Token::Comma => {}
            Token::Word(w) if options && w.quote_style.is_none() => {
                match w.value.to_lowercase().as_str() {
                    "analyze" => vacuum.analyze = true,
                    "full" | "freeze" | "verbose" | "true" | "on" => {}
                    name => {
                        options = false;
                        vacuum.tables.push(name.to_owned());
                    }
                }
            }
            Token::Word(w) => {
                options = false;
                let quoted = w.quote_style.is_some();
                vacuum.tables.push(if quoted { w.value.clone() } else { w.value.to_lowercase() });
            }
            _ => return Err(unexpected(text, token)),
        }
    }
    Ok(vacuum)
}

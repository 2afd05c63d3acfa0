//! The shape of a statement: its text with placeholders where constants stand, and a number that all
//! statements of the shape have. No constant is part of it, so no secret is.

use std::hash::{DefaultHasher, Hasher};

use datafusion_sql::sqlparser::tokenizer::Token;

use super::template::Template;
use crate::quote::unspelled::shown;

/// Bytes of text that are kept.
const TEXT_BYTES_MAX: usize = 4096;

/// What statements have in common that differ in constants, comments and blanks only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its number, never 0.
    pub id: i64,
    /// The first part of its text.
    pub text: String,
}

impl Template {
    /// The shape of the statement.
    pub fn shape(&self) -> Shape {
        let (mut hasher, mut text) = (DefaultHasher::new(), String::new());
        // Constants are numbered behind the parameters, as PostgreSQL does.
        let mut number =
            self.tokens().iter().filter_map(|t| placeholder(&t.token)).max().unwrap_or(0);
        let mut end = None;
        for token in self.tokens() {
            let constant = is_constant(&token.token);
            number += usize::from(constant);
            match &token.token {
                _ if constant => hasher.write_u8(0),
                Token::Word(w) if w.quote_style.is_none() => {
                    hasher.write(w.value.to_lowercase().as_bytes());
                }
                other => hasher.write(other.to_string().as_bytes()),
            }
            hasher.write_u8(1);
            if text.len() < TEXT_BYTES_MAX {
                if end.is_some_and(|end| end != token.span.start) {
                    text.push(' ');
                }
                match constant {
                    true => text.push_str(&format!("${number}")),
                    false => text.push_str(&shown(&token.token.to_string())),
                }
            }
            end = Some(token.span.end);
        }
        let cut = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(cut.unwrap_or(0));
        Shape { id: hasher.finish() as i64 | 1, text }
    }
}

/// The number of a parameter; `PREPARE` has such of its own.
fn placeholder(token: &Token) -> Option<usize> {
    let Token::Placeholder(name) = token else { return None };
    name.strip_prefix('$')?.parse().ok()
}

fn is_constant(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
    )
}

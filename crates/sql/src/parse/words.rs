//! The words of a statement, one after the other.

use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use types::{SqlError, SqlResult, SqlState};

use super::tokens;
use crate::parse::object_name::RelationName;

/// A place in the tokens of a statement.
pub(super) struct Words<'a> {
    text: &'a str,
    tokens: &'a [TokenWithSpan],
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str, tokens: &'a [TokenWithSpan]) -> Words<'a> {
        Words { text, tokens }
    }

    fn next(&self) -> Option<&'a Token> {
        self.tokens.first().map(|t| &t.token)
    }

    fn word(&self) -> Option<&'a Word> {
        match self.next() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Whether the next token is this keyword.
    pub fn is(&self, keyword: &str) -> bool {
        self.word()
            .is_some_and(|w| w.quote_style.is_none() && w.value.eq_ignore_ascii_case(keyword))
    }

    /// Whether the next token is an identifier in quotes.
    pub fn is_quoted(&self) -> bool {
        self.word().is_some_and(|w| w.quote_style.is_some())
    }

    /// What is left.
    pub fn rest(&self) -> &'a [TokenWithSpan] {
        self.tokens
    }

    /// Whether a keyword stands anywhere in the rest.
    pub fn has(&self, keyword: &str) -> bool {
        let is = |t: &TokenWithSpan| match &t.token {
            Token::Word(w) => w.quote_style.is_none() && w.value.eq_ignore_ascii_case(keyword),
            _ => false,
        };
        self.tokens.iter().any(is)
    }

    pub fn is_end(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn skip(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    /// Takes this token, if it is next.
    pub fn eat_token(&mut self, token: &Token) -> bool {
        let found = self.next() == Some(token);
        if found {
            self.skip();
        }
        found
    }

    /// `=` or `TO`, if it is next.
    pub fn eat_equals(&mut self) {
        if !self.eat_token(&Token::Eq) {
            self.eat("to");
        }
    }

    /// Takes this keyword, if it is next.
    pub fn eat(&mut self, keyword: &str) -> bool {
        let found = self.is(keyword);
        if found {
            self.skip();
        }
        found
    }

    /// Takes these keywords, if they are next.
    pub fn eat_all(&mut self, keywords: &str) -> bool {
        let before = self.tokens;
        let found = keywords.split(' ').all(|keyword| self.eat(keyword));
        if !found {
            self.tokens = before;
        }
        found
    }

    pub fn expect(&mut self, keyword: &str) -> SqlResult<()> {
        if self.eat(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 at the next token. A text, which may be a password, is not repeated.
    pub fn unexpected(&self) -> SqlError {
        match self.tokens.first() {
            Some(token) if matches!(token.token, Token::SingleQuotedString(_)) => {
                SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near a string")
            }
            Some(token) => tokens::unexpected(self.text, token),
            None => SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(self
                .text
                .chars()
                .count()
                + 1),
        }
    }

    pub fn end(&self) -> SqlResult<()> {
        if self.is_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// An identifier.
    pub fn name(&mut self) -> SqlResult<String> {
        let word = self.word().ok_or_else(|| self.unexpected())?;
        self.skip();
        Ok(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        })
    }

    /// An identifier or a text.
    pub fn name_or_text(&mut self) -> SqlResult<String> {
        match self.text() {
            Some(text) => Ok(text),
            None => self.name(),
        }
    }

    /// A text, if it is next.
    pub fn text(&mut self) -> Option<String> {
        let text = match self.next() {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text,
            Some(Token::DollarQuotedString(dollar)) => &dollar.value,
            _ => return None,
        };
        self.skip();
        Some(text.clone())
    }

    /// A whole number.
    pub fn number(&mut self) -> SqlResult<i32> {
        let negative = self.eat_token(&Token::Minus);
        let number = match self.next() {
            Some(Token::Number(digits, _)) => digits.parse::<i32>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected())?;
        self.skip();
        Ok(if negative { -number } else { number })
    }

    /// The digits of a number, if it is next.
    pub fn digits(&mut self) -> Option<String> {
        let Some(Token::Number(digits, _)) = self.next() else { return None };
        self.skip();
        Some(digits.clone())
    }

    pub fn is_comma(&self) -> bool {
        self.next() == Some(&Token::Comma)
    }

    pub fn is_closing(&self) -> bool {
        self.next() == Some(&Token::RParen)
    }

    /// Whether a comma follows, which is taken.
    pub fn comma(&mut self) -> bool {
        self.eat_token(&Token::Comma)
    }

    /// Whether a list of columns follows.
    pub fn is_parenthesis(&self) -> bool {
        self.next() == Some(&Token::LParen)
    }

    /// Names with commas between them.
    pub fn names(&mut self) -> SqlResult<Vec<String>> {
        self.list(Words::name)
    }

    /// Things with commas between them.
    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> SqlResult<T>) -> SqlResult<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.comma() {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A relation, perhaps with its schema.
    pub fn relation(&mut self) -> SqlResult<RelationName> {
        let mut parts = vec![self.name()?];
        while self.eat_token(&Token::Period) {
            parts.push(self.name()?);
        }
        RelationName::of_parts(parts)
    }
}

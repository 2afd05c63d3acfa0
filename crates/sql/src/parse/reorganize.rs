//! `REORGANIZE [TABLE] name`, which the library's parser does not have.

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;
use types::SqlResult;

use super::tokens;
use super::tokens::Tokens;
use crate::parse::object_name::relation;
use crate::parse::statement::Statement;
use crate::parse::tokens::syntax_error;

/// Whether the statement begins with the word.
pub(super) fn is_reorganize(tokens: &Tokens) -> bool {
    let Some(Token::Word(word)) = tokens.first().map(|token| &token.token) else { return false };
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("reorganize")
}

/// Parses what follows the word.
pub(super) fn reorganize(text: &str, mut tokens: Tokens) -> SqlResult<Statement> {
    tokens.remove(0);
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
    let _ = parser.parse_keyword(Keyword::TABLE);
    let table = parser.parse_object_name(false).map_err(|e| syntax_error(text, None, e))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(tokens::unexpected(text, &rest));
    }
    Ok(Statement::Reorganize { table: relation(&table)? })
}

//! `SELECT` without columns. The library's parser takes none for a list of them where `FROM` follows only.

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;

use super::subquery::{ahead, keyword};
use crate::parse::marks;

/// What stands for no columns, if the parser stands where the first of them should begin and what comes
/// behind columns does.
pub(super) fn read(parser: &Parser<'_>) -> Option<Expr> {
    let before = (0..parser.index()).rev().map(|i| &parser.token_at(i).token);
    let mut before = before.filter(|token| !matches!(token, Token::Whitespace(_)));
    let is_first = before.next().and_then(keyword) == Some(Keyword::SELECT);
    (is_first && ends_list(ahead(parser).next())).then(marks::no_columns)
}

/// Whether a token cannot begin a list of columns, but what comes behind one.
fn ends_list(token: Option<&Token>) -> bool {
    use Keyword::{
        EXCEPT, FETCH, FOR, FROM, GROUP, HAVING, INTERSECT, LIMIT, OFFSET, ORDER, UNION, WHERE,
        WINDOW,
    };
    const BEHIND: [Keyword; 13] = [
        FROM, WHERE, GROUP, HAVING, WINDOW, ORDER, LIMIT, OFFSET, FETCH, FOR, UNION, EXCEPT,
        INTERSECT,
    ];
    match token {
        None | Some(Token::SemiColon | Token::RParen) => true,
        Some(token) => keyword(token).is_some_and(|word| BEHIND.contains(&word)),
    }
}

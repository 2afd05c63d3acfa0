//! What has no columns. `SELECT` without them gets one whose name no column can have, so that its rows are
//! told from no rows wherever the query stands, and so do tables without columns where a query reads them;
//! what clients see, and what views are stored as, has none of that name.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, Statement, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer, Word};
use types::{SqlError, SqlResult, SqlState};

use super::dialect::Postgres;
use super::tokens::Tokens;

/// The column that stands for none.
pub(crate) const NONE: &str = "\u{1}none";

/// Gives each `SELECT` that names no columns that one.
pub(super) fn fill(tokens: &mut Tokens) {
    let mut found = begun(tokens);
    found.retain(|at| ends_list(tokens.get(at + 1)));
    for at in found.into_iter().rev() {
        let span = tokens[at].span;
        let place = Span { start: span.end, end: span.end };
        let word = |value: &str, quote_style, keyword| {
            let word = Word { value: value.into(), quote_style, keyword };
            TokenWithSpan { token: Token::Word(word), span: place }
        };
        let column = [
            word("TRUE", None, Keyword::TRUE),
            word("AS", None, Keyword::AS),
            word(NONE, Some('"'), Keyword::NoKeyword),
        ];
        tokens.splice(at + 1..at + 1, column);
    }
}

/// Takes the columns that stand for none out of a query again, which is to be kept as text.
pub(crate) fn empty(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.visit(&mut Emptied);
}

struct Emptied;

impl VisitorMut for Emptied {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.projection.retain(|item| !stands_for_none(item));
        ControlFlow::Continue(())
    }
}

/// The query of a view, from its text.
///
/// # Errors
/// That the text is no query.
pub(crate) fn stored_query(text: &str) -> Result<Query, ParserError> {
    let dialect = Postgres::for_length(text.len());
    let mut tokens = Tokenizer::new(&dialect, text).tokenize_with_location()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    fill(&mut tokens);
    let query = Parser::new(&dialect).with_tokens_with_locations(tokens).parse_query()?;
    Ok(*query)
}

/// Whether the words are `CREATE TABLE` with no list of columns behind the name, not even an empty one.
pub(super) fn names_no_list(tokens: &Tokens) -> bool {
    let table = tokens.iter().position(|token| keyword(Some(token)) == Keyword::TABLE);
    let begins = keyword(tokens.first()) == Keyword::CREATE;
    let Some(table) = table.filter(|_| begins) else { return false };
    let ends_name = |token: &&TokenWithSpan| {
        token.token == Token::LParen
            || matches!(
                keyword(Some(token)),
                Keyword::WITH | Keyword::ON | Keyword::TABLESPACE | Keyword::USING
            )
    };
    tokens[table..].iter().find(ends_name).is_none_or(|token| token.token != Token::LParen)
}

/// Refuses a table of which nothing says the columns, not even a list of none.
///
/// # Errors
/// 42601
pub(super) fn check_list(
    statement: &crate::parse::statement::Statement,
    names_no_list: bool,
) -> SqlResult<()> {
    match statement {
        crate::parse::statement::Statement::CreateTable(create)
            if names_no_list
                && create.columns.is_empty()
                && create.query.is_none()
                && create.location.is_none() =>
        {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input"))
        }
        _ => Ok(()),
    }
}

fn keyword(token: Option<&TokenWithSpan>) -> Keyword {
    match token.map(|t| &t.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Where a query begins with this word. Behind a point it is a name, and so it is behind `AS` in a query,
/// which is that in front of one elsewhere (`CREATE TABLE t AS SELECT`).
fn begun(tokens: &Tokens) -> Vec<usize> {
    let (mut found, mut in_query) = (vec![], vec![false]);
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => in_query.push(false),
            Token::RParen if in_query.len() > 1 => drop(in_query.pop()),
            _ => {}
        }
        let Some(is_inside) = in_query.last_mut() else { continue };
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_name = before.is_some_and(|token| token.token == Token::Period)
            || *is_inside && keyword(before) == Keyword::AS;
        if keyword(Some(token)) == Keyword::SELECT && !is_name {
            *is_inside = true;
            found.push(at);
        }
    }
    found
}

/// Whether a token cannot begin a list of columns, but what comes behind one.
fn ends_list(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|t| &t.token) {
        None | Some(Token::EOF | Token::SemiColon | Token::RParen) => true,
        _ => matches!(
            keyword(token),
            Keyword::FROM
                | Keyword::WHERE
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::WINDOW
                | Keyword::ORDER
                | Keyword::LIMIT
                | Keyword::OFFSET
                | Keyword::FETCH
                | Keyword::FOR
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
        ),
    }
}

/// Refuses such queries where columns are wanted.
///
/// # Errors
/// 42601 where a value is, or where the other query of a `UNION` has columns.
pub(super) fn check(statement: &Statement) -> SqlResult<()> {
    match statement.visit(&mut Uses) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn stands_for_none(item: &SelectItem) -> bool {
    matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == NONE)
}

/// Whether a query has no columns, as far as it says.
fn is_without(body: &SetExpr) -> bool {
    says_without(body) == Some(true)
}

/// The same; `None` where only the relations of a `*` say it.
fn says_without(body: &SetExpr) -> Option<bool> {
    match body {
        SetExpr::Select(select) => match select.projection.as_slice() {
            [item] if stands_for_none(item) => Some(true),
            [SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)] => None,
            _ => Some(false),
        },
        SetExpr::Query(query) => says_without(&query.body),
        SetExpr::SetOperation { left, .. } => says_without(left),
        _ => Some(false),
    }
}

struct Uses;

fn syntax(message: impl Into<String>) -> ControlFlow<Box<SqlError>> {
    ControlFlow::Break(Box::new(SqlError::new(SqlState::SYNTAX_ERROR, message)))
}

impl Visitor for Uses {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        let mut open = vec![query.body.as_ref()];
        while let Some(body) = open.pop() {
            if let SetExpr::SetOperation { op, left, right, .. } = body {
                if let (Some(left), Some(right)) = (says_without(left), says_without(right))
                    && left != right
                {
                    let message = format!("each {op} query must have the same number of columns");
                    return syntax(message);
                }
                open.extend([left.as_ref(), right.as_ref()]);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        // Of `SELECT` alone it has got its column.
        match select.projection.is_empty() {
            true => syntax("SELECT DISTINCT names no columns"),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Subquery(query) if is_without(&query.body) => {
                syntax("subquery must return only one column")
            }
            Expr::InSubquery { subquery, .. } if is_without(&subquery.body) => {
                syntax("subquery has too few columns")
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

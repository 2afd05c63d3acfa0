//! What has no columns. `SELECT` without them gets one that stands for none, so that its rows are told from
//! no rows wherever the query stands, and so do tables without columns where a query reads them; what
//! clients see, and what views are stored as, has none such.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor, Visitor,
    VisitorMut,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult, SqlState};

use super::marks;
use super::object_name::identifier;
use super::tokens::Tokens;
use crate::quote::unspelled::unspelled;
use crate::walk::{Walk, WalkMut};

/// What the column that stands for none is called. Who has to know it knows it by what it is made of.
pub(crate) fn name() -> String {
    unspelled("no columns")
}

/// Gives each `SELECT` that names no columns that one.
pub(crate) fn fill(tree: &mut impl WalkMut) {
    // The visit itself never stops.
    let _ = tree.walk_mut(&mut Filled);
}

struct Filled;

impl VisitorMut for Filled {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let is_none = match select.projection.as_slice() {
            [] => select.distinct.is_none(),
            [item] => stands_for_none(item),
            _ => false,
        };
        if is_none {
            let (expr, alias) = (marks::no_columns(), Ident::with_quote('"', name()));
            select.projection = vec![SelectItem::ExprWithAlias { expr, alias }];
        }
        ControlFlow::Continue(())
    }
}

/// Takes the columns that stand for none out of a query again, which is to be kept as text.
pub(crate) fn empty(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Emptied);
}

struct Emptied;

impl VisitorMut for Emptied {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.projection.retain(|item| !stands_for_none(item));
        ControlFlow::Continue(())
    }
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

/// Refuses such queries where columns are wanted.
///
/// # Errors
/// 42601 where a value is, or where the other query of a `UNION` has columns; 42P10 where their names are.
pub(super) fn check(statement: &Statement) -> SqlResult<()> {
    match statement.walk(&mut Uses) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn stands_for_none(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            marks::is_no_columns(expr)
        }
        _ => false,
    }
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

/// 42P10 where columns of a query are named that has none.
fn unnamed(alias: &TableAlias, body: &SetExpr) -> ControlFlow<Box<SqlError>> {
    let count = alias.columns.len();
    if count == 0 || !is_without(body) {
        return ControlFlow::Continue(());
    }
    let name = identifier(&alias.name);
    let message = format!("table \"{name}\" has 0 columns available but {count} columns specified");
    ControlFlow::Break(Box::new(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)))
}

impl Visitor for Uses {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            unnamed(&cte.alias, &cte.query.body)?;
        }
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

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                unnamed(alias, &subquery.body)
            }
            _ => ControlFlow::Continue(()),
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

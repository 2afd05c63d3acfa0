//! Syntax that the library accepts and then forgets: refused here, or results would be wrong.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    LimitClause, Query, Select, Statement, TableFactor, UnaryOperator, Value, Visitor,
};
use types::{SqlError, SqlResult};

use crate::parse::object_name;
use crate::walk::{Walk, visit_relations};

/// Most relations in one `FROM` clause: each makes the tree of joins a level deeper.
const FROM_MAX: usize = 64;

/// Most subscripts behind each other: as many as an array may have dimensions.
const SUBSCRIPTS_MAX: usize = 6;

/// Longest chain of queries in `WITH` that name each other: each is planned within the next.
const WITH_DEPTH_MAX: usize = 48;

/// Most entries of a target list, as in PostgreSQL.
const TARGETS_MAX: usize = 1_664;

const TOO_MANY_COLUMNS: types::SqlState = types::SqlState("54011");

/// How many queries of the `WITH` clause are within each other at most.
fn with_depth(query: &Query) -> usize {
    let Some(with) = &query.with else { return 0 };
    let mut depths: Vec<(String, usize)> = vec![];
    for table in &with.cte_tables {
        let mut deepest = 0;
        // The visit itself never stops.
        let _ = visit_relations(&table.query, |relation| {
            let name =
                relation.0.last().and_then(|part| part.as_ident()).map(object_name::identifier);
            let known = depths.iter().find(|(known, _)| Some(known) == name.as_ref());
            deepest = deepest.max(known.map_or(0, |(_, depth)| *depth));
            ControlFlow::<()>::Continue(())
        });
        depths.push((object_name::identifier(&table.alias.name), deepest + 1));
    }
    depths.into_iter().map(|(_, depth)| depth).max().unwrap_or(0)
}

fn unnests(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(object_name::identifier);
    name.as_deref() == Some("unnest")
}

/// `B'101'` and `X'1F'`, and `0x1F`, which is not told apart from it.
fn is_bits(value: &Value) -> bool {
    matches!(value, Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_))
}

/// The function that is the first argument of another.
fn first_argument(function: &Function) -> Option<&Function> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(inner)))) => Some(inner),
        _ => None,
    }
}

/// Operators before an operand that PostgreSQL has for types that are not here.
fn is_unknown_prefix(op: &UnaryOperator) -> bool {
    use UnaryOperator as Op;
    !matches!(
        op,
        Op::Plus
            | Op::Minus
            | Op::Not
            | Op::BitwiseNot
            | Op::PGSquareRoot
            | Op::PGCubeRoot
            | Op::PGAbs
    )
}

/// Operators between operands of types that are not here: of JSON, of texts to search, of shapes.
fn is_unknown_operator(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        op,
        Op::Arrow
            | Op::LongArrow
            | Op::HashArrow
            | Op::HashLongArrow
            | Op::AtAt
            | Op::HashMinus
            | Op::AtQuestion
            | Op::Question
            | Op::QuestionAnd
            | Op::QuestionPipe
            | Op::DoubleHash
            | Op::LtDashGt
            | Op::AndLt
            | Op::AndGt
            | Op::LtLtPipe
            | Op::PipeGtGt
            | Op::AndLtPipe
            | Op::PipeAndGt
            | Op::LtCaret
            | Op::GtCaret
            | Op::QuestionHash
            | Op::QuestionDash
            | Op::QuestionDashPipe
            | Op::QuestionDoublePipe
            | Op::At
            | Op::TildeEq
            | Op::Overlaps
    )
}

/// 0A000 for what would silently have no effect.
pub(super) fn dropped_silently(statement: &Statement) -> SqlResult<()> {
    match statement.walk(&mut Refuse) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Refuse;

fn refuse(what: &str) -> ControlFlow<Box<SqlError>> {
    ControlFlow::Break(Box::new(SqlError::unsupported(what)))
}

fn too_many(what: &str) -> ControlFlow<Box<SqlError>> {
    let state = types::SqlState::PROGRAM_LIMIT_EXCEEDED;
    ControlFlow::Break(Box::new(SqlError::new(state, format!("too many {what}"))))
}

impl Visitor for Refuse {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if with_depth(query) > WITH_DEPTH_MAX {
            return ControlFlow::Break(Box::new(super::tokens::too_deep()));
        }
        if query.fetch.as_ref().is_some_and(|f| f.with_ties || f.percent) {
            return refuse("FETCH with TIES or PERCENT");
        }
        if let Some(LimitClause::LimitOffset { limit_by, .. }) = &query.limit_clause
            && !limit_by.is_empty()
        {
            return refuse("LIMIT BY");
        }
        if query.settings.is_some()
            || query.for_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return refuse("this clause at the end of a query");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let relations: usize = select.from.iter().map(|t| 1 + t.joins.len()).sum();
        if relations > FROM_MAX {
            return too_many("relations in FROM");
        }
        if select.projection.len() > TARGETS_MAX {
            let message = format!("target lists can have at most {TARGETS_MAX} entries");
            return ControlFlow::Break(Box::new(SqlError::new(TOO_MANY_COLUMNS, message)));
        }
        if select.into.is_some() {
            return refuse("SELECT INTO in this place");
        }
        let foreign = !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.top.is_some();
        if foreign { refuse("this clause of SELECT") } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => refuse("TABLESAMPLE"),
            TableFactor::Table { with_ordinality: true, .. } => refuse("WITH ORDINALITY"),
            TableFactor::TableFunction { .. } => refuse("TABLE (..) in FROM"),
            TableFactor::Function { with_ordinality: true, .. }
            | TableFactor::UNNEST { with_ordinality: true, .. } => refuse("WITH ORDINALITY"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Collate { .. } => refuse("COLLATE"),
            Expr::Value(value) if is_bits(&value.value) => refuse("a string of bits"),
            Expr::UnaryOp { op, .. } if is_unknown_prefix(op) => {
                refuse(&format!("the operator {op}"))
            }
            Expr::BinaryOp { op, .. } if is_unknown_operator(op) => {
                refuse(&format!("the operator {op}"))
            }
            Expr::Function(outer)
                if unnests(outer) && first_argument(outer).is_some_and(unnests) =>
            {
                refuse("a set-returning function of another")
            }
            Expr::CompoundFieldAccess { access_chain, .. }
                if access_chain.len() > SUBSCRIPTS_MAX =>
            {
                let (count, state) = (access_chain.len(), types::SqlState::PROGRAM_LIMIT_EXCEEDED);
                let message = format!(
                    "number of array dimensions ({count}) exceeds the maximum allowed \
                     ({SUBSCRIPTS_MAX})"
                );
                ControlFlow::Break(Box::new(SqlError::new(state, message)))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

pub(crate) fn unsupported(statement: &ast::Statement) -> SqlError {
    SqlError::unsupported(keywords(statement))
}

/// The leading keywords of a statement, to name it in a message.
pub(crate) fn keywords(statement: &ast::Statement) -> String {
    let text = statement.to_string();
    let words = text.split_whitespace();
    let upper = |w: &&str| !w.is_empty() && w.chars().all(|c| c.is_ascii_uppercase());
    let words: Vec<&str> = words.take_while(upper).take(3).collect();
    if words.is_empty() { "this statement".into() } else { words.join(" ") }
}

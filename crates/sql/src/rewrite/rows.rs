//! Rows as values: `(a, b) = (c, d)`, `IN`, `IS NULL`, field by field.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::balance::{balanced, joined};
use crate::parse::expressions::{binary, plain_arguments};
use crate::parse::object_name::last_name;

mod subqueries;

pub(crate) use subqueries::in_conditions;

/// Most fields of a row.
const FIELDS_MAX: usize = 1664;

/// Up to so many fields one is compared after the other.
const FIELDS_MIN: usize = 16;

/// An expression of rows as one of their fields; `None` where there is no row.
pub(crate) fn rewritten(expr: &Expr) -> SqlResult<Option<Expr>> {
    Ok(Some(match expr {
        Expr::BinaryOp { left, op, right } => match (fields(left), fields(right)) {
            (Some(left), Some(right)) => row_comparison(&left, op, &right)?,
            _ => return subqueries::rewritten(expr),
        },
        Expr::IsDistinctFrom(left, right) => match (fields(left), fields(right)) {
            (Some(left), Some(right)) => distinct(left, right, false)?,
            _ => return Ok(None),
        },
        Expr::IsNotDistinctFrom(left, right) => match (fields(left), fields(right)) {
            (Some(left), Some(right)) => distinct(left, right, true)?,
            _ => return Ok(None),
        },
        Expr::Between { expr, negated, low, high } => {
            match (fields(expr), fields(low), fields(high)) {
                (Some(row), Some(low), Some(high)) => {
                    let above = row_comparison(&row, &BinaryOperator::GtEq, &low)?;
                    let below = row_comparison(&row, &BinaryOperator::LtEq, &high)?;
                    negate(binary(above, BinaryOperator::And, below), *negated)
                }
                _ => return Ok(None),
            }
        }
        Expr::InList { expr, list, negated } => match fields(expr) {
            Some(row) => row_in_list(&row, list, *negated)?,
            None => return Ok(None),
        },
        Expr::InSubquery { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } => {
            return subqueries::rewritten(expr);
        }
        Expr::IsNull(row) => match fields(row) {
            Some(row) => all(row, Expr::IsNull)?,
            None => return Ok(None),
        },
        Expr::IsNotNull(row) => match fields(row) {
            Some(row) => all(row, Expr::IsNotNull)?,
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

fn all(row: Vec<Expr>, test: fn(Box<Expr>) -> Expr) -> SqlResult<Expr> {
    let tests = row.into_iter().map(|field| Expr::Nested(Box::new(test(Box::new(field)))));
    let whole = balanced(tests, |a, b| binary(a, BinaryOperator::And, b));
    whole.ok_or_else(|| SqlError::internal("a row without fields"))
}

/// Whether any field differs, nulls taken for values; or the opposite.
fn distinct(left: Vec<Expr>, right: Vec<Expr>, negated: bool) -> SqlResult<Expr> {
    same_length(&left, &right)?;
    let pairs = left.into_iter().zip(right);
    let differs =
        pairs.map(|(l, r)| Expr::Nested(Box::new(Expr::IsDistinctFrom(Box::new(l), Box::new(r)))));
    let any = balanced(differs, |a, b| binary(a, BinaryOperator::Or, b));
    let any = any.ok_or_else(|| SqlError::internal("a row without fields"))?;
    Ok(negate(any, negated))
}

/// The fields of a row of two or more.
fn fields(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(fields) if fields.len() > 1 => Some(fields.clone()),
        Expr::Nested(inner) => fields(inner),
        Expr::Function(function) if last_name(&function.name) == "row" => {
            plain_arguments(function).filter(|fields| fields.len() > 1)
        }
        _ => None,
    }
}

fn same_length(left: &[Expr], right: &[Expr]) -> SqlResult<()> {
    if left.len().max(right.len()) > FIELDS_MAX {
        let message = format!("ROW expressions can have at most {FIELDS_MAX} entries");
        return Err(SqlError::new(SqlState("54011"), message));
    }
    if left.len() == right.len() {
        return Ok(());
    }
    Err(SqlError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions"))
}

/// Rows compare field by field, the first that differs decides.
fn row_comparison(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> SqlResult<Expr> {
    same_length(left, right)?;
    let pairs = || left.iter().cloned().zip(right.iter().cloned());
    let joined = |op: BinaryOperator, by: BinaryOperator| {
        let parts = pairs().map(|(l, r)| binary(l, op.clone(), r));
        balanced(parts, |a, b| binary(a, by.clone(), b))
    };
    let whole = match op {
        BinaryOperator::Eq => joined(BinaryOperator::Eq, BinaryOperator::And),
        BinaryOperator::NotEq => joined(BinaryOperator::NotEq, BinaryOperator::Or),
        BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq => {
            let strict = match op {
                BinaryOperator::Lt | BinaryOperator::LtEq => BinaryOperator::Lt,
                _ => BinaryOperator::Gt,
            };
            Some(ordered(left, &strict, op, right))
        }
        other => return Err(SqlError::unsupported(format!("{other} between rows"))),
    };
    whole.ok_or_else(|| SqlError::internal("a row without fields"))
}

/// The first half decides, or it is equal and the second one does. Of few fields the first half is
/// one of them: each field is compared twice, where halves compare them for each level.
fn ordered(left: &[Expr], strict: &BinaryOperator, op: &BinaryOperator, right: &[Expr]) -> Expr {
    if let ([left], [right]) = (left, right) {
        return binary(left.clone(), op.clone(), right.clone());
    }
    let first = if left.len() > FIELDS_MIN { left.len() / 2 } else { 1 };
    let ((l, left), (r, right)) = (left.split_at(first), right.split_at(first));
    let pairs = l.iter().cloned().zip(r.iter().cloned());
    let equal = pairs.map(|(l, r)| binary(l, BinaryOperator::Eq, r)).collect();
    let equal = joined(equal, &|a, b| binary(a, BinaryOperator::And, b));
    let rest = binary(equal, BinaryOperator::And, ordered(left, strict, op, right));
    binary(ordered(l, strict, strict, r), BinaryOperator::Or, rest)
}

fn row_in_list(row: &[Expr], list: &[Expr], negated: bool) -> SqlResult<Expr> {
    let equal = |item: &Expr| match fields(item) {
        Some(item) => row_comparison(row, &BinaryOperator::Eq, &item),
        None => Err(SqlError::unsupported("IN with rows and single values")),
    };
    let all = list.iter().map(equal).collect::<SqlResult<Vec<_>>>()?;
    let any = balanced(all, |a, b| binary(a, BinaryOperator::Or, b));
    let any = any.ok_or_else(|| SqlError::internal("IN without a list"))?;
    Ok(negate(any, negated))
}

fn negate(expr: Expr, negated: bool) -> Expr {
    match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) },
        false => expr,
    }
}

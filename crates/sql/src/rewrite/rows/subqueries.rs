//! Rows beside those of a subquery: `(a, b) IN (SELECT ..)`, `= ANY`, `<> ALL`, `= (SELECT ..)`. The
//! subquery becomes a relation whose columns are compared field by field.

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Ident, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SetExpr, TableFactor, UnaryOperator, Value,
};
use types::{SqlError, SqlResult};

use crate::parse::balance::balanced;
use crate::parse::expressions::{binary, call, parsed_query};
use crate::rewrite::having::is_of_many_rows;
use crate::rewrite::rows::{fields, negate, row_comparison};

/// Rewrites those that stand among the conditions of a select joined by AND, where unknown is as good as
/// false: as `EXISTS`, which becomes a join.
pub(crate) fn in_conditions(select: &mut Select) -> SqlResult<()> {
    select.selection.iter_mut().try_for_each(condition)?;
    select.having.iter_mut().try_for_each(condition)?;
    let joins = select.from.iter_mut().flat_map(|table| &mut table.joins);
    joins.filter_map(|join| on(&mut join.join_operator)).try_for_each(condition)
}

/// One of them as a value, which may be unknown; `None` where there is no row or no subquery.
pub(crate) fn rewritten(expr: &Expr) -> SqlResult<Option<Expr>> {
    match Compared::of(expr) {
        Some(compared) => compared.value().map(Some),
        None => member(expr).map_or_else(|| single(expr), |member| Ok(Some(member))),
    }
}

/// A value that equals any row of a subquery, or none: `IN`, which becomes a join. Comparisons with
/// any and all rows are made with each of them.
fn member(expr: &Expr) -> Option<Expr> {
    let (left, right, negated) = match expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (left, right, false),
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, true),
        _ => return None,
    };
    let subquery = Box::new(query_of(right)?.clone());
    Some(Expr::InSubquery { expr: left.clone(), subquery, negated })
}

fn on(join: &mut JoinOperator) -> Option<&mut Expr> {
    match join {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::Left(JoinConstraint::On(on))
        | JoinOperator::LeftOuter(JoinConstraint::On(on))
        | JoinOperator::Right(JoinConstraint::On(on))
        | JoinOperator::RightOuter(JoinConstraint::On(on))
        | JoinOperator::FullOuter(JoinConstraint::On(on)) => Some(on),
        _ => None,
    }
}

fn condition(expr: &mut Expr) -> SqlResult<()> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            condition(left)?;
            condition(right)
        }
        Expr::Nested(inner) => condition(inner),
        other => {
            let exists = Compared::of(other).map(|compared| compared.condition()).transpose()?;
            if let Some(exists) = exists {
                *other = exists;
            }
            Ok(())
        }
    }
}

/// A row, and rows of which any or none is to compare with it so.
struct Compared<'a> {
    row: Vec<Expr>,
    op: BinaryOperator,
    /// Whether what the comparison says is turned around: `ALL` holds where it does for no row.
    is_opposite: bool,
    is_none: bool,
    subquery: &'a Query,
}

impl Compared<'_> {
    fn of(expr: &Expr) -> Option<Compared<'_>> {
        let (left, op, subquery, is_all, negated) = match expr {
            Expr::InSubquery { expr, subquery, negated } => {
                (expr, &BinaryOperator::Eq, subquery.as_ref(), false, *negated)
            }
            Expr::AnyOp { left, compare_op, right, .. } => {
                (left, compare_op, query_of(right)?, false, false)
            }
            Expr::AllOp { left, compare_op, right } => {
                (left, compare_op, query_of(right)?, true, false)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                let inner = Compared::of(expr)?;
                return Some(Compared { is_none: !inner.is_none, ..inner });
            }
            Expr::Nested(inner) => return Compared::of(inner),
            _ => return None,
        };
        // Equal to none is what is not equal to all.
        let (op, is_opposite) = match (is_all, op) {
            (true, BinaryOperator::NotEq) => (BinaryOperator::Eq, false),
            (is_all, op) => (op.clone(), is_all),
        };
        Some(Compared { row: fields(left)?, op, is_opposite, is_none: is_all != negated, subquery })
    }

    fn test(&self) -> SqlResult<Expr> {
        let test = row_comparison(&self.row, &self.op, &columns(self.row.len()))?;
        Ok(Expr::Nested(Box::new(negate(test, self.is_opposite))))
    }

    /// As `EXISTS`. Of none, what may hold counts as what does.
    fn condition(&self) -> SqlResult<Expr> {
        let (mut query, test) = (relation(self.subquery, &self.row)?, self.test()?);
        let test = match self.is_none {
            true if self.op == BinaryOperator::Eq && !self.is_opposite => self.may_be_equal()?,
            true => Expr::IsNotFalse(Box::new(test)),
            false => test,
        };
        select(&mut query)?.selection = Some(test);
        Ok(Expr::Exists { subquery: Box::new(query), negated: self.is_none })
    }

    /// Whether no field differs for sure, field by field, as joins want it.
    fn may_be_equal(&self) -> SqlResult<Expr> {
        let pairs = self.row.iter().cloned().zip(columns(self.row.len()));
        let tests = pairs.map(|(value, field)| {
            Expr::IsNotFalse(Box::new(binary(value, BinaryOperator::Eq, field)))
        });
        let whole = balanced(tests, |a, b| binary(a, BinaryOperator::And, b));
        whole.ok_or_else(|| SqlError::internal("a row without fields"))
    }

    /// As a value: of any, true if the comparison is true of a row, else unknown if it is of one.
    fn value(&self) -> SqlResult<Expr> {
        let (mut query, test) = (relation(self.subquery, &self.row)?, self.test()?);
        let unknown = Expr::Nested(Box::new(Expr::IsNull(Box::new(test.clone()))));
        let rank = case(None, [(test, number("2")), (unknown, number("1"))], number("0"));
        select(&mut query)?.projection = vec![SelectItem::UnnamedExpr(call("max", vec![rank]))];
        let rank = Expr::Subquery(Box::new(query));
        let (met, unmet) = (boolean(!self.is_none), boolean(self.is_none));
        let unknown = Expr::value(Value::Null);
        Ok(case(Some(rank), [(number("2"), met), (number("1"), unknown)], unmet))
    }
}

/// A row compared with the row of a subquery: unknown if there is none, an error of two.
fn single(expr: &Expr) -> SqlResult<Option<Expr>> {
    let Expr::BinaryOp { left, op, right } = expr else { return Ok(None) };
    let (Some(row), Some(subquery)) = (fields(left), query_of(right)) else { return Ok(None) };
    let mut query = relation(subquery, &row)?;
    let test = row_comparison(&row, op, &columns(row.len()))?;
    select(&mut query)?.projection = vec![SelectItem::UnnamedExpr(test)];
    Ok(Some(Expr::Subquery(Box::new(query))))
}

fn query_of(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        Expr::Nested(inner) => query_of(inner),
        _ => None,
    }
}

fn names(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("__field{i}")).collect()
}

fn columns(count: usize) -> Vec<Expr> {
    let column =
        |name: String| Expr::CompoundIdentifier(vec![Ident::new("__row"), Ident::new(name)]);
    names(count).into_iter().map(column).collect()
}

/// A select from the subquery, with names for its columns, that may name the fields of the row.
///
/// Errors: 0A000 if these are of many rows, for they would be computed in that select.
fn relation(subquery: &Query, row: &[Expr]) -> SqlResult<Query> {
    if row.iter().any(is_of_many_rows) {
        let what = "a row with aggregates or window functions beside a subquery";
        return Err(SqlError::unsupported(what));
    }
    let names = names(row.len()).join(", ");
    let mut query = parsed_query(&format!("select 1 from (select 1) as __row({names})"))?;
    if let Some(table) = select(&mut query)?.from.first_mut()
        && let TableFactor::Derived { subquery: inner, .. } = &mut table.relation
    {
        **inner = subquery.clone();
    }
    Ok(query)
}

fn select(query: &mut Query) -> SqlResult<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(SqlError::internal("a template is a SELECT")),
    }
}

fn case(operand: Option<Expr>, conditions: [(Expr, Expr); 2], otherwise: Expr) -> Expr {
    let conditions = conditions.map(|(condition, result)| CaseWhen { condition, result });
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: operand.map(Box::new),
        conditions: conditions.into(),
        else_result: Some(Box::new(otherwise)),
    }
}

fn number(text: &str) -> Expr {
    Expr::value(Value::Number(text.into(), false))
}

fn boolean(value: bool) -> Expr {
    Expr::value(Value::Boolean(value))
}

//! Aggregates of ordered sets that the library does not have, or rounds: `mode`, `percentile_disc`,
//! `percentile_cont`.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, Value,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::expressions::{binary, call, cast_as, plain_arguments};
use crate::parse::object_name::last_name;

/// The aggregate over an order in other words; `None` where the library knows it.
pub(crate) fn rewritten(function: &Function) -> SqlResult<Option<Expr>> {
    let bare = Function { filter: None, within_group: vec![], ..function.clone() };
    let arguments = plain_arguments(&bare).unwrap_or_default();
    match (last_name(&function.name).as_str(), function.within_group.as_slice()) {
        ("mode", [ordered]) if arguments.is_empty() => {
            let value = vec![ordered.expr.clone()];
            Ok(Some(filtered(call("mode_of", value), function.filter.clone())))
        }
        ("percentile_disc", [_]) => match arguments.as_slice() {
            [fraction] => percentile(function, fraction).map(Some),
            _ => Ok(None),
        },
        ("percentile_cont", [_]) => match arguments.as_slice() {
            [fraction] => {
                check(fraction)?;
                // Without an order: its values take tens of times less that way, and are sorted
                // once.
                let (all, ordered) = (collected(function, vec![])?, ordered(function)?);
                let is_descending = Expr::value(Value::Boolean(ordered.options.asc == Some(false)));
                Ok(Some(call("percentile_of", vec![all, fraction.clone(), is_descending])))
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The first value at or behind a share of all: `(array_agg(x ORDER BY x))[ceil(p * count(x))]`.
fn percentile(function: &Function, fraction: &Expr) -> SqlResult<Expr> {
    check(fraction)?;
    let all = sorted(function)?;
    let value = &ordered(function)?.expr;
    let count = filtered(call("count", vec![value.clone()]), function.filter.clone());
    let place = call("ceil", vec![binary(fraction.clone(), BinaryOperator::Multiply, count)]);
    let first = Expr::value(Value::Number("1".into(), false));
    let place = call("greatest", vec![cast_as(place, DataType::Integer(None)), first]);
    Ok(call("array_element", vec![all, place]))
}

fn ordered(function: &Function) -> SqlResult<&OrderByExpr> {
    match function.within_group.as_slice() {
        [ordered] => Ok(ordered),
        _ => Err(SqlError::internal("an ordered set has one order")),
    }
}

/// The array of all values that are not null, in the order of the set.
fn sorted(function: &Function) -> SqlResult<Expr> {
    collected(function, vec![ordered(function)?.clone()])
}

/// The array of all values that are not null, in this order, or in any.
fn collected(function: &Function, order: Vec<OrderByExpr>) -> SqlResult<Expr> {
    let value = &ordered(function)?.expr;
    let known = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(value.clone()))));
    let condition = match &function.filter {
        Some(filter) => binary((**filter).clone(), BinaryOperator::And, known),
        None => known,
    };
    let mut all = call("array_agg", vec![value.clone()]);
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut all {
        let clause = (!order.is_empty()).then_some(FunctionArgumentClause::OrderBy(order));
        list.clauses = clause.into_iter().collect();
    }
    Ok(filtered(all, Some(Box::new(condition))))
}

fn check(fraction: &Expr) -> SqlResult<()> {
    let text = match fraction {
        Expr::Function(call) if last_name(&call.name) == "make_array" => {
            return Err(SqlError::unsupported("a percentile of several shares"));
        }
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    if text.parse::<f64>().is_ok_and(|share| share <= 1.0) {
        return Ok(());
    }
    let message = format!("percentile value {text} is not between 0 and 1");
    Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

fn filtered(mut aggregate: Expr, condition: Option<Box<Expr>>) -> Expr {
    if let Expr::Function(function) = &mut aggregate {
        function.filter = condition;
    }
    aggregate
}

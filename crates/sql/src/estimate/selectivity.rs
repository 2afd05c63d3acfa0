//! Selectivities of predicates.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, Schema};
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{BinaryExpr, Expr, Operator};
use plan::catalog::ColumnStatistics;

use super::position::{number, share_below};
use super::{ColumnProfile, Named};
use crate::expr::runtime_parameter::{value, with_values};
use crate::expr::scalar;
use crate::functions::conditions::within;
use crate::walk::nodes::Nodes;

/// An equality of which nothing is known.
const EQUALITY: f64 = 0.005;
/// A comparison of which nothing is known.
const RANGE: f64 = 1.0 / 3.0;
/// Any other predicate of which nothing is known.
const OTHER: f64 = 0.25;
/// How much of its selectivity the third, fourth, ... predicate keeps: predicates on one relation are
/// rarely independent, and products of many are always too small.
const BACK_OFF: [f64; 6] = [1.0, 1.0, 0.75, 0.5, 0.25, 0.1];

/// The share of rows for which all predicates are true.
pub(crate) fn conjunction<'a>(predicates: impl Iterator<Item = &'a Expr>, named: &Named) -> f64 {
    let mut ranges: HashMap<Column, (f64, f64)> = HashMap::new();
    let mut shares = Vec::new();
    for predicate in predicates.flat_map(|p| split_conjunction(p)) {
        match range_of(predicate, named) {
            Some((column, low, high)) => {
                let range = ranges.entry(column).or_insert((0.0, 1.0));
                *range = (range.0.max(low), range.1.min(high));
            }
            None => shares.push(selectivity(predicate, named)),
        }
    }
    for (column, (low, high)) in ranges {
        let profile = named.column(&column);
        let floor = profile.map_or(0.0, |p| 1.0 / p.domain.max(1.0));
        let present = profile.map_or(1.0, |p| 1.0 - p.null_fraction);
        shares.push((high - low).max(floor).min(1.0) * present);
    }
    shares.sort_by(f64::total_cmp);
    let weight = |i: usize| BACK_OFF[i.min(BACK_OFF.len() - 1)];
    shares.iter().enumerate().map(|(i, s)| s.clamp(0.0, 1.0).powf(weight(i))).product()
}

/// The share of rows for which `predicate` is true.
pub(crate) fn selectivity(predicate: &Expr, named: &Named) -> f64 {
    let share = match predicate {
        Expr::Literal(ScalarValue::Boolean(value), _) => f64::from(u8::from(*value == Some(true))),
        Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }) | Expr::Between(_) => {
            return conjunction(std::iter::once(predicate), named).clamp(0.0, 1.0);
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (a, b) = (selectivity(left, named), selectivity(right, named));
            if excludes(left, right) { a + b } else { a + b - a * b }
        }
        Expr::Not(inner) | Expr::IsNotTrue(inner) => 1.0 - selectivity(inner, named),
        Expr::IsNull(inner) => null_share(inner, named).unwrap_or(0.01),
        Expr::IsNotNull(inner) => 1.0 - null_share(inner, named).unwrap_or(0.0),
        Expr::BinaryExpr(binary) => comparison(binary, named)
            .or_else(|| by_sample(predicate, named))
            .unwrap_or_else(|| blind(binary.op)),
        Expr::InList(list) => {
            in_list(list, named).or_else(|| by_sample(predicate, named)).unwrap_or(OTHER)
        }
        Expr::ScalarFunction(call) if matches!(call.func.name(), "any_eq" | "all_ne") => {
            any_of(call, named).or_else(|| by_sample(predicate, named)).unwrap_or(OTHER)
        }
        Expr::ScalarFunction(call) if within(call).is_some() => {
            within(call).map_or(OTHER, |all| selectivity(all, named))
        }
        other => by_sample(other, named).unwrap_or(OTHER),
    };
    share.clamp(0.0, 1.0)
}

/// Whether two alternatives are equalities of one column with constants, so that never both hold.
fn excludes(left: &Expr, right: &Expr) -> bool {
    let equal = |e: &Expr| match e {
        Expr::BinaryExpr(b) if b.op == Operator::Eq => oriented(b).map(|(c, ..)| c.clone()),
        _ => None,
    };
    let last = match left {
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, right, .. }) => equal(right),
        other => equal(other),
    };
    last.is_some() && last == equal(right)
}

fn blind(op: Operator) -> f64 {
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => EQUALITY,
        Operator::NotEq | Operator::IsDistinctFrom => 1.0 - EQUALITY,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => RANGE,
        _ => OTHER,
    }
}

fn null_share(inner: &Expr, named: &Named) -> Option<f64> {
    match inner {
        Expr::Column(column) => named.column(column).map(|c| c.null_fraction),
        _ => None,
    }
}

/// An interval of one column as shares of its values: `(column, from, to)`.
fn range_of(predicate: &Expr, named: &Named) -> Option<(Column, f64, f64)> {
    if let Expr::Between(between) = predicate
        && !between.negated
        && let Expr::Column(column) = between.expr.as_ref()
        && let (Some(low), Some(high)) = (value(&between.low), value(&between.high))
    {
        let known = named.column(column)?.known()?;
        let to = share_below(known, high)? + equal_share(known, high);
        return Some((column.clone(), share_below(known, low)?, to.min(1.0)));
    }
    let Expr::BinaryExpr(binary) = predicate else { return None };
    let (column, op, value) = oriented(binary)?;
    let known = named.column(column)?.known()?;
    let below = share_below(known, value)?;
    let with = (below + equal_share(known, value)).min(1.0);
    let (from, to) = match op {
        Operator::Lt => (0.0, below),
        Operator::LtEq => (0.0, with),
        Operator::Gt => (with, 1.0),
        Operator::GtEq => (below, 1.0),
        _ => return None,
    };
    Some((column.clone(), from, to))
}

/// `column op literal`, whichever way round it was written.
fn oriented(binary: &BinaryExpr) -> Option<(&Column, Operator, &ScalarValue)> {
    match (binary.left.as_ref(), binary.right.as_ref()) {
        (Expr::Column(column), other) => Some((column, binary.op, value(other)?)),
        (other, Expr::Column(column)) => Some((column, binary.op.swap()?, value(other)?)),
        _ => None,
    }
}

fn comparison(binary: &BinaryExpr, named: &Named) -> Option<f64> {
    if let (Expr::Column(a), Expr::Column(b)) = (binary.left.as_ref(), binary.right.as_ref()) {
        let (a, b) = (named.column(a)?, named.column(b)?);
        return match binary.op {
            Operator::Eq => Some(1.0 / a.domain.max(b.domain).max(1.0)),
            _ => None,
        };
    }
    if range_of(&Expr::BinaryExpr(binary.clone()), named).is_some() {
        return Some(conjunction(std::iter::once(&Expr::BinaryExpr(binary.clone())), named));
    }
    let (column, op, value) = oriented(binary)?;
    let profile = named.column(column)?;
    let equal = equality(profile, value);
    match op {
        Operator::Eq => Some(equal),
        Operator::NotEq => Some(1.0 - profile.null_fraction - equal),
        _ => None,
    }
}

/// The share of rows that equal `value`.
fn equality(profile: &ColumnProfile, value: &ScalarValue) -> f64 {
    if value.is_null() {
        return 0.0;
    }
    match profile.known() {
        Some(known) => equal_share(known, value) * (1.0 - profile.null_fraction),
        None => (1.0 - profile.null_fraction) / profile.domain.max(1.0),
    }
}

/// The share of the non-null values that equal `value`.
fn equal_share(known: &ColumnStatistics, value: &ScalarValue) -> f64 {
    let present = (1.0 - known.null_fraction).max(1e-9);
    if let Some((_, share)) = known.most_common.iter().find(|(v, _)| same(v, value)) {
        return share / present;
    }
    let common: f64 = known.most_common.iter().map(|(_, share)| share).sum();
    let others = known.distinct_count - known.most_common.len() as f64;
    (present - common).max(0.0) / present / others.max(1.0)
}

/// Equality that sees through string representations.
fn same(a: &ScalarValue, b: &ScalarValue) -> bool {
    match (a.try_as_str(), b.try_as_str()) {
        (Some(a), Some(b)) => a == b,
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

fn in_list(list: &datafusion_expr::expr::InList, named: &Named) -> Option<f64> {
    let Expr::Column(column) = list.expr.as_ref() else { return None };
    let profile = named.column(column)?;
    let mut share = 0.0;
    for item in &list.list {
        share += equality(profile, value(item)?);
    }
    Some(if list.negated { 1.0 - profile.null_fraction - share } else { share })
}

/// `x = ANY (array)`, or `x <> ALL (array)`.
fn any_of(call: &ScalarFunction, named: &Named) -> Option<f64> {
    let [Expr::Column(column), array] = call.args.as_slice() else { return None };
    let (profile, ScalarValue::List(list)) = (named.column(column)?, value(array)?) else {
        return None;
    };
    let elements = list.is_valid(0).then(|| list.value(0))?;
    let known = (0..elements.len()).filter(|at| elements.is_valid(*at));
    let mut share = 0.0;
    for at in known {
        share += equality(profile, &ScalarValue::try_from_array(&elements, at).ok()?);
    }
    Some(if call.func.name() == "all_ne" { 1.0 - profile.null_fraction - share } else { share })
}

/// Evaluates a predicate over one column on the values that the statistics keep of it: right for
/// `LIKE`, functions, and whatever else has no formula.
fn by_sample(predicate: &Expr, named: &Named) -> Option<f64> {
    let columns = predicate.column_refs();
    let mut columns = columns.into_iter();
    let (Some(column), None) = (columns.next(), columns.next()) else { return None };
    let profile = named.column(column)?;
    let known = profile.known()?;
    let common: Vec<ScalarValue> = known.most_common.iter().map(|(v, _)| v.clone()).collect();
    let rare: Vec<ScalarValue> =
        known.histogram.iter().filter(|v| !common.iter().any(|c| same(c, v))).cloned().collect();
    let covered: f64 = known.most_common.iter().map(|(_, s)| s).sum();
    if rare.len() < 20 && covered < 0.8 {
        return None;
    }
    let mut share = 0.0;
    if !common.is_empty() {
        let hits = evaluate(predicate, column, &common)?;
        share += known
            .most_common
            .iter()
            .zip(hits)
            .filter(|(_, hit)| *hit)
            .map(|(m, _)| m.1)
            .sum::<f64>();
    }
    if !rare.is_empty() {
        let hits = evaluate(predicate, column, &rare)?;
        let hit_count = hits.iter().filter(|hit| **hit).count() as f64;
        let fraction = hit_count.max(0.5) / rare.len() as f64;
        share += fraction * (1.0 - profile.null_fraction - covered).max(0.0);
    }
    Some(share)
}

fn evaluate(predicate: &Expr, column: &Column, values: &[ScalarValue]) -> Option<Vec<bool>> {
    let array = ScalarValue::iter_to_array(values.iter().cloned()).ok()?;
    let schema = Schema::new(vec![Field::new("v", array.data_type().clone(), true)]);
    let renamed = with_values(predicate, None)
        .ok()?
        .transform_up(|e| {
            Ok(match &e {
                Expr::Column(c) if c == column => {
                    Transformed::yes(Expr::Column(Column::from_name("v")))
                }
                _ => Transformed::no(e),
            })
        })
        .data()
        .ok()?;
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![array]).ok()?;
    let dfschema = DFSchema::try_from(schema).ok()?;
    let result = scalar::compile(&renamed, &dfschema).ok()?.evaluate(&batch).ok()?;
    let booleans = result.as_boolean_opt()?;
    Some((0..booleans.len()).map(|i| booleans.is_valid(i) && booleans.value(i)).collect())
}

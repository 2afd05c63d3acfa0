//! Conditions on one column that the source of a column table tests itself: chunks and vectors
//! whose bounds say no are not read.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, IsNotNullExpr, IsNullExpr, Literal,
};
use engine::TableDef;
use plan::{Restriction, RestrictionTest};
use types::LogicalType;

use super::expr::lowered;
use crate::fragment::Scalar;

/// The condition as a restriction of a column, if it says just that; `columns` are the ordinals
/// that it is over.
pub fn of(conjunct: &Scalar, columns: &[usize], table: &TableDef) -> Option<Restriction> {
    let (at, test) = test(conjunct)?;
    let column = *columns.get(at)?;
    let ty = table.schema.columns[column].ty;
    if !is_compared(ty) || !is_of_type(&test, ty) {
        return None;
    }
    let alone = table.schema.project(&[column]);
    let predicate = lowered(&over_one(conjunct)?, &alone).ok()?;
    Some(Restriction { column, test, predicate })
}

/// The position of the column, and what its values are compared with.
fn test(conjunct: &Scalar) -> Option<(usize, RestrictionTest)> {
    if let Some(null) = conjunct.downcast_ref::<IsNullExpr>() {
        return Some((column(null.arg())?, RestrictionTest::IsNull));
    }
    if let Some(value) = conjunct.downcast_ref::<IsNotNullExpr>() {
        return Some((column(value.arg())?, RestrictionTest::IsNotNull));
    }
    let compared = conjunct.downcast_ref::<BinaryExpr>()?;
    let (column, op, literal) = match column(compared.left()) {
        Some(at) => (at, *compared.op(), compared.right()),
        None => (column(compared.right())?, compared.op().swap()?, compared.left()),
    };
    let value = value(literal)?;
    let test = match op {
        Operator::Eq => RestrictionTest::OneOf(vec![value]),
        Operator::NotEq => RestrictionTest::NotEqual(value),
        Operator::Lt => RestrictionTest::Between(Bound::Unbounded, Bound::Excluded(value)),
        Operator::LtEq => RestrictionTest::Between(Bound::Unbounded, Bound::Included(value)),
        Operator::Gt => RestrictionTest::Between(Bound::Excluded(value), Bound::Unbounded),
        Operator::GtEq => RestrictionTest::Between(Bound::Included(value), Bound::Unbounded),
        _ => return None,
    };
    Some((column, test))
}

fn column(scalar: &Scalar) -> Option<usize> {
    scalar.downcast_ref::<Column>().map(Column::index)
}

/// The value of a constant that is not null; texts as columns have them.
fn value(scalar: &Scalar) -> Option<ScalarValue> {
    let value = scalar.downcast_ref::<Literal>()?.value();
    match value {
        value if value.is_null() => None,
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) => {
            Some(ScalarValue::Utf8View(text.clone()))
        }
        value => Some(value.clone()),
    }
}

/// The types whose order is the same here and in the library.
fn is_compared(ty: LogicalType) -> bool {
    matches!(
        ty,
        LogicalType::Bool
            | LogicalType::Int16
            | LogicalType::Int32
            | LogicalType::Int64
            | LogicalType::Decimal { .. }
            | LogicalType::Text
            | LogicalType::Varchar(_)
            | LogicalType::Date
            | LogicalType::Timestamp
    )
}

fn is_of_type(test: &RestrictionTest, ty: LogicalType) -> bool {
    let arrow = ty.arrow();
    let fits = |value: &ScalarValue| value.data_type() == arrow;
    let bound = |bound: &Bound<ScalarValue>| match bound {
        Bound::Unbounded => true,
        Bound::Included(value) | Bound::Excluded(value) => fits(value),
    };
    match test {
        RestrictionTest::OneOf(values) => values.iter().all(fits),
        RestrictionTest::Between(lower, upper) => bound(lower) && bound(upper),
        RestrictionTest::NotEqual(value) => fits(value),
        RestrictionTest::IsNull | RestrictionTest::IsNotNull => true,
    }
}

/// The same condition over a row of its column alone.
fn over_one(conjunct: &Scalar) -> Option<Scalar> {
    let first = |child: &Scalar| match child.downcast_ref::<Column>() {
        Some(column) => Arc::new(Column::new(column.name(), 0)) as Scalar,
        None => Arc::clone(child),
    };
    let children = conjunct.children().into_iter().map(first).collect();
    Arc::clone(conjunct).with_new_children(children).ok()
}

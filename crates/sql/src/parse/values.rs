//! `VALUES`: one type for a column, queries as values.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    DataType, ExactNumberInfo, Expr, Ident, Parens, Query, SelectItem, SetExpr, SetOperator,
    SetQuantifier, UnaryOperator, Value, Visit, Visitor,
};
use types::{LogicalType, SqlResult};

use super::rewrite::cast_as;
use super::row_query;

/// `VALUES (..), (..)` as `SELECT .. UNION ALL SELECT ..` where a value is a query's: the library computes
/// rows of values without any other rows at hand.
pub(super) fn as_selects(query: &mut Query) -> SqlResult<()> {
    let SetExpr::Values(values) = query.body.as_mut() else { return Ok(()) };
    give_types(&mut values.rows);
    if values.visit(&mut Queries).is_continue() {
        return Ok(());
    }
    let selects = values.rows.iter().map(|row| select(&row.content));
    *query.body = union_all(selects.collect::<SqlResult<_>>()?);
    Ok(())
}

/// Gives literals in quotes the type that another row has in the column, and numbers one that is floating:
/// `VALUES (date '2020-01-01'), ('2021-01-01')`.
fn give_types(rows: &mut [Parens<Vec<Expr>>]) {
    for column in 0..rows.first().map_or(0, |row| row.content.len()) {
        let declared = |row: &Parens<Vec<Expr>>| row.content.get(column).and_then(declared_type);
        let Some(mut ty) = rows.iter().find_map(declared) else { continue };
        // A length counts only where all rows have it.
        if rows.iter().any(|row| declared(row).as_ref() != Some(&ty)) {
            ty = without_length(ty);
        }
        for row in rows.iter_mut() {
            if let Some(value) = row.content.get_mut(column)
                && (is_text(value) || (is_float(&ty) && is_number(value)))
            {
                *value = cast_as(value.clone(), ty.clone());
            }
        }
    }
}

/// The type without its length, precision or scale.
fn without_length(ty: DataType) -> DataType {
    match ty {
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => {
            DataType::Varchar(None)
        }
        DataType::Char(_) | DataType::Character(_) => super::rewrite::bpchar(),
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => {
            DataType::Numeric(ExactNumberInfo::None)
        }
        DataType::Timestamp(_, zone) => DataType::Timestamp(None, zone),
        DataType::Time(_, zone) => DataType::Time(None, zone),
        DataType::Interval { .. } => DataType::Interval { fields: None, precision: None },
        other => other,
    }
}

fn is_text(value: &Expr) -> bool {
    matches!(value, Expr::Value(v) if matches!(v.value, Value::SingleQuotedString(_)))
}

fn is_number(value: &Expr) -> bool {
    match value {
        Expr::Value(v) => matches!(v.value, Value::Number(..)),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => is_number(expr),
        _ => false,
    }
}

fn is_float(ty: &DataType) -> bool {
    matches!(super::column_type(ty), Ok(LogicalType::Float32 | LogicalType::Float64))
}

/// The type that is written beside a value.
fn declared_type(value: &Expr) -> Option<DataType> {
    match value {
        Expr::Cast { data_type, .. } => Some(data_type.clone()),
        Expr::TypedString(typed) => Some(typed.data_type.clone()),
        Expr::Interval(_) => Some(DataType::Interval { fields: None, precision: None }),
        _ => None,
    }
}

/// At least one select; as flat a tree as can be, for planning recurses over it.
fn union_all(mut selects: Vec<SetExpr>) -> SetExpr {
    let right = selects.split_off(selects.len().div_ceil(2));
    match (selects.pop(), right.is_empty()) {
        (Some(one), true) => one,
        (last, _) => {
            selects.extend(last);
            SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(union_all(selects)),
                right: Box::new(union_all(right)),
            }
        }
    }
}

fn select(row: &[Expr]) -> SqlResult<SetExpr> {
    let mut body = *row_query(row.to_vec())?.ast.body;
    if let SetExpr::Select(select) = &mut body {
        for (i, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item {
                let alias = Ident::new(format!("column{}", i + 1));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
    }
    Ok(body)
}

/// Stops at a query.
struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

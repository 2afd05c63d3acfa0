//! The primary key of the one row that a statement is about.

use datafusion_common::ScalarValue;
use datafusion_sql::sqlparser::ast;
use types::LogicalType;

use super::admitted::{Scope, number};
use crate::parse::Parameter;
use crate::point::{conjuncts, placeholder, value};

/// The values that a primary key is equal to, in the order of the key, with the types of its columns.
pub(super) struct Key(Vec<(Part, LogicalType)>);

enum Part {
    Parameter(usize),
    Literal(Parameter),
}

impl Key {
    /// The key that a condition asks for, and what else it asks for.
    pub(super) fn of(condition: &ast::Expr, scope: &Scope<'_>) -> Option<(Key, Option<ast::Expr>)> {
        let mut open = vec![];
        conjuncts(condition, &mut |conjunct| open.push(conjunct.clone()));
        let mut parts = vec![];
        for &ordinal in &scope.table.primary_key {
            let found = open
                .iter()
                .enumerate()
                .find_map(|(at, conjunct)| equal(conjunct, ordinal, scope).map(|part| (at, part)));
            let (at, part) = found?;
            open.remove(at);
            parts.push((part, scope.table.schema.columns[ordinal].ty));
        }
        let and = |left, right| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        };
        Some((Key(parts), open.into_iter().reduce(and)))
    }

    /// The values of an execution; `None` where one is null, or not beyond doubt a value of its column.
    pub(super) fn values(&self, parameters: &[Parameter]) -> Option<Vec<ScalarValue>> {
        let one = |(part, ty): &(Part, LogicalType)| match part {
            Part::Parameter(number) => value(parameters.get(*number)?, *ty),
            Part::Literal(literal) => value(literal, *ty),
        };
        self.0.iter().map(one).collect()
    }
}

/// What the column at `ordinal` is equal to.
fn equal(conjunct: &ast::Expr, ordinal: usize, scope: &Scope<'_>) -> Option<Part> {
    let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = conjunct else {
        return None;
    };
    let other = match (scope.column(left), scope.column(right)) {
        (Some(column), None) if column == ordinal => right,
        (None, Some(column)) if column == ordinal => left,
        _ => return None,
    };
    match placeholder(other) {
        Some(number) => Some(Part::Parameter(number)),
        None => literal(other).map(Part::Literal),
    }
}

/// A literal as a parameter would be.
fn literal(expr: &ast::Expr) -> Option<Parameter> {
    if let ast::Expr::Value(value) = expr
        && let ast::Value::SingleQuotedString(text) = &value.value
    {
        return Some(Parameter { value: Some(text.clone()), ..Parameter::default() });
    }
    let text = number(expr)?;
    let whole: i64 = text.parse().ok()?;
    let ty = match i32::try_from(whole) {
        Ok(_) => LogicalType::Int32,
        Err(_) => LogicalType::Int64,
    };
    Some(Parameter { value: Some(text), ty: Some(ty), told: None })
}

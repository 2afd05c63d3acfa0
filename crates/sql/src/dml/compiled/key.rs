//! The keys of the rows that a statement is about: a primary key, a unique one, or a part of one.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_sql::sqlparser::ast;
use plan::IndexRef;
use types::{Datum, LogicalType};

use super::admitted::{Scope, number};
use crate::parse::parameter::Parameter;
use crate::point::{conjuncts, placeholder, value};

/// The values that the first columns of a key are equal to, in its order, with the types of the columns.
pub(super) struct Key {
    pub(super) index: IndexRef,
    parts: Vec<(Part, LogicalType)>,
}

enum Part {
    Parameter(usize),
    Literal(Parameter),
}

impl Key {
    /// The key that a condition asks for, and what else it asks for. The key is that of one row if there
    /// is one, and else the one with the most columns.
    pub(super) fn of(condition: &ast::Expr, scope: &Scope<'_>) -> Option<(Key, Vec<ast::Expr>)> {
        let mut open = vec![];
        conjuncts(condition, &mut |conjunct| open.push(conjunct.clone()));
        let table = scope.table;
        let primary = Some(IndexRef::Primary).filter(|_| !table.primary_key.is_empty());
        let others = table.indexes.iter().map(|index| IndexRef::Secondary(Arc::clone(index)));
        let used = primary.into_iter().chain(others).map(|index| Used::of(index, &open, scope));
        // The last of those that are as good comes out of `max`.
        let used =
            used.collect::<Vec<_>>().into_iter().rev().max_by_key(|used| used.rank(scope))?;
        if used.parts.is_empty() {
            return None;
        }
        let mut at = 0;
        open.retain(|_| {
            at += 1;
            !used.conjuncts.contains(&(at - 1))
        });
        let key = Key { index: used.index, parts: used.parts };
        Some((key, open))
    }

    /// The values of an execution; `None` where one is null, or not beyond doubt a value of its column.
    pub(super) fn values(&self, parameters: &[Parameter]) -> Option<Vec<ScalarValue>> {
        let one = |(part, ty): &(Part, LogicalType)| match part {
            Part::Parameter(number) => value(parameters.get(*number)?, *ty),
            Part::Literal(literal) => value(literal, *ty),
        };
        self.parts.iter().map(one).collect()
    }
}

/// What a condition says of an index.
struct Used {
    index: IndexRef,
    parts: Vec<(Part, LogicalType)>,
    /// The positions of the conjuncts that say it.
    conjuncts: Vec<usize>,
}

impl Used {
    fn of(index: IndexRef, open: &[ast::Expr], scope: &Scope<'_>) -> Used {
        let (mut parts, mut conjuncts) = (vec![], vec![]);
        for &ordinal in index.key_columns(scope.table) {
            let ty = scope.table.schema.columns[ordinal].ty;
            let equal = |(at, conjunct): (usize, &ast::Expr)| {
                equal(conjunct, ordinal, scope).map(|part| (at, part))
            };
            let found = open.iter().enumerate().find_map(equal).filter(|_| has_values(ty));
            let Some((at, part)) = found else { break };
            parts.push((part, ty));
            conjuncts.push(at);
        }
        Used { index, parts, conjuncts }
    }

    /// Better keys have a greater one.
    fn rank(&self, scope: &Scope<'_>) -> (bool, bool, usize, bool) {
        let is_whole = self.parts.len() == self.index.key_columns(scope.table).len();
        let (is_primary, is_unique) = match &self.index {
            IndexRef::Primary => (true, true),
            IndexRef::Secondary(index) => (false, index.unique),
        };
        let count = self.parts.len();
        (is_whole && is_unique, is_whole && is_primary, count, self.index.is_hash())
    }
}

/// Whether it is known what a parameter means as a value of the type.
fn has_values(ty: LogicalType) -> bool {
    use LogicalType as T;
    matches!(ty, T::Int16 | T::Int32 | T::Int64 | T::Text | T::Varchar(_))
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
        return Some(Parameter::unknown(text));
    }
    let text = number(expr)?;
    let whole: i64 = text.parse().ok()?;
    let ty = match i32::try_from(whole) {
        Ok(_) => LogicalType::Int32,
        Err(_) => LogicalType::Int64,
    };
    Some(Parameter { value: Datum::Int(whole), ty: Some(ty), told: None })
}

//! Comparisons of rows as key ranges: `(a, b) > (1, 2)` is `a > 1 OR (a = 1 AND b > 2)`, also where
//! that was written so. The rows beyond a row lie together in a key of its columns, in as many
//! ranges as it has columns.

use std::cmp::Ordering;
use std::ops::Bound;

use datafusion_common::ScalarValue;
use datafusion_expr::utils::{split_binary, split_conjunction};
use datafusion_expr::{Expr, Operator};
use plan::KeyRange;
use plan::catalog::TableDef;

use super::ranges::typed;
use crate::expr::runtime_parameter::Valued;

/// Columns of a row that is compared, at most: each takes a range.
const COLUMNS_MAX: usize = 8;

/// Rows before or behind one.
#[derive(Clone, Debug)]
pub(super) struct RowBound {
    /// Table ordinals.
    pub columns: Vec<usize>,
    values: Vec<ScalarValue>,
    /// True for those that are greater.
    is_above: bool,
    /// True if the row itself is one of them.
    is_inclusive: bool,
}

/// A comparison of a column with a value of its type.
type Comparison = (usize, Operator, ScalarValue);

impl RowBound {
    /// The row that a condition compares those of the table with.
    pub(super) fn of(condition: &Expr, def: &TableDef, valued: Valued<'_>) -> Option<RowBound> {
        let comparison = |expr: &Expr| compared(expr, def, valued);
        let (columns, values) = (vec![], vec![]);
        let mut bound = RowBound { columns, values, is_above: true, is_inclusive: false };
        let mut alternatives = alternatives(vec![vec![condition]]);
        while !alternatives.is_empty() {
            let first = alternatives.iter().position(|all| all.len() == 1)?;
            let first = alternatives.swap_remove(first);
            let (column, op, value) = comparison(first[0])?;
            let is_last = alternatives.is_empty();
            bound.add((column, op, value.clone()), is_last)?;
            let equal = (column, Operator::Eq, value);
            for all in &mut alternatives {
                let at = all.iter().position(|part| comparison(part).as_ref() == Some(&equal))?;
                all.remove(at);
            }
            alternatives = self::alternatives(alternatives);
        }
        (bound.columns.len() > 1).then_some(bound)
    }

    /// Adds the column that decides where those before it are equal.
    fn add(&mut self, (column, op, value): Comparison, is_last: bool) -> Option<()> {
        let (is_above, is_inclusive) = match op {
            Operator::Gt => (true, false),
            Operator::GtEq => (true, true),
            Operator::Lt => (false, false),
            Operator::LtEq => (false, true),
            _ => return None,
        };
        let is_next = self.columns.is_empty() || is_above == self.is_above;
        if !is_next || is_inclusive && !is_last || self.columns.contains(&column) {
            return None;
        }
        (self.is_above, self.is_inclusive) = (is_above, is_inclusive);
        self.columns.push(column);
        self.values.push(value);
        (self.columns.len() <= COLUMNS_MAX).then_some(())
    }

    /// How many of its columns a key begins with.
    pub(super) fn columns_of(&self, key: &[usize]) -> usize {
        self.columns.iter().zip(key).take_while(|(one, other)| one == other).count()
    }

    /// Its ranges behind a prefix of a key that goes on with its first `count` columns, ascending;
    /// the first column lies within `other`, a bound on its other side.
    pub(super) fn ranges(
        &self,
        prefix: &[ScalarValue],
        count: usize,
        other: &Bound<ScalarValue>,
    ) -> Vec<KeyRange> {
        let depths = if self.is_within(other) { count } else { 1 };
        let ranges = (0..depths).map(|depth| self.range(prefix, depth, count, other));
        match self.is_above {
            true => ranges.rev().collect(),
            false => ranges.collect(),
        }
    }

    /// True if its own first value lies within a bound on the other side.
    fn is_within(&self, other: &Bound<ScalarValue>) -> bool {
        let inward = if self.is_above { Ordering::Less } else { Ordering::Greater };
        let order = |bound| self.values[0].partial_cmp(bound);
        match other {
            Bound::Unbounded => true,
            Bound::Excluded(bound) => order(bound) == Some(inward),
            Bound::Included(bound) => order(bound).is_some_and(|is| is == inward || is.is_eq()),
        }
    }

    /// The range in which the first `depth` columns are equal and the next one is beyond.
    fn range(
        &self,
        prefix: &[ScalarValue],
        depth: usize,
        count: usize,
        other: &Bound<ScalarValue>,
    ) -> KeyRange {
        let value = self.values[depth].clone();
        let is_last = depth + 1 == count;
        // Of columns that the key has not, nothing is known.
        let is_inclusive = is_last && (self.is_inclusive || count < self.columns.len());
        let near = if is_inclusive { Bound::Included(value) } else { Bound::Excluded(value) };
        let far = if depth == 0 { other.clone() } else { Bound::Unbounded };
        let prefix = prefix.iter().chain(&self.values[..depth]).cloned().collect();
        let (lower, upper) = if self.is_above { (near, far) } else { (far, near) };
        KeyRange { prefix, lower, upper }
    }

    /// True if greater rows are wanted: its bound is a lower one.
    pub(super) fn is_above(&self) -> bool {
        self.is_above
    }
}

/// The conditions of each alternative, with those that are alternatives themselves in their place.
fn alternatives(all: Vec<Vec<&Expr>>) -> Vec<Vec<&Expr>> {
    let mut found = vec![];
    for conditions in all {
        match conditions.as_slice() {
            [Expr::BinaryExpr(either)] if either.op == Operator::Or => {
                let parts = split_binary(conditions[0], Operator::Or).into_iter();
                found.extend(alternatives(parts.map(split_conjunction).collect()));
            }
            _ => found.push(conditions),
        }
    }
    found
}

fn compared(expr: &Expr, def: &TableDef, valued: Valued<'_>) -> Option<Comparison> {
    let Expr::BinaryExpr(test) = expr else { return None };
    let (column, op, value) = match (test.left.as_ref(), test.right.as_ref()) {
        (Expr::Column(column), other) => (column, test.op, valued.value(other)?),
        (other, Expr::Column(column)) => (column, test.op.swap()?, valued.value(other)?),
        _ => return None,
    };
    let (column, value) = typed(def, &column.name, value)?;
    (!value.is_null()).then_some((column, op, value))
}

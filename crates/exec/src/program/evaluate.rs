//! Values of expressions for the rows of a program.

use std::sync::Arc;

use arrow_array::ArrayRef;
use bumpalo::Bump;
use plan::expr::{Computed, Row};
use plan::limits::{with_limits, with_parameters};
use types::cells::{Cells, Value, value_of};
use types::{SqlError, SqlResult};

use super::limits::Small;
use super::{ROOM, Run, Stopped, has_effects};

impl Run<'_> {
    /// Rows of the values of these expressions.
    pub(super) fn computed(&self, exprs: &[Computed], rows: &Cells) -> Result<Cells, Stopped> {
        let mut vectors: Vec<Option<ArrayRef>> = vec![None; exprs.len()];
        for (expr, vector) in exprs.iter().zip(&mut vectors) {
            if expr.row.is_none() {
                *vector = Some(self.evaluated(expr, rows)?);
            }
        }
        let mut computed = Cells::new(exprs.len());
        let mut made = Bump::new();
        for at in 0..rows.len() {
            for (expr, vector) in exprs.iter().zip(&mut vectors) {
                computed.push(self.value(expr, vector, (rows, at, &made))?);
            }
            computed.end_row();
            made.reset();
            if computed.memory() > ROOM.bytes && !has_effects(exprs) {
                return Err(Stopped::TooMany);
            }
        }
        Ok(computed)
    }

    /// The numbers of the rows for which a predicate is true.
    pub(super) fn passed(&self, rows: &Cells, predicate: &Computed) -> Result<Vec<u32>, Stopped> {
        let mut vector = match &predicate.row {
            None => Some(self.evaluated(predicate, rows)?),
            Some(_) => None,
        };
        let (mut passed, mut made) = (vec![], Bump::new());
        for at in 0..rows.len() {
            if self.value(predicate, &mut vector, (rows, at, &made))?.is_true() {
                passed.push(at as u32);
            }
            made.reset();
        }
        Ok(passed)
    }

    /// The value of a row: of the vector, if there is one, which is made where the row refuses.
    fn value<'a>(
        &'a self,
        expr: &'a Computed,
        vector: &'a mut Option<ArrayRef>,
        (rows, at, made): (&'a Cells, usize, &'a Bump),
    ) -> Result<Value<'a>, Stopped> {
        let parameters = &self.parameters;
        if let (None, Some(over_row)) = (&vector, &expr.row)
            && let Ok(value) = over_row.value(Row { rows, at, parameters, made })
        {
            return Ok(value);
        }
        if vector.is_none() {
            *vector = Some(self.evaluated(expr, rows)?);
        }
        let vector = vector.as_ref().ok_or_else(|| SqlError::internal("no vector"))?;
        Ok(value_of(vector.as_ref(), at)?)
    }

    /// The vector of an expression for all rows.
    fn evaluated(&self, expr: &Computed, rows: &Cells) -> Result<ArrayRef, Stopped> {
        let none = || SqlError::internal("an expression that neither way computes");
        let foreign = expr.foreign.as_ref().ok_or_else(none)?;
        if foreign.is_volatile() {
            // It must not be given up behind its effects.
            return Ok(with_parameters(self.given.clone(), || foreign.evaluate(rows))?);
        }
        self.within_limits(|| foreign.evaluate(rows))
    }

    /// Vectors that take little time and memory.
    pub(super) fn within_limits<T>(
        &self,
        vector: impl FnOnce() -> SqlResult<T>,
    ) -> Result<T, Stopped> {
        let small = Arc::new(Small::new(self.given));
        with_limits(small.clone(), vector).map_err(|error| match small.is_over() {
            true => Stopped::TooMany,
            false => Stopped::Failed(error),
        })
    }
}

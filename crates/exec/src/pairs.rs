//! Pairs of rows as two vectors of positions: the residual condition of a join, and its output.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter;
use plan::expr::Expr;
use types::{SqlError, SqlResult};

use crate::batch;

/// What a join tests and produces; columns count left first, then right, then the mark.
pub(crate) struct PairShape {
    left_width: usize,
    right_width: usize,
    condition: Option<Expr>,
    pair_schema: SchemaRef,
    output: Vec<usize>,
    schema: SchemaRef,
}

/// Positions of partners: row `left[i]` pairs with row `right[i]`.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) left: Vec<u32>,
    pub(crate) right: Vec<u32>,
}

impl Pairs {
    /// No pairs, with room for so many.
    pub(crate) fn with_capacity(count: usize) -> Pairs {
        Pairs { left: Vec::with_capacity(count), right: Vec::with_capacity(count) }
    }

    /// Whether each of `row_count` right rows has exactly one partner, and they come in their order.
    pub(crate) fn is_each_right_once(&self, row_count: usize) -> bool {
        let in_order =
            || self.right.iter().zip(0..).fold(true, |all, (row, at)| all & (*row == at));
        self.right.len() == row_count && in_order()
    }

    #[inline]
    pub(crate) fn push(&mut self, left: u32, right: u32) {
        self.left.push(left);
        self.right.push(right);
    }
}

impl PairShape {
    pub(crate) fn new(
        left: &Schema,
        right: &Schema,
        condition: Option<Expr>,
        output: Vec<usize>,
        schema: &Schema,
    ) -> PairShape {
        PairShape {
            left_width: left.fields().len(),
            right_width: right.fields().len(),
            condition,
            pair_schema: batch::joined(left, right),
            output,
            schema: batch::relaxed(schema),
        }
    }

    pub(crate) fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Pairs that are best tested at once.
    pub(crate) fn pairs_at_once(&self) -> usize {
        self.condition.as_ref().map_or(usize::MAX, Expr::rows_at_once)
    }

    /// The columns of the left side, all nullable.
    pub(crate) fn left_schema(&self) -> SchemaRef {
        let fields = self.pair_schema.fields()[..self.left_width].to_vec();
        Arc::new(Schema::new(fields))
    }

    /// The columns of the right side, all nullable.
    pub(crate) fn right_schema(&self) -> SchemaRef {
        let fields = self.pair_schema.fields()[self.left_width..].to_vec();
        Arc::new(Schema::new(fields))
    }

    /// An output without rows.
    pub(crate) fn no_rows(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.schema))
    }

    /// The pairs that pass the condition, tested `row_count` at a time.
    pub(crate) fn passing(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        pairs: Pairs,
        row_count: usize,
    ) -> SqlResult<Pairs> {
        let Some(condition) = &self.condition else { return Ok(pairs) };
        let mut passed = Pairs::default();
        let chunks = pairs.left.chunks(row_count.max(1)).zip(pairs.right.chunks(row_count.max(1)));
        for (l, r) in chunks {
            let (l, r) = (UInt32Array::from(l.to_vec()), UInt32Array::from(r.to_vec()));
            let both = self.both(left, &l, right, &r)?;
            let value = condition.evaluate(&both)?;
            let mask = batch::mask(&value)?;
            for i in (0..mask.len()).filter(|&i| mask.is_valid(i) && mask.value(i)) {
                passed.left.push(l.value(i));
                passed.right.push(r.value(i));
            }
        }
        Ok(passed)
    }

    /// Pairs whose right rows are at hand, one per pair: the positions in `left` and the rows that
    /// pass.
    pub(crate) fn passing_rows(
        &self,
        left: &RecordBatch,
        at: UInt32Array,
        right: RecordBatch,
    ) -> SqlResult<(UInt32Array, RecordBatch)> {
        let Some(condition) = &self.condition else { return Ok((at, right)) };
        let mut columns = batch::take(left, &at)?.columns().to_vec();
        columns.extend_from_slice(right.columns());
        let value = condition.evaluate(&batch::make(&self.pair_schema, columns, at.len())?)?;
        keep_pairs(&at, &right, batch::mask(&value)?)
    }

    fn both(
        &self,
        left: &RecordBatch,
        l: &UInt32Array,
        right: &RecordBatch,
        r: &UInt32Array,
    ) -> SqlResult<RecordBatch> {
        let mut columns = Vec::with_capacity(self.left_width + self.right_width);
        for column in left.columns() {
            columns.push(batch::take_column(column, l)?);
        }
        for column in right.columns() {
            columns.push(batch::take_column(column, r)?);
        }
        batch::make(&self.pair_schema, columns, l.len())
    }

    /// The output for rows `l` of `left` beside rows `r` of `right`; a null position gives nulls.
    pub(crate) fn gather(
        &self,
        left: &RecordBatch,
        l: &UInt32Array,
        right: &RecordBatch,
        r: &UInt32Array,
    ) -> SqlResult<RecordBatch> {
        let column = |&at: &usize| match at.checked_sub(self.left_width) {
            None => batch::take_column(left.column(at), l),
            Some(at) if at < self.right_width => batch::take_column(right.column(at), r),
            Some(_) => Err(no_mark()),
        };
        let columns = self.output.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
        batch::make(&self.schema, columns, l.len())
    }

    /// The output for rows `l` of `left` beside all rows of `right`.
    pub(crate) fn gather_beside(
        &self,
        left: &RecordBatch,
        l: &UInt32Array,
        right: &RecordBatch,
    ) -> SqlResult<RecordBatch> {
        let column = |&at: &usize| match at.checked_sub(self.left_width) {
            None => batch::take_column(left.column(at), l),
            Some(at) if at < self.right_width => Ok(Arc::clone(right.column(at))),
            Some(_) => Err(no_mark()),
        };
        let columns = self.output.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
        batch::make(&self.schema, columns, l.len())
    }

    /// The output for rows of the left side alone (semi, anti, mark).
    pub(crate) fn left_only(
        &self,
        left: &RecordBatch,
        mark: Option<&ArrayRef>,
    ) -> SqlResult<RecordBatch> {
        self.one_side(left, 0, mark)
    }

    /// The output for rows of the right side alone (semi, anti, mark).
    pub(crate) fn right_only(
        &self,
        right: &RecordBatch,
        mark: Option<&ArrayRef>,
    ) -> SqlResult<RecordBatch> {
        self.one_side(right, self.left_width, mark)
    }

    fn one_side(
        &self,
        side: &RecordBatch,
        offset: usize,
        mark: Option<&ArrayRef>,
    ) -> SqlResult<RecordBatch> {
        let mark_at = self.left_width + self.right_width;
        let column = |&at: &usize| {
            if at == mark_at {
                return mark.cloned().ok_or_else(no_mark);
            }
            at.checked_sub(offset)
                .and_then(|i| side.columns().get(i))
                .cloned()
                .ok_or_else(|| SqlError::internal("a semi or anti join produces one side only"))
        };
        let columns = self.output.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
        batch::make(&self.schema, columns, side.num_rows())
    }
}

/// The pairs for which `mask` is true.
pub(crate) fn keep_pairs(
    at: &UInt32Array,
    rows: &RecordBatch,
    mask: &BooleanArray,
) -> SqlResult<(UInt32Array, RecordBatch)> {
    let kept = filter(at, mask).map_err(batch::arrow)?;
    let at = kept.as_any().downcast_ref::<UInt32Array>().cloned();
    let at = at.ok_or_else(|| SqlError::internal("a filter changed the type of positions"))?;
    Ok((at, batch::keep(rows, mask)?))
}

fn no_mark() -> SqlError {
    SqlError::internal("a join without a mark was asked for one")
}

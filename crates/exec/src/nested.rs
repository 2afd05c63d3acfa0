//! The nested-loop join: every left row against every row of the materialised right side.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use plan::{HashJoinKind, NestedLoopJoin, Node};
use types::SqlResult;

use crate::batch;
use crate::join_table::SharedBits;
use crate::map::{Applied, Map};
use crate::memory::Reservation;
use crate::pairs::{PairShape, Pairs};

/// Pairs tested before the rest of the left rows waits, in result batches.
const PAIR_BATCHES: usize = 2;

/// A nested-loop join whose right side is at hand. In the names of kinds left is "build".
pub(crate) struct NestedLoop {
    node: usize,
    kind: HashJoinKind,
    right: RecordBatch,
    /// What the right side is counted in.
    _memory: Arc<Reservation>,
    matched: Option<SharedBits>,
    shape: PairShape,
    batch_rows: usize,
    /// Left rows that wait, with one column more: how far the first of them has come.
    waiting: SchemaRef,
}

/// How far a left row has come that has more right rows before it than are tested at once.
#[derive(Clone, Copy, Default)]
struct Begun {
    /// Right rows that it was tested against.
    tested: usize,
    /// Whether one of them was a partner.
    has_partner: bool,
}

impl NestedLoop {
    pub(crate) fn new(
        node: &Node,
        join: &NestedLoopJoin,
        right: RecordBatch,
        memory: Arc<Reservation>,
        batch_rows: usize,
    ) -> NestedLoop {
        use HashJoinKind as K;
        let mut waiting = join.left.relaxed().fields().to_vec();
        waiting.push(Arc::new(Field::new("tested", DataType::Int64, false)));
        let wanted = matches!(
            join.kind,
            K::ProbeOuter | K::FullOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark
        );
        NestedLoop {
            node: node.id,
            kind: join.kind,
            matched: wanted.then(|| SharedBits::new(right.num_rows())),
            right,
            _memory: memory,
            shape: PairShape::new(
                &join.left.schema,
                &join.right.schema,
                join.filter.clone(),
                join.output.clone(),
                &node.schema,
            ),
            batch_rows: batch_rows.max(1),
            waiting: Arc::new(Schema::new(waiting)),
        }
    }

    /// Whether no left row can produce anything.
    pub(crate) fn is_void(&self) -> bool {
        use HashJoinKind as K;
        self.right.num_rows() == 0
            && !matches!(self.kind, K::BuildOuter | K::FullOuter | K::BuildAnti | K::BuildMark)
    }

    /// Right rows that are due when all left rows have passed.
    pub(crate) fn rest(&self) -> SqlResult<Vec<RecordBatch>> {
        use HashJoinKind as K;
        let Some(matched) = &self.matched else { return Ok(vec![]) };
        let right_rows = |value| batch::take(&self.right, &matched.positions(value));
        let out = match self.kind {
            K::ProbeSemi => self.shape.right_only(&right_rows(true)?, None)?,
            K::ProbeAnti => self.shape.right_only(&right_rows(false)?, None)?,
            K::ProbeMark => {
                let mark: ArrayRef = Arc::new(matched.to_array());
                self.shape.right_only(&self.right, Some(&mark))?
            }
            _ => {
                let lonely = matched.positions(false);
                let nulls = UInt32Array::new_null(lonely.len());
                let no_left = RecordBatch::new_empty(self.shape.left_schema());
                self.shape.gather(&no_left, &nulls, &self.right, &lonely)?
            }
        };
        Ok(batch::slices(&out, self.batch_rows))
    }

    /// Pairs that are tested at once.
    fn pairs_at_once(&self) -> usize {
        (PAIR_BATCHES * self.batch_rows).min(self.shape.pairs_at_once())
    }

    fn pairs(row_count: usize, right: Range<usize>) -> Pairs {
        let right = right.start as u32..right.end as u32;
        let left = (0..row_count as u32).flat_map(|l| right.clone().map(move |_| l));
        let left = left.collect();
        Pairs { left, right: (0..row_count).flat_map(|_| right.clone()).collect() }
    }

    /// The pairs of some left rows and right rows that pass.
    fn passing(&self, left: &RecordBatch, right: Range<usize>) -> SqlResult<Pairs> {
        let pairs = NestedLoop::pairs(left.num_rows(), right);
        let at_once = self.batch_rows.min(self.shape.pairs_at_once());
        let pairs = self.shape.passing(left, &self.right, pairs, at_once)?;
        if let Some(matched) = &self.matched {
            pairs.right.iter().for_each(|&i| matched.set(i as usize));
        }
        Ok(pairs)
    }

    /// All there is to do with the first left rows.
    fn many(&self, rows: &RecordBatch) -> SqlResult<Applied> {
        let right_count = self.right.num_rows();
        let row_count = (self.pairs_at_once() / right_count.max(1)).clamp(1, rows.num_rows());
        let left = rows.slice(0, row_count);
        let pairs = self.passing(&left, 0..right_count)?;
        let mut partnered = vec![false; row_count];
        pairs.left.iter().for_each(|&i| partnered[i as usize] = true);
        let mut out = self.paired(&left, &pairs)?;
        out.extend(self.alone(&left, &partnered)?);
        let rest = rows.num_rows() - row_count;
        Ok(Applied { out, rest: (rest > 0).then(|| rows.slice(row_count, rest)) })
    }

    /// A part of what there is to do with the first left row: it meets the next right rows.
    fn one(&self, rows: &RecordBatch, begun: Begun) -> SqlResult<Applied> {
        use HashJoinKind as K;
        let right_count = self.right.num_rows();
        let until = right_count.min(begun.tested + self.pairs_at_once());
        let left = rows.slice(0, 1);
        let pairs = self.passing(&left, begun.tested..until)?;
        let has_partner = begun.has_partner || !pairs.left.is_empty();
        let mut out = self.paired(&left, &pairs)?;
        let asks_once = matches!(self.kind, K::BuildSemi | K::BuildAnti | K::BuildMark);
        if until < right_count && !(has_partner && asks_once) {
            let rest = self.wait(rows, Begun { tested: until, has_partner })?;
            return Ok(Applied { out, rest: Some(rest) });
        }
        out.extend(self.alone(&left, &[has_partner])?);
        let rest = rows.num_rows() - 1;
        Ok(Applied { out, rest: (rest > 0).then(|| rows.slice(1, rest)) })
    }

    /// Rows with how far the first of them has come: negative if it has a partner.
    fn wait(&self, rows: &RecordBatch, begun: Begun) -> SqlResult<RecordBatch> {
        let tested = begun.tested as i64;
        let mut places = vec![0; rows.num_rows()];
        places[0] = if begun.has_partner { -tested } else { tested };
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(Int64Array::from(places)));
        batch::make(&self.waiting, columns, rows.num_rows())
    }

    /// What [`NestedLoop::wait`] was given.
    fn resume(&self, rows: RecordBatch) -> SqlResult<(RecordBatch, Begun)> {
        let width = self.waiting.fields().len() - 1;
        let Some(places) = rows.columns().get(width) else { return Ok((rows, Begun::default())) };
        let place = places.as_primitive::<Int64Type>().value(0);
        let begun = Begun { tested: place.unsigned_abs() as usize, has_partner: place < 0 };
        let columns = rows.columns()[..width].to_vec();
        let rows = batch::make(&self.shape.left_schema(), columns, rows.num_rows())?;
        Ok((rows, begun))
    }

    /// What left rows produce beside pairs once it is known which of them have partners.
    fn alone(&self, left: &RecordBatch, partnered: &[bool]) -> SqlResult<Option<RecordBatch>> {
        use HashJoinKind as K;
        let with = |wanted: bool| -> BooleanArray {
            partnered.iter().map(|&p| p == wanted).collect::<Vec<_>>().into()
        };
        Ok(match self.kind {
            K::BuildOuter | K::FullOuter => {
                let lonely = (0..left.num_rows() as u32).filter(|&i| !partnered[i as usize]);
                let lonely: UInt32Array = lonely.collect();
                let nulls = UInt32Array::new_null(lonely.len());
                Some(self.shape.gather(left, &lonely, &self.right, &nulls)?)
            }
            K::BuildSemi => Some(self.shape.left_only(&batch::keep(left, &with(true))?, None)?),
            K::BuildAnti => Some(self.shape.left_only(&batch::keep(left, &with(false))?, None)?),
            K::BuildMark => {
                let mark: ArrayRef = Arc::new(with(true));
                Some(self.shape.left_only(left, Some(&mark))?)
            }
            K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark => None,
        })
    }

    /// Pairs as rows, where the join produces them.
    fn paired(&self, left: &RecordBatch, pairs: &Pairs) -> SqlResult<Vec<RecordBatch>> {
        use HashJoinKind as K;
        if !matches!(self.kind, K::Inner | K::ProbeOuter | K::BuildOuter | K::FullOuter) {
            return Ok(vec![]);
        }
        let chunks = pairs.left.chunks(self.batch_rows).zip(pairs.right.chunks(self.batch_rows));
        let gather = |(l, r): (&[u32], &[u32])| {
            self.shape.gather(left, &l.to_vec().into(), &self.right, &r.to_vec().into())
        };
        chunks.map(gather).collect()
    }
}

impl Map for NestedLoop {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let (rows, begun) = self.resume(rows)?;
        match self.right.num_rows() > self.pairs_at_once() {
            true => self.one(&rows, begun),
            false => self.many(&rows),
        }
    }
}

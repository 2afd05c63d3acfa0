//! The nested-loop join: every left row against every row of the materialised right side.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use sql::plan::{HashJoinKind, NestedLoopJoin, Node};
use types::SqlResult;

use crate::batch;
use crate::join_table::SharedBits;
use crate::memory::Reservation;
use crate::pairs::{PairShape, Pairs};
use crate::stage::{Applied, Map};

/// Pairs tested before the rest of the left rows waits, in result batches.
const PAIR_BATCHES: usize = 4;

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

    fn pairs(&self, row_count: usize) -> Pairs {
        let right_count = self.right.num_rows() as u32;
        let left = (0..row_count as u32).flat_map(|l| (0..right_count).map(move |_| l));
        let right = (0..row_count).flat_map(|_| 0..right_count);
        Pairs { left: left.collect(), right: right.collect() }
    }

    fn output(&self, left: &RecordBatch, pairs: &Pairs) -> SqlResult<Vec<RecordBatch>> {
        use HashJoinKind as K;
        let mut partnered = vec![false; left.num_rows()];
        pairs.left.iter().for_each(|&i| partnered[i as usize] = true);
        let with = |wanted: bool| -> BooleanArray {
            partnered.iter().map(|&p| p == wanted).collect::<Vec<_>>().into()
        };
        match self.kind {
            K::Inner | K::ProbeOuter => self.paired(left, pairs),
            K::BuildOuter | K::FullOuter => {
                let mut out = self.paired(left, pairs)?;
                let lonely = (0..left.num_rows() as u32).filter(|&i| !partnered[i as usize]);
                let lonely: UInt32Array = lonely.collect();
                let nulls = UInt32Array::new_null(lonely.len());
                out.push(self.shape.gather(left, &lonely, &self.right, &nulls)?);
                Ok(out)
            }
            K::BuildSemi => Ok(vec![self.shape.left_only(&batch::keep(left, &with(true))?, None)?]),
            K::BuildAnti => {
                Ok(vec![self.shape.left_only(&batch::keep(left, &with(false))?, None)?])
            }
            K::BuildMark => {
                let mark: ArrayRef = Arc::new(with(true));
                Ok(vec![self.shape.left_only(left, Some(&mark))?])
            }
            K::ProbeSemi | K::ProbeAnti | K::ProbeMark => Ok(vec![]),
        }
    }

    fn paired(&self, left: &RecordBatch, pairs: &Pairs) -> SqlResult<Vec<RecordBatch>> {
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
        let enough = PAIR_BATCHES * self.batch_rows;
        let row_count = (enough / self.right.num_rows().max(1)).clamp(1, rows.num_rows());
        let left = rows.slice(0, row_count);
        let pairs = self.pairs(row_count);
        let pairs = self.shape.passing(&left, &self.right, pairs, self.batch_rows)?;
        if let Some(matched) = &self.matched {
            pairs.right.iter().for_each(|&i| matched.set(i as usize));
        }
        let rest = rows.num_rows() - row_count;
        let out = self.output(&left, &pairs)?;
        Ok(Applied { out, rest: (rest > 0).then(|| rows.slice(row_count, rest)) })
    }
}

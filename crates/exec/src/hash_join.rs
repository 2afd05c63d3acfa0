//! The hash join: the build side as a sink, the probe side as a streaming operator.

mod build;
mod spilled;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use plan::expr::Expr;
use plan::{HashJoin, HashJoinKind, Node};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::groups::evaluate_all;
use crate::join_filter::JoinFilter;
use crate::join_table::{Extent, JoinTable, SharedBits};
use crate::keys::{KeyBatch, KeyCoder};
use crate::map::{Applied, Map};
use crate::memory::Reservation;
use crate::pairs::{PairShape, Pairs};

pub(crate) use build::{BuildSink, Built};
pub(crate) use spilled::SpilledJoin;

/// Pairs that a batch of probe rows may make before the rest of it waits, in result batches.
const PAIR_BATCHES: usize = 16;

/// What both sides know of the join.
pub(crate) struct JoinRules {
    node: usize,
    kind: HashJoinKind,
    null_aware: bool,
    nulls_match: bool,
    build_keys: Vec<Expr>,
    probe_keys: Vec<Expr>,
    coder: KeyCoder,
    build_schema: SchemaRef,
    shape: PairShape,
    batch_rows: usize,
}

impl JoinRules {
    pub(crate) fn new(node: &Node, join: &HashJoin, batch_rows: usize) -> SqlResult<JoinRules> {
        if join.build_keys.is_empty() {
            return Err(SqlError::internal("a hash join without keys"));
        }
        let mut pairs = join.build_keys.iter().zip(&join.probe_keys);
        let agree = pairs.all(|(b, p)| b.data_type() == p.data_type());
        if !agree || join.build_keys.len() != join.probe_keys.len() {
            return Err(SqlError::internal("the keys of a hash join differ in type"));
        }
        let anti = matches!(join.kind, HashJoinKind::BuildAnti | HashJoinKind::ProbeAnti);
        if join.null_aware && (!anti || join.filter.is_some() || join.build_keys.len() > 1) {
            return Err(SqlError::unsupported("NOT IN of several columns or with a condition"));
        }
        Ok(JoinRules {
            node: node.id,
            kind: join.kind,
            null_aware: join.null_aware,
            nulls_match: join.null_equals_null,
            build_keys: join.build_keys.clone(),
            probe_keys: join.probe_keys.clone(),
            coder: KeyCoder::of(&join.build_keys, join.null_equals_null)?,
            build_schema: join.build.relaxed(),
            shape: PairShape::new(
                &join.build.schema,
                &join.probe.schema,
                join.filter.clone(),
                join.output.clone(),
                &node.schema,
            ),
            batch_rows,
        })
    }

    /// Whether build rows are due when all probe rows have passed.
    fn owes_build_rows(&self) -> bool {
        use HashJoinKind as K;
        matches!(
            self.kind,
            K::BuildOuter | K::FullOuter | K::BuildSemi | K::BuildAnti | K::BuildMark
        )
    }

    /// Whether probe rows without a partner are part of the result.
    fn keeps_lonely_probe_rows(&self) -> bool {
        use HashJoinKind as K;
        matches!(self.kind, K::ProbeOuter | K::FullOuter | K::ProbeAnti | K::ProbeMark)
    }

    /// Whether a probe row passes at most once, however many partners it has.
    fn passes_probe_rows_once(&self) -> bool {
        self.keeps_lonely_probe_rows() || self.kind == HashJoinKind::ProbeSemi
    }

    fn encode(&self, exprs: &[Expr], rows: &RecordBatch) -> SqlResult<KeyBatch> {
        self.coder.encode(&evaluate_all(exprs, rows)?)
    }
}

/// What a `NOT IN` must know of all rows of both sides.
#[derive(Default)]
struct Facts {
    build_has_rows: AtomicBool,
    build_has_null: AtomicBool,
    probe_has_rows: AtomicBool,
    probe_has_null: AtomicBool,
}

impl Facts {
    fn saw_build(&self, keys: &KeyBatch) {
        self.build_has_rows.store(true, Relaxed);
        if keys.has_null() {
            self.build_has_null.store(true, Relaxed);
        }
    }

    fn saw_probe(&self, keys: &KeyBatch) {
        self.probe_has_rows.store(true, Relaxed);
        if keys.has_null() {
            self.probe_has_null.store(true, Relaxed);
        }
    }
}

/// The probe side.
pub(crate) struct Probe {
    rules: Arc<JoinRules>,
    table: JoinTable,
    /// What the table is counted in.
    _memory: Arc<Reservation>,
    /// Build rows with a partner, where the kind asks for them.
    matched: Option<SharedBits>,
    facts: Arc<Facts>,
    /// What the table says of the keys asked for, by their positions.
    filters: Vec<(usize, Arc<JoinFilter>)>,
}

/// The partners of the first rows of a batch.
struct Found {
    pairs: Pairs,
    /// Per probe row: has it a partner?
    partnered: Vec<bool>,
    row_count: usize,
}

impl Probe {
    fn new(
        rules: &Arc<JoinRules>,
        table: JoinTable,
        facts: &Arc<Facts>,
        memory: &Arc<Reservation>,
    ) -> Probe {
        let matched = rules.owes_build_rows().then(|| SharedBits::new(table.rows.num_rows()));
        let (rules, facts) = (Arc::clone(rules), Arc::clone(facts));
        Probe { rules, table, _memory: Arc::clone(memory), matched, facts, filters: vec![] }
    }

    /// The filters that were made with it, by the positions of their keys.
    pub(crate) fn filters(&self) -> &[(usize, Arc<JoinFilter>)] {
        &self.filters
    }

    /// Whether no probe row can produce anything, nor change what [`Probe::rest`] produces.
    pub(crate) fn is_void(&self) -> bool {
        self.table.rows.num_rows() == 0 && !self.rules.keeps_lonely_probe_rows()
    }

    /// Build rows that are due when all probe rows have passed.
    pub(crate) fn rest(&self) -> SqlResult<Vec<RecordBatch>> {
        use HashJoinKind as K;
        let Some(matched) = &self.matched else { return Ok(vec![]) };
        let shape = &self.rules.shape;
        let out = match self.rules.kind {
            K::BuildOuter | K::FullOuter => {
                let rows = matched.positions(false);
                let nulls = UInt32Array::new_null(rows.len());
                let no_probe = RecordBatch::new_empty(self.probe_schema());
                shape.gather(&self.table.rows, &rows, &no_probe, &nulls)?
            }
            K::BuildSemi => self.build_rows(&matched.positions(true))?,
            K::BuildAnti => self.build_anti(matched)?,
            K::BuildMark => {
                let mark: ArrayRef = Arc::new(matched.to_array());
                shape.left_only(&self.table.rows, Some(&mark))?
            }
            _ => return Ok(vec![]),
        };
        Ok(batch::slices(&out, self.rules.batch_rows))
    }

    fn probe_schema(&self) -> SchemaRef {
        self.rules.shape.right_schema()
    }

    fn build_rows(&self, at: &UInt32Array) -> SqlResult<RecordBatch> {
        self.rules.shape.left_only(&batch::take(&self.table.rows, at)?, None)
    }

    fn build_anti(&self, matched: &SharedBits) -> SqlResult<RecordBatch> {
        let lonely = matched.positions(false);
        if !self.rules.null_aware || !self.facts.probe_has_rows.load(Relaxed) {
            return self.build_rows(&lonely);
        }
        // NOT IN (.., null): never true.
        if self.facts.probe_has_null.load(Relaxed) {
            return Ok(self.rules.shape.no_rows());
        }
        // null NOT IN (something): not true either.
        let nulls = self.table.null_rows.values();
        let known = lonely.values().iter().filter(|i| nulls.binary_search(i).is_err());
        self.build_rows(&known.copied().collect())
    }

    /// Finds partners for rows of the batch until they are many.
    fn find(&self, rows: &RecordBatch, keys: &KeyBatch) -> SqlResult<Found> {
        let enough = (PAIR_BATCHES * self.rules.batch_rows).max(1);
        let one_will_do = self.needs_one_partner();
        let mut pairs = Pairs::with_capacity(rows.num_rows().min(enough));
        let nulls = keys.nulls.as_ref().filter(|_| !self.rules.nulls_match);
        let passes = |i: usize| nulls.is_none_or(|nulls| nulls.is_valid(i));
        let extent = Extent { first: 0, enough, one_will_do };
        let row_count = self.table.find(keys, &extent, passes, &mut pairs);
        let (table, batch_rows) = (&self.table.rows, self.rules.batch_rows);
        let pairs = self.rules.shape.passing(table, rows, pairs, batch_rows)?;
        let mut partnered = vec![false; row_count];
        pairs.right.iter().for_each(|&i| partnered[i as usize] = true);
        if let Some(matched) = &self.matched {
            pairs.left.iter().for_each(|&i| matched.set(i as usize));
        }
        Ok(Found { pairs, partnered, row_count })
    }

    /// Semi and anti joins of the probe side without a condition stop at the first partner.
    fn needs_one_partner(&self) -> bool {
        use HashJoinKind as K;
        !self.rules.shape.has_condition()
            && matches!(self.rules.kind, K::ProbeSemi | K::ProbeAnti | K::ProbeMark)
    }

    fn output(
        &self,
        rows: &RecordBatch,
        keys: &KeyBatch,
        found: Found,
    ) -> SqlResult<Vec<RecordBatch>> {
        use HashJoinKind as K;
        let shape = &self.rules.shape;
        let worked_on = rows.slice(0, found.row_count);
        match self.rules.kind {
            K::Inner | K::BuildOuter => self.paired(rows, &found.pairs),
            K::ProbeOuter | K::FullOuter => {
                let mut out = self.paired(rows, &found.pairs)?;
                let lonely = (0..found.row_count as u32).filter(|&i| !found.partnered[i as usize]);
                let lonely: UInt32Array = lonely.collect();
                let nulls = UInt32Array::new_null(lonely.len());
                out.push(shape.gather(&self.table.rows, &nulls, rows, &lonely)?);
                Ok(out)
            }
            K::ProbeSemi => {
                let kept = batch::keep(&worked_on, &found.partnered.into())?;
                Ok(vec![shape.right_only(&kept, None)?])
            }
            K::ProbeAnti => {
                let kept = batch::keep(&worked_on, &self.without_partner(keys, &found))?;
                Ok(vec![shape.right_only(&kept, None)?])
            }
            K::ProbeMark => {
                let mark: ArrayRef = Arc::new(BooleanArray::from(found.partnered));
                Ok(vec![shape.right_only(&worked_on, Some(&mark))?])
            }
            K::BuildSemi | K::BuildAnti | K::BuildMark => Ok(vec![]),
        }
    }

    /// Which probe rows an anti join passes.
    fn without_partner(&self, keys: &KeyBatch, found: &Found) -> BooleanArray {
        let lonely = found.partnered.iter().map(|p| !p);
        if !self.rules.null_aware || !self.facts.build_has_rows.load(Relaxed) {
            return lonely.collect::<Vec<_>>().into();
        }
        let build_has_null = self.facts.build_has_null.load(Relaxed);
        let is_null = |i| keys.nulls.as_ref().is_some_and(|n| n.is_null(i));
        let known = lonely.enumerate().map(|(i, l)| l && !build_has_null && !is_null(i));
        known.collect::<Vec<_>>().into()
    }

    fn paired(&self, rows: &RecordBatch, pairs: &Pairs) -> SqlResult<Vec<RecordBatch>> {
        let size = self.rules.batch_rows.max(1);
        if pairs.is_each_right_once(rows.num_rows()) {
            let at = (0..rows.num_rows()).step_by(size);
            let beside = |(at, l): (usize, &[u32])| {
                let (l, rows) = (l.to_vec().into(), rows.slice(at, l.len()));
                self.rules.shape.gather_beside(&self.table.rows, &l, &rows)
            };
            return at.zip(pairs.left.chunks(size)).map(beside).collect();
        }
        let chunks = pairs.left.chunks(size).zip(pairs.right.chunks(size));
        let gather = |(l, r): (&[u32], &[u32])| {
            let (l, r) = (l.to_vec().into(), r.to_vec().into());
            self.rules.shape.gather(&self.table.rows, &l, rows, &r)
        };
        chunks.map(gather).collect()
    }
}

impl Map for Probe {
    fn node(&self) -> usize {
        self.rules.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let keys = self.rules.encode(&self.rules.probe_keys, &rows)?;
        self.facts.saw_probe(&keys);
        let found = self.find(&rows, &keys)?;
        let row_count = found.row_count;
        let rest = rows.num_rows() - row_count;
        let out = self.output(&rows, &keys, found)?;
        Ok(Applied { out, rest: (rest > 0).then(|| rows.slice(row_count, rest)) })
    }
}

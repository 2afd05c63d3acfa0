//! A table of groups with the state of their aggregates.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::SchemaRef;
use hashbrown::HashTable;
use sql::expr::{Accumulator, AggregateExpr, Expr};
use types::SqlResult;

use crate::batch;
use crate::keys::{KeyBatch, KeyCoder, Keys};

/// What is grouped and aggregated.
pub(crate) struct Grouping {
    pub(crate) group_by: Vec<Expr>,
    pub(crate) aggregates: Vec<AggregateExpr>,
    pub(crate) input: SchemaRef,
    pub(crate) output: SchemaRef,
    coder: Option<KeyCoder>,
}

impl Grouping {
    pub(crate) fn new(
        group_by: Vec<Expr>,
        aggregates: Vec<AggregateExpr>,
        input: SchemaRef,
        output: SchemaRef,
    ) -> SqlResult<Grouping> {
        let coder = if group_by.is_empty() { None } else { Some(KeyCoder::of(&group_by, false)?) };
        Ok(Grouping { group_by, aggregates, input, output, coder })
    }
}

/// Groups seen so far; group numbers are dense, in the order of first sight.
pub(crate) struct Groups {
    table: HashTable<u32>,
    keys: Keys,
    hashes: Vec<u64>,
    /// The group of the null key, where keys are integers.
    null_group: Option<usize>,
    accumulators: Vec<Accumulator>,
    count: usize,
    /// Reused between batches.
    indices: Vec<usize>,
}

impl Groups {
    /// No groups; without group columns, the one group that exists even of no rows.
    pub(crate) fn new(grouping: &Grouping) -> SqlResult<Groups> {
        let make = AggregateExpr::accumulator;
        let mut groups = Groups {
            table: HashTable::new(),
            keys: grouping.coder.as_ref().map_or(Keys::Ints(Vec::new()), KeyCoder::empty),
            hashes: Vec::new(),
            null_group: None,
            accumulators: grouping.aggregates.iter().map(make).collect::<SqlResult<_>>()?,
            count: 0,
            indices: Vec::new(),
        };
        if grouping.coder.is_none() {
            groups.count = 1;
            groups.add_empty_group(grouping)?;
        }
        Ok(groups)
    }

    /// Adds the rows of `batch`.
    pub(crate) fn update(&mut self, grouping: &Grouping, batch: &RecordBatch) -> SqlResult<()> {
        match &grouping.coder {
            None => {
                self.indices.clear();
                self.indices.resize(batch.num_rows(), 0);
            }
            Some(coder) => {
                let columns = evaluate_all(&grouping.group_by, batch)?;
                self.number(coder.encode(&columns)?);
            }
        }
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut self.accumulators) {
            let args = evaluate_all(&aggregate.args, batch)?;
            let filter = aggregate.filter.as_ref().map(|f| f.evaluate(batch)).transpose()?;
            let filter = filter.as_ref().map(batch::mask).transpose()?;
            accumulator.update(&args, &self.indices, filter, self.count)?;
        }
        Ok(())
    }

    /// Makes the group of no rows known by a row that the filter drops: to the library a group
    /// without any row would be one whose values have all been seen.
    fn add_empty_group(&mut self, grouping: &Grouping) -> SqlResult<()> {
        let dropped = BooleanArray::from(vec![false]);
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut self.accumulators) {
            let args = aggregate.args.iter().map(|a| new_null_array(a.data_type(), 1));
            accumulator.update(&args.collect::<Vec<_>>(), &[0], Some(&dropped), 1)?;
        }
        Ok(())
    }

    /// Adds the groups of another table of the same grouping.
    pub(crate) fn merge(&mut self, grouping: &Grouping, mut other: Groups) -> SqlResult<()> {
        if grouping.coder.is_none() {
            self.indices = vec![0];
        } else {
            let mut nulls = None;
            if let Some(at) = other.null_group {
                nulls = Some((0..other.count).map(|i| i != at).collect());
            }
            self.number(KeyBatch { keys: other.keys, hashes: other.hashes, nulls });
        }
        for (mine, theirs) in self.accumulators.iter_mut().zip(&mut other.accumulators) {
            mine.merge(&theirs.state()?, &self.indices, self.count)?;
        }
        Ok(())
    }

    /// The group columns, then the aggregates: one row per group.
    pub(crate) fn finish(mut self, grouping: &Grouping) -> SqlResult<RecordBatch> {
        let mut columns = match &grouping.coder {
            Some(coder) => coder.decode(&self.keys, self.null_group)?,
            None => vec![],
        };
        for accumulator in &mut self.accumulators {
            columns.push(accumulator.evaluate()?);
        }
        batch::make(&grouping.output, columns, self.count)
    }

    /// Writes the group of each row to `indices`, with new groups for new keys.
    fn number(&mut self, batch: KeyBatch) {
        self.indices.clear();
        self.indices.reserve(batch.hashes.len());
        let ints = matches!(batch.keys, Keys::Ints(_));
        for i in 0..batch.hashes.len() {
            let null = ints && batch.nulls.as_ref().is_some_and(|n| n.is_null(i));
            let group = if null { self.null_group(&batch, i) } else { self.group(&batch, i) };
            self.indices.push(group);
        }
    }

    fn group(&mut self, batch: &KeyBatch, i: usize) -> usize {
        let hash = batch.hashes[i];
        let (keys, hashes) = (&self.keys, &self.hashes);
        let same = |&g: &u32| hashes[g as usize] == hash && keys.equal(g as usize, &batch.keys, i);
        if let Some(&group) = self.table.find(hash, same) {
            return group as usize;
        }
        let group = self.add(batch, i);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, group as u32, |&g| hashes[g as usize]);
        group
    }

    /// Outside the table, so that no integer is mistaken for it.
    fn null_group(&mut self, batch: &KeyBatch, i: usize) -> usize {
        match self.null_group {
            Some(group) => group,
            None => {
                let group = self.add(batch, i);
                self.null_group = Some(group);
                group
            }
        }
    }

    fn add(&mut self, batch: &KeyBatch, i: usize) -> usize {
        self.keys.push_from(&batch.keys, i);
        self.hashes.push(batch.hashes[i]);
        self.count += 1;
        self.count - 1
    }
}

/// The values of all expressions.
pub(crate) fn evaluate_all(exprs: &[Expr], batch: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
    exprs.iter().map(|e| e.evaluate(batch)).collect()
}

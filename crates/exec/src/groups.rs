//! A table of groups with the state of their aggregates.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use hashbrown::HashTable;
use sql::expr::{Accumulator, AggregateExpr, Expr};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::keys::{KeyBatch, KeyCoder, Keys};
use crate::scope::Scope;
use crate::stage::go_on;

/// Groups merged between two looks at the clock: well under a millisecond.
const MERGE_ROWS: usize = 8192;

/// What is grouped and aggregated.
pub(crate) struct Grouping {
    pub(crate) group_by: Vec<Expr>,
    pub(crate) aggregates: Vec<AggregateExpr>,
    pub(crate) input: SchemaRef,
    pub(crate) output: SchemaRef,
    coder: Option<KeyCoder>,
    /// Columns of the state of each aggregate, once a state was seen.
    widths: OnceLock<Vec<usize>>,
}

/// Groups as rows: the group columns, then the states of the aggregates.
pub(crate) struct Partial {
    pub(crate) rows: RecordBatch,
    /// The hash of each group's key.
    pub(crate) hashes: Vec<u64>,
}

impl Grouping {
    pub(crate) fn new(
        group_by: Vec<Expr>,
        aggregates: Vec<AggregateExpr>,
        input: SchemaRef,
        output: SchemaRef,
    ) -> SqlResult<Grouping> {
        let coder = if group_by.is_empty() { None } else { Some(KeyCoder::of(&group_by, false)?) };
        Ok(Grouping { group_by, aggregates, input, output, coder, widths: OnceLock::new() })
    }

    /// Whether there are group columns.
    pub(crate) fn is_grouped(&self) -> bool {
        self.coder.is_some()
    }

    /// The keys of rows that a [`Partial`] was made of.
    pub(crate) fn keys_of(&self, partial: &RecordBatch) -> SqlResult<KeyBatch> {
        let coder = self.coder.as_ref().ok_or_else(|| SqlError::internal("no group columns"))?;
        coder.encode(&partial.columns()[..self.group_by.len()])
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

    /// Bytes that the groups take.
    pub(crate) fn bytes(&self) -> usize {
        let table = self.table.allocation_size() + self.hashes.capacity() * size_of::<u64>();
        let states: usize = self.accumulators.iter().map(Accumulator::size).sum();
        table + self.keys.bytes() + states
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

    /// Adds the groups of another table of the same grouping, some thousands at a time.
    pub(crate) async fn merge(
        &mut self,
        grouping: &Grouping,
        mut other: Groups,
        scope: &Scope,
    ) -> SqlResult<()> {
        let states = other.accumulators.iter_mut().map(Accumulator::state);
        let states = states.collect::<SqlResult<Vec<_>>>()?;
        let is_grouped = grouping.coder.is_some();
        for start in (0..other.count).step_by(MERGE_ROWS) {
            go_on(scope).await?;
            let range = start..other.count.min(start + MERGE_ROWS);
            self.indices.clear();
            for i in range.clone() {
                let group = if is_grouped { self.adopt(&other, i) } else { 0 };
                self.indices.push(group);
            }
            for (accumulator, state) in self.accumulators.iter_mut().zip(&states) {
                let part: Vec<_> = state.iter().map(|c| c.slice(start, range.len())).collect();
                accumulator.merge(&part, &self.indices, self.count)?;
            }
        }
        Ok(())
    }

    /// Takes all groups with the states of their aggregates.
    pub(crate) fn into_partial(mut self, grouping: &Grouping) -> SqlResult<Partial> {
        let mut columns = match &grouping.coder {
            Some(coder) => coder.decode(&self.keys, self.null_group)?,
            None => vec![],
        };
        let states = self.accumulators.iter_mut().map(Accumulator::state);
        let states = states.collect::<SqlResult<Vec<_>>>()?;
        grouping.widths.get_or_init(|| states.iter().map(Vec::len).collect());
        columns.extend(states.into_iter().flatten());
        let field =
            |(i, c): (usize, &ArrayRef)| Field::new(format!("c{i}"), c.data_type().clone(), true);
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        let rows = batch::make(&Arc::new(Schema::new(fields)), columns, self.count)?;
        Ok(Partial { rows, hashes: self.hashes })
    }

    /// Adds groups that were made into rows.
    pub(crate) fn add_partial(
        &mut self,
        grouping: &Grouping,
        partial: &RecordBatch,
    ) -> SqlResult<()> {
        self.number(grouping.keys_of(partial)?);
        let widths = grouping.widths.get().map(Vec::as_slice).unwrap_or_default();
        let mut states = &partial.columns()[grouping.group_by.len()..];
        for (accumulator, &width) in self.accumulators.iter_mut().zip(widths) {
            let (state, others) = states.split_at(width);
            accumulator.merge(state, &self.indices, self.count)?;
            states = others;
        }
        Ok(())
    }

    /// The group here of group `i` of another table.
    fn adopt(&mut self, other: &Groups, i: usize) -> usize {
        if other.null_group == Some(i) {
            self.null_group(&other.keys, other.hashes[i], i)
        } else {
            self.group(&other.keys, other.hashes[i], i)
        }
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
            let (keys, hash) = (&batch.keys, batch.hashes[i]);
            let group =
                if null { self.null_group(keys, hash, i) } else { self.group(keys, hash, i) };
            self.indices.push(group);
        }
    }

    fn group(&mut self, from: &Keys, hash: u64, i: usize) -> usize {
        let (keys, hashes) = (&self.keys, &self.hashes);
        let same = |&g: &u32| hashes[g as usize] == hash && keys.equal(g as usize, from, i);
        if let Some(&group) = self.table.find(hash, same) {
            return group as usize;
        }
        let group = self.add(from, hash, i);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, group as u32, |&g| hashes[g as usize]);
        group
    }

    /// Outside the table, so that no integer is mistaken for it.
    fn null_group(&mut self, from: &Keys, hash: u64, i: usize) -> usize {
        match self.null_group {
            Some(group) => group,
            None => {
                let group = self.add(from, hash, i);
                self.null_group = Some(group);
                group
            }
        }
    }

    fn add(&mut self, from: &Keys, hash: u64, i: usize) -> usize {
        self.keys.push_from(from, i);
        self.hashes.push(hash);
        self.count += 1;
        self.count - 1
    }
}

/// The values of all expressions.
pub(crate) fn evaluate_all(exprs: &[Expr], batch: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
    exprs.iter().map(|e| e.evaluate(batch)).collect()
}

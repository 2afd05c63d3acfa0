//! A table of groups with the state of their aggregates.

mod divided;
mod shown;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use plan::expr::{Accumulator, AggregateExpr, Expr, GroupRows, Words};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::codes::Codes;
use crate::group_table::{GroupTable, MISSING};
use crate::keys::{KeyBatch, KeyCoder, Keys};
use crate::preempt::{breathe, go_on};
use crate::scope::Scope;
pub(crate) use divided::Divided;
use shown::Shown;

/// Groups merged between two looks at the clock: well under a millisecond.
const MERGE_ROWS: usize = 8192;

/// What is grouped and aggregated.
pub(crate) struct Grouping {
    pub(crate) group_by: Vec<Expr>,
    /// Those with a state of their own.
    pub(crate) aggregates: Vec<AggregateExpr>,
    /// Where the value of each aggregate comes from.
    values: Vec<Value>,
    pub(crate) input: SchemaRef,
    pub(crate) output: SchemaRef,
    coder: Option<KeyCoder>,
    /// The arguments of the aggregates that take words, each once.
    words: Vec<Expr>,
    /// For each aggregate, which of them is its own.
    words_of: Vec<Option<usize>>,
    /// Columns of the state of each aggregate, once a state was seen.
    widths: OnceLock<Vec<usize>>,
}

/// Where the value of an aggregate comes from: the number of a state.
#[derive(Clone, Copy)]
enum Value {
    Of(usize),
    /// Of the average of the same values.
    SumOf(usize),
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
        let (aggregates, values) = with_states(aggregates)?;
        let (mut words, mut words_of) = (vec![], vec![]);
        for aggregate in &aggregates {
            words_of.push(match aggregate.args.as_slice() {
                [arg] if aggregate.accumulator()?.takes_words() => Some(place_of(arg, &mut words)),
                _ => None,
            });
        }
        let widths = OnceLock::new();
        Ok(Grouping { group_by, aggregates, values, input, output, coder, words, words_of, widths })
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

/// The aggregates that need a state, and where the value of each comes from.
fn with_states(all: Vec<AggregateExpr>) -> SqlResult<(Vec<AggregateExpr>, Vec<Value>)> {
    let states = all.iter().map(AggregateExpr::accumulator).collect::<SqlResult<Vec<_>>>()?;
    let average_of = |at: usize| {
        // What changes with each row is another value each time it is asked for.
        let is_volatile = all[at].args.iter().chain(&all[at].filter).any(Expr::is_volatile);
        let has_same = |other: usize| {
            !is_volatile
                && all[at].args == all[other].args
                && all[at].filter == all[other].filter
                && states[at].is_sum_of(&states[other])
        };
        (0..all.len()).find(|other| has_same(*other))
    };
    let averages: Vec<Option<usize>> = (0..all.len()).map(average_of).collect();
    let place = |at: usize| averages[..at].iter().filter(|average| average.is_none()).count();
    let values = averages.iter().enumerate().map(|(at, average)| match average {
        Some(average) => Value::SumOf(place(*average)),
        None => Value::Of(place(at)),
    });
    let values = values.collect();
    let own = all.into_iter().zip(&averages).filter(|(_, average)| average.is_none());
    Ok((own.map(|(aggregate, _)| aggregate).collect(), values))
}

/// Where `arg` stands among `words`.
fn place_of(arg: &Expr, words: &mut Vec<Expr>) -> usize {
    words.iter().position(|known| known == arg).unwrap_or_else(|| {
        words.push(arg.clone());
        words.len() - 1
    })
}

/// Groups seen so far; group numbers are dense, in the order of first sight.
pub(crate) struct Groups {
    table: GroupTable,
    /// While groups are few; made with the first rows.
    codes: Option<Box<Codes>>,
    tries_codes: bool,
    keys: Keys,
    hashes: Vec<u64>,
    /// The group of the null key, where keys are integers.
    null_group: Option<usize>,
    shown: Shown,
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
            table: GroupTable::new(),
            codes: None,
            tries_codes: true,
            keys: grouping.coder.as_ref().map_or(Keys::Ints(Vec::new()), KeyCoder::empty),
            hashes: Vec::new(),
            null_group: None,
            shown: Shown::of(&grouping.group_by),
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
                self.number_rows(coder, &columns)?;
            }
        }
        let words: Vec<Option<Words>> = grouping.words.iter().map(|arg| arg.words(batch)).collect();
        let rows = GroupRows::new(&self.indices, self.count);
        let aggregates = grouping.aggregates.iter().zip(&grouping.words_of);
        for ((aggregate, own), accumulator) in aggregates.zip(&mut self.accumulators) {
            let filter = aggregate.filter.as_ref().map(|f| f.evaluate(batch)).transpose()?;
            let filter = filter.as_ref().map(batch::mask).transpose()?;
            if let Some(words) = own.and_then(|own| words[own].as_ref()) {
                accumulator.update_words(words, &rows, filter);
                continue;
            }
            let args = evaluate_all(&aggregate.args, batch)?;
            accumulator.update(&args, &rows, filter)?;
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes that the groups take.
    pub(crate) fn bytes(&self) -> usize {
        let codes = self.codes.as_ref().map_or(0, |codes| codes.bytes());
        let table = self.table.bytes() + codes + self.hashes.capacity() * size_of::<u64>();
        let states: usize = self.accumulators.iter().map(Accumulator::size).sum();
        table + self.keys.bytes() + self.shown.bytes() + states
    }

    /// Makes the group of no rows known by a row that the filter drops: to the library a group
    /// without any row would be one whose values have all been seen.
    fn add_empty_group(&mut self, grouping: &Grouping) -> SqlResult<()> {
        let dropped = BooleanArray::from(vec![false]);
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut self.accumulators) {
            let args = aggregate.args.iter().map(|a| new_null_array(a.data_type(), 1));
            let rows = GroupRows::new(&[0], 1);
            accumulator.update(&args.collect::<Vec<_>>(), &rows, Some(&dropped))?;
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
        other.shown = other.shown.joined()?;
        let is_null = |i: usize| other.null_group == Some(i);
        for start in (0..other.count).step_by(MERGE_ROWS) {
            go_on(scope).await?;
            let range = start..other.count.min(start + MERGE_ROWS);
            match is_grouped {
                true => {
                    self.number((&other.keys, &other.hashes), range.clone(), is_null);
                    self.shown.take_from(&other.shown)?;
                }
                false => {
                    self.indices.clear();
                    self.indices.resize(range.len(), 0);
                }
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
        let mut columns = self.key_columns(grouping)?;
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
        self.number_keys(&grouping.keys_of(partial)?);
        self.shown.take(partial.columns())?;
        let widths = grouping.widths.get().map(Vec::as_slice).unwrap_or_default();
        let mut states = &partial.columns()[grouping.group_by.len()..];
        for (accumulator, &width) in self.accumulators.iter_mut().zip(widths) {
            let (state, others) = states.split_at(width);
            accumulator.merge(state, &self.indices, self.count)?;
            states = others;
        }
        Ok(())
    }

    /// The group columns, each with the value that is shown for its group.
    fn key_columns(&mut self, grouping: &Grouping) -> SqlResult<Vec<ArrayRef>> {
        let mut columns = match &grouping.coder {
            Some(coder) => coder.decode(&self.keys, self.null_group)?,
            None => vec![],
        };
        self.shown.put_into(&mut columns)?;
        Ok(columns)
    }

    /// The group columns, then the aggregates: one row per group. Other tasks have their turn
    /// between the columns.
    pub(crate) async fn finish(mut self, grouping: &Grouping) -> SqlResult<RecordBatch> {
        let mut columns = self.key_columns(grouping)?;
        let (mut own, mut sums) = (vec![], vec![]);
        for (at, accumulator) in self.accumulators.iter_mut().enumerate() {
            breathe().await;
            let gives_sums =
                grouping.values.iter().any(|v| matches!(v, Value::SumOf(of) if *of == at));
            let (value, sum) = match gives_sums {
                true => accumulator.averages_and_sums().map(|(value, sum)| (value, Some(sum)))?,
                false => (accumulator.evaluate()?, None),
            };
            own.push(value);
            sums.push(sum);
        }
        for value in &grouping.values {
            columns.push(match value {
                Value::Of(at) => Arc::clone(&own[*at]),
                Value::SumOf(at) => sums[*at]
                    .clone()
                    .ok_or_else(|| SqlError::internal("an average without its sum"))?,
            });
        }
        batch::make(&grouping.output, columns, self.count)
    }

    /// Writes the group of each row to `indices`, with new groups for new keys.
    fn number_rows(&mut self, coder: &KeyCoder, columns: &[ArrayRef]) -> SqlResult<()> {
        if std::mem::take(&mut self.tries_codes) {
            self.codes = Codes::of(coder.types()).map(Box::new);
        }
        let mut codes = self.codes.take();
        if let Some(codes) = &mut codes
            && codes.number(columns)
        {
            let unknown = codes.unknown();
            if !unknown.is_empty() {
                let at = UInt32Array::from(unknown.clone());
                let firsts = columns.iter().map(|column| batch::take_column(column, &at));
                self.number_keys(&coder.encode(&firsts.collect::<SqlResult<Vec<_>>>()?)?);
                let groups = unknown.iter().zip(&self.indices);
                groups.for_each(|(row, group)| codes.learn(*row, *group));
            }
            self.indices.clear();
            codes.append_to(&mut self.indices);
        } else {
            codes = None;
            self.number_keys(&coder.encode(columns)?);
            self.shown.take(columns)?;
        }
        self.codes = codes;
        Ok(())
    }

    fn number_keys(&mut self, batch: &KeyBatch) {
        let nulls = batch.nulls.as_ref().filter(|_| matches!(batch.keys, Keys::Ints(_)));
        let is_null = |i: usize| nulls.is_some_and(|nulls| nulls.is_null(i));
        self.number((&batch.keys, &batch.hashes), 0..batch.hashes.len(), is_null);
    }

    /// The same for a range of keys with their hashes; `is_null` says which are the null integer.
    fn number(
        &mut self,
        (keys, hashes): (&Keys, &[u64]),
        range: Range<usize>,
        is_null: impl Fn(usize) -> bool,
    ) {
        let mut indices = std::mem::take(&mut self.indices);
        indices.clear();
        self.table.settle(&self.hashes);
        self.table.look_up(&self.keys, (keys, hashes), range.clone(), &mut indices);
        let first = range.start;
        for i in range {
            let at = i - first;
            if is_null(i) {
                indices[at] = self.null_group(keys, hashes[i], i);
            } else if indices[at] == MISSING {
                // New keys come in runs where rows lie in the order of their groups.
                let is_repeated = at > 0
                    && hashes[i - 1] == hashes[i]
                    && !is_null(i - 1)
                    && keys.equal(i - 1, keys, i);
                indices[at] = match is_repeated {
                    true => indices[at - 1],
                    false => self.group(keys, hashes[i], i),
                };
            }
        }
        self.indices = indices;
    }

    fn group(&mut self, from: &Keys, hash: u64, i: usize) -> usize {
        let is_same = |group: usize| self.keys.equal(group, from, i);
        if let Some(group) = self.table.find(hash, is_same) {
            return group;
        }
        let group = self.add(from, hash, i);
        self.table.insert(hash, group, &self.hashes);
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
        self.shown.note(i);
        self.count += 1;
        self.count - 1
    }
}

/// The values of all expressions.
pub(crate) fn evaluate_all(exprs: &[Expr], batch: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
    exprs.iter().map(|e| e.evaluate(batch)).collect()
}

#[cfg(test)]
mod tests;

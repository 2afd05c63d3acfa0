//! Groups divided by their hashes, to be merged with those of other tables a part at a time: a part fits a
//! core's cache, and each is merged by itself, so that all workers can.

use arrow_array::{ArrayRef, UInt32Array};
use plan::expr::Accumulator;
use types::SqlResult;

use super::{Grouping, Groups, MERGE_ROWS, Shown};
use crate::batch;
use crate::keys::Keys;
use crate::preempt::breathe;

/// The groups of a table whose keys are found no more, with the states of their aggregates.
pub(crate) struct Divided {
    keys: Keys,
    hashes: Vec<u64>,
    null_group: Option<usize>,
    shown: Shown,
    /// The columns of the state of each aggregate.
    states: Vec<Vec<ArrayRef>>,
    /// The numbers of the groups, part by part.
    order: Vec<u32>,
    /// Where each part begins in `order`, and the end of the last.
    starts: Vec<usize>,
}

impl Divided {
    /// Whether a part has no groups.
    pub(crate) fn is_empty(&self, part: usize) -> bool {
        self.starts[part] == self.starts[part + 1]
    }
}

impl Groups {
    /// Divides the groups into so many parts, a power of two: a key is in the same part in all tables.
    pub(crate) async fn divide(mut self, part_count: usize) -> SqlResult<Divided> {
        assert!(part_count.is_power_of_two(), "parts are chosen by bits");
        let states = self.accumulators.iter_mut().map(Accumulator::state);
        let states = states.collect::<SqlResult<Vec<_>>>()?;
        let (hashes, null_group) = (self.hashes, self.null_group);
        // What stands for the value of a null is arbitrary, and so is its hash.
        let part_of = |group: usize| match null_group == Some(group) {
            true => 0,
            false => part_of(hashes[group], part_count),
        };
        let steps = || (0..hashes.len()).step_by(MERGE_ROWS);
        let step = |from: usize| from..hashes.len().min(from + MERGE_ROWS);
        let mut starts = vec![0; part_count + 1];
        for from in steps() {
            step(from).for_each(|group| starts[part_of(group) + 1] += 1);
            breathe().await;
        }
        for part in 0..part_count {
            starts[part + 1] += starts[part];
        }
        let (mut ends, mut order) = (starts.clone(), vec![0; hashes.len()]);
        for from in steps() {
            for group in step(from) {
                let end = &mut ends[part_of(group)];
                order[*end] = group as u32;
                *end += 1;
            }
            breathe().await;
        }
        let (keys, shown) = (self.keys, self.shown.joined()?);
        Ok(Divided { keys, hashes, null_group, shown, states, order, starts })
    }

    /// Adds the groups of a part of another table of the same grouping, some thousands at a time.
    pub(crate) async fn add_part(
        &mut self,
        grouping: &Grouping,
        from: &Divided,
        part: usize,
    ) -> SqlResult<()> {
        let groups = &from.order[from.starts[part]..from.starts[part + 1]];
        for groups in groups.chunks(MERGE_ROWS) {
            self.add_some(grouping, from, groups)?;
            breathe().await;
        }
        Ok(())
    }

    fn add_some(&mut self, grouping: &Grouping, from: &Divided, groups: &[u32]) -> SqlResult<()> {
        let mut keys = grouping.coder.as_ref().map_or(Keys::Ints(vec![]), |coder| coder.empty());
        groups.iter().for_each(|group| keys.push_from(&from.keys, *group as usize));
        let hashes: Vec<u64> = groups.iter().map(|group| from.hashes[*group as usize]).collect();
        let is_null = |i: usize| from.null_group == Some(groups[i] as usize);
        self.number((&keys, &hashes), 0..groups.len(), is_null);
        self.shown.take_at(&from.shown, groups)?;
        let at = UInt32Array::from(groups.to_vec());
        for (accumulator, state) in self.accumulators.iter_mut().zip(&from.states) {
            let state = state.iter().map(|column| batch::take_column(column, &at));
            accumulator.merge(&state.collect::<SqlResult<Vec<_>>>()?, &self.indices, self.count)?;
        }
        Ok(())
    }
}

/// By bits that find no place in a table of groups.
fn part_of(hash: u64, part_count: usize) -> usize {
    (hash >> 48) as usize & (part_count - 1)
}

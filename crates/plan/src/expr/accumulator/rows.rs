//! The loops over the rows of a batch, each with the number of its group.

use std::cell::OnceCell;

use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};

/// Groups so few that several sums of each are kept while a batch is added: a sum that had its last
/// term a moment ago is waited for.
const FEW_GROUPS: usize = 256;

/// Sums of a group that are kept at a time.
const LANES: usize = 4;

/// So many bits may the words have that [`ROWS_MAX`] of them make no sum of more than 63.
const LANE_BITS_MAX: u32 = 46;

/// Rows of a batch in lanes at most.
const ROWS_MAX: usize = 1 << 16;

/// The rows of a batch by their groups.
pub struct GroupRows<'a> {
    groups: &'a [usize],
    total: usize,
    counts: OnceCell<Vec<i64>>,
}

impl<'a> GroupRows<'a> {
    /// Rows of which each is of that one of `total` groups; their number never shrinks from batch
    /// to batch.
    pub fn new(groups: &'a [usize], total: usize) -> GroupRows<'a> {
        GroupRows { groups, total, counts: OnceCell::new() }
    }

    /// The group of each row.
    pub(super) fn groups(&self) -> &'a [usize] {
        self.groups
    }

    /// The number of groups.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// True if several sums of each group can be kept.
    fn are_of_few(&self) -> bool {
        self.total <= FEW_GROUPS && self.groups.len() <= ROWS_MAX
    }

    /// The rows of each of few groups, counted once for all who ask.
    fn counts(&self) -> &[i64] {
        self.counts.get_or_init(|| {
            let (ones, mut counts) = (vec![1; self.groups.len()], vec![0; self.total]);
            in_lanes(&ones, self.groups, self.total, |group, count| counts[group] = count);
            counts
        })
    }
}

/// Which rows count.
pub(super) enum Kept {
    /// All of them.
    All,
    /// Those.
    Some(BooleanBuffer),
}

impl Kept {
    /// Rows that are not null and pass the filter.
    pub(super) fn of(nulls: Option<&NullBuffer>, filter: Option<&BooleanArray>) -> Kept {
        let passing = filter.map(|filter| match filter.nulls() {
            Some(nulls) => filter.values() & nulls.inner(),
            None => filter.values().clone(),
        });
        let valid = nulls.filter(|nulls| nulls.null_count() > 0).map(NullBuffer::inner);
        match (valid, passing) {
            (None, None) => Kept::All,
            (Some(valid), None) => Kept::Some(valid.clone()),
            (None, Some(passing)) => Kept::Some(passing),
            (Some(valid), Some(passing)) => Kept::Some(valid & &passing),
        }
    }

    /// Calls `work` with each of `rows` rows that counts.
    pub(super) fn each(&self, rows: usize, work: impl FnMut(usize)) {
        match self {
            Kept::All => (0..rows).for_each(work),
            Kept::Some(kept) => kept.set_indices().for_each(work),
        }
    }
}

/// The values of a batch.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'a> {
    Words(&'a [i64]),
    Wide(&'a [i128]),
}

/// Adds the number of rows to the counts of their groups.
pub(super) fn count_rows(counts: &mut Vec<i64>, rows: &GroupRows<'_>, kept: &Kept) {
    let groups = rows.groups;
    counts.resize(rows.total, 0);
    match (counts.as_mut_slice(), kept) {
        ([count], Kept::All) => *count += groups.len() as i64,
        ([count], Kept::Some(kept)) => *count += kept.count_set_bits() as i64,
        (counts, Kept::All) if rows.are_of_few() => {
            counts.iter_mut().zip(rows.counts()).for_each(|(count, more)| *count += more);
        }
        (counts, kept) => kept.each(groups.len(), |row| counts[groups[row]] += 1),
    }
}

/// Adds the rows to the sums of their groups.
pub(super) fn sum_rows(
    sums: &mut Vec<i128>,
    values: Numbers<'_>,
    groups: &[usize],
    kept: &Kept,
    total: usize,
) {
    sums.resize(total, 0);
    match (values, kept) {
        (Numbers::Words(words), Kept::All) if total <= FEW_GROUPS && is_small(words) => {
            match sums.as_mut_slice() {
                [sum] => *sum = added(*sum, words.iter().sum::<i64>().into()),
                sums => in_lanes(words, groups, total, |group, sum| {
                    sums[group] = added(sums[group], sum.into());
                }),
            }
        }
        _ => fold_rows((sums, 0), added, values, groups, kept, total),
    }
}

/// A sum and a value more. One that was too large stays what it is.
fn added(sum: i128, value: i128) -> i128 {
    match sum {
        i128::MIN | i128::MAX => sum,
        sum => sum.saturating_add(value),
    }
}

/// Folds the rows into the numbers of their groups; those of new groups begin with the given one.
pub(super) fn fold_rows(
    (numbers, first): (&mut Vec<i128>, i128),
    fold: impl Fn(i128, i128) -> i128,
    values: Numbers<'_>,
    groups: &[usize],
    kept: &Kept,
    total: usize,
) {
    numbers.resize(total, first);
    let mut add = |row: usize, value: i128| {
        let number = &mut numbers[groups[row]];
        *number = fold(*number, value);
    };
    match values {
        Numbers::Words(words) => kept.each(groups.len(), |row| add(row, words[row].into())),
        Numbers::Wide(wide) => kept.each(groups.len(), |row| add(row, wide[row])),
    }
}

/// True if so many such words have a sum of 64 bits.
fn is_small(words: &[i64]) -> bool {
    let folded = words.iter().fold(0, |all, word| all | (word ^ (word >> 63)));
    words.len() <= ROWS_MAX && 64 - folded.leading_zeros() <= LANE_BITS_MAX
}

/// Sums by group, each made of several that do not wait for one another.
fn in_lanes(words: &[i64], groups: &[usize], total: usize, mut done: impl FnMut(usize, i64)) {
    let mut sums = vec![[0i64; LANES]; total];
    let (fours, rest) = words.as_chunks::<LANES>();
    let (groups_of_fours, groups_of_rest) = groups.as_chunks::<LANES>();
    for (words, groups) in fours.iter().zip(groups_of_fours) {
        for lane in 0..LANES {
            sums[groups[lane]][lane] += words[lane];
        }
    }
    for (word, group) in rest.iter().zip(groups_of_rest) {
        sums[*group][0] += word;
    }
    sums.iter().enumerate().for_each(|(group, lanes)| done(group, lanes.iter().sum()));
}

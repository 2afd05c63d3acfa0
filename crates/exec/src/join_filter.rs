//! What a finished build side says of its keys to the scan of the other side: their bounds, and a set
//! of values that has all of them and few others (decision K6).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use crate::keys::{hash_int, int_array};
use crate::preempt::breathe;

/// Rows that are tested before a filter may be given up: some dozens of vectors.
const TRIAL_ROWS: u64 = 32 << 10;

/// A filter that drops less than one row of so many costs more than the rows it drops would.
const DROPPED_PART: u64 = 8;

/// Bits of a Bloom filter for each key, before they are rounded up to a power of two: of the values that
/// are no keys some 0.5 % pass.
const BLOOM_BITS: usize = 16;

/// A set of one bit for each value may have so many bytes, however few keys it has: it lies in the cache of
/// a core.
const EXACT_BYTES: usize = 1 << 20;

/// Or so many times those of a Bloom filter. It needs no hash, and keys of rows that were loaded in their
/// order have their bits beside each other, where a Bloom filter misses the cache with each.
const EXACT_TIMES: usize = 4;

/// Keys of a set at most: more do not fit into the caches with 16 to 32 bits each. An exact set of so many
/// takes at most 32 MiB.
const KEYS_MAX: usize = 4 << 20;

/// What the values of a column must be for a row to have a partner; nulls have none.
pub struct JoinFilter {
    ty: DataType,
    /// Greater than `greatest` when there are no keys.
    least: i64,
    greatest: i64,
    members: Members,
    tested: AtomicU64,
    dropped: AtomicU64,
}

/// Which values between the bounds pass.
enum Members {
    /// All.
    Any,
    /// Those whose bit, counted from the least one, is set: the keys alone.
    Exact(Vec<u64>),
    /// Those whose four bits, of the word that their hash chooses, are set. A word is less than a cache line,
    /// so a test costs one access. The number of words is a power of two.
    Bloom(Vec<u64>),
}

/// The bounds of keys, and how many rows have them.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    least: i64,
    greatest: i64,
    key_count: usize,
}

impl Default for Bounds {
    /// Of no keys.
    fn default() -> Bounds {
        Bounds { least: i64::MAX, greatest: i64::MIN, key_count: 0 }
    }
}

impl Bounds {
    /// Adds the keys of a column.
    pub(crate) fn add(&mut self, column: &ArrayRef) {
        each_value(column, |key| {
            self.least = self.least.min(key);
            self.greatest = self.greatest.max(key);
        });
        self.key_count += column.len();
    }
}

impl JoinFilter {
    /// Whether keys of this type can be told apart here.
    pub(crate) fn takes(ty: &DataType) -> bool {
        crate::keys::is_int(ty)
    }

    /// The filter of the keys in these columns of type `ty`; `takes_bytes` is asked for the memory of the set.
    pub(crate) async fn of(
        ty: &DataType,
        columns: &[ArrayRef],
        takes_bytes: impl Fn(usize) -> bool,
    ) -> JoinFilter {
        let mut bounds = Bounds::default();
        for column in columns {
            bounds.add(column);
            breathe().await;
        }
        let mut filter = JoinFilter::between(ty, &bounds, takes_bytes);
        for column in columns {
            filter.insert(column);
            breathe().await;
        }
        filter
    }

    /// A filter of keys between these bounds, all of which are to be inserted.
    pub(crate) fn between(
        ty: &DataType,
        bounds: &Bounds,
        takes_bytes: impl Fn(usize) -> bool,
    ) -> JoinFilter {
        let Bounds { least, greatest, key_count } = *bounds;
        let members = Members::none((least, greatest), key_count, takes_bytes);
        let (tested, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
        JoinFilter { ty: ty.clone(), least, greatest, members, tested, dropped }
    }

    /// Whether nothing but the bounds is known.
    pub(crate) fn has_only_bounds(&self) -> bool {
        matches!(self.members, Members::Any)
    }

    /// Adds the keys of a column to the set.
    pub(crate) fn insert(&mut self, column: &ArrayRef) {
        let (least, members) = (self.least, &mut self.members);
        each_value(column, |key| members.insert(least, key));
    }

    /// The least and the greatest key, as arrays of one row; `None` when there are no keys.
    pub fn bounds(&self) -> Option<(ArrayRef, ArrayRef)> {
        let one = |key| int_array(&self.ty, &[key], None);
        (self.least <= self.greatest).then(|| (one(self.least), one(self.greatest)))
    }

    /// Whether it has dropped enough of the rows it has seen to be worth its time. Once it has not, it may be
    /// left out.
    pub fn is_useful(&self) -> bool {
        let tested = self.tested.load(Relaxed);
        tested < TRIAL_ROWS || self.dropped.load(Relaxed) >= tested / DROPPED_PART
    }

    /// Which rows of a column may have a partner: all that have one, and few others.
    pub fn keep(&self, column: &ArrayRef) -> BooleanBuffer {
        let kept = match column.data_type() {
            DataType::Int8 => self.kept::<Int8Type>(column),
            DataType::Int16 => self.kept::<Int16Type>(column),
            DataType::Int32 => self.kept::<Int32Type>(column),
            DataType::Int64 => self.kept::<Int64Type>(column),
            DataType::Date32 => self.kept::<Date32Type>(column),
            DataType::Timestamp(..) => self.kept::<TimestampMicrosecondType>(column),
            _ => return BooleanBuffer::new_set(column.len()),
        };
        self.tested.fetch_add(column.len() as u64, Relaxed);
        self.dropped.fetch_add((column.len() - kept.count_set_bits()) as u64, Relaxed);
        kept
    }

    fn kept<T: ArrowPrimitiveType>(&self, column: &ArrayRef) -> BooleanBuffer
    where
        T::Native: Into<i64>,
    {
        let values = column.as_primitive::<T>().values();
        let (count, least) = (values.len(), self.least);
        let key = |row: usize| -> i64 { values[row].into() };
        let kept = match &self.members {
            Members::Any => {
                BooleanBuffer::collect_bool(count, |i| (least..=self.greatest).contains(&key(i)))
            }
            Members::Exact(words) => BooleanBuffer::collect_bool(count, |i| {
                let at = key(i).wrapping_sub(least).cast_unsigned();
                words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
            }),
            Members::Bloom(words) => BooleanBuffer::collect_bool(count, |i| {
                let (at, bits) = place(key(i), words.len());
                words[at] & bits == bits
            }),
        };
        match column.nulls() {
            Some(nulls) => &kept & nulls.inner(),
            None => kept,
        }
    }
}

impl Members {
    /// A set that has no keys yet, for so many between two bounds.
    fn none(
        (least, greatest): (i64, i64),
        key_count: usize,
        takes_bytes: impl Fn(usize) -> bool,
    ) -> Members {
        if least > greatest {
            return Members::Exact(vec![]);
        }
        let span = greatest.wrapping_sub(least).cast_unsigned();
        let exact_words = usize::try_from(span / 64 + 1).unwrap_or(usize::MAX);
        let bloom_words = (key_count.saturating_mul(BLOOM_BITS) / 64).next_power_of_two();
        let takes = |words: usize| takes_bytes(words * size_of::<u64>());
        let may_be_exact = exact_words <= (EXACT_TIMES * bloom_words).max(EXACT_BYTES / 8);
        if key_count > KEYS_MAX {
            Members::Any
        } else if may_be_exact && takes(exact_words) {
            Members::Exact(vec![0; exact_words])
        } else if takes(bloom_words) {
            Members::Bloom(vec![0; bloom_words])
        } else {
            Members::Any
        }
    }

    #[inline]
    fn insert(&mut self, least: i64, key: i64) {
        match self {
            Members::Any => {}
            Members::Exact(words) => {
                let at = key.wrapping_sub(least).cast_unsigned();
                words[(at / 64) as usize] |= 1 << (at % 64);
            }
            Members::Bloom(words) => {
                let (at, bits) = place(key, words.len());
                words[at] |= bits;
            }
        }
    }
}

/// The word of a key among `word_count`, and its bits there.
#[inline]
fn place(key: i64, word_count: usize) -> (usize, u64) {
    let hash = hash_int(key);
    let bit = |shift: u32| 1u64 << (hash >> shift & 63);
    ((hash >> 32) as usize & (word_count - 1), bit(0) | bit(6) | bit(12) | bit(18))
}

/// Calls `work` with each value of a column of keys that is not null.
fn each_value(column: &ArrayRef, work: impl FnMut(i64)) {
    fn widened<T: ArrowPrimitiveType>(column: &ArrayRef, mut work: impl FnMut(i64))
    where
        T::Native: Into<i64>,
    {
        let values = column.as_primitive::<T>().values();
        match column.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => values.iter().for_each(|value| work((*value).into())),
            Some(nulls) => nulls.valid_indices().for_each(|row| work(values[row].into())),
        }
    }
    match column.data_type() {
        DataType::Int8 => widened::<Int8Type>(column, work),
        DataType::Int16 => widened::<Int16Type>(column, work),
        DataType::Int32 => widened::<Int32Type>(column, work),
        DataType::Int64 => widened::<Int64Type>(column, work),
        DataType::Date32 => widened::<Date32Type>(column, work),
        DataType::Timestamp(..) => widened::<TimestampMicrosecondType>(column, work),
        other => unreachable!("{other} is no integer key"),
    }
}

#[cfg(test)]
mod tests;

//! Dictionaries: the different values of a vector, and a code of 16 bits for each row.

use super::Word;
use super::packed::{Packed, push_unscaled};
use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::view::{View, push_count};

/// Entries of `entry_bytes` each and codes.
pub(crate) struct Coded<'a> {
    view: View<'a>,
    entries_at: usize,
    entry_bytes: usize,
    entry_count: usize,
    codes: Packed<'a>,
}

impl<'a> Coded<'a> {
    pub fn parse(view: View<'a>, at: usize, entry_bytes: usize, count: usize) -> Result<Coded<'a>> {
        let entry_count = view.count(at, VECTOR_ROWS)?;
        let (codes, entries_at) = Packed::parse::<u16>(view, at + 8, count)?;
        Ok(Coded { view, entries_at, entry_bytes, entry_count, codes })
    }

    /// All entries, back to back.
    pub fn entries(&self) -> Result<&'a [u8]> {
        self.view.bytes(self.entries_at, self.entry_count * self.entry_bytes)
    }

    /// The code of each row, each of an entry.
    pub fn codes(&self) -> Result<Vec<u16>> {
        checked_codes(self.view, &self.codes, self.entry_count)
    }

    /// The bytes of the entry of row `index`.
    pub fn get(&self, index: usize) -> Result<&'a [u8]> {
        let code = usize::from(self.codes.get::<u16>(index)?);
        if code >= self.entry_count {
            return Err(self.view.damage(self.entries_at, "a code has no entry"));
        }
        self.view.bytes(self.entries_at + code * self.entry_bytes, self.entry_bytes)
    }

    pub fn decode<W: Word>(&self) -> Result<Vec<W>> {
        let entries: Vec<W> = W::read_all(self.entries()?);
        Ok(self.codes()?.into_iter().map(|code| entries[usize::from(code)]).collect())
    }

    pub fn in_range<W: Word>(&self, least: i64, greatest: i64) -> Result<Mask> {
        let entries: Vec<W> = W::read_all(self.entries()?);
        let range = least..=greatest;
        let wanted: Vec<u8> =
            entries.iter().map(|entry| u8::from(range.contains(&entry.signed()))).collect();
        Ok(codes_mask(&self.codes()?, &wanted))
    }
}

/// All codes, each below `entry_count`.
pub(crate) fn checked_codes(
    view: View<'_>,
    codes: &Packed<'_>,
    entry_count: usize,
) -> Result<Vec<u16>> {
    let codes: Vec<u16> = codes.decode()?;
    if codes.iter().max().is_some_and(|max| usize::from(*max) >= entry_count) {
        return Err(view.damage(0, "a code has no entry"));
    }
    Ok(codes)
}

/// The rows whose code is wanted; `wanted` has 1 or 0 for each entry.
pub(crate) fn codes_mask(codes: &[u16], wanted: &[u8]) -> Mask {
    let mut flags = [0; VECTOR_ROWS];
    for (flag, code) in flags.iter_mut().zip(codes) {
        *flag = wanted[usize::from(*code)];
    }
    Mask::from_flags(&flags)
}

/// Appends a dictionary of entries that are written already and the codes.
pub(crate) fn push_coded(
    entry_count: usize,
    entries: impl Iterator<Item = u8>,
    codes: &[u16],
    out: &mut Vec<u8>,
) {
    push_count(out, entry_count);
    push_unscaled(codes, out);
    out.extend(entries);
}

/// The different words, ascending, if there are few enough for a dictionary to be worth it.
pub(super) fn distinct<W: Word>(words: &[W]) -> Option<Vec<W>> {
    // A sample shows most columns without a dictionary at a fraction of the cost of sorting.
    const SAMPLE_ROWS: usize = 64;
    const SAMPLE_DISTINCT_MAX: usize = 48;
    let mut sample: Vec<W> =
        words.iter().step_by(words.len().div_ceil(SAMPLE_ROWS).max(1)).copied().collect();
    sample.sort_unstable();
    sample.dedup();
    if sample.len() > SAMPLE_DISTINCT_MAX {
        return None;
    }
    Some(sorted_distinct(words))
}

/// The different words, ascending.
pub(super) fn sorted_distinct<W: Word>(words: &[W]) -> Vec<W> {
    let mut all = words.to_vec();
    all.sort_unstable_by_key(|word| word.signed());
    all.dedup();
    all
}

pub(super) fn push_dictionary<W: Word>(words: &[W], entries: &[W], out: &mut Vec<u8>) {
    let code = |word: &W| entries.binary_search_by_key(&word.signed(), |entry| entry.signed());
    let codes: Vec<u16> =
        words.iter().map(|word| code(word).expect("each word is an entry") as u16).collect();
    let mut bytes = Vec::with_capacity(entries.len() * W::BYTES);
    entries.iter().for_each(|entry| entry.push(&mut bytes));
    push_coded(entries.len(), bytes.into_iter(), &codes, out);
}

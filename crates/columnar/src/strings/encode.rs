//! Writes strings: what a column's vectors share, and the encoding of each vector.

use std::collections::BTreeSet;

use fsst::Compressor;

use super::lengths::push_lengths;
use super::symbols::{Sample, compress, push_table};
use crate::encoding::Encoding;
use crate::layout::VECTOR_ROWS;
use crate::view::{push_count, push_pad8};
use crate::words::push_unscaled;

/// Most bytes of a dictionary in a header, which is kept in memory.
const SHARED_BYTES_MAX: usize = 8 << 10;

/// What the vectors of one column share.
pub(crate) enum SharedWriter {
    Nothing,
    Symbols(Box<Compressor>),
    /// The entries, ascending.
    Dictionary(Vec<Vec<u8>>),
}

/// Looks at the strings of a column, a vector at a time, for what its vectors may share.
pub(crate) struct SharedFinder {
    /// All different strings, unless they are too many for one dictionary to be worth it.
    entries: Option<BTreeSet<Vec<u8>>>,
    entry_count_max: usize,
    entry_bytes: usize,
    sample: Sample,
}

impl SharedFinder {
    /// For a column of so many strings.
    pub fn new(count: usize) -> SharedFinder {
        SharedFinder {
            entries: Some(BTreeSet::new()),
            entry_count_max: VECTOR_ROWS.min(count / 4),
            entry_bytes: 0,
            sample: Sample::new(count),
        }
    }

    /// Looks at the next strings.
    pub fn look(&mut self, values: &[&[u8]]) {
        self.sample.take(values);
        let mut last: Option<&[u8]> = None;
        for value in values {
            let Some(entries) = &mut self.entries else { return };
            if last == Some(*value) {
                continue;
            }
            last = Some(*value);
            if !entries.contains(*value) {
                self.entry_bytes += value.len();
                entries.insert(value.to_vec());
            }
            if entries.len() > self.entry_count_max || self.entry_bytes > SHARED_BYTES_MAX {
                self.entries = None;
            }
        }
    }

    /// What they share.
    pub fn finish(self) -> SharedWriter {
        if let Some(entries) = self.entries {
            return SharedWriter::Dictionary(entries.into_iter().collect());
        }
        match self.sample.train() {
            Some(compressor) => SharedWriter::Symbols(Box::new(compressor)),
            None => SharedWriter::Nothing,
        }
    }
}

impl SharedWriter {
    /// The kind's number and the bytes of the shared part.
    pub fn finish(&self) -> (u8, Vec<u8>) {
        let mut out = Vec::new();
        let kind = match self {
            SharedWriter::Nothing => 0,
            SharedWriter::Symbols(compressor) => {
                push_table(compressor, &mut out);
                1
            }
            SharedWriter::Dictionary(entries) => {
                push_count(&mut out, entries.len());
                push_plain(entries, &mut out);
                2
            }
        };
        push_pad8(&mut out);
        (kind, out)
    }
}

/// Appends the strings of one vector in the encoding that takes least.
pub(crate) fn encode(values: &[&[u8]], shared: &SharedWriter, out: &mut Vec<u8>) -> Encoding {
    if let SharedWriter::Dictionary(entries) = shared {
        push_unscaled(&codes_of(values, entries), out);
        return Encoding::Shared;
    }
    let mut best = (Encoding::Plain, Vec::new());
    push_plain(values, &mut best.1);
    let mut consider = |encoding, bytes: Option<Vec<u8>>| {
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() < best.1.len()) {
            best = (encoding, bytes);
        }
    };
    consider(Encoding::Dictionary, dictionary(values));
    if let SharedWriter::Symbols(compressor) = shared {
        consider(Encoding::Symbols, Some(symbols(values, compressor)));
    }
    out.extend_from_slice(&best.1);
    best.0
}

fn push_plain(values: &[impl AsRef<[u8]>], out: &mut Vec<u8>) {
    let lengths: Vec<u32> = values.iter().map(|value| value.as_ref().len() as u32).collect();
    push_lengths(&lengths, out);
    values.iter().for_each(|value| out.extend_from_slice(value.as_ref()));
}

fn symbols(values: &[&[u8]], compressor: &Compressor) -> Vec<u8> {
    let (codes, lengths) = compress(compressor, values);
    let mut out = Vec::new();
    push_lengths(&lengths, &mut out);
    out.extend_from_slice(&codes);
    out
}

/// A dictionary of this vector, if at most half of its strings are different.
fn dictionary(values: &[&[u8]]) -> Option<Vec<u8>> {
    let mut entries = values.to_vec();
    entries.sort_unstable();
    entries.dedup();
    if entries.len() > values.len() / 2 {
        return None;
    }
    let mut out = Vec::new();
    push_count(&mut out, entries.len());
    push_unscaled(&codes_of(values, &entries), &mut out);
    push_plain(&entries, &mut out);
    Some(out)
}

fn codes_of(values: &[&[u8]], entries: &[impl AsRef<[u8]>]) -> Vec<u16> {
    let code = |value: &&[u8]| {
        let found = entries.binary_search_by(|entry| entry.as_ref().cmp(value));
        found.expect("each string is an entry")
    };
    values.iter().map(|value| code(value) as u16).collect()
}

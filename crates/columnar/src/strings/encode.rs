//! Writes strings: what a column's vectors share, and the encoding of each vector.

use std::collections::BTreeSet;

use fsst::Compressor;

use super::lengths::push_lengths;
use super::symbols::{compress, push_table, train};
use crate::header::{Encoding, VECTOR_ROWS};
use crate::view::{push_count, push_pad8};
use crate::words::push_unscaled;

/// Most bytes of a dictionary in a header, which is kept in memory.
const SHARED_BYTES_MAX: usize = 8 << 10;

/// What the vectors of one column share.
pub(crate) enum SharedWriter<'a> {
    Nothing,
    Symbols(Box<Compressor>),
    /// The entries, ascending.
    Dictionary(Vec<&'a [u8]>),
}

impl<'a> SharedWriter<'a> {
    /// Looks at all strings of a column.
    pub fn of(values: &[&'a [u8]]) -> SharedWriter<'a> {
        if let Some(entries) = few_distinct(values) {
            return SharedWriter::Dictionary(entries);
        }
        match train(values) {
            Some(compressor) => SharedWriter::Symbols(Box::new(compressor)),
            None => SharedWriter::Nothing,
        }
    }

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

/// The different strings, ascending, if one dictionary for all vectors is worth it.
fn few_distinct<'a>(values: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    let entry_count_max = VECTOR_ROWS.min(values.len() / 4);
    let (mut entries, mut bytes) = (BTreeSet::new(), 0);
    let mut last: Option<&[u8]> = None;
    for value in values {
        if last == Some(*value) {
            continue;
        }
        last = Some(*value);
        if entries.insert(*value) {
            bytes += value.len();
        }
        if entries.len() > entry_count_max || bytes > SHARED_BYTES_MAX {
            return None;
        }
    }
    Some(entries.into_iter().collect())
}

/// Appends the strings of one vector in the encoding that takes least.
pub(crate) fn encode(values: &[&[u8]], shared: &SharedWriter<'_>, out: &mut Vec<u8>) -> Encoding {
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

fn push_plain(values: &[&[u8]], out: &mut Vec<u8>) {
    let lengths: Vec<u32> = values.iter().map(|value| value.len() as u32).collect();
    push_lengths(&lengths, out);
    values.iter().for_each(|value| out.extend_from_slice(value));
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

fn codes_of(values: &[&[u8]], entries: &[&[u8]]) -> Vec<u16> {
    let code = |value: &&[u8]| entries.binary_search(value).expect("each string is an entry");
    values.iter().map(|value| code(value) as u16).collect()
}

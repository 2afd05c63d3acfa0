//! FSST (Boncz, Neumann and Leis, 2020): strings as codes of symbols of one to eight bytes.
//!
//! A library finds the symbols and writes the codes. Reading is here: it is part of the format, and
//! it has to look at each code before it trusts it.

use arrow_buffer::Buffer;
use fsst::Compressor;

use super::Texts;
use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::view::{View, pad8, push_count, push_pad8};

/// The code after which a byte stands for itself.
const ESCAPE: u8 = u8::MAX;

/// Most symbols of a table: all codes but the escape.
const COUNT_MAX: usize = 255;

/// Bytes of a symbol at most.
const SYMBOL_BYTES: usize = 8;

/// Bytes of strings that symbols are found for: some milliseconds.
const SAMPLE_BYTES_MAX: usize = 1 << 20;

/// A symbol table.
#[derive(Clone, Debug)]
pub(crate) struct Symbols {
    symbols: Box<[[u8; SYMBOL_BYTES]; 256]>,
    /// Length by code; 0 for codes without a symbol.
    lengths: Box<[u8; 256]>,
}

impl Symbols {
    /// Reads the table in a view of its own.
    pub fn parse(view: View<'_>) -> Result<Symbols> {
        let count = view.count(0, COUNT_MAX)?;
        let lengths = view.bytes(8, count)?;
        if let Some(wrong) = lengths.iter().position(|len| !(1..=8).contains(len)) {
            return Err(view.damage(8 + wrong, "a symbol has a length that cannot be"));
        }
        let bytes = view.bytes(pad8(8 + count), count * SYMBOL_BYTES)?;
        let mut table =
            Symbols { symbols: Box::new([[0; SYMBOL_BYTES]; 256]), lengths: Box::new([0; 256]) };
        table.lengths[..count].copy_from_slice(lengths);
        table.symbols[..count].copy_from_slice(bytes.as_chunks::<SYMBOL_BYTES>().0);
        Ok(table)
    }

    /// The strings that have these codes.
    pub fn decode(&self, view: &View<'_>, strings: &[&[u8]]) -> Result<Texts> {
        let code_count: usize = strings.iter().map(|codes| codes.len()).sum();
        // Each code is at most one symbol, and each symbol is written with all its eight bytes.
        let mut buffer = vec![0; (code_count + 1) * SYMBOL_BYTES];
        if i32::try_from(buffer.len()).is_err() {
            return Err(view.damage(0, "strings are too long for one vector"));
        }
        let (mut decoded, mut to) = (Vec::with_capacity(strings.len()), 0);
        for codes in strings {
            let start = to;
            to = self.decode_one(codes, &mut buffer, start);
            if to == usize::MAX {
                return Err(view.damage(0, "a code has no symbol, or no byte after an escape"));
            }
            decoded.push((start as u32, (to - start) as u32));
        }
        buffer.truncate(to);
        buffer.shrink_to_fit();
        Ok(Texts { buffer: Buffer::from_vec(buffer), spans: decoded, codes: None })
    }

    /// Writes one string at `to`; where it ends, or `usize::MAX` if it cannot be.
    #[inline]
    fn decode_one(&self, codes: &[u8], out: &mut [u8], mut to: usize) -> usize {
        let mut left = codes.iter();
        while let Some(&code) = left.next() {
            if code == ESCAPE {
                let Some(&byte) = left.next() else { return usize::MAX };
                out[to] = byte;
                to += 1;
                continue;
            }
            let len = self.lengths[usize::from(code)];
            if len == 0 {
                return usize::MAX;
            }
            out[to..to + SYMBOL_BYTES].copy_from_slice(&self.symbols[usize::from(code)]);
            to += usize::from(len);
        }
        to
    }
}

/// Some strings of a column, evenly from all of it.
pub(super) struct Sample {
    values: Vec<Vec<u8>>,
    bytes: usize,
    /// One string of so many is taken.
    step: usize,
    seen: usize,
}

impl Sample {
    /// Of a column of so many strings.
    pub fn new(count: usize) -> Sample {
        let step = count.div_ceil(VECTOR_ROWS).max(1);
        Sample { values: Vec::new(), bytes: 0, step, seen: 0 }
    }

    /// Takes from the next strings of the column.
    pub fn take(&mut self, values: &[&[u8]]) {
        let first = self.seen.next_multiple_of(self.step) - self.seen;
        self.seen += values.len();
        for value in values.iter().skip(first).step_by(self.step) {
            let room = SAMPLE_BYTES_MAX - self.bytes;
            let value = &value[..value.len().min(room)];
            if !value.is_empty() {
                self.bytes += value.len();
                self.values.push(value.to_vec());
            }
        }
    }

    /// The symbols that suit these strings, or `None` if they say that too little is saved.
    pub fn train(&self) -> Option<Compressor> {
        let sample: Vec<&[u8]> = self.values.iter().map(Vec::as_slice).collect();
        let compressor = Compressor::train(&sample);
        let (codes, _) = compress(&compressor, &sample);
        // The table itself takes some two kilobytes for all vectors.
        (codes.len() < self.bytes - self.bytes / 8).then_some(compressor)
    }
}

/// The codes of all strings, and how many each has.
pub(super) fn compress(compressor: &Compressor, values: &[&[u8]]) -> (Vec<u8>, Vec<u32>) {
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    const LANES: usize = Compressor::DEFAULT_BULK_LANES;
    compressor.compress_bulk_into::<LANES>(values, &mut codes, &mut ends);
    let starts = std::iter::once(&0).chain(&ends);
    let lengths = ends.iter().zip(starts).map(|(end, start)| (end - start) as u32).collect();
    (codes, lengths)
}

/// Appends the symbol table.
pub(super) fn push_table(compressor: &Compressor, out: &mut Vec<u8>) {
    push_count(out, compressor.symbol_table().len());
    out.extend_from_slice(compressor.symbol_lengths());
    push_pad8(out);
    for symbol in compressor.symbol_table() {
        out.extend_from_slice(&symbol.to_u64().to_le_bytes());
    }
}

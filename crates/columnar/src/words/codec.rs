//! The encodings of words: the choice among them by size, and one way to read them all.

use super::delta::{Delta, RESTART_ROWS, differences, push_delta};
use super::dictionary::{distinct, push_dictionary, sorted_distinct};
use super::packed::{common_factor, in_signed_range, packed_len, push_packed};
use super::runs::{Runs, push_runs};
use super::{Coded, Packed, Word};
use crate::encoding::Encoding;
use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::view::{View, pad8};

/// Words in one of the encodings.
pub(crate) enum Decoder<'a> {
    Plain(View<'a>, usize),
    Packed(Packed<'a>),
    Dictionary(Coded<'a>),
    Runs(Runs<'a>),
    Delta(Delta<'a>),
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` words in `encoding`, which begin at `at`.
    pub fn parse<W: Word>(
        view: View<'a>,
        at: usize,
        encoding: Encoding,
        count: usize,
    ) -> Result<Decoder<'a>> {
        match encoding {
            Encoding::Plain => Ok(Decoder::Plain(view.tail(at)?, count)),
            Encoding::Packed => Ok(Decoder::Packed(Packed::parse::<W>(view, at, count)?.0)),
            Encoding::Dictionary => {
                Ok(Decoder::Dictionary(Coded::parse(view, at, W::BYTES, count)?))
            }
            Encoding::Runs => Ok(Decoder::Runs(Runs::parse::<W>(view, at, count)?)),
            Encoding::Delta => Ok(Decoder::Delta(Delta::parse::<W>(view, at, count)?)),
            _ => Err(view.damage(at, "an encoding that words do not have")),
        }
    }

    /// All words.
    pub fn decode<W: Word>(&self) -> Result<Vec<W>> {
        match self {
            Decoder::Plain(view, count) => Ok(W::read_all(view.bytes(0, count * W::BYTES)?)),
            Decoder::Packed(packed) => packed.decode(),
            Decoder::Dictionary(coded) => coded.decode(),
            Decoder::Runs(runs) => runs.decode(),
            Decoder::Delta(delta) => delta.decode(),
        }
    }

    /// The same into the first words of a vector's room, and how many they are; what lies behind them is
    /// arbitrary.
    pub fn decode_into<W: Word>(&self, out: &mut [W; VECTOR_ROWS]) -> Result<usize> {
        if let Decoder::Packed(packed) = self {
            return packed.decode_into(out);
        }
        let words = self.decode::<W>()?;
        out[..words.len()].copy_from_slice(&words);
        Ok(words.len())
    }

    /// The word at `index`, which is below the count.
    pub fn get<W: Word>(&self, index: usize) -> Result<W> {
        match self {
            Decoder::Plain(view, _) => W::read(view, index * W::BYTES),
            Decoder::Packed(packed) => packed.get(index),
            Decoder::Dictionary(coded) => Ok(W::read_all(coded.get(index)?)[0]),
            Decoder::Runs(runs) => runs.get(index),
            Decoder::Delta(delta) => delta.get(index),
        }
    }

    /// The rows whose word is in `least..=greatest`, both signed.
    pub fn in_range<W: Word>(&self, least: i64, greatest: i64) -> Result<Mask> {
        match self {
            Decoder::Plain(..) => Ok(in_signed_range(&self.decode::<W>()?, least, greatest)),
            Decoder::Packed(packed) => packed.in_range::<W>(least, greatest),
            Decoder::Dictionary(coded) => coded.in_range::<W>(least, greatest),
            Decoder::Runs(runs) => runs.in_range::<W>(least, greatest),
            Decoder::Delta(delta) => delta.in_range::<W>(least, greatest),
        }
    }
}

/// Appends the words in the encoding that takes least.
pub(crate) fn encode<W: Word>(words: &[W], out: &mut Vec<u8>) -> Encoding {
    let encoding = smallest_of(words, &WORD_ENCODINGS);
    encode_as(words, encoding, out);
    encoding
}

/// All encodings of words; of two that take the same, the first one is read faster.
pub(crate) const WORD_ENCODINGS: [Encoding; 5] =
    [Encoding::Packed, Encoding::Plain, Encoding::Runs, Encoding::Dictionary, Encoding::Delta];

/// The encoding among `candidates` in which the words take least; delta, whose rows take longer to
/// reach, has to save an eighth.
pub(crate) fn smallest_of<W: Word>(words: &[W], candidates: &[Encoding]) -> Encoding {
    let size = |encoding: &Encoding| match encoding {
        Encoding::Packed => packed_size(words),
        Encoding::Runs => runs_size(words),
        // Codes of a dictionary have at most ten bits: where words take less, it saves little.
        Encoding::Dictionary if packed_size(words) <= words.len() => usize::MAX,
        Encoding::Dictionary => dictionary_size(words, distinct(words).as_deref()),
        Encoding::Delta => delta_size(words) / 8 * 9,
        _ => words.len() * W::BYTES,
    };
    candidates.iter().copied().min_by_key(size).unwrap_or(Encoding::Plain)
}

/// Appends the words in `encoding`, one of those of words.
pub(crate) fn encode_as<W: Word>(words: &[W], encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Packed => push_packed(words, out),
        Encoding::Runs => push_runs(words, out),
        Encoding::Delta => push_delta(words, &differences(words), out),
        Encoding::Dictionary => push_dictionary(words, &sorted_distinct(words), out),
        _ => words.iter().for_each(|word| word.push(out)),
    }
}

fn packed_size<W: Word>(words: &[W]) -> usize {
    let (min, max) = bounds(words);
    let spread = W::low(max.wrapping_sub(min).cast_unsigned()).bits();
    packed_len::<W>(words.len(), spread / common_factor(words, min).max(1))
}

fn delta_size<W: Word>(words: &[W]) -> usize {
    pad8(words.len().div_ceil(RESTART_ROWS) * W::BYTES) + packed_size(&differences(words))
}

fn runs_size<W: Word>(words: &[W]) -> usize {
    let run_count = 1 + words.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let (min, max) = bounds(words);
    let spread = W::low(max.wrapping_sub(min).cast_unsigned()).bits();
    8 + pad8(2 * run_count) + packed_len::<W>(run_count, spread)
}

fn dictionary_size<W: Word>(words: &[W], entries: Option<&[W]>) -> usize {
    let Some(entries) = entries else { return usize::MAX };
    let codes = packed_len::<u16>(words.len(), entries.len().saturating_sub(1) as u64);
    8 + pad8(entries.len() * W::BYTES) + codes
}

fn bounds<W: Word>(words: &[W]) -> (i64, i64) {
    words.iter().fold((i64::MAX, i64::MIN), |(min, max), word| {
        (min.min(word.signed()), max.max(word.signed()))
    })
}

//! Differences between neighbours, with a new start at each 64 rows.
//!
//! A row is reached by at most 63 additions. The same form, over lengths, says where each string of
//! a vector begins (`strings/lengths.rs`).

use super::Word;
use super::packed::{Packed, in_signed_range, push_packed};
use crate::error::Result;
use crate::mask::Mask;
use crate::view::{View, pad8, push_pad8};

/// Rows from one start to the next.
pub(crate) const RESTART_ROWS: usize = 64;

/// A delta block.
pub(crate) struct Delta<'a> {
    view: View<'a>,
    at: usize,
    differences: Packed<'a>,
    count: usize,
}

impl<'a> Delta<'a> {
    pub fn parse<W: Word>(view: View<'a>, at: usize, count: usize) -> Result<Delta<'a>> {
        let starts = count.div_ceil(RESTART_ROWS);
        let (differences, _) = Packed::parse::<W>(view, pad8(at + starts * W::BYTES), count)?;
        Ok(Delta { view, at, differences, count })
    }

    pub fn decode<W: Word>(&self) -> Result<Vec<W>> {
        let starts = self.count.div_ceil(RESTART_ROWS);
        let starts: Vec<W> = W::read_all(self.view.bytes(self.at, starts * W::BYTES)?);
        let mut words: Vec<W> = self.differences.decode()?;
        for (block, start) in words.chunks_mut(RESTART_ROWS).zip(starts) {
            let mut sum = start;
            block[0] = sum;
            for word in &mut block[1..] {
                sum = sum.plus(*word);
                *word = sum;
            }
        }
        Ok(words)
    }

    pub fn get<W: Word>(&self, index: usize) -> Result<W> {
        let block = index / RESTART_ROWS;
        let mut sum = W::read(&self.view, self.at + block * W::BYTES)?;
        for row in block * RESTART_ROWS + 1..=index {
            sum = sum.plus(self.differences.get(row)?);
        }
        Ok(sum)
    }

    pub fn in_range<W: Word>(&self, least: i64, greatest: i64) -> Result<Mask> {
        Ok(in_signed_range(&self.decode::<W>()?, least, greatest))
    }
}

/// Differences to the row before; at a start, one of the others of its block.
pub(super) fn differences<W: Word>(words: &[W]) -> Vec<W> {
    let mut all = Vec::with_capacity(words.len());
    for block in words.chunks(RESTART_ROWS) {
        let first = block.get(1).map_or(W::low(0), |second| second.minus(block[0]));
        all.push(first);
        all.extend(block.windows(2).map(|pair| pair[1].minus(pair[0])));
    }
    all
}

pub(super) fn push_delta<W: Word>(words: &[W], differences: &[W], out: &mut Vec<u8>) {
    words.iter().step_by(RESTART_ROWS).for_each(|word| word.push(out));
    push_pad8(out);
    push_packed(differences, out);
}

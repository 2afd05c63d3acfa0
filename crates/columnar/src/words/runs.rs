//! Run length encoding: where each run ends, and its value.

use super::Word;
use super::packed::{Packed, push_packed};
use crate::error::Result;
use crate::mask::Mask;
use crate::view::{View, pad8, push_count, push_pad8};

/// A block of runs.
pub(crate) struct Runs<'a> {
    view: View<'a>,
    /// Of the rows after the last of each run.
    ends_at: usize,
    run_count: usize,
    values: Packed<'a>,
    count: usize,
}

impl<'a> Runs<'a> {
    pub fn parse<W: Word>(view: View<'a>, at: usize, count: usize) -> Result<Runs<'a>> {
        let run_count = view.count(at, count)?;
        let ends_at = at + 8;
        let (values, _) = Packed::parse::<W>(view, pad8(ends_at + 2 * run_count), run_count)?;
        Ok(Runs { view, ends_at, run_count, values, count })
    }

    pub fn decode<W: Word>(&self) -> Result<Vec<W>> {
        let values: Vec<W> = self.values.decode()?;
        let mut words = Vec::with_capacity(self.count);
        for (end, value) in self.ends()?.into_iter().zip(values) {
            words.resize(end, value);
        }
        Ok(words)
    }

    pub fn get<W: Word>(&self, index: usize) -> Result<W> {
        let (mut low, mut high) = (0, self.run_count);
        while low < high {
            let middle = (low + high) / 2;
            if usize::from(self.view.u16(self.ends_at + 2 * middle)?) <= index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.run_count {
            return Err(self.view.damage(self.ends_at, "the runs end before the vector"));
        }
        self.values.get(low)
    }

    pub fn in_range<W: Word>(&self, least: i64, greatest: i64) -> Result<Mask> {
        let values: Vec<W> = self.values.decode()?;
        let (mut mask, mut start) = (Mask::NONE, 0);
        for (end, value) in self.ends()?.into_iter().zip(values) {
            if (least..=greatest).contains(&value.signed()) {
                mask = mask.or(&Mask::first(end).and_not(&Mask::first(start)));
            }
            start = end;
        }
        Ok(mask)
    }

    /// The ends, which ascend to the number of rows.
    fn ends(&self) -> Result<Vec<usize>> {
        let bytes = self.view.bytes(self.ends_at, 2 * self.run_count)?;
        let ends = u16::read_all(bytes).into_iter().map(usize::from).collect::<Vec<_>>();
        if !ends.is_sorted() || ends.last() != Some(&self.count) {
            return Err(self.view.damage(self.ends_at, "the runs do not fill the vector"));
        }
        Ok(ends)
    }
}

pub(super) fn push_runs<W: Word>(words: &[W], out: &mut Vec<u8>) {
    let (mut ends, mut values): (Vec<u16>, Vec<W>) = (Vec::new(), Vec::new());
    for run in words.chunk_by(|a, b| a == b) {
        ends.push(ends.last().unwrap_or(&0) + run.len() as u16);
        values.push(run[0]);
    }
    push_count(out, ends.len());
    ends.iter().for_each(|end| end.push(out));
    push_pad8(out);
    push_packed(&values, out);
}

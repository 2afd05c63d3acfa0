//! The pages that a query reads, and a random share of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use engine::{ExecutionMode, Session, SqlError, SqlResult};
use runtime::IoTrace;
use stdx::Prng;

use crate::modes;

/// Bytes that are told apart: no page is smaller.
const PAGE_BYTES: u64 = 4096;

/// Pages in units that are cached or absent together.
pub(super) struct Pages {
    /// Ranges of the file, in its order.
    units: Vec<Vec<Range<u64>>>,
    bytes: u64,
}

impl Pages {
    /// What a query reads when nothing is cached.
    ///
    /// # Errors
    /// When the query fails, or reads more often than a trace keeps.
    pub(super) fn of(session: &mut Session, text: &str, unit_bytes: u64) -> SqlResult<Pages> {
        let mut pages = BTreeSet::new();
        for mode in [ExecutionMode::Serial, ExecutionMode::OutOfOrder] {
            let trace = Arc::new(IoTrace::new());
            session.activity().trace_io(trace.clone());
            modes::run(session, text, mode, true)?;
            let sample = trace.after(0);
            if sample.points.len() as u64 != sample.total {
                return Err(SqlError::internal("the query reads more often than a trace keeps"));
            }
            for read in sample.points.iter().filter(|request| !request.write) {
                let end = read.offset + u64::from(read.bytes);
                pages.extend(read.offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES));
            }
        }
        let mut units: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        let bytes = pages.len() as u64 * PAGE_BYTES;
        for page in pages {
            let (start, end) = (page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
            let places = units.entry(start / unit_bytes).or_default();
            match places.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => places.push(start..end),
            }
        }
        Ok(Pages { units: units.into_values().collect(), bytes })
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of them, in the file's order.
    pub(super) fn places(&self) -> Vec<Range<u64>> {
        self.units.concat()
    }

    /// So many percent of them, others for each seed, in the file's order.
    pub(super) fn share(&self, percent: u32, seed: u64) -> Vec<Range<u64>> {
        let mut chosen: Vec<usize> = (0..self.units.len()).collect();
        Prng::new(seed).shuffle(&mut chosen);
        chosen.truncate(self.units.len() * percent as usize / 100);
        chosen.sort_unstable();
        chosen.into_iter().flat_map(|unit| self.units[unit].clone()).collect()
    }
}

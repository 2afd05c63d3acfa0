//! Small batches for one destination, until they are as many bytes as a buffer has.

use std::mem;
use std::sync::Mutex;

use arrow_array::RecordBatch;

use crate::notify::locked;

/// Rows that wait for company.
#[derive(Default)]
pub(crate) struct Gather(Mutex<Gathered>);

/// Rows that have gathered.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) batches: Vec<RecordBatch>,
    /// Bytes that are counted for them.
    pub(crate) bytes: usize,
}

impl Gather {
    /// Adds rows; gives all that has gathered where that is `enough` bytes or more.
    pub(crate) fn add(&self, rows: RecordBatch, bytes: usize, enough: usize) -> Option<Gathered> {
        let mut gathered = locked(&self.0);
        gathered.batches.push(rows);
        gathered.bytes += bytes;
        (gathered.bytes >= enough).then(|| mem::take(&mut *gathered))
    }

    /// All that has gathered.
    pub(crate) fn rest(&self) -> Gathered {
        mem::take(&mut *locked(&self.0))
    }
}

//! Rows in order, as their partitions and groups of peers.

use std::ops::Range;

/// What begins with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing: it is a peer of the row before.
    Nothing,
    /// A group of peers in the partition of the row before.
    Peers,
    /// A partition, and with it a group of peers.
    Partition,
}

/// Where the partitions and the groups of peers of rows in order begin. Rows are added as they
/// come; the last partition ends with the last of them.
#[derive(Debug, Default)]
pub struct Sorted {
    partitions: Vec<usize>,
    groups: Vec<usize>,
    /// The group of each row. Rows are fewer than 2^32: their places are.
    group_of: Vec<u32>,
}

impl Sorted {
    /// Adds rows behind those known; the first of all begins a partition, whatever is said of it.
    pub fn add(&mut self, begins: &[Begin]) {
        self.group_of.reserve(begins.len());
        for &begin in begins {
            let row = self.group_of.len();
            if row == 0 || begin == Begin::Partition {
                self.partitions.push(row);
            }
            if row == 0 || begin != Begin::Nothing {
                self.groups.push(row);
            }
            self.group_of.push(self.groups.len() as u32 - 1);
        }
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.group_of.len()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let words = self.partitions.capacity() + self.groups.capacity();
        words * size_of::<usize>() + self.group_of.capacity() * size_of::<u32>()
    }

    pub(super) fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// The number of the row's partition.
    pub(super) fn partition_number(&self, row: usize) -> usize {
        self.partitions.partition_point(|&start| start <= row).saturating_sub(1)
    }

    /// The rows of partition `number`.
    fn partition(&self, number: usize) -> Range<usize> {
        let end = self.partitions.get(number + 1).copied();
        self.partitions[number]..end.unwrap_or(self.group_of.len())
    }

    /// The partitions that some rows belong to, each with those of these rows that are in it.
    pub(super) fn parts(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let mut at = rows.start;
        let mut number = self.partition_number(at);
        std::iter::from_fn(move || {
            if at >= rows.end {
                return None;
            }
            let partition = self.partition(number);
            let part = at..rows.end.min(partition.end);
            (at, number) = (part.end, number + 1);
            Some((partition, part))
        })
    }

    /// The number of the row's group of peers, counted over all partitions.
    pub(super) fn group_number(&self, row: usize) -> usize {
        self.group_of[row] as usize
    }

    /// The rows of group `number`.
    pub(super) fn group(&self, number: usize) -> Range<usize> {
        let end = self.groups.get(number + 1).copied();
        self.groups[number]..end.unwrap_or(self.group_of.len())
    }

    /// The rows that are equal to the row in partition and order.
    pub(super) fn peers(&self, row: usize) -> Range<usize> {
        self.group(self.group_number(row))
    }
}

//! What a transaction does.

use std::fmt;
use std::ops::Bound;

use runtime::IoCounters;
use storage::{Direction, Tree};
use types::SqlResult;

use super::failed;
use super::keys::{KEY_LEN_MAX, KeyForm};

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads so many rows.
    Read(usize),
    /// Gives so many rows another value without reading them.
    Update(usize),
    /// Reads two rows and changes them, and reads eight more.
    Modify,
    /// Reads so many rows in the order of their keys.
    Scan(usize),
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mix::Read(count) => write!(f, "read{count}"),
            Mix::Update(count) => write!(f, "update{count}"),
            Mix::Modify => f.write_str("rmw2read8"),
            Mix::Scan(count) => write!(f, "scan{count}"),
        }
    }
}

impl Mix {
    /// Rows that one transaction names.
    pub(super) fn row_count(self) -> usize {
        match self {
            Mix::Read(count) | Mix::Update(count) => count,
            Mix::Modify => 10,
            Mix::Scan(_) => 1,
        }
    }

    /// Whether it wants rows in the order of their keys.
    pub(super) fn is_scan(self) -> bool {
        matches!(self, Mix::Scan(_))
    }

    /// Whether it does nothing but look rows up.
    pub(super) fn is_probe(self) -> bool {
        matches!(self, Mix::Read(_))
    }

    /// Rows that are read or changed for each that is named.
    pub(super) fn rows_per_key(self) -> u64 {
        match self {
            Mix::Scan(count) => count as u64,
            _ => 1,
        }
    }

    /// Runs one transaction; the sum of what it has read.
    pub(super) async fn run(
        self,
        tree: &Tree,
        form: KeyForm,
        rows: &[u64],
        io: &IoCounters,
    ) -> SqlResult<u64> {
        let mut sum = 0;
        for (index, &row) in rows.iter().enumerate() {
            match self {
                Mix::Read(_) => sum += read(tree, form, row, io).await?,
                Mix::Update(_) => update(tree, form, row, row, io).await?,
                Mix::Modify => {
                    let old = read(tree, form, row, io).await?;
                    if index < 2 {
                        update(tree, form, row, old.wrapping_add(1), io).await?;
                    }
                }
                Mix::Scan(count) => sum += scan(tree, form, row, count, io).await?,
            }
        }
        Ok(sum)
    }
}

async fn read(tree: &Tree, form: KeyForm, row: u64, io: &IoCounters) -> SqlResult<u64> {
    let mut place = [0; KEY_LEN_MAX];
    let key = form.key(row, &mut place);
    let found = match form {
        KeyForm::Hashed => tree.get_hashed(key, io, number).await,
        KeyForm::Dense | KeyForm::Scattered | KeyForm::Long => tree.get(key, io, number).await,
    };
    found.map_err(failed)?.ok_or_else(|| failed("a row is missing"))
}

pub(super) fn number(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

async fn update(
    tree: &Tree,
    form: KeyForm,
    row: u64,
    value: u64,
    io: &IoCounters,
) -> SqlResult<()> {
    let mut place = [0; KEY_LEN_MAX];
    let key = form.key(row, &mut place);
    match tree.replace(key, &value.to_le_bytes(), io).await.map_err(failed)? {
        true => Ok(()),
        false => Err(failed("a row is missing")),
    }
}

/// The sum of so many values from a row on; fewer at the end of the table.
async fn scan(
    tree: &Tree,
    form: KeyForm,
    row: u64,
    count: usize,
    io: &IoCounters,
) -> SqlResult<u64> {
    let (mut place, mut key) = ([0; KEY_LEN_MAX], vec![]);
    let low = Bound::Included(form.key(row, &mut place));
    let mut cursor = tree.range(low, Bound::Unbounded, Direction::Forward);
    let (mut left, mut sum) = (count, 0u64);
    while let Some(leaf) = cursor.next(io).await.map_err(failed)? {
        for index in 0..leaf.len().min(left) {
            sum = sum.wrapping_add(number(leaf.entry(index, &mut key)));
        }
        left -= leaf.len().min(left);
        if left == 0 {
            break;
        }
    }
    Ok(sum)
}

//! What a transaction does.

use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use runtime::IoCounters;
use storage::{Direction, Inserted, Tree};
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
    /// One operation of a core workload of YCSB.
    Core(Core),
}

/// The core workloads of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads.
    C,
    /// 95 % reads of the newest rows, 5 % insertions.
    D,
    /// 95 % scans of up to 100 rows, 5 % insertions.
    E,
    /// Half reads, half reads with a change of the row.
    F,
}

/// Rows of a scan of workload E, at most.
const CORE_SCAN_MAX: u64 = 100;

/// The newest rows, of which workload D reads any.
const NEWEST_ROWS: u64 = 1000;

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mix::Read(count) => write!(f, "read{count}"),
            Mix::Update(count) => write!(f, "update{count}"),
            Mix::Modify => f.write_str("rmw2read8"),
            Mix::Scan(count) => write!(f, "scan{count}"),
            Mix::Core(core) => write!(f, "{}", format!("{core:?}").to_lowercase()),
        }
    }
}

impl Mix {
    /// Rows that one transaction names.
    pub(super) fn row_count(self) -> usize {
        match self {
            Mix::Read(count) | Mix::Update(count) => count,
            Mix::Modify => 10,
            Mix::Scan(_) | Mix::Core(_) => 1,
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

    /// Whether it adds rows to the table.
    pub(super) fn inserts(self) -> bool {
        matches!(self, Mix::Core(Core::D | Core::E))
    }

    /// Runs one transaction; `next_row` is the first number that no row has. The sum of what it has read.
    pub(super) async fn run(
        self,
        tree: &Tree,
        form: KeyForm,
        rows: &[u64],
        next_row: &AtomicU64,
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
                Mix::Core(core) => sum += core.run(tree, form, row, next_row, io).await?,
            }
        }
        Ok(sum)
    }
}

impl Core {
    /// Runs one operation, which chance decides.
    async fn run(
        self,
        tree: &Tree,
        form: KeyForm,
        row: u64,
        next_row: &AtomicU64,
        io: &IoCounters,
    ) -> SqlResult<u64> {
        let percent = runtime::random_u64() % 100;
        match self {
            Core::A if percent < 50 => update(tree, form, row, row, io).await.map(|()| 0),
            Core::B if percent < 5 => update(tree, form, row, row, io).await.map(|()| 0),
            Core::D | Core::E if percent < 5 => insert(tree, form, next_row).await.map(|()| 0),
            Core::A | Core::B | Core::C => read(tree, form, row, io).await,
            Core::D => {
                // A row whose insertion is under way on another coroutine may be missing still.
                let newest = next_row.load(Ordering::Relaxed) - 1;
                let row = newest.saturating_sub(runtime::random_u64() % NEWEST_ROWS);
                Ok(found(tree, form, row, io).await?.unwrap_or(0))
            }
            Core::E => {
                let count = 1 + runtime::random_u64() % CORE_SCAN_MAX;
                scan(tree, form, row, count as usize, io).await
            }
            Core::F => {
                let old = read(tree, form, row, io).await?;
                if percent < 50 {
                    update(tree, form, row, old.wrapping_add(1), io).await?;
                }
                Ok(old)
            }
        }
    }
}

async fn insert(tree: &Tree, form: KeyForm, next_row: &AtomicU64) -> SqlResult<()> {
    let row = next_row.fetch_add(1, Ordering::Relaxed);
    let mut place = [0; KEY_LEN_MAX];
    let inserted = tree.insert(form.key(row, &mut place), &row.to_le_bytes()).await;
    match inserted.map_err(failed)? {
        Inserted::New => Ok(()),
        Inserted::Duplicate => Err(failed("a new row is there already")),
    }
}

async fn read(tree: &Tree, form: KeyForm, row: u64, io: &IoCounters) -> SqlResult<u64> {
    found(tree, form, row, io).await?.ok_or_else(|| failed("a row is missing"))
}

async fn found(tree: &Tree, form: KeyForm, row: u64, io: &IoCounters) -> SqlResult<Option<u64>> {
    let mut place = [0; KEY_LEN_MAX];
    let key = form.key(row, &mut place);
    let found = match form {
        KeyForm::Hashed => tree.get_hashed(key, io, number).await,
        KeyForm::Dense | KeyForm::Scattered | KeyForm::Long => tree.get(key, io, number).await,
    };
    found.map_err(failed)
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

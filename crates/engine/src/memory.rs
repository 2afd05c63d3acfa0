//! How the memory of a database is shared out. The program's own comes first: code, catalog,
//! connections. Of what is left half goes to the pool (unless its size is given), a quarter to the
//! operators, an eighth to tasks; the rest is what the allocator holds back.

use plan::{Node, Operator, Plan};
use storage::EXTENT_PAGES;
use types::{SqlError, SqlResult, SqlState};

use crate::options::Options;
use crate::settings::Settings;

/// The least memory of a database.
const MEMORY_BYTES_MIN: usize = 4 << 20;

/// The program's own memory: its code, most of which a server has used after some queries, and what
/// it needs before the first one, measured with 18 GB of data. Of a small memory a quarter.
const OWN_BYTES: usize = 48 << 20;

/// The smallest pool: enough frames for every worker's descents and one extent each.
pub(crate) const POOL_BYTES_MIN: usize = 4 << 20;

/// The smallest memory of operators: a floor for each of a handful.
const OPERATOR_BYTES_MIN: usize = 1 << 20;

/// Copies of an extent that a part of a scan in work holds: its rows, and what becomes of them.
const PART_COPIES: usize = 2;

/// Bytes of a task of a look-up join: its frame, its 128 keys, and up to two rows for each. In a chain of
/// three such joins (TPC-H Q7) 130 kB were measured for each task more, and 200 tasks were as fast as
/// 800; where a key finds seven rows (Q9), 300 kB.
const TASK_BYTES: usize = 64 << 10;

/// So many rows for each key are counted at most: tasks must be left to keep the device busy.
const ROWS_PER_KEY_MAX: f64 = 16.0;

/// The most memory of a load or of the build of an index for sorting: runs of this size merge at the
/// device's sequential speed.
const SORT_BYTES_MAX: usize = 512 << 20;

/// The parts of a database's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// All of it.
    pub(crate) total: usize,
    /// The buffer pool.
    pub(crate) pool: usize,
    /// Rows that operators gather.
    pub(crate) operators: usize,
    /// Tasks and the rows that they have in hand.
    tasks: usize,
}

impl Shares {
    /// The shares of a database opened with `options`.
    pub(crate) fn of(options: &Options) -> SqlResult<Shares> {
        let total = options.memory_bytes;
        if total < MEMORY_BYTES_MIN {
            let message = format!("memory of {total} bytes is too small");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint(format!("Give at least {} MB.", MEMORY_BYTES_MIN >> 20)));
        }
        let shared = total - OWN_BYTES.min(total / 4);
        let pool = options.pool_bytes.unwrap_or(shared / 2).max(POOL_BYTES_MIN);
        // Where the pool is given, the others share what it leaves, which is never next to nothing.
        let rest = shared.saturating_sub(pool).max(total / 8);
        Ok(Shares { total, pool, operators: (rest / 2).max(OPERATOR_BYTES_MIN), tasks: rest / 4 })
    }

    /// Memory for sorting, over all trees of a load: half of the operators', whose queries go on beside
    /// it.
    pub(crate) fn sort(&self) -> usize {
        (self.operators / 2).min(SORT_BYTES_MAX)
    }

    /// Memory for what sessions keep between their statements, and for messages on their way: three
    /// quarters of it are given out, a quarter of all memory.
    pub(crate) fn sessions(&self) -> usize {
        self.total / 3
    }

    /// Tasks that a query may have alive.
    pub(crate) fn tasks(&self, settings: &Settings, plan: &Plan) -> usize {
        let pairs_of_rows = (rows_per_key(&plan.root) / 2.0).clamp(1.0, ROWS_PER_KEY_MAX / 2.0);
        let task_bytes = TASK_BYTES as f64 * pairs_of_rows;
        (self.tasks / 2 / task_bytes as usize).clamp(1, settings.max_tasks)
    }

    /// Parts of a scan that each of so many workers may have in work.
    pub(crate) fn parts_per_worker(&self, workers: usize, page_bytes: usize) -> usize {
        let part_bytes = EXTENT_PAGES * page_bytes * PART_COPIES;
        (self.tasks / 2 / workers.max(1) / part_bytes).clamp(1, exec::PARTS_PER_WORKER)
    }
}

/// The most rows that a key of one of the look-up joins is expected to find.
fn rows_per_key(node: &Node) -> f64 {
    let own = match &node.operator {
        Operator::LookupJoin(join) => node.rows / join.outer.rows.max(1.0),
        _ => 0.0,
    };
    node.children().into_iter().map(rows_per_key).fold(own, f64::max)
}

//! The memory governor: how much the operators of all queries of a database may hold at once.
//!
//! The limit has two parts. *Floors* are taken when a query is admitted, so much for each of its
//! operators that gather rows, and a query waits its turn for them; *growth* is what operators take
//! beyond their floor while they run, first come, first served. An operator never waits for memory:
//! refused, it spills or ends its query with 53200. So no query waits for another one that waits.

mod account;
pub(crate) mod values;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::{Node, Operator, Plan};
use runtime::sync::{Semaphore, SemaphorePermit};
use types::{SqlError, SqlResult, SqlState};

use crate::progress::Progress;
use account::{Common, Own};

/// The part of the limit that is kept for floors: a quarter. More starves those who run, less
/// makes too many wait.
const FLOOR_PART: usize = 4;

/// The least that an operator works with: some batches of rows, and a block for each of the
/// partitions that it spills to.
const FLOOR_BYTES_MIN: usize = 64 << 10;

/// A floor is the 64th part of the limit: four queries of four operators are admitted at once.
const FLOORS: usize = 64;

/// Floors are counted in these units, so that any limit fits the semaphore.
const UNIT_BYTES: usize = 1 << 10;

/// Rows of a top-k or limit that are no reason to wait for memory.
const FEW_ROWS: usize = 10_000;

/// The memory that the operators of all queries share; clones are one governor.
#[derive(Clone)]
pub struct Governor(Arc<State>);

struct State {
    limit: usize,
    floors: Semaphore,
    floor_units: usize,
    growth: Common,
}

/// What a query was admitted with; its floors are given back when the last clone is gone.
#[derive(Clone)]
pub struct Grant(Arc<Admission>);

struct Admission {
    governor: Governor,
    floor_bytes: usize,
    operator_bytes_max: usize,
    /// Whether it refuses whoever can spill.
    is_stingy: bool,
    _floors: Option<SemaphorePermit>,
}

/// What one operator of a query holds; everything is given back when it is dropped.
pub struct Reservation {
    grant: Grant,
    /// Where its peak is noted.
    node: Option<(Arc<Progress>, usize)>,
    name: &'static str,
    bytes_max: usize,
    own: Own,
}

impl Governor {
    /// A governor of `limit` bytes.
    pub fn new(limit: usize) -> Governor {
        let floor_units = (limit / FLOOR_PART / UNIT_BYTES).max(1);
        Governor(Arc::new(State {
            limit,
            floors: Semaphore::new(floor_units),
            floor_units,
            growth: Common::new(limit - limit / FLOOR_PART),
        }))
    }

    /// All bytes that operators may hold.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// Bytes held beyond floors now, and the most that ever were.
    pub fn growth(&self) -> (usize, usize) {
        (self.0.growth.taken(), self.0.growth.high())
    }

    /// Waits until there are floors for the operators of `plan`. A plan without operators that
    /// gather rows does not wait. No operator gets more than `operator_bytes_max` (0: no limit of
    /// its own).
    pub async fn admit(&self, plan: &Plan, operator_bytes_max: usize) -> Grant {
        let operator_bytes_max = match operator_bytes_max {
            0 => usize::MAX,
            some => some.max(FLOOR_BYTES_MIN),
        };
        let gathering = gathering(&plan.root);
        let state = &self.0;
        // Half of the floors at most, so that at least two queries run at once.
        let fair = state.floor_units * UNIT_BYTES / 2 / gathering.max(1);
        let floor = (state.limit / FLOORS).min(fair).clamp(FLOOR_BYTES_MIN, operator_bytes_max);
        let units = (gathering * floor).div_ceil(UNIT_BYTES).min(state.floor_units);
        let floors = match gathering {
            0 => None,
            _ => Some(state.floors.acquire_many(units).await),
        };
        let governor = self.clone();
        Grant(Arc::new(Admission {
            governor,
            floor_bytes: floor,
            operator_bytes_max,
            is_stingy: false,
            _floors: floors,
        }))
    }

    /// For work before there is a plan: nothing is kept for it, so all that it takes is growth.
    pub fn without_plan(&self) -> Grant {
        Grant(Arc::new(Admission {
            governor: self.clone(),
            floor_bytes: 0,
            operator_bytes_max: usize::MAX,
            is_stingy: false,
            _floors: None,
        }))
    }
}

/// How many operators of a plan gather rows without a small bound.
fn gathering(node: &Node) -> usize {
    let here = match &node.operator {
        Operator::HashJoin(_)
        | Operator::NestedLoopJoin(_)
        | Operator::Window { .. }
        | Operator::Recursive(_) => true,
        Operator::CteScan(scan) => scan.query.is_some(),
        Operator::Aggregate { group_by, .. } => !group_by.is_empty(),
        Operator::Sort { fetch, .. } => fetch.is_none_or(|rows| rows > FEW_ROWS),
        Operator::Limit { fetch, .. } => fetch.is_some_and(|rows| rows > FEW_ROWS),
        _ => false,
    };
    usize::from(here) + node.children().into_iter().map(gathering).sum::<usize>()
}

impl Grant {
    /// Memory without a limit, for plans that run outside of a database.
    pub fn unlimited() -> Grant {
        Grant(Arc::new(Admission {
            governor: Governor::new(usize::MAX / 2),
            floor_bytes: FLOOR_BYTES_MIN,
            operator_bytes_max: usize::MAX,
            is_stingy: false,
            _floors: None,
        }))
    }

    /// Refuses whoever could do without: operators spill whenever they can. For tests.
    pub fn spilling() -> Grant {
        let Grant(unlimited) = Grant::unlimited();
        Grant(Arc::new(Admission {
            governor: unlimited.governor.clone(),
            floor_bytes: 0,
            operator_bytes_max: usize::MAX,
            is_stingy: true,
            _floors: None,
        }))
    }

    /// A reservation, empty as yet, for what errors call the `name`.
    pub fn reserve(&self, name: &'static str) -> Arc<Reservation> {
        self.reserve_for(name, None)
    }

    /// The same for rows that are collected for whoever asked for them: `work_mem` is for operators, so
    /// only the limit of all queries holds.
    pub fn reserve_collected(&self, name: &'static str) -> Arc<Reservation> {
        self.reserved(name, None, usize::MAX)
    }

    /// The same for an operator of a plan, whose node shows its peak.
    pub(crate) fn reserve_for(
        &self,
        name: &'static str,
        node: Option<(Arc<Progress>, usize)>,
    ) -> Arc<Reservation> {
        self.reserved(name, node, self.0.operator_bytes_max)
    }

    fn reserved(
        &self,
        name: &'static str,
        node: Option<(Arc<Progress>, usize)>,
        bytes_max: usize,
    ) -> Arc<Reservation> {
        let (grant, own) = (self.clone(), Own::new(self.0.floor_bytes));
        Arc::new(Reservation { grant, node, name, bytes_max, own })
    }
}

impl Reservation {
    /// Takes `bytes` more, if they are to be had; who is refused spills.
    pub fn try_grow(&self, bytes: usize) -> bool {
        !self.grant.0.is_stingy && self.take(bytes)
    }

    fn take(&self, bytes: usize) -> bool {
        let used = self.own.take(self.common(), bytes, self.bytes_max);
        used.is_some_and(|used| {
            self.note(used);
            true
        })
    }

    fn common(&self) -> &Common {
        &self.grant.0.governor.0.growth
    }

    /// Takes `bytes` more, for those who cannot spill.
    ///
    /// # Errors
    /// 53200 when they are not to be had.
    pub fn grow(&self, bytes: usize) -> SqlResult<()> {
        if self.take(bytes) { Ok(()) } else { Err(self.exhausted(bytes)) }
    }

    /// Counts `bytes` that are in memory already and cannot be refused.
    pub fn hold(&self, bytes: usize) {
        self.note(self.own.hold(self.common(), bytes));
    }

    /// Gives `bytes` back.
    pub fn shrink(&self, bytes: usize) {
        self.own.shrink(self.common(), bytes);
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.own.used()
    }

    /// The error of an operator that needs `bytes` more and cannot do without.
    pub fn exhausted(&self, bytes: usize) -> SqlError {
        let admission = &self.grant.0;
        let format = |bytes: usize| stdx::format_bytes(bytes as u64);
        let (used, more) = (format(self.used()), format(bytes));
        let detail = format!("The {} holds {used} and needs {more} more.", self.name);
        let hint = match self.used().saturating_add(bytes) > self.bytes_max {
            true => "Raise work_mem.".to_owned(),
            false => {
                let limit = format(admission.governor.limit());
                format!("All queries share {limit}. Give the database more with --memory.")
            }
        };
        SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory").with_detail(detail).with_hint(hint)
    }

    fn note(&self, used: usize) {
        if let Some((progress, node)) = &self.node {
            progress.node(*node).memory_max.fetch_max(used as u64, Relaxed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.used());
    }
}

#[cfg(test)]
mod tests;

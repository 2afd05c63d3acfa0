//! Generic plans of statements that run again: kept for the whole database, so that sessions share them, and
//! a statement that a client prepares for each execution anew is planned once, too.
//!
//! What a plan is kept for is the key: text, types of the parameters, zone, switches of the planner. What it
//! depends on besides is asked before each use ([`sql::Generic::holds`]): nothing has to tell the plans that a
//! table has another index. A session that sees other definitions than others, by its transaction or by its
//! temporary tables, makes a plan of its own, in whose place the next of the others makes one again. Nulls,
//! functions of the session, system relations, files and rows that the program lends are never planned so.
//!
//! The first execution of a statement is planned for its values, as many run only once. The second one is
//! planned both ways, and the third needs no planning; unless the two plans differ, which is tried three times.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::Plan;
use sql::{Bound, Generic, Parameter, PlannerOptions};
use types::zone::Zone;
use types::{LogicalType, SqlResult, SqlState};

use crate::prepared::Switches;
use crate::recent::{LONG_TEXTS_BYTES_MIN, Recent, Texted, long_texts_max};
use crate::system::catalog::SystemCatalog;

/// Statements that are known. A generic plan of a join takes some 20 KiB, with two physical ones
/// three times as much (an estimate), so that all take about 15 MiB.
const PLANS_MAX: usize = 256;

/// Bytes of the values of an execution that are few: some hundred elements of an array. A plan for
/// all values that was made with more of them keeps these and is counted with them.
const FEW_VALUES_BYTES: usize = 4 << 10;

/// Bytes of values that a plan for all values is used with, at most: its ranges are found on a
/// worker, a millisecond for some thousand keys.
const VALUES_BYTES_MAX: usize = LONG_TEXTS_BYTES_MIN;

/// A byte of values takes so much less of a kept plan than one of the text: three bytes instead of
/// 240.
const VALUES_PER_TEXT: usize = 64;

/// Attempts to find a plan that is good for all values: the values of one may be odd, such as a pattern without
/// wildcards.
pub(crate) const ATTEMPTS_MAX: u32 = 3;

/// What a plan is kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) text: Arc<str>,
    /// Which of the text's statements.
    pub(crate) place: (u64, u64, usize),
    /// Types of the parameters, and whether each is null.
    pub(crate) types: Vec<(LogicalType, Option<u32>, bool)>,
    pub(crate) zone: Zone,
    pub(crate) switches: Switches,
    /// The bytes of the values as a power of two, if they are many.
    pub(crate) values_bytes: Option<usize>,
}

/// True if an execution with so many bytes of values is planned for these alone.
pub(crate) fn are_too_many(values_bytes: usize) -> bool {
    values_bytes > VALUES_BYTES_MAX
}

/// True if a plan with these values is made beside the workers.
pub(crate) fn are_many(values: &[Parameter]) -> bool {
    bytes_of(values) > FEW_VALUES_BYTES
}

/// Bytes of the texts and byte strings among values.
pub(crate) fn bytes_of(values: &[Parameter]) -> usize {
    values.iter().map(Parameter::bytes).sum()
}

impl Key {
    /// The key with values of so many bytes.
    pub(crate) fn with_values(self, bytes: usize) -> Key {
        let are_many = bytes > FEW_VALUES_BYTES;
        Key { values_bytes: are_many.then(|| bytes.next_power_of_two()), ..self }
    }
}

impl Texted for Key {
    fn text_bytes(&self) -> usize {
        self.text.len() + self.values_bytes.unwrap_or(0) / VALUES_PER_TEXT
    }
}

/// What is known of a statement.
#[derive(Clone)]
pub(crate) enum Known {
    /// It ran once.
    Once,
    /// So many attempts have found that its plans depend on its values.
    EachTime(u32),
    Generic(Arc<Generic>),
}

/// The plans of a database.
pub(crate) struct Plans {
    known: Mutex<Recent<Key, Known>>,
    long_bytes_max: usize,
}

impl Plans {
    /// No plans yet of a database with so many bytes of memory.
    pub(crate) fn new(memory: usize) -> Plans {
        let long_bytes_max = long_texts_max(memory);
        Plans { known: Mutex::new(Recent::new(PLANS_MAX, long_bytes_max)), long_bytes_max }
    }

    /// True if a text of so many bytes has no place here: it is planned each time.
    pub(crate) fn is_too_long(&self, bytes: usize) -> bool {
        bytes > self.long_bytes_max
    }

    fn known(&self) -> MutexGuard<'_, Recent<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, key: &Key) -> Option<Known> {
        self.known().of(key)
    }

    /// Keeps what is known, in the place of what was not used for the longest time.
    pub(crate) fn keep(&self, key: Key, known: Known) {
        self.known().keep(key, known);
    }
}

/// A generic plan that is to be made for a statement.
pub(crate) struct Wish {
    pub(crate) key: Key,
    /// This one included.
    pub(crate) attempts: u32,
    pub(crate) bound: Arc<Bound>,
    /// `plan_cache_mode = force_generic_plan`: it serves whatever it costs.
    pub(crate) is_forced: bool,
}

impl Wish {
    /// The generic plan, if it does for these values what `plan` does, which was made for them.
    ///
    /// # Errors
    /// 57014; what is wrong with the statement is said of the other plan.
    pub(crate) fn made(
        &self,
        plan: &Plan,
        catalog: &SystemCatalog,
        options: &PlannerOptions,
    ) -> SqlResult<Option<Arc<Generic>>> {
        let (template, values) = (&self.bound.template, &self.bound.parameters);
        let generic = match Generic::of(template, values, catalog, options) {
            Err(error) if error.state == SqlState::QUERY_CANCELED => return Err(error),
            generic => generic.ok().flatten(),
        };
        let is_like = |generic: &Generic| match self.is_forced {
            true => generic.has_columns(plan, values, catalog, options),
            false => generic.is_like(plan, values, catalog, options),
        };
        Ok(generic.filter(is_like).map(Arc::new))
    }
}

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

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::Plan;
use sql::{Bound, Generic, PlannerOptions};
use types::zone::Zone;
use types::{LogicalType, SqlResult, SqlState};

use crate::prepared::Switches;
use crate::system::catalog::SystemCatalog;

/// Statements that are known: a generic plan of a join takes some 20 KiB, so that all take about 5 MiB.
const PLANS_MAX: usize = 256;

/// Bytes of their texts, of which a byte has some 120 bytes of plan: 12 MiB, however long statements are.
const TEXTS_BYTES_MAX: usize = 96 << 10;

/// Longer texts have no place there: they are planned each time.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 10;

/// Attempts to find a plan that is good for all values: the values of one may be odd, such as a pattern without
/// wildcards.
pub(crate) const ATTEMPTS_MAX: u32 = 3;

/// What a plan is kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) text: Arc<str>,
    /// Which of the text's statements.
    pub(crate) place: (u64, u64),
    pub(crate) types: Vec<(Option<LogicalType>, Option<u32>)>,
    pub(crate) zone: Zone,
    pub(crate) switches: Switches,
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
#[derive(Default)]
pub(crate) struct Plans(Mutex<State>);

#[derive(Default)]
struct State {
    /// With the number of its last use.
    known: HashMap<Key, (u64, Known)>,
    use_count: u64,
    text_bytes: usize,
}

impl Plans {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, key: &Key) -> Option<Known> {
        let mut state = self.state();
        state.use_count += 1;
        let now = state.use_count;
        let (used, known) = state.known.get_mut(key)?;
        *used = now;
        Some(known.clone())
    }

    /// Keeps what is known, in the place of what was not used for the longest time.
    pub(crate) fn keep(&self, key: Key, known: Known) {
        let mut state = self.state();
        state.use_count += 1;
        let now = state.use_count;
        state.text_bytes += key.text.len();
        if let Some((key, _)) = state.known.remove_entry(&key) {
            state.text_bytes -= key.text.len();
        }
        while state.known.len() >= PLANS_MAX || state.text_bytes > TEXTS_BYTES_MAX {
            let oldest = state.known.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            state.text_bytes -= oldest.text.len();
            state.known.remove(&oldest);
        }
        state.known.insert(key, (now, known));
    }
}

/// A generic plan that is to be made for a statement.
pub(crate) struct Wish {
    pub(crate) key: Key,
    /// This one included.
    pub(crate) attempts: u32,
    pub(crate) bound: Arc<Bound>,
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
        let is_like = |generic: &Generic| generic.is_like(plan, values, catalog, options);
        Ok(generic.filter(is_like).map(Arc::new))
    }
}

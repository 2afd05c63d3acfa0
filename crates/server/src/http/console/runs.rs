//! The runs of a console: those under way, and the last ones that are over.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Session;

use super::run::{Run, Wish};
use super::visitor::Visitor;
use super::{Response, refuse};

/// Runs that are kept; each holds a trace of at most 4 MiB.
const RUN_COUNT_MAX: usize = 24;
/// Runs under way at once: some tabs with three columns each.
const ACTIVE_COUNT_MAX: usize = 12;

/// The runs that can be asked for.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Known>);

#[derive(Default)]
struct Known {
    last: u64,
    runs: VecDeque<Arc<Run>>,
}

impl Runs {
    /// Starts a run.
    ///
    /// # Errors
    /// The response when there are too many, or when the wish cannot be.
    pub fn start(
        &self,
        session: Session,
        wish: Wish,
        owner: Visitor,
    ) -> Result<Arc<Run>, Response> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let active = known.runs.iter().filter(|run| !run.ended.is_set()).count();
        if active >= ACTIVE_COUNT_MAX {
            return Err(Response::text(429, "too many runs at once"));
        }
        if known.runs.len() >= RUN_COUNT_MAX
            && let Some(oldest) = known.runs.iter().position(|run| run.ended.is_set())
        {
            known.runs.remove(oldest);
        }
        known.last += 1;
        let run = Run::start((known.last, owner), session, wish).map_err(|error| refuse(&error))?;
        known.runs.push_back(run.clone());
        Ok(run)
    }

    /// The visitor's run with this id.
    ///
    /// # Errors
    /// 404 when it is not known, or not any more, or another role's.
    pub fn find(&self, id: &str, visitor: &Visitor) -> Result<Arc<Run>, Response> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |run: &&Arc<Run>| run.id.to_string() == id && run.owner == *visitor;
        let found = known.runs.iter().find(is_it);
        found.cloned().ok_or_else(|| Response::text(404, "there is no such run"))
    }
}

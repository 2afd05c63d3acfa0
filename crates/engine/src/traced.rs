//! The queries of a statement that changes rows, for `EXPLAIN`.

use std::sync::{Arc, Mutex, PoisonError};

use plan::Plan;

use crate::figures::QueryFigures;

/// A query that a statement has run.
pub(crate) struct Traced {
    pub(crate) plan: Arc<Plan>,
    /// `None` where the statement took its rows as they came.
    pub(crate) figures: Option<QueryFigures>,
}

/// The queries that a statement runs, in their order: what finds its rows, then those of foreign keys.
#[derive(Default)]
pub(crate) struct Trace(Mutex<Vec<Traced>>);

impl Trace {
    pub(crate) fn note(&self, plan: &Arc<Plan>, figures: Option<QueryFigures>) {
        let traced = Traced { plan: plan.clone(), figures };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(traced);
    }

    pub(crate) fn take(&self) -> Vec<Traced> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! How much is done beside the workers, on threads of its own.

use runtime::sync::Semaphore;

/// So many at once for each worker: more would only take the processor from each other.
const PER_WORKER: usize = 2;

/// Bounds what is done on threads of their own.
pub(crate) struct Beside {
    /// Statements that are planned.
    pub(crate) planners: Semaphore,
    /// Expressions that are computed.
    pub(crate) evaluators: Semaphore,
}

impl Beside {
    pub(crate) fn new(workers: usize) -> Beside {
        let some = || Semaphore::new(PER_WORKER * workers);
        Beside { planners: some(), evaluators: some() }
    }
}

//! Counts of functions that were compiled, and of those that were not, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::refusal::NotCompiled;

/// Counts of a compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Functions compiled.
    pub compiled: u64,
    /// Functions for which the processor has no code.
    pub processor: u64,
    /// Functions for which the system refused executable memory.
    pub executable_memory: u64,
    /// Functions for which the memory of code was too small.
    pub budget: u64,
    /// Functions with too many steps.
    pub steps: u64,
    /// Functions that use a column that is not given.
    pub column: u64,
    /// Functions with a step that takes a vector of another type.
    pub types: u64,
    /// Functions at which the generator failed.
    pub generator: u64,
}

impl Counts {
    /// All of them, by what became of the functions.
    pub fn named(&self) -> [(&'static str, u64); 1 + NotCompiled::REASONS] {
        [
            ("compiled", self.compiled),
            ("processor", self.processor),
            ("executable_memory", self.executable_memory),
            ("budget", self.budget),
            ("steps", self.steps),
            ("column", self.column),
            ("types", self.types),
            ("generator", self.generator),
        ]
    }
}

/// The counts while they change.
#[derive(Default)]
pub(crate) struct Counters {
    compiled: AtomicU64,
    reasons: [AtomicU64; NotCompiled::REASONS],
}

impl Counters {
    pub(crate) fn count<T>(&self, result: &Result<T, NotCompiled>) {
        let counter = match result {
            Ok(_) => &self.compiled,
            Err(why) => &self.reasons[why.index()],
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let reasons = self.reasons.each_ref().map(|count| count.load(Ordering::Relaxed));
        let [processor, executable_memory, budget, steps, column, types, generator] = reasons;
        let compiled = self.compiled.load(Ordering::Relaxed);
        Counts { compiled, processor, executable_memory, budget, steps, column, types, generator }
    }
}

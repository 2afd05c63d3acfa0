//! The greatest processor time of a portion, by kind of task.
//!
//! A portion is what a task computes between two suspensions. A worker looks for long ones with a
//! clock that stands in steps of some milliseconds and costs next to nothing: only where it has
//! moved since the last look is the processor time of the thread asked for. So a portion of more
//! than a step is always found, a shorter one now and then, and what is told of one may be too
//! much by what the worker did since its last look: less than a step.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::clock::{stepped_ns, thread_ns};
use crate::lock::lock;

/// A portion of more processor time than this keeps others waiting: an answer that takes five such
/// turns takes a tenth of a second.
pub const PORTION_NS_MAX: u64 = 20_000_000;

/// Shorter portions are not noted: ten slices, so that few are.
const NOTED_NS_MIN: u64 = 1_000_000;

/// The portions of the tasks of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portions {
    /// The function that the tasks run, with its path.
    pub kind: String,
    /// Processor time of the longest, in nanoseconds.
    pub cpu_ns_max: u64,
    /// How many took more than [`PORTION_NS_MAX`].
    pub long_count: u64,
}

/// Long portions that the workers of a runtime have found, by the names of the tasks' types.
#[derive(Default)]
pub(crate) struct Found(Mutex<BTreeMap<&'static str, Portions>>);

/// When one worker last looked.
#[derive(Default)]
pub(crate) struct Meter {
    /// By the clock that stands in steps.
    step_ns: Cell<u64>,
    /// Processor time of the thread.
    cpu_ns: Cell<u64>,
}

impl Meter {
    /// Processor time since the last look or since the thread had used `settled_ns`, if that is
    /// later. None where no step has passed.
    #[inline]
    pub(crate) fn look(&self, settled_ns: u64) -> Option<u64> {
        let step_ns = stepped_ns();
        match self.step_ns.replace(step_ns) == step_ns {
            true => None,
            false => Some(self.read(settled_ns)),
        }
    }

    #[cold]
    fn read(&self, settled_ns: u64) -> u64 {
        let cpu_ns = thread_ns();
        let before_ns = self.cpu_ns.replace(cpu_ns).max(settled_ns);
        assert!(before_ns <= cpu_ns, "the processor time of a thread never falls");
        cpu_ns - before_ns
    }
}

impl Found {
    /// Notes a portion of a task whose future has a type of this name.
    #[cold]
    pub(crate) fn note(&self, of: fn() -> &'static str, cpu_ns: u64) {
        if cpu_ns < NOTED_NS_MIN {
            return;
        }
        let mut found = lock(&self.0);
        let portions = found.entry(of()).or_default();
        portions.cpu_ns_max = portions.cpu_ns_max.max(cpu_ns);
        portions.long_count += u64::from(cpu_ns > PORTION_NS_MAX);
    }

    /// All kinds of which a portion was noted, by name. Types of one function count as one.
    pub(crate) fn by_kind(&self) -> Vec<Portions> {
        let mut kinds = BTreeMap::<String, Portions>::new();
        for (of, found) in lock(&self.0).iter() {
            let kind = function_of(of);
            let all = kinds.entry(kind.clone()).or_insert(Portions { kind, ..Default::default() });
            all.cpu_ns_max = all.cpu_ns_max.max(found.cpu_ns_max);
            all.long_count += found.long_count;
        }
        kinds.into_values().collect()
    }
}

/// The function whose future has a type of this name: without what it is generic over and without
/// the closures in it.
fn function_of(name: &str) -> String {
    let mut path = String::new();
    let mut depth = 0_usize;
    // The arrow of a function's type ends no list of types.
    for letter in name.replace("->", "").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => path.push(letter),
            _ => {}
        }
    }
    let parts = path.split("::").filter(|part| !part.is_empty() && *part != "{{closure}}");
    parts.collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests;

//! Numbers that sequences have given out: what the session knows of them, and how they become durable when
//! their statement ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::sequence::Sequence as Numbers;

use crate::catalog::sequence::SequenceKey;

/// The numbers that sequences gave a session last.
#[derive(Debug, Default)]
pub(crate) struct LastNumbers(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    numbers: BTreeMap<SequenceKey, i64>,
    /// The sequence that gave one last.
    sequence: Option<SequenceKey>,
}

impl LastNumbers {
    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sequence gave this number.
    pub(crate) fn note(&self, sequence: SequenceKey, number: i64) {
        let mut last = self.last();
        last.numbers.insert(sequence, number);
        last.sequence = Some(sequence);
    }

    /// A sequence goes on from this number, which it did not give.
    pub(crate) fn set(&self, sequence: SequenceKey, number: i64) {
        self.last().numbers.insert(sequence, number);
    }

    /// What a sequence gave last.
    pub(crate) fn of(&self, sequence: SequenceKey) -> Option<i64> {
        self.last().numbers.get(&sequence).copied()
    }

    /// What was given last, and by which sequence.
    pub(crate) fn newest(&self) -> Option<(SequenceKey, i64)> {
        let last = self.last();
        last.sequence.and_then(|key| Some((key, *last.numbers.get(&key)?)))
    }

    /// `DISCARD SEQUENCES`
    pub(crate) fn forget(&self) {
        *self.last() = Last::default();
    }
}

/// A sequence that gave a number out of which a crash would not know.
pub(crate) struct Given {
    key: SequenceKey,
    numbers: Numbers,
}

impl Given {
    /// Where its number is on disk.
    pub(crate) fn key(&self) -> SequenceKey {
        self.key
    }

    /// Whether a crash would still forget the number.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.numbers.is_unsaved()
    }
}

/// Sequences that gave numbers out of which a crash would not know.
#[derive(Default)]
pub(crate) struct GivenNumbers(Mutex<Vec<Given>>);

impl GivenNumbers {
    fn all(&self) -> MutexGuard<'_, Vec<Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sequence gave a number out, or was set.
    pub(crate) fn note(&self, key: SequenceKey, numbers: &Numbers) {
        if !numbers.is_unsaved() {
            return;
        }
        let mut given = self.all();
        if !given.iter().any(|given| given.numbers.counter == numbers.counter) {
            given.push(Given { key, numbers: numbers.clone() });
        }
    }

    /// All of them; there are none then.
    pub(crate) fn take(&self) -> Vec<Given> {
        std::mem::take(&mut *self.all())
    }
}

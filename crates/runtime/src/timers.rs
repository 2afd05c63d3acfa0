//! The timers of one worker: a heap of deadlines, the wakers beside it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

use stdx::{Key, Slab};

/// Stale heap entries that are tolerated before the heap is rebuilt.
const STALE_COUNT_MIN: usize = 64;

#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64, Key)>>,
    wakers: Slab<Waker>,
    sequence: u64,
}

impl Timers {
    /// Has `waker` woken at `deadline_ns`. Equal deadlines fire in the order of their setting.
    pub(crate) fn set(&mut self, deadline_ns: u64, waker: Waker) -> Key {
        let key = self.wakers.insert(waker);
        self.sequence += 1;
        self.heap.push(Reverse((deadline_ns, self.sequence, key)));
        key
    }

    /// Replaces the waker and returns the old one, whose destructor is foreign code; `None` when
    /// the timer has fired.
    pub(crate) fn update(&mut self, key: Key, waker: &Waker) -> Option<Waker> {
        let old = self.wakers.get_mut(key)?;
        Some(std::mem::replace(old, waker.clone()))
    }

    /// Forgets a timer and returns its waker.
    pub(crate) fn cancel(&mut self, key: Key) -> Option<Waker> {
        let waker = self.wakers.remove(key);
        if self.heap.len() > STALE_COUNT_MIN + 2 * self.wakers.len() {
            let wakers = &self.wakers;
            self.heap.retain(|Reverse((_, _, key))| wakers.get(*key).is_some());
        }
        waker
    }

    /// The earliest deadline.
    pub(crate) fn next_ns(&mut self) -> Option<u64> {
        while let Some(Reverse((deadline, _, key))) = self.heap.peek() {
            if self.wakers.get(*key).is_some() {
                return Some(*deadline);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the waker of the earliest timer that is due.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<Waker> {
        loop {
            let Reverse((deadline, _, key)) = self.heap.peek()?;
            if *deadline > now_ns {
                return None;
            }
            let key = *key;
            self.heap.pop();
            if let Some(waker) = self.wakers.remove(key) {
                return Some(waker);
            }
        }
    }
}

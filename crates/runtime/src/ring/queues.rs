//! The two queues that are shared with the kernel, with entries of one of two sizes.
//!
//! Commands for NVMe devices fit only into submission entries of 128 bytes, and their answers want
//! completion entries of 32. All entries of a ring have the same size, so that a ring which is to
//! take commands has large ones for everything.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{IoUring, Parameters, SubmissionQueue, Submitter, cqueue, squeue, types};

pub(crate) type LargeRing = IoUring<squeue::Entry128, cqueue::Entry32>;

/// A ring.
pub(crate) enum Queues {
    Small(IoUring),
    Large(LargeRing),
}

/// A submission entry.
#[derive(Clone)]
pub(crate) enum Entry {
    /// For either kind of ring.
    Small(squeue::Entry),
    /// A command, which only large entries hold.
    Large(squeue::Entry128),
}

impl Entry {
    pub(super) fn user_data(self, number: u64) -> Entry {
        match self {
            Entry::Small(entry) => Entry::Small(entry.user_data(number)),
            Entry::Large(entry) => Entry::Large(entry.user_data(number)),
        }
    }

    pub(super) fn flags(self, flags: squeue::Flags) -> Entry {
        match self {
            Entry::Small(entry) => Entry::Small(entry.flags(flags)),
            Entry::Large(entry) => Entry::Large(entry.flags(flags)),
        }
    }

    fn small(&self) -> squeue::Entry {
        match self {
            Entry::Small(entry) => entry.clone(),
            Entry::Large(_) => unreachable!("commands go to rings with large entries"),
        }
    }

    fn large(&self) -> squeue::Entry128 {
        match self {
            Entry::Small(entry) => entry.clone().into(),
            Entry::Large(entry) => entry.clone(),
        }
    }
}

/// The state of the submission queue.
pub(super) struct State {
    /// Entries that the kernel has not taken.
    pub(super) pending: u32,
    /// It wants to be entered for completions.
    pub(super) wants_enter: bool,
}

impl Queues {
    pub(crate) fn submitter(&self) -> Submitter<'_> {
        match self {
            Queues::Small(ring) => ring.submitter(),
            Queues::Large(ring) => ring.submitter(),
        }
    }

    pub(crate) fn params(&self) -> &Parameters {
        match self {
            Queues::Small(ring) => ring.params(),
            Queues::Large(ring) => ring.params(),
        }
    }

    /// Adds entries, all of them or none; false when there is no room.
    ///
    /// # Safety
    /// Memory and descriptors that the entries name must be valid until their last completions.
    pub(crate) unsafe fn push(&mut self, entries: &[Entry]) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Queues::Small(ring) => add(ring.submission(), entries, Entry::small),
                Queues::Large(ring) => add(ring.submission(), entries, Entry::large),
            }
        }
    }

    #[inline]
    pub(super) fn state(&mut self) -> State {
        match self {
            Queues::Small(ring) => state(&ring.submission()),
            Queues::Large(ring) => state(&ring.submission()),
        }
    }

    /// Submits without waiting.
    pub(crate) fn submit(&self) -> io::Result<usize> {
        self.submitter().submit()
    }

    /// Submits and waits for completions.
    pub(crate) fn submit_and_wait(&self, count: usize) -> io::Result<usize> {
        self.submitter().submit_and_wait(count)
    }

    pub(super) fn submit_with(&self, args: &types::SubmitArgs<'_, '_>) -> io::Result<usize> {
        self.submitter().submit_with_args(1, args)
    }

    /// True when there is a completion.
    #[inline]
    pub(super) fn has_completion(&mut self) -> bool {
        match self {
            Queues::Small(ring) => !ring.completion().is_empty(),
            Queues::Large(ring) => !ring.completion().is_empty(),
        }
    }

    /// Takes all completions.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(cqueue::Entry)) {
        const KEPT: &str = "the kernel drops no completion";
        match self {
            Queues::Small(ring) => {
                let completions = ring.completion();
                assert_eq!(completions.overflow(), 0, "{KEPT}");
                completions.for_each(&mut each);
            }
            Queues::Large(ring) => {
                let completions = ring.completion();
                assert_eq!(completions.overflow(), 0, "{KEPT}");
                completions.map(cqueue::Entry::from).for_each(&mut each);
            }
        }
    }
}

impl AsRawFd for Queues {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Queues::Small(ring) => ring.as_raw_fd(),
            Queues::Large(ring) => ring.as_raw_fd(),
        }
    }
}

#[inline]
fn state<E: squeue::EntryMarker>(queue: &SubmissionQueue<'_, E>) -> State {
    State { pending: queue.len() as u32, wants_enter: queue.taskrun() || queue.cq_overflow() }
}

/// # Safety
/// As [`Queues::push`].
#[inline]
unsafe fn add<E: squeue::EntryMarker>(
    mut queue: SubmissionQueue<'_, E>,
    entries: &[Entry],
    convert: impl Fn(&Entry) -> E,
) -> bool {
    if queue.capacity() - queue.len() < entries.len() {
        return false;
    }
    for entry in entries {
        // SAFETY: the caller's promise.
        let pushed = unsafe { queue.push(&convert(entry)) };
        assert!(pushed.is_ok(), "there is room for all entries");
    }
    true
}

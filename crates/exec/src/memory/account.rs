//! Two counters that are one account: what an operator has, and what all have taken beyond their
//! floors.
//!
//! The common counter never has less than what all operators hold beyond their floors: who takes
//! adds to it first and to his own behind it, who gives back the other way round. Each change of an
//! own counter is one exchange, whose difference is what the common one gets; so nothing is given
//! back twice, and nothing before it was taken.

use stdx::sync::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

/// Bytes that all operators have taken beyond their floors.
pub struct Common {
    limit: usize,
    taken: AtomicUsize,
    high: AtomicUsize,
}

/// Bytes that one operator has.
pub struct Own {
    floor: usize,
    used: AtomicUsize,
}

impl Common {
    /// Nothing taken of `limit` bytes.
    pub fn new(limit: usize) -> Common {
        Common { limit, taken: AtomicUsize::new(0), high: AtomicUsize::new(0) }
    }

    /// Bytes taken now.
    pub fn taken(&self) -> usize {
        self.taken.load(Acquire)
    }

    /// The most that ever were.
    pub fn high(&self) -> usize {
        self.high.load(Acquire)
    }

    fn take(&self, bytes: usize) -> bool {
        // Bytes within a floor are to be had when others hold more than there is.
        bytes == 0 || self.add(bytes, self.limit)
    }

    fn hold(&self, bytes: usize) {
        let is_counted = self.add(bytes, usize::MAX);
        debug_assert!(is_counted, "more memory taken than there is in the world");
    }

    /// Adds `bytes`, if no more than `most` are taken then.
    fn add(&self, bytes: usize, most: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|&sum| sum <= most);
        match changed(&self.taken, more) {
            Some((_, taken)) => {
                changed(&self.high, |high| (taken > high).then_some(taken));
                true
            }
            None => false,
        }
    }

    fn give_back(&self, bytes: usize) {
        let is_there = changed(&self.taken, |taken| taken.checked_sub(bytes)).is_some();
        debug_assert!(is_there, "more memory given back than taken");
    }
}

impl Own {
    /// Nothing yet; `floor` bytes are its own.
    pub fn new(floor: usize) -> Own {
        Own { floor, used: AtomicUsize::new(0) }
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.used.load(Acquire)
    }

    /// Takes `bytes` more, up to `most` in all, if they are to be had; what is held then.
    pub fn take(&self, common: &Common, bytes: usize, most: usize) -> Option<usize> {
        let more = |used: usize| used.checked_add(bytes).filter(|&wanted| wanted <= most);
        self.raise(common, more, Common::take)
    }

    /// Counts `bytes` that cannot be refused; what is held then.
    pub fn hold(&self, common: &Common, bytes: usize) -> usize {
        let more = |used: usize| Some(used.saturating_add(bytes));
        let held = |common: &Common, growth| {
            common.hold(growth);
            true
        };
        self.raise(common, more, held).unwrap_or_default()
    }

    /// Gives `bytes` back, which were taken.
    pub fn shrink(&self, common: &Common, bytes: usize) {
        let less = changed(&self.used, |used| used.checked_sub(bytes));
        debug_assert!(less.is_some(), "more memory given back than taken");
        if let Some((before, now)) = less {
            common.give_back(self.beyond_floor(before) - self.beyond_floor(now));
        }
    }

    fn raise(
        &self,
        common: &Common,
        more: impl Fn(usize) -> Option<usize>,
        take: impl Fn(&Common, usize) -> bool,
    ) -> Option<usize> {
        let mut used = self.used.load(Acquire);
        loop {
            let wanted = more(used)?;
            let growth = self.beyond_floor(wanted) - self.beyond_floor(used);
            if !take(common, growth) {
                return None;
            }
            match self.used.compare_exchange_weak(used, wanted, AcqRel, Acquire) {
                Ok(_) => return Some(wanted),
                Err(now) => {
                    common.give_back(growth);
                    used = now;
                }
            }
        }
    }

    fn beyond_floor(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.floor)
    }
}

/// Puts what `change` makes of a counter in its place: what was there, and what is.
fn changed(
    counter: &AtomicUsize,
    change: impl Fn(usize) -> Option<usize>,
) -> Option<(usize, usize)> {
    let mut before = counter.load(Acquire);
    loop {
        let now = change(before)?;
        match counter.compare_exchange_weak(before, now, AcqRel, Acquire) {
            Ok(_) => return Some((before, now)),
            Err(other) => before = other,
        }
    }
}

//! When a failed request is repeated, and whether.

use std::sync::Mutex;

use runtime::time::Duration;

use crate::limits::Limits;
use crate::lock::lock;

/// A pause of random length, up to twice as long each time.
pub(crate) fn pause(limits: &Limits, retry: u32, random: u64) -> Duration {
    let most = limits.backoff_base.saturating_mul(1 << retry.min(20)).min(limits.backoff_max);
    let most_ns = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    // The high half of a product is the share of a random number.
    let ns = (u128::from(most_ns) * u128::from(random)) >> 64;
    Duration::from_nanos(ns as u64)
}

/// How many repetitions may be made.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Mutex<f64>,
    most: f64,
    share: f64,
}

impl Budget {
    pub(crate) fn new(most: u32, share: f64) -> Budget {
        Budget { left: Mutex::new(f64::from(most)), most: f64::from(most), share }
    }

    /// Takes one repetition; false when there is none left.
    pub(crate) fn take(&self) -> bool {
        let mut left = lock(&self.left);
        let has = *left >= 1.0;
        *left -= if has { 1.0 } else { 0.0 };
        has
    }

    /// A request went well.
    pub(crate) fn earn(&self) {
        let mut left = lock(&self.left);
        *left = (*left + self.share).min(self.most);
    }
}

#[cfg(test)]
mod tests;

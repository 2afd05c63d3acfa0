//! What reads cost: microseconds of a page, from what the device gives and how many reads a query has in
//! flight.

use crate::options::{InFlight, PlannerOptions};

/// Bytes of the random reads by which a device is measured.
const PROBED_BYTES: f64 = 4096.0;

/// Pages that a scan with one read in flight asks for at once, if they lie side by side
/// (`storage::RUN_PAGES_MAX`).
const RUN_PAGES: f64 = 64.0;

impl PlannerOptions {
    /// A page somewhere.
    pub(crate) fn random_page_us(&self) -> f64 {
        // No read is cheaper than its bytes.
        let busy_us = (1e6 / self.device.reads_per_s as f64).max(self.bytes_us(PROBED_BYTES));
        let alone_us = self.device.read_ns as f64 / 1e3;
        self.of_requests(busy_us, alone_us) + self.beyond_probed_us()
    }

    /// The same where one task reads one page after the other, whatever the mode.
    pub(crate) fn page_alone_us(&self) -> f64 {
        self.device.read_ns as f64 / 1e3 + self.beyond_probed_us()
    }

    /// The next page in order.
    pub(crate) fn sequential_page_us(&self) -> f64 {
        let busy_us = self.bytes_us(self.page_bytes as f64);
        let alone_us = busy_us + self.device.read_ns as f64 / 1e3 / RUN_PAGES;
        self.of_requests(busy_us, alone_us)
    }

    /// Whether reads overlap; else a query has one in flight for each of its tasks.
    pub(crate) fn reads_overlap(&self) -> bool {
        self.in_flight == InFlight::Many
    }

    /// A request takes `alone_us` from its beginning to its end; the device ends one every `busy_us` at best
    /// (Little's law).
    fn of_requests(&self, busy_us: f64, alone_us: f64) -> f64 {
        match self.in_flight {
            InFlight::AtMost(count) => busy_us.max(alone_us / count.max(1) as f64),
            InFlight::Many => busy_us,
        }
    }

    /// What a page has more than a read of the probe.
    fn beyond_probed_us(&self) -> f64 {
        self.bytes_us((self.page_bytes as f64 - PROBED_BYTES).max(0.0))
    }

    fn bytes_us(&self, bytes: f64) -> f64 {
        bytes * 1e6 / self.device.bytes_per_s as f64
    }
}

#[cfg(test)]
mod tests;

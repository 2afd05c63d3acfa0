//! How long `pg_sleep` has asked a query to wait. The functions of a query only note it; who passes
//! its rows on waits, which holds back no worker and can be cancelled.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time that is owed.
#[derive(Debug, Default)]
pub(crate) struct Sleep(AtomicU64);

impl Sleep {
    pub(crate) fn owe(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // A longest wait stays one whatever is added.
        let add = |owed: u64| Some(owed.saturating_add(ns));
        let _ = self.0.fetch_update(Relaxed, Relaxed, add);
    }

    /// Waits for as long as is owed now.
    pub(crate) async fn pay(&self) {
        let owed = self.0.swap(0, Relaxed);
        if owed > 0 {
            runtime::time::sleep(Duration::from_nanos(owed)).await;
        }
    }
}

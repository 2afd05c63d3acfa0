//! Where a log lies.

use crate::extent::Extent;
use crate::page::PageId;

/// Where the log lies; no pages: there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogPlace {
    pub pid: PageId,
    pub pages: u32,
    /// Tells its frames from what users have written.
    pub salt: u64,
}

impl LogPlace {
    pub fn extent(self) -> Option<Extent> {
        (self.pages > 0).then_some(Extent { start: self.pid, pages: self.pages })
    }
}

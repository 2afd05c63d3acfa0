//! The catalog as a session sees it.

use std::sync::{Arc, Mutex};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::catalog::snapshot::Snapshot;
use crate::numbers::GivenNumbers;
use crate::system::catalog::SystemCatalog;
use crate::system::sleep::Sleep;
use crate::system::view::{Monitor, SessionView};

impl Session {
    /// The catalog as this session sees it, with the system's relations and functions.
    pub(crate) fn system_catalog(&self) -> SystemCatalog {
        self.catalog_over(self.db.snapshot())
    }

    pub(crate) fn catalog_over(&self, snapshot: Arc<Snapshot>) -> SystemCatalog {
        let catalog = SystemCatalog::new(
            self.db.system().clone(),
            SessionView {
                snapshot,
                session: self.info.clone(),
                settings: self.settings.clone(),
                statements: self.statements.clone(),
                cursors: self.cursors.clone(),
                chance: self.chance.clone(),
                numbers: self.numbers.clone(),
                mailbox: self.mailbox.clone(),
                lent: self.lent.clone(),
                given: GivenNumbers::default(),
                in_block: self.transaction.status != TransactionStatus::Idle,
                keeps_version: self.db.kept().is_some()
                    && !self.db.block().is_some_and(|block| block.defines()),
                reads_only: self.reads_only,
                sleep: Sleep::default(),
                session_id: self.activity.session_id,
                wishes: Mutex::default(),
                changes: Mutex::default(),
                now_us: runtime::time::unix_us(),
                governor: self.db.governor().clone(),
                page_bytes: self.db.page_bytes() as u64,
                checkpoint: self.db.store().checkpoint_number(),
                monitor: Monitor {
                    activities: self.db.activities().clone(),
                    handle: self.db.handle(),
                    versions: self.db.versions().clone(),
                    replica: self.db.attendant(),
                },
            },
        );
        catalog.with_results(self.results.clone())
    }
}

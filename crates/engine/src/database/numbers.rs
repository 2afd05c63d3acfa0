//! Numbers that sequences have given out, made durable.

use txn::locks::table::LockWait;
use types::SqlResult;

use super::Database;
use crate::catalog::sequence::SequenceKey;
use crate::numbers::Given;
use crate::versions::chain::Committed;

impl Database {
    /// Makes durable that sequences have given numbers out, and waits for that if it `waits`; otherwise the
    /// number of the version with which that becomes so. In a block its end does that.
    pub(crate) async fn save_numbers(
        &self,
        given: Vec<Given>,
        wait: &LockWait,
        waits: bool,
    ) -> SqlResult<Option<u64>> {
        if given.is_empty() {
            return Ok(None);
        }
        if self.block().is_some() {
            self.versions().note_given(&given);
            return Ok(None);
        }
        let right = self.versions().locks().share(wait).await?;
        // Another statement may have done it meanwhile.
        let given: Vec<Given> = given.into_iter().filter(Given::is_unsaved).collect();
        if given.is_empty() {
            return Ok(None);
        }
        self.versions().note_given(&given);
        match self.versions().save_given(right, waits) {
            Committed::Awaited(version) => {
                self.versions().settle(version, self.session_id()).await.map(|()| None)
            }
            Committed::Seen(version) => Ok(Some(version)),
        }
    }

    /// True if a transaction that has not ended has altered sequences.
    pub(crate) fn alters_numbers(&self) -> bool {
        self.versions().locks().alters_numbers()
    }

    /// Waits until no other transaction has altered sequences without having ended: what comes then
    /// goes by what they are then.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014.
    pub(crate) async fn await_numbers(&self, wait: &LockWait) -> SqlResult<()> {
        match self.block() {
            Some(block) => block.right()?.await_numbers(wait).await,
            None => self.versions().locks().await_numbers(wait).await,
        }
    }

    /// Sequences go on after an orderly end without the gap that a crash leaves.
    pub(crate) async fn release_numbers(&self) -> SqlResult<()> {
        let right = self.versions().locks().share(&LockWait::default()).await?;
        let newest = self.newest();
        let released = newest.numbers().filter(|numbered| numbered.numbers.release());
        let released: Vec<SequenceKey> = released.map(|numbered| numbered.key).collect();
        if released.is_empty() {
            return Ok(());
        }
        self.versions().note_released(&released);
        match self.versions().save_given(right, true) {
            Committed::Awaited(version) | Committed::Seen(version) => {
                self.versions().settle(version, self.session_id()).await
            }
        }
    }
}

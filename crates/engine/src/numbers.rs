//! Numbers that sequences have given out, made durable when their statement ends.

use types::{SqlError, SqlResult};

use crate::database::Database;
use crate::session::Session;
use crate::system::Given;
use crate::turn;

impl Database {
    /// Makes durable that sequences have given numbers out. In a block its end does that.
    pub(crate) fn save_numbers(&self, given: Vec<Given>) -> SqlResult<()> {
        if given.is_empty() || self.block().is_some() {
            return Ok(());
        }
        let _writer = self.writer()?;
        // Another statement may have done it meanwhile.
        let given: Vec<Given> = given.into_iter().filter(Given::is_unsaved).collect();
        if given.is_empty() {
            return Ok(());
        }
        given.iter().for_each(Given::reserve);
        let saved = self.change(|_, _| Box::pin(async { Ok(()) }));
        given.iter().for_each(|given| given.reserved(saved.is_ok()));
        saved
    }

    /// Sequences go on after an orderly end without the gap that a crash leaves.
    pub(crate) fn release_numbers(&self) -> SqlResult<()> {
        let _writer = self.writer()?;
        let released = self.snapshot().numbers().filter(|numbers| numbers.release()).count();
        match released {
            0 => Ok(()),
            _ => self.change(|_, _| Box::pin(async { Ok(()) })),
        }
    }
}

impl Session {
    /// Makes durable that sequences have given numbers out.
    pub(crate) async fn save_numbers(&self, given: Vec<Given>) -> SqlResult<()> {
        if given.is_empty() {
            return Ok(());
        }
        let (db, patience) = (self.database().clone(), self.patience());
        let save = move || turn::patiently(patience, || db.save_numbers(given));
        let saved = runtime::offload(save).await;
        saved
            .map_err(|aborted| SqlError::internal(format!("saving sequences failed: {aborted}")))?
    }
}

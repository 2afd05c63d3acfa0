//! `SET CONSTRAINTS`.

use sql::constraints::{Deferral, ForeignKey};
use sql::parse::SetConstraints;
use types::{SqlError, SqlResult, SqlState};

use super::{Session, TransactionStatus};
use crate::deferred::{Dangling, Deferrals};
use crate::dml;

impl Session {
    /// Which constraints the transaction defers.
    pub(crate) fn deferrals(&self) -> &Deferrals {
        &self.transaction.deferrals
    }

    /// `SET CONSTRAINTS`; those that are not deferred any more are checked.
    ///
    /// # Errors
    /// 42704 for a name that no constraint has, 42809 for one that may not be deferred; 23503.
    pub(super) async fn set_constraints(&mut self, set: &SetConstraints) -> SqlResult<()> {
        for name in &set.names {
            self.check_deferrable(name)?;
        }
        if self.transaction.status == TransactionStatus::Idle && !self.transaction.goes_on {
            self.warn("25P01", "SET CONSTRAINTS can only be used in transaction blocks");
            return Ok(());
        }
        self.transaction.deferrals.set(set);
        let is_named = |name: &String| set.names.is_empty() || set.names.contains(name);
        match set.deferred {
            true => Ok(()),
            false => self.check_dangling(&|key| is_named(&key.constraint)).await,
        }
    }

    fn check_deferrable(&self, name: &str) -> SqlResult<()> {
        let snapshot = self.db.snapshot();
        let mut keys = snapshot.tables.values().flat_map(|t| &t.def.constraints.foreign_keys);
        let is_it = |key: &&ForeignKey| key.name == name;
        match keys.find(is_it) {
            Some(key) if key.deferral == Deferral::Never => {
                let message = format!("constraint \"{name}\" is not deferrable");
                Err(SqlError::new(SqlState("42809"), message))
            }
            Some(_) => Ok(()),
            None => {
                let message = format!("constraint \"{name}\" does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// Looks again at what deferred foreign keys have found no row for.
    ///
    /// # Errors
    /// 23503; 40P01, 55P03, 57014.
    pub(super) async fn check_dangling(&self, is_due: &dyn Fn(&Dangling) -> bool) -> SqlResult<()> {
        let Some(block) = self.db.block() else { return Ok(()) };
        let dangling = block.dangling_of(is_due);
        if dangling.is_empty() {
            return Ok(());
        }
        let writing = self.writing_rows().await?;
        dml::check_dangling(&writing, dangling).await
    }
}

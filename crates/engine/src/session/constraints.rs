//! `SET CONSTRAINTS`.

use plan::catalog::TableDef;
use plan::constraints::Deferral;
use sql::parse::SetConstraints;
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::deferred::{Deferrals, Doubt};
use crate::dml;

impl Session {
    /// Which constraints the transaction defers.
    pub(crate) fn deferrals(&self) -> &Deferrals {
        &self.transaction.deferrals
    }

    /// `SET CONSTRAINTS`; those that are not deferred any more are checked.
    ///
    /// # Errors
    /// 42704 for a name that no constraint has, 42809 for one that may not be deferred; 23503, 23505.
    pub(super) async fn set_constraints(&mut self, set: &SetConstraints) -> SqlResult<()> {
        for name in &set.names {
            self.check_deferrable(name, set.deferred)?;
        }
        if self.transaction.status == TransactionStatus::Idle && !self.transaction.goes_on {
            self.warn("25P01", "SET CONSTRAINTS can only be used in transaction blocks");
            return Ok(());
        }
        self.transaction.deferrals.set(set);
        let is_named = |name: &String| set.names.is_empty() || set.names.contains(name);
        match set.deferred {
            true => Ok(()),
            false => self.check_doubts(&|key| is_named(&key.constraint)).await,
        }
    }

    /// Refuses a name that no constraint has, and one to be deferred that may not be.
    fn check_deferrable(&self, name: &str, deferred: bool) -> SqlResult<()> {
        let snapshot = self.db.snapshot();
        let found: Vec<Deferral> =
            snapshot.tables.values().flat_map(|table| deferrals(&table.def, name)).collect();
        if found.is_empty() {
            let message = format!("constraint \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        if deferred && found.iter().all(Deferral::is_never) {
            let message = format!("constraint \"{name}\" is not deferrable");
            return Err(SqlError::new(SqlState("42809"), message));
        }
        Ok(())
    }

    /// Looks again at what deferred constraints have left in doubt.
    ///
    /// # Errors
    /// 23503, 23505; 40P01, 55P03, 57014.
    pub(super) async fn check_doubts(&self, is_due: &dyn Fn(&Doubt) -> bool) -> SqlResult<()> {
        let Some(block) = self.db.block() else { return Ok(()) };
        let doubts = block.doubts_of(is_due);
        if doubts.is_empty() {
            return Ok(());
        }
        let writing = self.writing_rows().await?;
        dml::deferred::check_doubts(&writing, doubts).await
    }
}

/// When constraints of a table are checked that have this name.
fn deferrals(def: &TableDef, name: &str) -> Vec<Deferral> {
    let foreign = def.constraints.foreign_keys.iter();
    let foreign = foreign.filter(|key| key.name == name).map(|key| key.deferral);
    let unique = def.indexes.iter().filter(|index| index.unique && index.name == name);
    let clustered = !def.primary_key.is_empty() && def.primary_key_name() == name;
    let checks = def.constraints.checks.iter().filter(|check| check.name == name);
    let others = checks.map(|_| Deferral::Never).chain(clustered.then_some(Deferral::Never));
    foreign.chain(unique.map(|index| index.deferral)).chain(others).collect()
}

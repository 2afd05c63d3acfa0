//! The rights of a version of the catalog.

use types::{SqlError, SqlResult, SqlState};

use super::acl::Acl;
use super::rights::Relation;
use crate::catalog::snapshot::Snapshot;

impl Snapshot {
    /// The relation that privileges on `name` are about.
    pub(crate) fn owned<'a>(&self, name: &'a str) -> Option<Relation<'a>> {
        if let Some(entry) = self.tables.get(name) {
            return Some(Relation::Table(entry.def.id.0));
        }
        if let Some(sequence) = self.sequences.get(name) {
            return Some(Relation::Sequence(sequence.id));
        }
        self.views.contains_key(name).then_some(Relation::View(name))
    }

    /// The access list of the table, view or sequence `name`.
    pub(crate) fn acl(&self, name: &str) -> SqlResult<&Acl> {
        let relation = self.owned(name).ok_or_else(|| {
            let message = format!("relation \"{name}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        })?;
        Ok(self.access.acl(&relation))
    }
}

//! Rows of the program that a session reads.

use std::sync::Arc;

use sql::catalog::Catalog;
use sql::{NamedRelation, Template};

use super::state::Session;
use crate::lent::Lent;

impl Session {
    /// Has queries of this session read rows by this name, until another call with the name or
    /// [`Session::take_back`].
    pub fn lend(&mut self, name: &str, lent: Lent) {
        Arc::make_mut(&mut self.lent).add(name, lent);
    }

    /// Forgets rows that were lent; whether there were any of this name.
    pub fn take_back(&mut self, name: &str) -> bool {
        Arc::make_mut(&mut self.lent).relations.remove(name).is_some()
    }

    /// The relations that a statement names and nobody knows: no table, no view, nothing of the system,
    /// and nothing that was lent.
    pub fn unknown_relations(&self, template: &Template) -> Vec<NamedRelation> {
        let named = template.relations();
        if named.is_empty() {
            return named;
        }
        let catalog = self.system_catalog();
        let is_unknown = |relation: &NamedRelation| {
            let name = &relation.name;
            catalog.table(name).is_none()
                && catalog.view(name).is_none()
                && catalog.system_table("pg_catalog", name).is_none()
        };
        named.into_iter().filter(is_unknown).collect()
    }
}

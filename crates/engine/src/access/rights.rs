//! All roles, and the access lists of all objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::acl::Acl;
use super::role::{BOOTSTRAP, BOOTSTRAP_NAME, Membership, Role, RoleId};

/// The first number of roles that users create, as in PostgreSQL.
pub(crate) const FIRST_ROLE: RoleId = 16_384;

/// All roles, and the access lists of all objects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Access {
    /// Those that somebody has made, by their numbers.
    pub roles: BTreeMap<RoleId, Role>,
    /// Who is a member of what.
    pub memberships: Vec<Membership>,
    pub(crate) next_role: RoleId,
    /// By the table's id.
    tables: BTreeMap<u32, Acl>,
    /// By the view's name.
    views: BTreeMap<String, Acl>,
    /// By the sequence's id.
    #[serde(default)]
    sequences: BTreeMap<u32, Acl>,
    /// Of the schema `public`.
    pub schema: Acl,
    /// Of the database.
    pub database: Acl,
    /// What the made-up verifiers of names that are no roles follow from.
    pub(crate) mock_secret: Vec<u8>,
}

impl Default for Access {
    /// Of a new database.
    fn default() -> Access {
        let bootstrap = Role {
            superuser: true,
            createrole: true,
            createdb: true,
            login: true,
            replication: true,
            bypassrls: true,
            ..Role::new(BOOTSTRAP, BOOTSTRAP_NAME)
        };
        Access {
            roles: BTreeMap::from([(BOOTSTRAP, bootstrap)]),
            memberships: vec![],
            next_role: FIRST_ROLE,
            tables: BTreeMap::new(),
            views: BTreeMap::new(),
            sequences: BTreeMap::new(),
            schema: Acl::of_schema(),
            database: Acl::of_database(),
            mock_secret: vec![],
        }
    }
}

/// Whether some lists are all that the older ones are.
pub(crate) fn has_all<K: Ord>(newer: &BTreeMap<K, Acl>, older: &BTreeMap<K, Acl>) -> bool {
    older.iter().all(|(key, acl)| newer.get(key) == Some(acl))
}

/// What has an access list of its own.
pub enum Relation<'a> {
    /// A table by its id.
    Table(u32),
    /// A view by its name.
    View(&'a str),
    /// One that `CREATE SEQUENCE` made: those of columns go with their tables.
    Sequence(u32),
}

impl Access {
    /// The access list of a relation. What nobody was ever named for is the bootstrap role's.
    pub fn acl(&self, relation: &Relation<'_>) -> &Acl {
        let found = match relation {
            Relation::Table(id) => self.tables.get(id),
            Relation::View(name) => self.views.get(*name),
            Relation::Sequence(id) => self.sequences.get(id),
        };
        found.unwrap_or(&super::acl::UNOWNED)
    }

    /// Whether it has all that an older one has, and besides only lists of other relations.
    pub(crate) fn only_adds_to(&self, older: &Access) -> bool {
        self.roles == older.roles
            && self.memberships == older.memberships
            && (&self.schema, &self.database) == (&older.schema, &older.database)
            && has_all(&self.tables, &older.tables)
            && has_all(&self.views, &older.views)
            && has_all(&self.sequences, &older.sequences)
    }

    pub(crate) fn put_acl(&mut self, relation: &Relation<'_>, acl: Acl) {
        match relation {
            Relation::Table(id) => self.tables.insert(*id, acl),
            Relation::View(name) => self.views.insert((*name).to_owned(), acl),
            Relation::Sequence(id) => self.sequences.insert(*id, acl),
        };
    }

    /// Gives a new relation its owner and nothing else.
    pub(crate) fn own(&mut self, relation: &Relation<'_>, owner: RoleId) {
        let acl = match relation {
            Relation::Sequence(_) => Acl::of_sequence(owner),
            Relation::Table(_) | Relation::View(_) => Acl::of_relation(owner),
        };
        self.put_acl(relation, acl);
    }

    /// Whether there are lists of relations that are no more.
    pub(crate) fn has_others(&self, is_there: impl Fn(&Relation<'_>) -> bool) -> bool {
        self.tables.keys().any(|id| !is_there(&Relation::Table(*id)))
            || self.views.keys().any(|name| !is_there(&Relation::View(name)))
            || self.sequences.keys().any(|id| !is_there(&Relation::Sequence(*id)))
    }

    /// Forgets the lists of relations that are no more.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&Relation<'_>) -> bool) {
        self.tables.retain(|id, _| is_there(&Relation::Table(*id)));
        self.views.retain(|name, _| is_there(&Relation::View(name)));
        self.sequences.retain(|id, _| is_there(&Relation::Sequence(*id)));
    }
}

//! Roles, and who is a member of which.

use serde::{Deserialize, Serialize};

/// A role's number: PostgreSQL's oid.
pub type RoleId = u32;

/// The role that a new database has: a superuser.
pub(crate) const BOOTSTRAP: RoleId = 10;

/// Its name until somebody renames it.
pub(crate) const BOOTSTRAP_NAME: &str = "dovetail";

/// Stands for everybody in an access list.
pub const PUBLIC: RoleId = 0;

/// A role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its number.
    pub id: RoleId,
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether it has what the roles may of which it is a member.
    pub inherit: bool,
    /// Whether it may create roles.
    pub createrole: bool,
    /// Whether it may create databases.
    pub createdb: bool,
    /// Whether it may log in.
    pub login: bool,
    /// Whether it may copy the database as a replica; shown, and without effect.
    pub replication: bool,
    /// Whether it sees all rows of tables with policies; shown, and without effect.
    pub bypassrls: bool,
    /// Connections at once; -1 is no limit.
    pub connection_limit: i32,
    /// What checks its password; the password itself is kept nowhere.
    pub verifier: Option<String>,
}

/// One role is a member of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// The role that the member is, too.
    pub role: RoleId,
    /// The member.
    pub member: RoleId,
    /// Who made it one.
    pub grantor: RoleId,
    /// The member may pass the membership on.
    pub admin: bool,
}

//! Roles and their memberships, and the questions that are asked about them.

use sql::parse::{Privilege, RoleName};
use types::{SqlError, SqlResult, SqlState};

use super::acl::{Acl, bits};
use super::rights::Access;
use super::role::{PUBLIC, Role, RoleId};
use super::session_info::SessionInfo;
use super::verifier::{Credentials, Verifier};

/// PostgreSQL's predefined roles that mean something here: oid and name. They cannot log in.
pub(crate) const PREDEFINED: &[(RoleId, &str)] = &[
    (READ_ALL_DATA, "pg_read_all_data"),
    (WRITE_ALL_DATA, "pg_write_all_data"),
    (MONITOR, "pg_monitor"),
    (READ_ALL_SETTINGS, "pg_read_all_settings"),
    (READ_ALL_STATS, "pg_read_all_stats"),
    (SIGNAL_BACKEND, "pg_signal_backend"),
    (READ_SERVER_FILES, "pg_read_server_files"),
    (WRITE_SERVER_FILES, "pg_write_server_files"),
    (CHECKPOINT, "pg_checkpoint"),
    (DATABASE_OWNER, "pg_database_owner"),
];

const READ_ALL_DATA: RoleId = 6181;
const WRITE_ALL_DATA: RoleId = 6182;
const MONITOR: RoleId = 3373;
pub(crate) const READ_ALL_SETTINGS: RoleId = 3374;
/// The owner of the database, whoever that is: it has no other member.
pub const DATABASE_OWNER: RoleId = 6171;
/// Its members see what others run.
pub const READ_ALL_STATS: RoleId = 3375;
/// Its members end what others run.
pub const SIGNAL_BACKEND: RoleId = 4200;
pub(crate) const READ_SERVER_FILES: RoleId = 4569;
pub(crate) const WRITE_SERVER_FILES: RoleId = 4570;
pub(crate) const CHECKPOINT: RoleId = 4544;

impl Role {
    /// A role that may do nothing yet.
    pub(crate) fn new(id: RoleId, name: &str) -> Role {
        Role {
            id,
            name: name.to_owned(),
            superuser: false,
            inherit: true,
            createrole: false,
            createdb: false,
            login: false,
            replication: false,
            bypassrls: false,
            connection_limit: -1,
            verifier: None,
        }
    }
}

impl Access {
    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.values().find(|role| role.name == name)
    }

    /// The number of the role of this name.
    ///
    /// # Errors
    /// 42704 when there is none.
    pub fn id(&self, name: &str) -> SqlResult<RoleId> {
        let predefined = || PREDEFINED.iter().find(|(_, n)| *n == name).map(|(id, _)| *id);
        let found = self.role(name).map(|role| role.id).or_else(predefined);
        found.ok_or_else(|| missing(name))
    }

    /// The name of a role; that of one which is gone is its number.
    pub fn name(&self, id: RoleId) -> &str {
        let predefined = || PREDEFINED.iter().find(|(i, _)| *i == id).map(|(_, name)| *name);
        let role = self.roles.get(&id).map(|role| role.name.as_str());
        role.or_else(predefined).unwrap_or("unknown")
    }

    /// All roles, the predefined ones last.
    pub fn all_roles(&self) -> impl Iterator<Item = Role> + '_ {
        let predefined = PREDEFINED.iter().map(|(id, name)| Role::new(*id, name));
        self.roles.values().cloned().chain(predefined)
    }

    /// The role that a statement names.
    pub(crate) fn resolve(&self, name: &RoleName, session: &SessionInfo) -> SqlResult<RoleId> {
        match name {
            RoleName::Named(name) => self.id(name),
            RoleName::Public => Ok(PUBLIC),
            RoleName::Current => Ok(session.role),
            RoleName::Session => Ok(session.session_role),
        }
    }

    /// Whether the role may do everything.
    pub fn is_superuser(&self, role: RoleId) -> bool {
        self.roles.get(&role).is_some_and(|role| role.superuser)
    }

    /// The roles that `role` is, directly or not; with `inherited`, only as far as it inherits.
    pub fn roles_of(&self, role: RoleId, inherited: bool) -> Vec<RoleId> {
        let mut found = vec![role];
        let mut at = 0;
        while let Some(&member) = found.get(at) {
            at += 1;
            if inherited && self.roles.get(&member).is_some_and(|role| !role.inherit) {
                continue;
            }
            for membership in self.memberships.iter().filter(|m| m.member == member) {
                if !found.contains(&membership.role) {
                    found.push(membership.role);
                }
            }
        }
        // `pg_monitor` is a member of the roles that read what it watches.
        if found.contains(&MONITOR) {
            found.extend([READ_ALL_SETTINGS, READ_ALL_STATS]);
        }
        found
    }

    /// Whether the role has the privileges of `other`.
    pub fn has_privileges_of(&self, role: RoleId, other: RoleId) -> bool {
        self.is_superuser(role) || self.roles_of(role, true).contains(&other)
    }

    /// Whether the role may become `other`.
    pub fn is_member(&self, role: RoleId, other: RoleId) -> bool {
        self.is_superuser(role) || self.roles_of(role, false).contains(&other)
    }

    /// Whether the role has the rights of the owner.
    pub fn owns(&self, role: RoleId, acl: &Acl) -> bool {
        self.has_privileges_of(role, acl.owner)
    }

    /// Whether the role may do something.
    pub fn allows(&self, role: RoleId, acl: &Acl, privilege: Privilege) -> bool {
        if self.is_superuser(role) {
            return true;
        }
        // A role that was dropped while its session lives may do nothing.
        if !self.roles.contains_key(&role) {
            return false;
        }
        let roles = self.roles_of(role, true);
        let granted = acl.items.iter().any(|item| {
            let named = item.grantee == PUBLIC || roles.contains(&item.grantee);
            named && item.bits & privilege as u16 != 0
        });
        granted || roles.iter().any(|role| predefined_bits(*role) & privilege as u16 != 0)
    }

    /// Whether nobody has made a role or set a password yet: then there is nobody to tell apart, and
    /// any name means the bootstrap role.
    pub(crate) fn is_fresh(&self) -> bool {
        self.roles.len() == 1 && !self.has_passwords()
    }

    /// Whether any role has a password.
    pub(crate) fn has_passwords(&self) -> bool {
        self.roles.values().any(|role| role.verifier.is_some())
    }

    /// True if a superuser may log in, who has a password if one is asked for.
    pub(crate) fn has_superuser_login(&self, with_password: bool) -> bool {
        let may = |role: &Role| role.superuser && role.login;
        self.roles.values().any(|role| may(role) && (!with_password || role.verifier.is_some()))
    }

    /// What a login as `name` is checked against.
    pub(crate) fn credentials(&self, name: &str) -> Credentials {
        let verifier = self.role(name).and_then(|role| role.verifier.as_deref());
        match verifier.and_then(Verifier::parse) {
            Some(verifier) => Credentials::of(verifier),
            None => Credentials::mock(name, &self.mock_secret),
        }
    }
}

/// What a predefined role may do with everything.
fn predefined_bits(role: RoleId) -> u16 {
    match role {
        READ_ALL_DATA => bits(&[Privilege::Select, Privilege::Usage]),
        WRITE_ALL_DATA => {
            bits(&[Privilege::Insert, Privilege::Update, Privilege::Delete, Privilege::Usage])
        }
        _ => 0,
    }
}

pub(crate) fn missing(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

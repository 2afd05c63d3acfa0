//! What is asked of roles before a session is somebody's.

use crate::access::verifier::Credentials;
use crate::database::Database;

impl Database {
    /// What a login is checked against, whether or not there is such a role.
    pub fn credentials(&self, user: &str) -> Credentials {
        self.snapshot().access.credentials(user)
    }

    /// Whether a user is a member of a role.
    pub fn is_member(&self, user: &str, role: &str) -> bool {
        let access = &self.snapshot().access;
        match (access.role(user), access.id(role)) {
            (Some(user), Ok(role)) => access.roles_of(user.id, false).contains(&role),
            _ => false,
        }
    }

    /// Whether nobody has made a role or set a password yet: any name means its one role then.
    pub fn is_fresh(&self) -> bool {
        self.snapshot().access.is_fresh()
    }

    /// True if a superuser may log in, who has a password if one is asked for.
    pub fn has_superuser_login(&self, with_password: bool) -> bool {
        self.snapshot().access.has_superuser_login(with_password)
    }

    /// Whether any role has a password.
    pub fn has_passwords(&self) -> bool {
        self.snapshot().access.has_passwords()
    }
}

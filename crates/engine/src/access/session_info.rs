//! Who a session is: the role that logged in, the one it took on, the one statements run as.

use sql::parse::Privilege;
use types::{SqlError, SqlResult, SqlState};

use super::role::RoleId;
use crate::catalog::snapshot::Snapshot;

/// Who asks, for privileges and for functions and relations that depend on it.
#[derive(Clone, Debug)]
pub(crate) struct SessionInfo {
    /// The name of the role that statements run as.
    pub(crate) user: String,
    /// The role that statements run as.
    pub(crate) role: RoleId,
    /// The name of the session's role.
    pub(crate) session_user: String,
    /// The role of the session, which `SET ROLE NONE` goes back to.
    pub(crate) session_role: RoleId,
    /// The role that logged in.
    pub(crate) login_role: RoleId,
    /// The database's name.
    pub(crate) database: String,
    /// The session's number, in place of a process id.
    pub(crate) pid: i32,
}

impl SessionInfo {
    /// The session of a role that has proved who it is. In a database where nobody has made a role or
    /// set a password yet, any name means its one role.
    pub(crate) fn logged_in(
        &self,
        snapshot: &Snapshot,
        user: &str,
        pid: i32,
    ) -> SqlResult<SessionInfo> {
        let access = &snapshot.access;
        let refused = |message| SqlError::new(SqlState::INVALID_AUTHORIZATION, message);
        let role = match access.is_fresh() {
            true => access.roles.values().next(),
            false => access.role(user),
        };
        let role = role.ok_or_else(|| refused(format!("role \"{user}\" does not exist")))?;
        if !role.login {
            return Err(refused(format!("role \"{user}\" is not permitted to log in")));
        }
        if !access.allows(role.id, &access.database, Privilege::Connect) {
            let error = super::denied::denied("database", &format!("\"{}\"", self.database));
            return Err(error.with_detail("User does not have CONNECT privilege."));
        }
        Ok(SessionInfo { login_role: role.id, pid, ..self.as_role(role.id, &role.name) }
            .on_its_own())
    }

    fn as_role(&self, role: RoleId, name: &str) -> SessionInfo {
        SessionInfo { role, user: name.to_owned(), ..self.clone() }
    }

    /// The role that statements run as becomes the session's.
    fn on_its_own(self) -> SessionInfo {
        SessionInfo { session_role: self.role, session_user: self.user.clone(), ..self }
    }

    /// After `SET ROLE`.
    pub(crate) fn assuming(
        &self,
        snapshot: &Snapshot,
        name: Option<&str>,
    ) -> SqlResult<SessionInfo> {
        let access = &snapshot.access;
        let Some(name) = name else {
            return Ok(self.as_role(self.session_role, &self.session_user));
        };
        let role = access.id(name).map_err(|_| unknown(name))?;
        if !access.is_member(self.session_role, role) {
            let message = format!("permission denied to set role \"{name}\"");
            return Err(super::denied::privilege_error(message));
        }
        Ok(self.as_role(role, name))
    }

    /// After `SET SESSION AUTHORIZATION`.
    pub(crate) fn authorized(
        &self,
        snapshot: &Snapshot,
        name: Option<&str>,
    ) -> SqlResult<SessionInfo> {
        let access = &snapshot.access;
        let name = name.unwrap_or(access.name(self.login_role));
        let role = access.role(name).map(|role| role.id).ok_or_else(|| unknown(name))?;
        if role != self.login_role && !access.is_superuser(self.login_role) {
            return Err(super::denied::privilege_error(
                "permission denied to set session authorization",
            ));
        }
        Ok(self.as_role(role, name).on_its_own())
    }
}

fn unknown(name: &str) -> SqlError {
    let message = format!("role \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

//! The options of `CREATE ROLE` and `ALTER ROLE`.

use types::{SqlError, SqlResult, SqlState};

use super::{RoleName, Secret};
use crate::parse::words::Words;

/// Options of a role; `None` leaves an attribute as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleOptions {
    /// May do everything.
    pub superuser: Option<bool>,
    /// May create databases; kept, there is one.
    pub createdb: Option<bool>,
    /// May create and change roles.
    pub createrole: Option<bool>,
    /// Has the privileges of the roles that it is a member of without `SET ROLE`.
    pub inherit: Option<bool>,
    /// May connect.
    pub login: Option<bool>,
    /// Kept for clients that ask.
    pub replication: Option<bool>,
    /// Kept for clients that ask.
    pub bypassrls: Option<bool>,
    /// Connections at once; -1 is no limit.
    pub connection_limit: Option<i32>,
    /// A new password; `Some(None)` takes it away.
    pub password: Option<Option<Secret>>,
    /// Roles that the new role becomes a member of.
    pub in_roles: Vec<String>,
    /// Roles that become members of the new role.
    pub members: Vec<RoleName>,
    /// The same, and they may pass the membership on.
    pub admins: Vec<RoleName>,
}

impl RoleOptions {
    /// Whether nothing but the password changes.
    pub fn is_password_only(&self) -> bool {
        let rest = RoleOptions { password: None, ..self.clone() };
        self.password.is_some() && rest == RoleOptions::default()
    }

    fn flag(&mut self, name: &str) -> Option<&mut Option<bool>> {
        Some(match name {
            "superuser" => &mut self.superuser,
            "createdb" => &mut self.createdb,
            "createrole" | "createuser" => &mut self.createrole,
            "inherit" => &mut self.inherit,
            "login" => &mut self.login,
            "replication" => &mut self.replication,
            "bypassrls" => &mut self.bypassrls,
            _ => return None,
        })
    }
}

/// Reads options up to the end of the statement.
pub(super) fn read(words: &mut Words<'_>) -> SqlResult<RoleOptions> {
    let mut options = RoleOptions::default();
    words.eat("with");
    while !words.is_end() {
        option(words, &mut options)?;
    }
    Ok(options)
}

fn option(words: &mut Words<'_>, options: &mut RoleOptions) -> SqlResult<()> {
    if words.eat("encrypted") || words.is("password") {
        words.expect("password")?;
        return set(&mut options.password, password(words)?);
    }
    if words.eat("connection") {
        words.expect("limit")?;
        let limit = words.number()?;
        if limit < -1 {
            let message = format!("invalid connection limit: {limit}");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        return set(&mut options.connection_limit, limit);
    }
    if words.eat("in") {
        if !words.eat("role") {
            words.expect("group")?;
        }
        options.in_roles.extend(words.names()?);
        return Ok(());
    }
    if words.eat("admin") {
        options.admins.extend(words.list(Words::role)?);
        return Ok(());
    }
    if words.eat("role") || words.eat("user") {
        options.members.extend(words.list(Words::role)?);
        return Ok(());
    }
    if words.is("valid") {
        return Err(SqlError::unsupported("VALID UNTIL"));
    }
    if words.is("sysid") {
        return Err(SqlError::unsupported("SYSID"));
    }
    attribute(words, options)
}

/// `LOGIN`, `NOLOGIN` and their like.
fn attribute(words: &mut Words<'_>, options: &mut RoleOptions) -> SqlResult<()> {
    let unexpected = words.unexpected();
    let name = words.name().map_err(|_| unexpected.clone())?;
    if let Some(flag) = options.flag(&name) {
        return set(flag, true);
    }
    match name.strip_prefix("no").and_then(|name| options.flag(name)) {
        Some(flag) => set(flag, false),
        None => Err(unexpected),
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> SqlResult<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

fn password(words: &mut Words<'_>) -> SqlResult<Option<Secret>> {
    if words.eat("null") {
        return Ok(None);
    }
    let text = words.text().ok_or_else(|| words.unexpected())?;
    Ok(Some(Secret::new(text)))
}

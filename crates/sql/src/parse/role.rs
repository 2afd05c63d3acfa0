//! Roles and privileges: `CREATE`, `ALTER` and `DROP ROLE`, `GRANT`, `REVOKE`, `SET ROLE`,
//! `OWNER TO`. Read from the tokens, so that a password is never part of a syntax tree.

mod grant;
mod options;

use std::fmt;

use types::SqlResult;

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::object_name::RelationName;

pub use grant::{Grant, GrantTarget, Privilege};
pub use options::RoleOptions;

/// A statement about roles and privileges.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleStatement {
    /// `CREATE ROLE`, `CREATE USER`, `CREATE GROUP`.
    Create {
        /// The name.
        name: String,
        /// What it may do.
        options: RoleOptions,
    },
    /// `ALTER ROLE`.
    Alter {
        /// The role.
        role: RoleName,
        /// What changes.
        options: RoleOptions,
    },
    /// `ALTER ROLE .. RENAME TO`.
    Rename {
        /// The role.
        name: String,
        /// Its new name.
        to: String,
    },
    /// `DROP ROLE`.
    Drop {
        /// The roles.
        names: Vec<String>,
        /// No error if one does not exist.
        if_exists: bool,
    },
    /// `GRANT` and `REVOKE`.
    Grant(Grant),
    /// `ALTER TABLE .. OWNER TO`, and the same of views and sequences.
    Owner {
        /// The table or view.
        relation: RelationName,
        /// No error if it does not exist.
        if_exists: bool,
        /// Who owns it from now on.
        role: RoleName,
    },
    /// `SET ROLE`; `None` goes back to the session's own.
    Assume(Option<String>),
    /// `SET SESSION AUTHORIZATION`; `None` is the role that logged in.
    Authorize(Option<String>),
}

/// How a statement names a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// By its name.
    Named(String),
    /// Everybody.
    Public,
    /// The role that the statement runs as.
    Current,
    /// The role of the session.
    Session,
}

/// A password, which shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The password itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The statement, if its first words say that it is about roles; `None` leaves it to the others.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<RoleStatement>> {
    let mut words = Words::new(text, tokens);
    if words.eat("grant") {
        return Some(grant::grant(words));
    }
    if words.eat("revoke") {
        return Some(grant::revoke(words));
    }
    if words.eat("set") || words.eat("reset") {
        return session(words);
    }
    let verb = ["create", "alter", "drop"].into_iter().find(|verb| words.eat(verb))?;
    if ["role", "user", "group"].iter().any(|kind| words.is(kind)) {
        let login = words.is("user");
        words.skip();
        return Some(match verb {
            "create" => create(words, login),
            "alter" => alter(words),
            _ => drop(words),
        });
    }
    (verb == "alter").then(|| owner(words)).flatten()
}

fn create(mut words: Words<'_>, login: bool) -> SqlResult<RoleStatement> {
    let name = words.name()?;
    let mut options = options::read(&mut words)?;
    if login {
        options.login.get_or_insert(true);
    }
    Ok(RoleStatement::Create { name, options })
}

fn alter(mut words: Words<'_>) -> SqlResult<RoleStatement> {
    let role = words.role()?;
    if let RoleName::Named(name) = &role
        && words.eat("rename")
    {
        words.expect("to")?;
        let (name, to) = (name.clone(), words.name()?);
        words.end()?;
        return Ok(RoleStatement::Rename { name, to });
    }
    if words.is("set") || words.is("reset") || words.is("in") {
        return Err(types::SqlError::unsupported("ALTER ROLE .. SET"));
    }
    if words.is("add") || words.is("drop") {
        return Err(types::SqlError::unsupported("ALTER GROUP").with_hint("Use GRANT or REVOKE."));
    }
    let options = options::read(&mut words)?;
    Ok(RoleStatement::Alter { role, options })
}

fn drop(mut words: Words<'_>) -> SqlResult<RoleStatement> {
    let if_exists = words.eat("if");
    if if_exists {
        words.expect("exists")?;
    }
    let names = words.names()?;
    words.end()?;
    Ok(RoleStatement::Drop { names, if_exists })
}

/// `SET [SESSION] ROLE`, `RESET ROLE`, `SET SESSION AUTHORIZATION`; `None` for all other settings.
fn session(mut words: Words<'_>) -> Option<SqlResult<RoleStatement>> {
    let session = words.eat("session");
    let authorization = session && words.eat("authorization");
    if !authorization && !words.eat("role") {
        return None;
    }
    let read = |words: &mut Words<'_>| {
        let name = match words.is_end() || words.is("default") || words.is("none") {
            true => {
                words.skip();
                None
            }
            // `SET role = 'x'` and `TO` are the same statement.
            false => {
                words.eat_equals();
                let default = words.is("default") || words.is("none");
                let name = words.name_or_text()?;
                (!default && (authorization || name != "none")).then_some(name)
            }
        };
        words.end()?;
        Ok(if authorization { RoleStatement::Authorize(name) } else { RoleStatement::Assume(name) })
    };
    Some(read(&mut words))
}

/// `ALTER TABLE .. OWNER TO ..`; `None` for all other changes of a table.
fn owner(mut words: Words<'_>) -> Option<SqlResult<RoleStatement>> {
    if !["table", "view", "sequence"].iter().any(|kind| words.eat(kind)) {
        return None;
    }
    let if_exists = words.eat("if");
    if if_exists {
        words.expect("exists").ok()?;
    }
    words.eat("only");
    let relation = words.relation().ok()?;
    if !words.eat("owner") {
        return None;
    }
    let read = |words: &mut Words<'_>| {
        words.expect("to")?;
        let role = words.role()?;
        words.end()?;
        Ok(RoleStatement::Owner { relation, if_exists, role })
    };
    Some(read(&mut words))
}

impl Words<'_> {
    /// A role.
    fn role(&mut self) -> SqlResult<RoleName> {
        let quoted = self.is_quoted();
        let name = self.name()?;
        Ok(match name.as_str() {
            _ if quoted => RoleName::Named(name),
            "public" => RoleName::Public,
            "current_user" | "current_role" => RoleName::Current,
            "session_user" => RoleName::Session,
            _ => RoleName::Named(name),
        })
    }
}

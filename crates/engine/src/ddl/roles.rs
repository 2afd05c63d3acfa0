//! `CREATE`, `ALTER` and `DROP ROLE`, `OWNER TO`: a version of the roles becomes the next one.

use std::sync::Arc;

use sql::parse::{RoleName, RoleOptions, RoleStatement, Secret};
use types::{SqlError, SqlResult, SqlState};

use crate::access::denied::privilege_error;
use crate::access::rights::{Access, Relation};
use crate::access::role::{Membership, PUBLIC, Role, RoleId};
use crate::access::roles::{DATABASE_OWNER, PREDEFINED, missing};
use crate::access::session_info::SessionInfo;
use crate::access::verifier::Verifier;
use crate::catalog::snapshot::Snapshot;
use crate::notice::Notice;
use crate::writing::Writing;

/// Runs a statement that changes roles or privileges; the tag of what was done, and what there is
/// to tell.
pub(crate) async fn change(
    writing: &Writing<'_>,
    session: &SessionInfo,
    statement: &RoleStatement,
) -> SqlResult<(&'static str, Vec<Notice>)> {
    let snapshot = writing.snapshot();
    let access = (*snapshot.access).clone();
    let mut next = Next { access, snapshot, session, notices: vec![] };
    if next.access.mock_secret.is_empty() {
        next.access.mock_secret = runtime::entropy::<32>().to_vec();
    }
    let tag = next.apply(statement)?;
    next.tell_of_lockout();
    let (access, notices) = (Arc::new(next.access), next.notices);
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            snapshot.access = access;
            Ok(())
        })
    });
    change.await?;
    Ok((tag, notices))
}

/// The version that is made.
pub(crate) struct Next<'a> {
    pub access: Access,
    pub snapshot: &'a Snapshot,
    pub session: &'a SessionInfo,
    pub notices: Vec<Notice>,
}

impl Next<'_> {
    fn apply(&mut self, statement: &RoleStatement) -> SqlResult<&'static str> {
        match statement {
            RoleStatement::Create { name, options } => {
                self.create(name, options).map(|()| "CREATE ROLE")
            }
            RoleStatement::Alter { role, options } => {
                self.alter(role, options).map(|()| "ALTER ROLE")
            }
            RoleStatement::Rename { name, to } => self.rename(name, to).map(|()| "ALTER ROLE"),
            RoleStatement::Drop { names, if_exists } => {
                names.iter().try_for_each(|name| self.drop(name, *if_exists))?;
                Ok("DROP ROLE")
            }
            RoleStatement::Owner { relation, if_exists, role } => {
                self.set_owner(relation, *if_exists, role)
            }
            RoleStatement::Grant(grant) => super::grant::apply(self, grant),
            RoleStatement::Assume(_) | RoleStatement::Authorize(_) => {
                Err(SqlError::internal("the session changes its role itself"))
            }
        }
    }

    /// Once a role has a password all clients are asked for one, if no rules say otherwise.
    fn tell_of_lockout(&mut self) {
        let may_log_in = |access: &Access| access.has_superuser_login(access.has_passwords());
        if may_log_in(&self.access) || !may_log_in(&self.snapshot.access) {
            return;
        }
        let superuser = self.access.roles.values().find(|role| role.superuser);
        let name = superuser.map_or("..", |role| role.name.as_str());
        let mut notice = Notice::warning("no superuser can log in any more with a password");
        notice.message = notice
            .message
            .with_detail("A role has a password now, so all clients are asked for one unless rules of --hba say otherwise.")
            .with_hint(format!("Give a superuser one in this session: ALTER ROLE {name} PASSWORD '..'."));
        self.notices.push(notice);
    }

    pub(crate) fn is_superuser(&self) -> bool {
        self.access.is_superuser(self.session.role)
    }

    /// Whether the session's role may create roles.
    pub(crate) fn creates_roles(&self) -> bool {
        let own = self.access.roles.get(&self.session.role);
        own.is_some_and(|role| role.superuser || role.createrole)
    }

    fn create(&mut self, name: &str, options: &RoleOptions) -> SqlResult<()> {
        if !self.creates_roles() {
            return Err(privilege_error("permission denied to create role"));
        }
        self.only_by_superusers(options, "must be superuser to create")?;
        check_name(name)?;
        if self.access.id(name).is_ok() {
            return Err(exists(name));
        }
        let mut role = Role::new(self.access.next_role, name);
        self.access.next_role += 1;
        set_attributes(&mut role, options)?;
        let id = role.id;
        self.access.roles.insert(id, role);
        for name in &options.in_roles {
            let parent = self.access.id(name)?;
            super::grant::may_administer(self, parent, name)?;
            self.join(parent, id, false)?;
        }
        let members = options.members.iter().map(|m| (m, false));
        for (member, admin) in members.chain(options.admins.iter().map(|m| (m, true))) {
            let member = self.access.resolve(member, self.session)?;
            self.join(id, member, admin)?;
        }
        Ok(())
    }

    fn only_by_superusers(&self, options: &RoleOptions, message: &str) -> SqlResult<()> {
        let attributes = [
            (options.superuser, "superusers"),
            (options.replication, "replication users"),
            (options.bypassrls, "bypassrls users"),
        ];
        match attributes.iter().find(|(given, _)| *given == Some(true)) {
            Some((_, what)) if !self.is_superuser() => {
                Err(privilege_error(format!("{message} {what}")))
            }
            _ => Ok(()),
        }
    }

    fn alter(&mut self, role: &RoleName, options: &RoleOptions) -> SqlResult<()> {
        let id = self.access.resolve(role, self.session)?;
        let Some(old) = self.access.roles.get(&id) else {
            return Err(reserved(self.access.name(id)));
        };
        if (old.superuser || options.superuser.is_some()) && !self.is_superuser() {
            return Err(privilege_error(
                "must be superuser to alter superuser roles or change superuser attribute",
            ));
        }
        self.only_by_superusers(options, "must be superuser to alter")?;
        let own_password = id == self.session.role && options.is_password_only();
        if !self.creates_roles() && !own_password {
            return Err(privilege_error("permission denied"));
        }
        let mut changed = old.clone();
        set_attributes(&mut changed, options)?;
        self.access.roles.insert(id, changed);
        self.keeps_a_superuser()
    }

    fn rename(&mut self, name: &str, to: &str) -> SqlResult<()> {
        let role = self.access.role(name).cloned().ok_or_else(|| missing(name))?;
        let (id, superuser) = (role.id, role.superuser);
        if id == self.session.session_role {
            return Err(SqlError::unsupported("renaming the session's own role"));
        }
        if superuser && !self.is_superuser() {
            return Err(privilege_error("must be superuser to rename superusers"));
        }
        if !self.creates_roles() {
            return Err(privilege_error("permission denied to rename role"));
        }
        check_name(to)?;
        if self.access.id(to).is_ok() {
            return Err(exists(to));
        }
        self.access.roles.insert(id, Role { name: to.to_owned(), ..role });
        Ok(())
    }

    fn drop(&mut self, name: &str, if_exists: bool) -> SqlResult<()> {
        if !self.creates_roles() {
            return Err(privilege_error("permission denied to drop role"));
        }
        if PREDEFINED.iter().any(|(_, predefined)| *predefined == name) {
            let message =
                format!("cannot drop role {name} because it is required by the database system");
            return Err(SqlError::new(SqlState("2BP01"), message));
        }
        let Some(role) = self.access.role(name) else {
            if !if_exists {
                return Err(missing(name));
            }
            let message = format!("role \"{name}\" does not exist, skipping");
            self.notices.push(Notice::information(message));
            return Ok(());
        };
        let (id, in_use) = (role.id, |message| SqlError::new(SqlState::OBJECT_IN_USE, message));
        if id == self.session.role {
            return Err(in_use("current user cannot be dropped"));
        }
        if id == self.session.session_role {
            return Err(in_use("session user cannot be dropped"));
        }
        if role.superuser && !self.is_superuser() {
            return Err(privilege_error("must be superuser to drop superusers"));
        }
        self.no_dependents(id, name)?;
        self.access.roles.remove(&id);
        self.access.memberships.retain(|m| m.role != id && m.member != id);
        self.keeps_a_superuser()
    }

    fn no_dependents(&self, id: RoleId, name: &str) -> SqlResult<()> {
        let dependents = self.dependents(id);
        if dependents.is_empty() {
            return Ok(());
        }
        let message =
            format!("role \"{name}\" cannot be dropped because some objects depend on it");
        Err(SqlError::new(SqlState("2BP01"), message).with_detail(dependents.join("\n")))
    }

    /// What a role owns or has privileges on, in words.
    fn dependents(&self, id: RoleId) -> Vec<String> {
        let tables = self.snapshot.tables.values();
        let tables = tables.map(|t| ("table", &t.def.name, Relation::Table(t.def.id.0)));
        let views = self.snapshot.views.keys().map(|v| ("view", v, Relation::View(v)));
        let sequences = self.snapshot.sequences.values();
        let sequences = sequences.map(|s| ("sequence", &s.name, Relation::Sequence(s.id)));
        let mut found = vec![];
        for (kind, name, relation) in tables.chain(views).chain(sequences) {
            let acl = self.access.acl(&relation);
            if acl.owner == id {
                found.push(format!("owner of {kind} {name}"));
            } else if acl.names(id) {
                found.push(format!("privileges for {kind} {name}"));
            }
        }
        let others = [("schema public", &self.access.schema), ("database", &self.access.database)];
        let named = others.into_iter().filter(|(_, acl)| acl.names(id) || acl.owner == id);
        found.extend(named.map(|(what, _)| format!("privileges for {what}")));
        found
    }

    /// Somebody must be able to undo things.
    fn keeps_a_superuser(&self) -> SqlResult<()> {
        match self.access.roles.values().any(|role| role.superuser && role.login) {
            true => Ok(()),
            false => Err(SqlError::new(
                SqlState::OBJECT_IN_USE,
                "the last superuser that can log in must stay one",
            )),
        }
    }

    /// Makes `member` a member of `role`.
    pub(crate) fn join(&mut self, role: RoleId, member: RoleId, admin: bool) -> SqlResult<()> {
        if member == PUBLIC || role == PUBLIC {
            return Err(missing("public"));
        }
        if role == DATABASE_OWNER {
            let message = "role \"pg_database_owner\" cannot have explicit members";
            return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        if self.access.roles_of(role, false).contains(&member) {
            let (role, member) = (self.access.name(role), self.access.name(member));
            let message = format!("role \"{role}\" is a member of role \"{member}\"");
            return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        let known = |m: &&mut Membership| m.role == role && m.member == member;
        match self.access.memberships.iter_mut().find(known) {
            Some(membership) if membership.admin || !admin => {
                let (role, member) = (self.access.name(role), self.access.name(member));
                let message = format!("role \"{member}\" is already a member of role \"{role}\"");
                self.notices.push(Notice::information(message));
            }
            Some(membership) => membership.admin = true,
            None => {
                let grantor = self.session.role;
                self.access.memberships.push(Membership { role, member, grantor, admin });
            }
        }
        Ok(())
    }

    fn set_owner(
        &mut self,
        name: &str,
        if_exists: bool,
        role: &RoleName,
    ) -> SqlResult<&'static str> {
        let (kind, tag) = match () {
            () if self.snapshot.views.contains_key(name) => ("view", "ALTER VIEW"),
            () if self.snapshot.sequences.contains_key(name) => ("sequence", "ALTER SEQUENCE"),
            () => ("table", "ALTER TABLE"),
        };
        let owner = self.access.resolve(role, self.session)?;
        if if_exists && self.snapshot.owned(name).is_none() {
            return Ok(tag);
        }
        let mut acl = self.snapshot.acl(name)?.clone();
        if !self.access.owns(self.session.role, &acl) {
            return Err(privilege_error(format!("must be owner of {kind} {name}")));
        }
        if !self.access.is_member(self.session.role, owner) {
            let owner = self.access.name(owner);
            return Err(privilege_error(format!("must be member of role \"{owner}\"")));
        }
        acl.set_owner(owner);
        let relation = self.snapshot.owned(name).expect("it has an access list");
        self.access.put_acl(&relation, acl);
        Ok(tag)
    }
}

pub(crate) fn set_attributes(role: &mut Role, options: &RoleOptions) -> SqlResult<()> {
    let flags = [
        (options.superuser, &mut role.superuser),
        (options.inherit, &mut role.inherit),
        (options.createrole, &mut role.createrole),
        (options.createdb, &mut role.createdb),
        (options.login, &mut role.login),
        (options.replication, &mut role.replication),
        (options.bypassrls, &mut role.bypassrls),
    ];
    for (given, place) in flags {
        *place = given.unwrap_or(*place);
    }
    role.connection_limit = options.connection_limit.unwrap_or(role.connection_limit);
    if let Some(password) = &options.password {
        role.verifier = match password {
            Some(secret) => verifier(secret)?,
            None => None,
        };
    }
    Ok(())
}

/// What is kept of a password. A client may send a verifier of its own making; an empty password
/// is none, as in PostgreSQL.
pub(crate) fn verifier(secret: &Secret) -> SqlResult<Option<String>> {
    let text = secret.expose();
    let is_md5 = text.len() == 35
        && text.strip_prefix("md5").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if is_md5 {
        return Err(SqlError::unsupported("a password as MD5")
            .with_hint("Send it as text or as a SCRAM-SHA-256 verifier."));
    }
    let made = match Verifier::parse(text) {
        Some(given) => given,
        None if text.is_empty() => return Ok(None),
        None => Verifier::of(text),
    };
    // A verifier that a client made may be that of the empty password.
    if made.accepts("") {
        return Ok(None);
    }
    Ok(Some(made.to_string()))
}

pub(crate) fn check_name(name: &str) -> SqlResult<()> {
    if name.starts_with("pg_") {
        return Err(reserved(name).with_detail("Role names starting with \"pg_\" are reserved."));
    }
    match name {
        "public" | "none" => Err(reserved(name)),
        "" => Err(SqlError::new(SqlState::SYNTAX_ERROR, "zero-length delimited identifier")),
        _ => Ok(()),
    }
}

pub(crate) fn reserved(name: &str) -> SqlError {
    SqlError::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
}

pub(crate) fn exists(name: &str) -> SqlError {
    SqlError::new(SqlState::DUPLICATE_OBJECT, format!("role \"{name}\" already exists"))
}

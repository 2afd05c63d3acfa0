//! `GRANT` and `REVOKE`.

use sql::parse::{Grant, GrantTarget, Privilege};
use types::{SqlError, SqlResult, SqlState};

use super::roles::Next;
use crate::access::acl::{Acl, ON_DATABASES, ON_RELATIONS, ON_SCHEMAS, ON_SEQUENCES, bits};
use crate::access::denied::{denied, privilege_error};
use crate::access::rights::Relation;
use crate::access::role::{PUBLIC, RoleId};
use crate::notice::Notice;

/// Carries the statement out; its tag.
pub(crate) fn apply(next: &mut Next<'_>, grant: &Grant) -> SqlResult<&'static str> {
    let resolve = |name| next.access.resolve(name, next.session);
    let grantees = grant.grantees.iter().map(resolve).collect::<SqlResult<Vec<_>>>()?;
    match &grant.target {
        GrantTarget::Roles(roles) => {
            roles.iter().try_for_each(|role| on_role(next, grant, role, &grantees))?;
            return Ok(if grant.revoke { "REVOKE ROLE" } else { "GRANT ROLE" });
        }
        GrantTarget::Relations(names) => {
            names.iter().try_for_each(|name| on_relation(next, grant, name, &grantees))?;
        }
        GrantTarget::AllRelations(schemas) => {
            schemas.iter().try_for_each(|schema| is_public(schema))?;
            let snapshot = next.snapshot;
            let names = snapshot.tables.keys().chain(snapshot.views.keys());
            let names: Vec<String> = names.cloned().collect();
            names.iter().try_for_each(|name| on_relation(next, grant, name, &grantees))?;
        }
        GrantTarget::Sequences(names) => {
            names.iter().try_for_each(|name| on_sequence(next, grant, name, &grantees))?;
        }
        GrantTarget::AllSequences(schemas) => {
            schemas.iter().try_for_each(|schema| is_public(schema))?;
            let names: Vec<String> = next.snapshot.sequences.keys().cloned().collect();
            names.iter().try_for_each(|name| on_sequence(next, grant, name, &grantees))?;
        }
        GrantTarget::Schemas(schemas) => {
            schemas.iter().try_for_each(|schema| is_public(schema))?;
            let mut acl = next.access.schema.clone();
            on_acl(next, grant, &mut acl, ("schema", "public", ON_SCHEMAS), &grantees)?;
            next.access.schema = acl;
        }
        GrantTarget::Databases(names) => {
            names.iter().try_for_each(|name| is_database(next, name))?;
            let mut acl = next.access.database.clone();
            let database = next.session.database.clone();
            on_acl(next, grant, &mut acl, ("database", &database, ON_DATABASES), &grantees)?;
            next.access.database = acl;
        }
    }
    Ok(if grant.revoke { "REVOKE" } else { "GRANT" })
}

pub(crate) fn is_public(schema: &str) -> SqlResult<()> {
    match schema {
        "public" => Ok(()),
        "pg_catalog" | "information_schema" => {
            Err(SqlError::unsupported("granting on the system's schemas"))
        }
        _ => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(SqlError::new(SqlState("3F000"), message))
        }
    }
}

pub(crate) fn is_database(next: &Next<'_>, name: &str) -> SqlResult<()> {
    match name == next.session.database {
        true => Ok(()),
        false => {
            let message = format!("database \"{name}\" does not exist");
            Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, message))
        }
    }
}

pub(crate) fn on_relation(
    next: &mut Next<'_>,
    grant: &Grant,
    name: &str,
    grantees: &[RoleId],
) -> SqlResult<()> {
    if next.snapshot.sequences.contains_key(name) {
        return on_sequence(next, grant, name, grantees);
    }
    let mut acl = next.snapshot.acl(name)?.clone();
    let relation = next.snapshot.owned(name).expect("it has an access list");
    // A relation may be named twice: what the first time did counts.
    acl.clone_from(next.access.acl(&relation));
    let kind = if next.snapshot.views.contains_key(name) { "view" } else { "table" };
    on_acl(next, grant, &mut acl, (kind, name, ON_RELATIONS), grantees)?;
    next.access.put_acl(&relation, acl);
    Ok(())
}

/// The sequence of a column is for those who may insert into its table: nothing is left to grant.
pub(crate) fn on_sequence(
    next: &mut Next<'_>,
    grant: &Grant,
    name: &str,
    grantees: &[RoleId],
) -> SqlResult<()> {
    let snapshot = next.snapshot;
    let Some(sequence) = snapshot.sequences.get(name) else {
        return match snapshot.numbered_column(name) {
            Some(_) if grant.revoke => {
                Err(SqlError::unsupported("REVOKE ON the sequence of a column")
                    .with_hint("Who may INSERT into its table may use it."))
            }
            Some(_) => Ok(()),
            None if snapshot.has_relation(name) => {
                let message = format!("\"{name}\" is not a sequence");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            None => {
                let message = format!("relation \"{name}\" does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, message))
            }
        };
    };
    let relation = Relation::Sequence(sequence.id);
    let mut acl = next.access.acl(&relation).clone();
    on_acl(next, grant, &mut acl, ("sequence", name, ON_SEQUENCES), grantees)?;
    next.access.put_acl(&relation, acl);
    Ok(())
}

pub(crate) fn on_acl(
    next: &mut Next<'_>,
    grant: &Grant,
    acl: &mut Acl,
    (kind, name, all): (&str, &str, &[Privilege]),
    grantees: &[RoleId],
) -> SqlResult<()> {
    if let Some(wrong) = grant.privileges.iter().find(|p| !all.contains(p)) {
        let kind = if all == ON_RELATIONS { "relation" } else { kind };
        let message = format!("invalid privilege type {} for {kind}", wrong.name());
        return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    if !next.access.owns(next.session.role, acl) {
        return may_not(next, grant, acl, (kind, name, all));
    }
    let privileges = if grant.privileges.is_empty() { all } else { &grant.privileges };
    for grantee in grantees {
        match grant.revoke {
            true => acl.revoke(*grantee, bits(privileges)),
            false => acl.grant(*grantee, bits(privileges)),
        }
    }
    Ok(())
}

/// Who may use something may ask in vain; who may not is refused.
pub(crate) fn may_not(
    next: &mut Next<'_>,
    grant: &Grant,
    acl: &Acl,
    (kind, name, all): (&str, &str, &[Privilege]),
) -> SqlResult<()> {
    if !all.iter().any(|privilege| next.access.allows(next.session.role, acl, *privilege)) {
        return Err(denied(kind, name));
    }
    let (state, done) = match grant.revoke {
        true => ("01006", "could be revoked"),
        false => ("01007", "were granted"),
    };
    let message = format!("no privileges {done} for \"{name}\"");
    next.notices.push(Notice::warning_of(SqlState(state), message));
    Ok(())
}

pub(crate) fn on_role(
    next: &mut Next<'_>,
    grant: &Grant,
    name: &str,
    grantees: &[RoleId],
) -> SqlResult<()> {
    let role = next.access.id(name)?;
    may_administer(next, role, name)?;
    if grantees.contains(&PUBLIC) {
        return Err(crate::access::roles::missing("public"));
    }
    for &member in grantees {
        if !grant.revoke {
            next.join(role, member, grant.option)?;
            continue;
        }
        let memberships = &mut next.access.memberships;
        match grant.option {
            true => memberships
                .iter_mut()
                .filter(|m| m.role == role && m.member == member)
                .for_each(|m| m.admin = false),
            false => memberships.retain(|m| m.role != role || m.member != member),
        }
    }
    Ok(())
}

/// Superusers administer all roles, `CREATEROLE` those that are no superusers, `ADMIN OPTION` one.
pub(crate) fn may_administer(next: &Next<'_>, role: RoleId, name: &str) -> SqlResult<()> {
    if next.is_superuser() {
        return Ok(());
    }
    if next.access.is_superuser(role) {
        return Err(privilege_error("must be superuser to alter superusers"));
    }
    let own = next.access.roles_of(next.session.role, true);
    let admin =
        |m: &crate::access::role::Membership| m.role == role && m.admin && own.contains(&m.member);
    // PostgreSQL 15 lets CREATEROLE hand out the predefined roles too, some of which are as good as
    // superusers; later releases and this one do not.
    let creates =
        next.creates_roles() && !crate::access::roles::PREDEFINED.iter().any(|(id, _)| *id == role);
    match creates || next.access.memberships.iter().any(admin) {
        true => Ok(()),
        false => Err(privilege_error(format!("must have admin option on role \"{name}\""))),
    }
}

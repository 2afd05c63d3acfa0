//! Roles and who is a member of which.

use sql::SystemValue;
use types::SqlResult;

use crate::rows::Rows;
use crate::view::View;

/// What stands in the place of a password.
const HIDDEN: &str = "********";

/// `pg_roles`, and `pg_authid`, which shows no verifiers here, not even to superusers.
pub(super) fn roles(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let of_everybody = rows.relation.name == "pg_roles";
    for role in view.access().all_roles() {
        let password: SystemValue = match of_everybody || role.verifier.is_some() {
            true => HIDDEN.into(),
            false => SystemValue::Null,
        };
        rows.push([
            ("oid", i64::from(role.id).into()),
            ("rolname", role.name.as_str().into()),
            ("rolsuper", role.superuser.into()),
            ("rolinherit", role.inherit.into()),
            ("rolcreaterole", role.createrole.into()),
            ("rolcreatedb", role.createdb.into()),
            ("rolcanlogin", role.login.into()),
            ("rolreplication", role.replication.into()),
            ("rolbypassrls", role.bypassrls.into()),
            ("rolconnlimit", i64::from(role.connection_limit).into()),
            ("rolpassword", password),
        ]);
    }
    Ok(())
}

/// `pg_user` and `pg_shadow`: the roles that can log in.
pub(super) fn pg_user(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for role in view.access().all_roles().filter(|role| role.login) {
        rows.push([
            ("usename", role.name.as_str().into()),
            ("usesysid", i64::from(role.id).into()),
            ("usecreatedb", role.createdb.into()),
            ("usesuper", role.superuser.into()),
            ("userepl", role.replication.into()),
            ("usebypassrls", role.bypassrls.into()),
            ("passwd", HIDDEN.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_group(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let access = view.access();
    for role in access.all_roles().filter(|role| !role.login) {
        let members = access.memberships.iter().filter(|m| m.role == role.id);
        let members = members.map(|m| i64::from(m.member).into()).collect();
        rows.push([
            ("groname", role.name.as_str().into()),
            ("grosysid", i64::from(role.id).into()),
            ("grolist", SystemValue::List(members)),
        ]);
    }
    Ok(())
}

pub(super) fn pg_auth_members(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for membership in &view.access().memberships {
        rows.push([
            ("roleid", i64::from(membership.role).into()),
            ("member", i64::from(membership.member).into()),
            ("grantor", i64::from(membership.grantor).into()),
            ("admin_option", membership.admin.into()),
        ]);
    }
    Ok(())
}

//! Who was granted what, and who is a member of which role.

use engine::system::{OwnedRelation, PUBLIC};
use sql::parse::Privilege;

use super::catalog;
use crate::rows::Rows;
use crate::view::View;

fn yes(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// `table_privileges` and `role_table_grants`, which leaves out what everybody was granted.
pub(super) fn table_privileges(view: &View, rows: &mut Rows) {
    let tables = view.tables().map(|t| (t.name.as_str(), OwnedRelation::Table(t.id.0)));
    let views = view.views().map(|v| (v.name.as_str(), OwnedRelation::View(&v.name)));
    for (name, relation) in tables.chain(views) {
        push_grants(view, rows, name, &relation);
    }
}

fn push_grants(view: &View, rows: &mut Rows, relation: &str, key: &OwnedRelation<'_>) {
    let access = view.access();
    let acl = view.relation_acl(key);
    let enabled = access.roles_of(view.role(), true);
    let of_roles = rows.relation.name == "role_table_grants";
    for item in &acl.items {
        let mine = enabled.contains(&item.grantee) || enabled.contains(&item.grantor);
        if !mine && item.grantee != PUBLIC || of_roles && item.grantee == PUBLIC {
            continue;
        }
        let grantee = if item.grantee == PUBLIC { "PUBLIC" } else { access.name(item.grantee) };
        for privilege in Privilege::ALL.iter().filter(|p| item.bits & **p as u16 != 0) {
            rows.push([
                ("grantor", access.name(item.grantor).into()),
                ("grantee", grantee.into()),
                ("table_catalog", catalog(view)),
                ("table_schema", "public".into()),
                ("table_name", relation.into()),
                ("privilege_type", privilege.name().into()),
                ("is_grantable", yes(item.grantee == acl.owner).into()),
                ("with_hierarchy", yes(*privilege == Privilege::Select).into()),
            ]);
        }
    }
}

pub(super) fn applicable_roles(view: &View, rows: &mut Rows) {
    let access = view.access();
    let enabled = access.roles_of(view.role(), true);
    for membership in access.memberships.iter().filter(|m| enabled.contains(&m.member)) {
        rows.push([
            ("grantee", access.name(membership.member).into()),
            ("role_name", access.name(membership.role).into()),
            ("is_grantable", yes(membership.admin).into()),
        ]);
    }
}

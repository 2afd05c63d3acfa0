//! Owners and access lists of objects, as system relations show them.

use engine::system::{Acl, DATABASE_OWNER, OwnedRelation, RoleId};
use sql::SystemValue;

use crate::objects::{OWNER, Object};
use crate::view::View;

impl View {
    /// The access list of a table or view of a user.
    pub(crate) fn relation_acl(&self, relation: &OwnedRelation<'_>) -> &Acl {
        self.access().acl(relation)
    }

    /// The role that owns an object; what is built in is the bootstrap role's.
    pub(crate) fn owner(&self, object: &Object<'_>) -> i64 {
        match object {
            Object::Table(table) | Object::Index(table, _) => {
                self.relation_acl(&OwnedRelation::Table(table.id.0)).owner.into()
            }
            Object::Sequence(sequence) => self.relation_acl(&sequence.relation()).owner.into(),
            Object::View(_, view) => {
                self.relation_acl(&OwnedRelation::View(&view.name)).owner.into()
            }
            Object::System(_) => OWNER,
        }
    }

    /// The name of a role.
    pub(crate) fn role_name(&self, role: i64) -> &str {
        u32::try_from(role).map_or("unknown", |id| self.access().name(id))
    }

    /// The access list of an object: null as long as it is what every new object has.
    pub(crate) fn acl(&self, object: &Object<'_>) -> SystemValue {
        match object {
            Object::Table(table) => {
                self.acl_items(self.relation_acl(&OwnedRelation::Table(table.id.0)))
            }
            Object::View(_, view) => {
                self.acl_items(self.relation_acl(&OwnedRelation::View(&view.name)))
            }
            Object::Sequence(sequence) => match sequence.relation() {
                relation @ OwnedRelation::Sequence(_) => {
                    self.acl_items(self.relation_acl(&relation))
                }
                OwnedRelation::Table(_) | OwnedRelation::View(_) => SystemValue::Null,
            },
            Object::Index(..) | Object::System(_) => SystemValue::Null,
        }
    }

    /// Owner and access list of `public`: it is the database owner's, as in PostgreSQL, as long as nobody
    /// else's, and has a list from the beginning.
    pub(crate) fn public_schema(&self) -> Acl {
        let mut acl = self.access().schema.clone();
        let owner = self.access().database.owner;
        if acl.owner == owner {
            let shown = |id: &mut RoleId| {
                if *id == owner {
                    *id = DATABASE_OWNER;
                }
            };
            shown(&mut acl.owner);
            for item in &mut acl.items {
                shown(&mut item.grantee);
                shown(&mut item.grantor);
            }
        }
        acl
    }

    /// The items of an access list, if somebody has granted or revoked something.
    pub(crate) fn acl_items(&self, acl: &Acl) -> SystemValue {
        if acl.is_default { SystemValue::Null } else { self.items(acl) }
    }

    /// The items of an access list.
    pub(crate) fn items(&self, acl: &Acl) -> SystemValue {
        let items = acl.texts(self.access()).into_iter().map(SystemValue::from);
        SystemValue::List(items.collect())
    }
}

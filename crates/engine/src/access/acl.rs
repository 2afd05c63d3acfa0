//! Access lists: the owner of an object, and what whom was granted on it.

use serde::{Deserialize, Serialize};
use sql::parse::Privilege;

use super::rights::Access;
use super::role::{BOOTSTRAP, PUBLIC, RoleId};

/// Privileges on tables and views.
pub const ON_RELATIONS: &[Privilege] = &[
    Privilege::Insert,
    Privilege::Select,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Truncate,
    Privilege::References,
    Privilege::Trigger,
];

/// Privileges on sequences.
pub const ON_SEQUENCES: &[Privilege] = &[Privilege::Select, Privilege::Update, Privilege::Usage];

/// Privileges on schemas.
pub const ON_SCHEMAS: &[Privilege] = &[Privilege::Usage, Privilege::Create];

/// Privileges on databases.
pub const ON_DATABASES: &[Privilege] =
    &[Privilege::Create, Privilege::Temporary, Privilege::Connect];

/// What one role was granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AclItem {
    /// Who has it; 0 is everybody.
    pub grantee: RoleId,
    /// Who granted it.
    pub grantor: RoleId,
    /// The privileges as bits.
    pub bits: u16,
}

/// The access list of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acl {
    /// The role whose object it is.
    pub owner: RoleId,
    /// What whom was granted.
    pub items: Vec<AclItem>,
    /// Whether nobody has granted or revoked anything: PostgreSQL shows no list then.
    pub is_default: bool,
}

/// The list of a relation of which nothing is known: the bootstrap role's alone.
pub(crate) static UNOWNED: std::sync::LazyLock<Acl> =
    std::sync::LazyLock::new(|| Acl::of_relation(BOOTSTRAP));

pub(crate) fn bits(privileges: &[Privilege]) -> u16 {
    privileges.iter().fold(0, |bits, p| bits | *p as u16)
}

impl Acl {
    fn new(owner: RoleId, all: &[Privilege], public: &[Privilege]) -> Acl {
        let item =
            |grantee, privileges| AclItem { grantee, grantor: owner, bits: bits(privileges) };
        let public = (!public.is_empty()).then(|| item(PUBLIC, public));
        let items = public.into_iter().chain([item(owner, all)]).collect();
        Acl { owner, items, is_default: true }
    }

    /// Of a new table or view.
    pub(crate) fn of_relation(owner: RoleId) -> Acl {
        Acl::new(owner, ON_RELATIONS, &[])
    }

    /// Of a new sequence.
    pub(crate) fn of_sequence(owner: RoleId) -> Acl {
        Acl::new(owner, ON_SEQUENCES, &[])
    }

    /// Of the schema `public`, in which all may look and its owner may create.
    pub(crate) fn of_schema() -> Acl {
        Acl::new(BOOTSTRAP, ON_SCHEMAS, &[Privilege::Usage])
    }

    /// Of the database, to which all may connect.
    pub(crate) fn of_database() -> Acl {
        Acl::new(BOOTSTRAP, ON_DATABASES, &[Privilege::Temporary, Privilege::Connect])
    }

    /// Adds privileges.
    pub(crate) fn grant(&mut self, grantee: RoleId, bits: u16) {
        self.is_default = false;
        match self.items.iter_mut().find(|item| item.grantee == grantee) {
            Some(item) => item.bits |= bits,
            None => self.items.push(AclItem { grantee, grantor: self.owner, bits }),
        }
    }

    /// Takes privileges away.
    pub(crate) fn revoke(&mut self, grantee: RoleId, bits: u16) {
        self.is_default = false;
        for item in self.items.iter_mut().filter(|item| item.grantee == grantee) {
            item.bits &= !bits;
        }
        self.items.retain(|item| item.bits != 0);
    }

    /// Another owner takes the place of the old one, in the list too.
    pub(crate) fn set_owner(&mut self, owner: RoleId) {
        let old = std::mem::replace(&mut self.owner, owner);
        if old == owner {
            return;
        }
        let had = self.items.iter().find(|i| i.grantee == owner).map_or(0, |i| i.bits);
        self.items.retain(|item| item.grantee != owner);
        for item in &mut self.items {
            item.grantor = owner;
            if item.grantee == old {
                item.grantee = owner;
                item.bits |= had;
            }
        }
    }

    /// Whether a role is named anywhere in it, but as the owner.
    pub(crate) fn names(&self, role: RoleId) -> bool {
        self.owner != role && self.items.iter().any(|item| item.grantee == role)
    }

    /// As PostgreSQL prints it: `who=privileges/grantor`.
    pub fn texts(&self, access: &Access) -> Vec<String> {
        let name = |id: RoleId| match id {
            PUBLIC => String::new(),
            id => sql::quote_ident(access.name(id)),
        };
        let text = |item: &AclItem| {
            let letters = Privilege::ALL.into_iter().filter(|p| item.bits & *p as u16 != 0);
            let letters: String = letters.map(Privilege::letter).collect();
            format!("{}={letters}/{}", name(item.grantee), name(item.grantor))
        };
        self.items.iter().map(text).collect()
    }
}

//! Roles and privileges: who there is, who owns what, who may do what. A part of each version of
//! the catalog, so a statement sees one state of it, and plans of an older one are not used again.

pub(crate) mod acl;
pub(crate) mod denied;
pub(crate) mod granted;
pub(crate) mod rights;
pub(crate) mod role;
pub(crate) mod roles;
pub(crate) mod session_info;
pub(crate) mod verifier;

//! What statements about the keys of object stores say.

use crate::parse::role::Secret;

/// A statement about the keys of object stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretStatement {
    /// `CREATE SECRET`.
    Create(CreateSecret),
    /// `DROP SECRET`.
    Drop {
        /// The secrets.
        names: Vec<String>,
        /// No error if one does not exist.
        if_exists: bool,
    },
}

/// `CREATE [OR REPLACE] SECRET [IF NOT EXISTS] name (option value, ..)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSecret {
    /// The name.
    pub name: String,
    /// It takes the place of one that has the name.
    pub or_replace: bool,
    /// No error if there is one of the name.
    pub if_not_exists: bool,
    /// Names of options, each once, with their values.
    pub options: Vec<(String, Secret)>,
}

//! What statements about sequences say.

use plan::sequence::SequenceOptions;

use crate::parse::object_name::RelationName;

/// `CREATE SEQUENCE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    /// The name.
    pub name: RelationName,
    /// No error if it exists.
    pub if_not_exists: bool,
    /// What is said of it.
    pub options: SequenceOptions,
}

/// `ALTER SEQUENCE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The name.
    pub name: RelationName,
    /// No error if it does not exist.
    pub if_exists: bool,
    /// What is to be otherwise.
    pub change: SequenceChange,
}

/// What `ALTER SEQUENCE` changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceChange {
    /// These options.
    Options(SequenceOptions),
    /// The name.
    Rename(String),
}

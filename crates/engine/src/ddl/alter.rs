//! `ALTER TABLE`: the definition as it becomes, then one change that makes it so.
//!
//! Where rows are laid out anew (columns come, go or change their type, keys change), the table is
//! read and written into new trees; all alterations of a statement are made together.

pub(crate) mod draft;
pub(crate) mod rebuild;
pub(crate) mod statement;

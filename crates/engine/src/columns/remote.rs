//! Column tables whose chunks are objects (`docs/format/remote.md`).
//!
//! Bodies of chunks lie in an object store, each an object with a name of its own that is never
//! overwritten. Headers are in the trees of the parts, as those of all column tables, so what a scan
//! need not read it knows without a request; delta and deleted rows are trees of the file, too. One
//! object, the *list*, has the headers of all chunks, for those who read the table from elsewhere.

pub(crate) mod fetch;
pub(crate) mod list;
pub(crate) mod name;
pub(crate) mod put;
pub(crate) mod stored;
pub(crate) mod tables;
pub(crate) mod writable;

//! Column tables whose chunks are objects (`docs/format/remote.md`).
//!
//! Bodies of chunks lie in an object store, each an object with a name of its own that is never
//! overwritten. Headers are in the trees of the parts, as those of all column tables, so what a scan
//! need not read it knows without a request; delta and deleted rows are trees of the file, too. One
//! object, the *list*, has the headers of all chunks, for those who read the table from elsewhere.

mod attach;
mod expire;
mod fetch;
mod list;
mod name;
mod publish;
mod put;
mod refresh;
mod stored;
mod tables;
mod writable;

pub(crate) use attach::attach;
pub(crate) use expire::expire;
pub(super) use fetch::{Download, Piece};
pub(super) use name::ChunkName;
pub(crate) use publish::{claim, emptied, publish, refuse_in_block};
pub(super) use put::Uploads;
pub(crate) use refresh::{following, is_old, refresh};
pub(crate) use stored::{Leases, StoredRemote};
pub(crate) use tables::tables;
pub(crate) use writable::check_writable;

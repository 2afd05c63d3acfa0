//! Column tables are merged in the background: rows of the delta become a part, and a part that has lost many rows is
//! written anew without them.
//!
//! Who commits changes of column tables looks whether it is time ([`Merges::look`]); one task at a time does the work,
//! table by table. It makes a part of what is visible, beside those who read and write, with the right that all who
//! write have; it gives that back when somebody wants to write alone. Only the last step (`merge/replace.rs`) keeps
//! others from the table. It waits a moment for the table alone: where others have something that it needs, the part is
//! dropped, and the merge is tried again a while later.
//!
//! The new trees are the table's by the next version of the catalog, as after all loads: a crash leaves the old or the
//! new ones. The task has no handle of the database, whose last one must not be dropped on a worker.

pub(crate) mod bounds;
pub(crate) mod delta;
pub(crate) mod hollow;
pub(crate) mod jobs;
pub(crate) mod replace;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod told;

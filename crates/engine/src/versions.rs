//! The versions of the catalog: the one that is durable, the one that all see, and the newest one, on which
//! statements that write work.
//!
//! A statement that writes makes the next version of the newest. All versions since the durable one
//! become durable and visible together, by a *publication*. Until then nobody but those who write sees
//! them; undo records keep that from readers ([`txn::undo`]).
//!
//! A transaction that does not wait for that (`synchronous_commit = off`) is visible at once, and with it
//! all that was committed before: a version has no holes. What is visible may then be newer than what is
//! durable. Nothing that is acknowledged as durable depends on what may be lost: publications follow the
//! order of the versions, and who waits does so for its own. Where much is on its way to the device, it
//! waits all the same.
//!
//! A publication *by the log* writes what the versions have changed in place, and the records of the
//! catalog that differ, in one frame. It looks at no tree but the catalog's, so statements and blocks go
//! on meanwhile; what they commit goes into the next frame (group commit).
//!
//! What makes or drops trees, or is more than the log has room for, is published *by a checkpoint*; with
//! it goes all that was waiting to be logged. Trees are changed by one step of a transaction or another at
//! a time, and a checkpoint comes between them. It may have changes of transactions that have not ended:
//! what these have replaced goes with it, and recovery puts that back before it looks at the log. A
//! transaction that ends later logs all that it has changed. One that is made for the log's sake alone writes
//! what was waiting to be logged with its point, and others publish from then on.
//!
//! The right to write is kept until the version with the changes is visible, also when nobody waits for
//! it, and who has it alone waits until all is durable. So who writes alone finds nothing that is not.
//!
//! Who changes definitions beside those who change rows puts his on top of their newest version ([`chain::Versions::define`]):
//! one does so at a time, until his are visible, so they are those that he began with, changed. What he makes
//! meanwhile are trees that no version has. A checkpoint may have them, and half of what is in them; after
//! a crash nobody knows them, and they go.

pub(crate) mod awaited;
pub(crate) mod chain;
pub(crate) mod define;
pub(crate) mod keepers;
pub(crate) mod lent;
pub(crate) mod pending;
pub(crate) mod publish;
pub(crate) mod replay;
pub(crate) mod turns;

use awaited::in_doubt;

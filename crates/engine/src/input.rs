//! Input as it comes, from files, objects and clients, and the records of its text.
pub(crate) mod borders;
pub(crate) mod cutter;
pub(crate) mod files;
pub(crate) mod pieces;
pub(crate) mod record;
pub(crate) mod stop;
pub(crate) mod tabbed;

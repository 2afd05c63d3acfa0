//! Object stores as statements name them: locations, who opens them, objects that are read as files, and
//! what errors of stores become.

pub(crate) mod begun;
pub(crate) mod fault;
pub(crate) mod file;
pub(crate) mod leases;
pub(crate) mod location;
pub(crate) mod pace;
pub(crate) mod path;
pub(crate) mod ranges;
pub(crate) mod room;
pub(crate) mod seal;
pub(crate) mod stores;
pub(crate) mod stream;
pub(crate) mod tally;
pub(crate) mod writer;

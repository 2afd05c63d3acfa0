//! Tables and their indexes as a reader sees them: scans, look-ups, and rows by their keys. Whatever is
//! read of a tree is collected by one reader, [`rows::Rows`].

pub(crate) mod access;
pub(crate) mod columns;
pub(crate) mod fetch;
pub(crate) mod keys;
pub(crate) mod lookup;
pub(crate) mod partition;
pub(crate) mod programs;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod seek;
pub(crate) mod whole;

//! Tables of Apache Iceberg, to be read: `iceberg_scan('s3://bucket/table')`.
//!
//! Before the query is planned, the metadata file, the list of manifests and all manifests of one snapshot are read.
//! Data files are opened when the scan comes to them, if neither their partition nor their bounds exclude what is
//! wanted. What is deleted in them is left out, or the query is refused.

pub(crate) mod counted;
pub(crate) mod deletions;
pub(crate) mod describe;
pub(crate) mod file;
pub(crate) mod lake;
pub(crate) mod layout;
pub(crate) mod planning;
pub(crate) mod prune;
pub(crate) mod rest;
pub(crate) mod values;
pub(crate) mod vended;
pub(crate) mod versions;

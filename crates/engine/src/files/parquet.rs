//! Parquet files: what their ends say, and their row groups decoded batch by batch.

pub(crate) mod decode;
pub(crate) mod describe;
pub(crate) mod file;
pub(crate) mod footer;
pub(crate) mod groups;
pub(crate) mod pages;

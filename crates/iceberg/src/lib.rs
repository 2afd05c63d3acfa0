//! The metadata of Apache Iceberg tables, read: which files have the rows of a snapshot, what is known of them,
//! and which of their rows are deleted.
//!
//! Pure functions over bytes that others have read. The bytes may be anything: whatever is wrong with them is
//! an [`Error`], and nothing is allocated because of a length that they claim.

#![forbid(unsafe_code)]

mod avro;
mod catalog;
mod deletes;
mod document;
mod fault;
mod manifest;
mod metadata;
mod names;
mod partition;
mod schema;
mod transform;
mod value;
mod vended;

pub use catalog::{CatalogConfig, table_key};
pub use deletes::Deletes;
pub use fault::{Error, ErrorKind, Result};
pub use manifest::{Content, DataFile, Manifest, ManifestFiles, ManifestList};
pub use metadata::{METADATA_BYTES_MAX, Snapshot, TableMetadata, unzipped};
pub use names::{hinted, moved, place, version_of};
pub use partition::{PartitionField, PartitionSpec};
pub use schema::{DELETED_PATH_FIELD, DELETED_POSITION_FIELD, Field, NameMapping, Schema, Type};
pub use transform::Transform;
pub use value::Value;
pub use vended::{StorePlace, VendedKeys};

//! TPC-H: schema, data generated in process, load, queries, verification.

mod export;
mod generate;
mod load;
mod queries;
mod schema;
mod verify;

pub use export::export;
pub use generate::{Table, generate, row_count};
pub use load::{LoadEvent, load};
pub use queries::{QUERIES, query};
pub use schema::{INDEXES, TABLES, TableSchema};
pub use verify::{Check, as_text, verify};

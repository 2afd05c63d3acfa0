//! TPC-H: schema, data generated in process, load, queries, verification.

mod generate;
mod load;
mod queries;
mod schema;

pub use generate::{Table, row_count};
pub use load::{LoadEvent, load};
pub use queries::{QUERIES, query};
pub use schema::{INDEXES, TABLES, TableSchema};

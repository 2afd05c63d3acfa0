//! Pages: buffer pool, B+tree, free space, checkpoint.

mod error;
mod header;
mod le;
mod node;
mod page;
mod store;

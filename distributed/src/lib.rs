//! Queries over many machines: an existing distributed engine (`datafusion-distributed`) plans,
//! places and exchanges; this engine scans, filters, projects and aggregates partially, as one
//! opaque node of its plans.
//!
//! It stands outside of the house: tokio, gRPC and the library's executor are here alone.
//! `README.md` says how a query goes through.
#![allow(clippy::disallowed_methods)] // beside the simulated world, with a runtime of the library's own

pub mod bridge;
pub mod channels;
pub mod cluster;
pub mod codec;
pub mod cut;
pub mod fragment;
pub mod local;
pub mod lower;
pub mod node;
pub mod table;
pub mod worker;

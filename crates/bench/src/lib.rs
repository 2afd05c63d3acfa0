//! Workloads and the regenerated figures: TPC-H, the three-mode comparison, the runtime's costs.
//!
//! Benchmarks are never timed tests: they print figures, as tables or as JSON lines.
#![allow(clippy::disallowed_methods)] // measuring tools read clocks and files of their own

pub mod answers;
pub mod cached;
mod chart;
pub mod codegen;
pub mod commits;
pub mod connections;
pub mod cores;
pub mod degrade;
pub mod device;
pub mod exchange;
pub mod figure;
pub mod instructions;
pub mod io;
pub mod ladder;
pub mod modes;
pub mod ooo;
pub mod pagefault;
pub mod plans;
pub mod point;
pub mod remote;
pub mod rings;
pub mod rows;
pub mod runtime_costs;
pub mod shuffle;
pub mod simulation;
pub mod store;
pub mod tpcc;
pub mod tpch;
pub mod ycsb;

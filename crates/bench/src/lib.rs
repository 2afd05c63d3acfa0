//! Workloads and the regenerated figures.

pub mod answers;

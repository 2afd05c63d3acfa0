//! Workloads and the regenerated figures.

//! Runs physical plans as trees of tasks.

//! Text to physical plan.

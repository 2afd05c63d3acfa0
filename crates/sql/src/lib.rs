//! Text to physical plan.

pub mod catalog;
pub mod plan;

mod bind;
mod error;
pub mod expr;
mod library;
mod render;

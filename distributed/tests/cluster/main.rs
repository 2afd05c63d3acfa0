//! A coordinator and three workers, each with its own copy of one database file: their answers
//! beside those of this engine on one machine, what is refused, and workers that are lost.
#![allow(clippy::disallowed_methods)] // tests start processes and look at clocks

mod answers;
mod data;
mod lost;
mod messages;
mod nodes;
mod partitions;
mod refused;

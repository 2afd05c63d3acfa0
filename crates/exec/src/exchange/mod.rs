//! An exchange: the rows of a plan on several nodes change places over streams between the nodes
//! ("io_uring for High-Performance DBMSs", section 4).
//!
//! On each node one plan ends at [`Outgoing`], which divides its rows among the nodes by keys or
//! gives all to each, and another one begins at [`Incoming`]. Between two nodes there is one
//! stream, and on each node a coroutine that sends into it and one that receives from it. Nothing
//! of it grows: rows gather up to the size of a buffer, buffers are a few for each peer, and a peer
//! sends only the buffers for which it has credit. A producer that finds no empty buffer waits, and
//! its scan with it.
//!
//! It ends in one of two ways. Either all rows of each node have been sent and counted, or not
//! wanted any more; or one node fails, its peers are told the error, and all of them end with it. A
//! peer that goes away without a word, or says nothing for longer than the patience of the
//! exchange, is an error of 08006.

mod arrivals;
mod begin;
mod bounds;
mod control;
mod failure;
mod frame;
mod frames;
mod gather;
mod incoming;
mod lane;
mod options;
mod outgoing;
mod plans;
mod receiver;
mod route;
mod sender;
mod shared;
#[cfg(test)]
mod tests;
mod wire;

pub use begin::Exchange;
pub use control::{ExchangeControl, ExchangeFigures};
pub use incoming::Incoming;
pub use options::ExchangeOptions;
pub use outgoing::Outgoing;
pub use plans::{Inputs, receive_rows, scan_of_exchange, send_rows};
pub use route::Route;

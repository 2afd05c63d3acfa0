//! HTTP/1.1 as stores speak it: a request, the head of its answer, and a body of known length or in
//! chunks. No redirects, no upgrades, no bodies that end with the connection.

mod body;
mod exchange;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub(crate) use body::{Pace, Sink};
pub(crate) use exchange::{Answer, Stage, Times, exchange};
pub(crate) use request::{Around, Request, is_plain};
pub(crate) use response::Head;

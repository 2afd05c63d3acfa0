//! How a server serves and ends, with real sockets: versions and encryption of the protocol, timeouts,
//! the drain, the log.
#![allow(clippy::disallowed_methods, reason = "clients are outside of the seam")]

#[path = "../served/mod.rs"]
mod served;

mod encrypted;
mod ending;
mod logs;
mod notifications;
mod promises;
mod signatures;
mod versions;
mod watched;

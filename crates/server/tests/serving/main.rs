//! How a server serves and ends, with real sockets: clients of the protocol and of HTTP, versions and
//! encryption of the protocol, logins, timeouts, the drain, the log.
#![allow(clippy::disallowed_methods, reason = "clients are outside of the seam")]

#[path = "../served/mod.rs"]
mod served;

mod clients;
mod encrypted;
mod ending;
mod http;
mod login;
mod logs;
mod notifications;
mod parameters;
mod promises;
mod signatures;
mod streaming;
mod transactions;
mod versions;
mod watched;

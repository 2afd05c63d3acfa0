//! Messages that are none, before and after authentication, from a seed: nothing panics, nothing
//! hangs, and no memory is taken by a length that somebody claims.
//!
//! The gate runs 50,000 in process and 1,000 over sockets. `DOVETAIL_MALFORMED=1000000` sets the
//! number in process; a fiftieth of it goes over sockets. `cargo test --test malformed -- --nocapture`
//! prints what was done.
#![allow(clippy::disallowed_methods, reason = "strangers are outside of the seam")]

#[path = "../served/mod.rs"]
mod served;

mod allocations;
mod in_process;
mod messages;
mod sockets;

/// Messages of the gate.
const COUNT_DEFAULT: u64 = 50_000;
/// Of so many messages one goes over a socket.
const SOCKET_SHARE: u64 = 50;

/// How many messages are made in process.
fn count() -> u64 {
    let given = std::env::var("DOVETAIL_MALFORMED").ok();
    given.map_or(COUNT_DEFAULT, |text| text.parse().expect("DOVETAIL_MALFORMED is a number"))
}

/// Says of which seed a message was when the test ends with it.
struct Culprit(u64);

impl Drop for Culprit {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

//! The messages of a client that proves who it is.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::scram(bytes));

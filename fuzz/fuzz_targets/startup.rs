//! Start-up packets with their parameters.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::startup(bytes));

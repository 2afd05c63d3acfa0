//! Messages cut out of a stream that comes in two pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::framing(bytes));

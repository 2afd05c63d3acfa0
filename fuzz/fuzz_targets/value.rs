//! Values in binary format, of all types.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::value(bytes));

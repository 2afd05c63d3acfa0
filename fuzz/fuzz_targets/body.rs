//! Bodies of messages: Parse and Bind with their values, Query, Describe, Execute, Close.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::body(bytes));

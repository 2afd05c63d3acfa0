//! The module that cargo makes, as Python finds it. What it does is tested in Python (`run.py`).

#![allow(clippy::disallowed_methods, reason = "reads a file that cargo has made")]

use std::path::Path;

#[test]
fn has_the_name_that_python_asks_for() {
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debug");
    let module = profile.join("deps").join("libdovetail_native.so");
    let bytes = std::fs::read(&module).expect("cargo makes the module before its tests");
    let name = b"PyInit__native";
    assert!(bytes.windows(name.len()).any(|window| window == name), "no {module:?} of Python");
}

//! What `dovetail doctor` says of this machine, and that it leaves nothing behind.
#![allow(clippy::disallowed_methods)] // tests make folders of their own

use std::process::Command;

#[test]
fn doctor_advises_and_leaves_nothing_behind() {
    let folder = std::env::temp_dir().join(format!("dovetail-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_dovetail")).arg("doctor").arg(&folder).output();
    let output = output.expect("it ends");
    let left = std::fs::read_dir(&folder).expect("the folder").count();
    std::fs::remove_dir_all(&folder).expect("an empty folder");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for topic in [
        "kernel",
        "back end",
        "depth",
        "block size",
        "fall-back",
        "durable writes",
        "SQPOLL",
        "IOPOLL",
        "passthrough",
    ] {
        assert!(text.lines().any(|line| line.starts_with(topic)), "{topic} is missing in:\n{text}");
    }
    assert_eq!(left, 0, "files are left");
}

#[test]
fn doctor_says_what_it_cannot_look_at() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_dovetail")).args(["doctor", "/not/there"]).output();
    let output = output.expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("/not/there"), "{error}");
}

//! Names of this machine, and others; tokens of this server, and others.

use super::{Guard, is_local};

#[test]
fn only_this_machine_is_local() {
    let ours =
        ["localhost", "LOCALHOST:8432", "127.0.0.1:8432", "127.8.8.8", "[::1]:8432", "[::1]"];
    for host in ours {
        assert!(is_local(host), "{host}");
    }
    let others = [
        "",
        ":80",
        "example.org",
        "localhost.example.org",
        "127.0.0.1.example.org:80",
        "10.0.0.1",
        "localhost:80@evil.example",
        "localhost:",
        "localhost:+80",
        "localhost:80:80",
        "localhost:99999",
        "localhost@evil.example",
        "localhost, evil.example",
        "localhost/evil.example",
        "[::1]evil.example",
        "[::1]:80@evil.example",
        "[::1",
        "::1",
        "[localhost]",
        "[127.0.0.1]",
        "evil.example[::1]",
    ];
    for host in others {
        assert!(!is_local(host), "{host}");
    }
}

#[test]
fn a_token_is_known_again_and_cannot_be_made() {
    let (guard, other) = (Guard::new(), Guard::new());
    let token = guard.issue();
    assert!(guard.end_s(&token).is_some());
    assert_eq!(other.end_s(&token), None, "of another server");
    let (end, hash) = token.split_once('.').expect("two parts");
    let longer = u64::from_str_radix(end, 16).expect("a number") + 1;
    for forged in ["", ".", end, &format!("{end}."), &format!("{longer:x}.{hash}"), hash] {
        assert_eq!(guard.end_s(forged), None, "{forged}");
    }
    assert_eq!(guard.end_s(&format!("{end}.{}", &hash[..hash.len() - 2])), None, "a part of it");
}

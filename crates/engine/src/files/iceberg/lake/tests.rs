//! Servers that paths name.

use super::server_of;

#[test]
fn a_server_is_its_scheme_host_and_port() {
    let same = [
        ("https://host/a/b", "https://HOST:443/c"),
        ("http://host:80/a", "http://host"),
        ("http://[::1]:80/a", "http://[::1]/b"),
    ];
    for (one, other) in same {
        assert_eq!(server_of(one), server_of(other), "{one} {other}");
    }
    let different = [
        ("https://host/a", "http://host/a"),
        ("https://host/a", "https://host:8443/a"),
        ("https://host/a", "https://host.evil/a"),
        ("https://host/a", "https://host@evil/a"),
        ("https://host/a", "https://host?@evil/a"),
        ("https://host/a", "/host/a"),
    ];
    for (one, other) in different {
        assert_ne!(server_of(one), server_of(other), "{one} {other}");
    }
}

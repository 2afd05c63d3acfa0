//! Names of this machine, and others.

use super::is_local;

#[test]
fn only_this_machine_is_local() {
    for host in ["localhost", "LOCALHOST:8432", "127.0.0.1:8432", "127.8.8.8", "[::1]:8432"] {
        assert!(is_local(host), "{host}");
    }
    for host in ["", "example.org", "localhost.example.org", "127.0.0.1.example.org:80", "10.0.0.1"]
    {
        assert!(!is_local(host), "{host}");
    }
}

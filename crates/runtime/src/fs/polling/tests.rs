//! Versions in releases of kernels.

use super::version_of;

#[test]
fn releases_have_a_version() {
    for (release, version) in [
        ("6.12.95+deb12-cloud-amd64", (6, 12)),
        ("5.14.0-427.el9.x86_64", (5, 14)),
        ("6.5", (6, 5)),
        ("7-rc1", (7, 0)),
        ("", (0, 0)),
    ] {
        assert_eq!(version_of(release), version, "{release}");
    }
}

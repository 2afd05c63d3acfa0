//! Hosts by their names, addresses by what they are.

use super::*;

fn endpoint(url: &str) -> Endpoint {
    Endpoint::parse(url).expect("an endpoint")
}

#[test]
fn only_listed_hosts_are_allowed() {
    let list = AllowList::only(["*.example.com", "store:9000", "Other"]);
    for (url, allowed) in [
        ("http://a.example.com", true),
        ("http://a.b.example.com:81", true),
        ("http://example.com", false),
        ("http://evil-example.com", false),
        ("http://store:9000", true),
        ("http://store:9001", false),
        ("http://other", true),
        ("http://example.com.evil.org", false),
    ] {
        assert_eq!(list.check_host(&endpoint(url)).is_ok(), allowed, "{url}");
        assert!(AllowList::any().check_host(&endpoint(url)).is_ok());
    }
}

#[test]
fn services_with_the_machines_credentials_are_out_of_reach() {
    let list = AllowList::only(["169.254.169.254"]);
    for (address, is_refused) in [
        ("169.254.169.254", true),
        ("169.254.0.1", true),
        ("::ffff:169.254.169.254", true),
        ("64:ff9b::a9fe:a9fe", true),
        ("fe80::1", true),
        ("fd00:ec2::254", true),
        ("fd20:ce::254", true),
        ("100.100.100.200", true),
        ("168.63.129.16", true),
        ("0.0.0.0", true),
        ("::", true),
        ("127.0.0.1", false),
        ("10.0.0.1", false),
        ("fd00::1", false),
    ] {
        let address: IpAddr = address.parse().expect("an address");
        assert_eq!(AllowList::any().check_address(address).is_err(), is_refused, "{address}");
    }
    assert!(list.check_address("169.254.169.254".parse().expect("one")).is_ok(), "it is listed");
    assert!(list.check_address("::ffff:169.254.169.254".parse().expect("one")).is_ok());
    assert!(list.check_address("169.254.169.253".parse().expect("one")).is_err());
}

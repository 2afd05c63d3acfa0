//! Which rule decides.

use std::path::PathBuf;

use runtime::net::Address;

use super::{Candidate, Method, Rules};

const RULES: &str = r#"
# a comment
local    all          all                        trust
host     sales        ann,bob    10.1.0.0/16     scram-sha-256   # the office
hostssl  all          +auditors  all             scram-sha-256
host     "all"        "eve, x"   127.0.0.1       trust
hostnossl all         all        ::1/128         reject
host     all          all        192.168.7.9     reject
"#;

fn check(peer: &str, encrypted: bool, database: &str, user: &str) -> Option<Method> {
    let peer = match peer {
        "unix" => Address::Unix(PathBuf::new()),
        ip => Address::Tcp((ip.parse::<std::net::IpAddr>().expect("an address"), 999).into()),
    };
    let rules = Rules::parse(RULES).expect("rules");
    let candidate = Candidate { peer: &peer, encrypted, database, user };
    rules.method(&candidate, |role| role == "auditors" && user == "carl")
}

#[test]
fn the_first_rule_that_fits_decides() {
    let table = [
        ("unix", false, "x", "y", Some(Method::Trust)),
        ("10.1.255.3", false, "sales", "bob", Some(Method::Scram)),
        ("::ffff:10.1.255.3", false, "sales", "ann", Some(Method::Scram)),
        ("10.2.0.1", false, "sales", "bob", None),
        ("10.1.0.1", false, "other", "bob", None),
        ("10.1.0.1", false, "sales", "eve", None),
        ("8.8.8.8", true, "x", "carl", Some(Method::Scram)),
        ("8.8.8.8", false, "x", "carl", None),
        ("8.8.8.8", true, "x", "dora", None),
        ("127.0.0.1", false, "all", "eve, x", Some(Method::Trust)),
        ("127.0.0.1", false, "other", "eve, x", None),
        ("::1", false, "x", "y", Some(Method::Reject)),
        ("::1", true, "x", "y", None),
        ("192.168.7.9", true, "x", "y", Some(Method::Reject)),
        ("192.168.7.8", true, "x", "y", None),
    ];
    for (peer, encrypted, database, user, expected) in table {
        let found = check(peer, encrypted, database, user);
        assert_eq!(found, expected, "{peer} {encrypted} {database} {user}");
    }
}

#[test]
fn what_is_no_rule_is_refused_with_its_line() {
    let table = [
        ("host all all trust", "line 1: the address is \"trust\""),
        ("\nhost all all 10.0.0.0/33 trust", "line 2: the address"),
        ("local all all md5", "line 1: the method is \"md5\""),
        ("local all", "line 1: the user is missing"),
        ("socket all all trust", "line 1: the type is \"socket\""),
        ("local all all trust map=x", "line 1: the option \"map=x\""),
    ];
    for (text, expected) in table {
        let error = Rules::parse(text).expect_err(text);
        assert!(error.message.contains(expected), "{text}: {error}");
    }
}

#[test]
fn rules_that_trust_other_machines_are_found() {
    let table = [
        ("local all all trust", None),
        ("host all all 127.0.0.0/8 trust\nhost all all ::1/128 trust", None),
        ("host all all 0.0.0.0/0 scram-sha-256", None),
        ("local all all trust\nhost all all 127.0.0.0/4 trust", Some(2)),
        ("hostssl all all all trust", Some(1)),
        ("host all ann 10.0.0.1 trust", Some(1)),
    ];
    for (text, expected) in table {
        assert_eq!(Rules::parse(text).expect(text).trusts_everyone(), expected, "{text}");
    }
}

//! Which secret a location gets, and that none shows its keys.

use crate::objects::location::Location;
use crate::secrets::stored::{Secrets, StoredSecret};

fn secret(name: &str, scope: &str) -> StoredSecret {
    let (name, scope) = (name.to_owned(), scope.to_owned());
    let secret = Some("canary".to_owned());
    StoredSecret { name, scope, key_id: secret.clone(), secret, ..StoredSecret::default() }
}

#[test]
fn the_longest_scope_wins() {
    let secrets = Secrets::of(vec![
        secret("all", "s3://"),
        secret("bucket", "s3://b"),
        secret("prefix", "s3://b/p/"),
        secret("other", "gs://"),
    ]);
    let table = [
        ("s3://x/p", Some("all")),
        ("s3://b/q", Some("bucket")),
        ("s3://b/p", Some("prefix")),
        ("s3://b/p/q", Some("prefix")),
        ("s3://b/pq", Some("bucket")),
        ("gs://b/p", Some("other")),
        ("az://b/p", None),
    ];
    for (location, expected) in table {
        let location = Location::parse(location).expect(location);
        let found = secrets.of_location(&location.to_string()).map(|secret| secret.name.as_str());
        assert_eq!(found, expected, "{location}");
    }
    assert!(!format!("{secrets:?}").contains("canary"));
}

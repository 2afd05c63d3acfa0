//! Keys of answers: whose they are, and that none is shown.

use super::VendedKeys;
use crate::catalog::CatalogConfig;

fn read(answer: &str, catalog: &str) -> crate::fault::Result<Vec<VendedKeys>> {
    let catalog = CatalogConfig::parse(catalog.as_bytes())?;
    VendedKeys::of_answer(answer.as_bytes(), &catalog)
}

/// Keys with this id, and what is said beside them.
fn keys(id: &str, more: &str) -> String {
    format!(r#"{{"s3.access-key-id": "{id}", "s3.secret-access-key": "canary-{id}"{more}}}"#)
}

#[test]
fn prefixes_are_those_of_names() {
    let table = [
        ("s3://b/p", Some("s3://b/p")),
        ("s3a://b/p/", Some("s3://b/p")),
        ("s3n://b//", Some("s3://b")),
        ("s3://", Some("s3://")),
        ("s3", Some("s3://")),
        ("s3:", Some("s3://")),
        ("gs://b/p", None),
        ("abfss://c@a.dfs.core.windows.net/p", None),
    ];
    for (prefix, expected) in table {
        let one = format!(r#"{{"prefix": "{prefix}", "config": {}}}"#, keys("k", ""));
        let answer = format!(r#"{{"metadata": {{}}, "storage-credentials": [{one}]}}"#);
        let found = read(&answer, "{}").expect(prefix);
        let found: Vec<&str> = found.iter().map(|keys| keys.prefix.as_str()).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{prefix}");
    }
}

#[test]
fn each_set_has_its_own_keys_and_the_place_of_all() {
    let token = r#", "s3.session-token": "canary", "s3.session-token-expires-at-ms": "17""#;
    let place = r#", "s3.region": "own", "s3.path-style-access": "FALSE""#;
    let of_table = keys("table", &format!("{token}, \"s3.endpoint\": \"http://h\""));
    let of_prefix = keys("prefix", place);
    let answer = format!(
        r#"{{"config": {of_table}, "storage-credentials": [{{"prefix": "s3://b", "config": {of_prefix}}}]}}"#
    );
    let catalog = r#"{"defaults": {"s3.endpoint": "http://d", "client.region": "r"},
        "overrides": {"s3.path-style-access": "true", "client.region": "o"}}"#;
    let found = read(&answer, catalog).expect("keys");
    let [table, prefix] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((prefix.id.as_str(), prefix.secret.as_str()), ("prefix", "canary-prefix"));
    assert_eq!((&prefix.token, prefix.expires_ms), (&None, None), "not those of the table");
    assert_eq!(prefix.store.endpoint.as_deref(), Some("http://h"));
    assert_eq!(
        (prefix.store.region.as_deref(), prefix.store.path_style),
        (Some("own"), Some(false))
    );
    assert_eq!((table.prefix.as_str(), table.id.as_str()), ("s3://", "table"));
    assert_eq!((table.token.as_deref(), table.expires_ms), (Some("canary"), Some(17)));
    assert_eq!((table.store.region.as_deref(), table.store.path_style), (Some("o"), Some(true)));
    assert!(!format!("{found:?}").contains("canary"));
}

#[test]
fn without_keys_there_are_none() {
    for answer in [
        "{}",
        r#"{"metadata": {"x": [1, {"config": 7}]}, "config": null, "storage-credentials": []}"#,
        r#"{"config": {"s3.endpoint": "http://h", "s3.access-key-id": "", "token": "t"}}"#,
        r#"{"storage-credentials": [{"prefix": "s3://b", "config": {"s3.signer.uri": "http://h"}}]}"#,
    ] {
        assert_eq!(read(answer, "{}"), Ok(vec![]), "{answer}");
    }
}

#[test]
fn what_is_wrong_is_named_and_not_shown() {
    let set = |config: &str| {
        format!(r#"{{"storage-credentials": [{{"prefix": "s3://b", "config": {config}}}]}}"#)
    };
    let table = [
        (set(r#"{"s3.access-key-id": "canary"}"#), "s3.secret-access-key"),
        (set(r#"{"s3.secret-access-key": "canary"}"#), "s3.access-key-id"),
        (set(r#"{"s3.session-token": "canary"}"#), "s3.access-key-id"),
        (set(r#"{"s3.access-key-id": "a", "s3.secret-access-key": ["canary"]}"#), "no text"),
        (set(&keys("a", r#", "s3.path-style-access": "canary""#)), "s3.path-style-access"),
        (set(&keys("a", r#", "s3.session-token-expires-at-ms": "canary""#)), "milliseconds"),
        (set(r#""canary""#), "no object"),
        (r#"{"storage-credentials": "canary"}"#.to_owned(), "no list"),
        (r#"{"storage-credentials": [{"prefix": "s3://canary"}]}"#.to_owned(), "config"),
        (r#"{"config": "canary"}"#.to_owned(), "no object"),
        (r#"{"config": {}, "config": "canary"}"#.to_owned(), "line 1"),
        (r#""canary""#.to_owned(), "line 1"),
    ];
    for (answer, expected) in table {
        let error = read(&answer, "{}").expect_err(&answer).to_string();
        assert!(error.contains(expected) && !error.contains("canary"), "{answer}: {error}");
    }
    let many = vec![r#"{"prefix": "s3://b", "config": {}}"#; 1001].join(", ");
    assert!(read(&format!(r#"{{"storage-credentials": [{many}]}}"#), "{}").is_err());
    assert!(read("{}", r#"{"defaults": {"s3.region": 7}}"#).is_err());
}

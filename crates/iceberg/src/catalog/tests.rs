//! Paths of catalogs.

use super::{CatalogConfig, table_key};

#[test]
fn prefixes_are_the_catalogs_or_what_was_given() {
    let check = |text: &str, given: Option<&str>, expected: Option<&str>| {
        let config = CatalogConfig::parse(text.as_bytes()).expect("good");
        assert_eq!(config.prefix(given), expected, "{text} {given:?}");
    };
    check("{}", None, None);
    check("{}", Some("a"), Some("a"));
    check(r#"{"defaults": {"prefix": "d"}, "overrides": {}}"#, None, Some("d"));
    check(r#"{"defaults": {"prefix": "d"}, "overrides": {}}"#, Some("a"), Some("a"));
    check(r#"{"defaults": {"prefix": "d"}, "overrides": {"prefix": "o"}}"#, Some("a"), Some("o"));
    assert!(CatalogConfig::parse(b"<html>").is_err());
    assert!(CatalogConfig::parse(br#"{"overrides": 7}"#).is_err());
}

#[test]
fn a_catalog_may_insist_on_another_place() {
    let uri =
        |text: &str| CatalogConfig::parse(text.as_bytes()).map(|c| c.uri().map(str::to_owned));
    assert_eq!(
        uri(r#"{"overrides": {"uri": "https://h/c"}}"#).expect("good").as_deref(),
        Some("https://h/c")
    );
    assert_eq!(uri(r#"{"defaults": {"uri": "https://h/c"}}"#).expect("good"), None);
    assert!(uri(r#"{"overrides": {"uri": 7}}"#).is_err());
}

#[test]
fn tables_have_a_path() {
    let check = |prefix, name, expected: Option<&str>| {
        assert_eq!(table_key(prefix, name).ok().as_deref(), expected, "{name}");
    };
    check(None, "n.t", Some("v1/namespaces/n/tables/t"));
    check(Some("p"), "a.b.t", Some("v1/p/namespaces/a\u{1f}b/tables/t"));
    check(None, "t", None);
    check(None, ".t", None);
    check(None, "n/../x.t", None);
}

//! Which locations are taken, and what they name.

use super::{Location, is_within};

#[test]
fn locations_name_buckets_and_prefixes() {
    let table = [
        ("s3://bucket/a/b", "s3://bucket/a/b", "a/b/list"),
        ("s3://bucket/a/", "s3://bucket/a", "a/list"),
        ("gs://bucket", "gs://bucket", "list"),
        ("az://container/x", "az://container/x", "x/list"),
        ("https://host:8443/files/t", "https://host:8443/files/t", "list"),
    ];
    for (text, shown, key) in table {
        let location = Location::parse(text).expect(text);
        assert_eq!((location.to_string().as_str(), location.key("list").as_str()), (shown, key));
    }
    let refused =
        ["", "bucket", "ftp://a/b", "s3://", "s3:///a", "s3://a//b", "s3://a/../b", "s3://a/b?c"];
    for text in refused {
        let error = Location::parse(text).expect_err(text);
        assert_eq!(error.state.0, "22023", "{text}");
    }
    assert!(Location::parse(&format!("s3://a/{}", "b".repeat(2000))).is_err());
}

#[test]
fn scopes_end_where_names_end() {
    let location = Location::parse("s3://bucket/data/t").expect("a location");
    let table = [
        ("s3://", true),
        ("s3://bucket", true),
        ("s3://bucket/data", true),
        ("s3://bucket/data/", true),
        ("s3://bucket/data/t", true),
        ("s3://bucket/dat", false),
        ("s3://buck", false),
        ("gs://", false),
        ("s3://bucket/data/t/u", false),
    ];
    for (scope, expected) in table {
        assert_eq!(is_within(&location.to_string(), scope), expected, "{scope}");
    }
}

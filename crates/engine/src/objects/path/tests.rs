//! What names an object, and what does not.

use super::{ObjectPath, is_object};

#[test]
fn objects_are_told_from_files() {
    for path in ["s3://b/x", "gs://b/x", "az://b/x", "http://h:1/x", "https://h/x"] {
        assert!(is_object(path), "{path}");
    }
    for path in ["/s3://b/x", "s3:/b/x", "x.csv", "ftp://h/x", ""] {
        assert!(!is_object(path), "{path}");
    }
}

#[test]
fn names_are_split_into_buckets_and_keys() {
    let check = |text: &str, expected: Option<(&str, &str)>| {
        let found = ObjectPath::parse(text).ok();
        let found = found.map(|path| (path.location.to_string(), path.key));
        let found = found.as_ref().map(|(bucket, key)| (bucket.as_str(), key.as_str()));
        assert_eq!(found, expected, "{text}");
    };
    check("s3://b/a b/c=%20/*.parquet", Some(("s3://b", "a b/c=%20/*.parquet")));
    check("https://h:8080/d/x.csv", Some(("https://h:8080", "d/x.csv")));
    check("https://h/x.csv?signature=1", None);
    check("s3://b/", None);
    check("s3://b", None);
    check("s3:///x", None);
    check("s3://b/a\nb", None);
    check("/b/x", None);
}

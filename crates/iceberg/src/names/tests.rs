//! Names of files and places.

use super::{hinted, moved, place, version_of};

#[test]
fn metadata_files_have_versions() {
    let cases = [
        ("v3.metadata.json", Some(3)),
        ("v12.gz.metadata.json", Some(12)),
        ("v12.metadata.json.gz", Some(12)),
        ("00003-92c5f6e4-4c2d.metadata.json", Some(3)),
        ("00003.metadata.json", None),
        ("snap-1.avro", None),
        ("version-hint.text", None),
        ("v99999999999999999999.metadata.json", None),
    ];
    for (name, expected) in cases {
        assert_eq!(version_of(name), expected, "{name}");
    }
    assert_eq!(hinted("7\n")[0], "v7.metadata.json");
    assert_eq!(hinted("00001-a.metadata.json"), ["00001-a.metadata.json"]);
    assert_eq!(hinted("00001-a"), ["00001-a.metadata.json"]);
}

#[test]
fn places_have_one_form() {
    let cases = [
        ("s3a://b/x", Some("s3://b/x")),
        ("gs://b/x", Some("gs://b/x")),
        ("abfss://c@a.dfs.core.windows.net/t/x", Some("az://c/t/x")),
        ("abfss://c/x", None),
        ("file:///t/x", Some("/t/x")),
        ("file:/t/x", Some("/t/x")),
        ("file://host/x", None),
        ("/t/x", Some("/t/x")),
        ("hdfs://n/x", None),
    ];
    for (text, expected) in cases {
        assert_eq!(place(text).ok().as_deref(), expected, "{text}");
    }
    assert_eq!(moved("/a/t/data/x", "/a/t", "/b").as_deref(), Some("/b/data/x"));
    assert_eq!(moved("/a/t2/x", "/a/t", "/b"), None);
    assert_eq!(moved("/a/t/../x", "/a/t", "/b"), None);
}

//! Objects that are replaced while they are read.

use objectstore::ObjectInfo;

use super::ObjectFile;
use crate::objects::location::Location;
use crate::objects::stores::Stores;

/// What a store tells of an object of ten bytes.
fn told(tag: Option<&str>) -> ObjectInfo {
    let (key, tag) = ("k".to_owned(), tag.map(str::to_owned));
    ObjectInfo { key, size: 10, tag, modified_s: None }
}

#[test]
fn the_first_bytes_say_what_object_it_is() {
    let found = |tag| {
        let location = Location::parse("http://host").expect("a location");
        let bucket = Stores::new(vec![], 0).open(None, &location).expect("a bucket");
        ObjectFile::of(bucket, told(tag))
    };
    let known = found(Some("a"));
    assert!(known.is_same(&told(Some("a"))));
    assert!(!known.is_same(&told(Some("b"))) && !known.is_same(&told(None)));
    // Its size alone was known, as metadata tells it.
    let learned = found(None);
    let reads_beside = learned.clone();
    assert!(learned.is_same(&told(Some("a"))) && reads_beside.is_same(&told(Some("a"))));
    assert!(!reads_beside.is_same(&told(Some("b"))) && !learned.is_same(&told(None)));
    // Some stores tell none.
    let untold = found(None);
    assert!(untold.is_same(&told(None)) && untold.is_same(&told(None)));
    assert!(!untold.is_same(&ObjectInfo { size: 11, ..told(None) }));
}

//! The list in bytes, and what is not one.

use super::super::name::ChunkName;
use super::{List, ListedChunk, ListedPart};

fn list() -> List {
    let chunk = |rows, name| ListedChunk { rows, name: ChunkName([name; 16]), header: vec![7; 40] };
    let part = |first_row, chunks: Vec<ListedChunk>| {
        let rows = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        ListedPart { first_row, rows, column_bytes: vec![1, 2], chunks }
    };
    let parts = vec![part(1, vec![chunk(1000, 1), chunk(24, 2)]), part(1025, vec![chunk(1, 3)])];
    let (writer, definition) = ("w".to_owned(), b"{}".to_vec());
    List { writer, sequence: 3, definition, parts }
}

#[test]
fn a_list_is_read_as_it_was_written() {
    assert_eq!(List::decode(&list().encode()).expect("a list"), list());
    assert_eq!(List::decode(&List::default().encode()).expect("a list"), List::default());
}

#[test]
fn no_prefix_and_no_changed_byte_is_more_than_an_error() {
    let bytes = list().encode();
    for end in 0..bytes.len() {
        assert!(List::decode(&bytes[..end]).is_err(), "{end}");
    }
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            // It is another list, or an error; never a panic, nor memory by a number that was read.
            let _ = List::decode(&changed);
        }
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(List::decode(&longer).is_err());
}

#[test]
fn names_of_objects_are_names_of_chunks_or_none() {
    let name = ChunkName([0xa5; 16]);
    assert_eq!(ChunkName::of_object(&name.to_string()), Some(name));
    for other in
        ["chunks/", "list", "chunks/A5", "x/a5a5", "chunks/a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a+"]
    {
        assert_eq!(ChunkName::of_object(other), None, "{other}");
    }
}

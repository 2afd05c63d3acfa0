//! Where row groups are cut, and which indexes are believed.

use parquet::file::page_index::offset_index::PageLocation;

use super::{Pages, SLICE_BYTES, are_right, sliced};

const MIB: i32 = 1 << 20;

fn pages(first_rows: impl IntoIterator<Item = i64>, bytes: i32) -> Vec<PageLocation> {
    let page = |(at, first_row_index)| PageLocation {
        offset: at as i64 * i64::from(bytes),
        compressed_page_size: bytes,
        first_row_index,
    };
    first_rows.into_iter().enumerate().map(page).collect()
}

#[test]
fn rows_are_cut_where_pages_of_all_columns_end() {
    let check = |columns: &[(&[PageLocation], u64)], expected: &[(usize, usize)]| {
        let columns = columns.iter();
        let columns: Vec<_> =
            columns.map(|(pages, bytes)| Pages { dictionary_bytes: *bytes, pages }).collect();
        let found: Vec<_> = sliced(&columns, 640_000).iter().map(|r| (r.start, r.end)).collect();
        assert_eq!(found, expected);
    };
    let even = pages((0..32).map(|page| page * 20_000), MIB);
    check(
        &[(&even, 0)],
        &[(0, 160_000), (160_000, 320_000), (320_000, 480_000), (480_000, 640_000)],
    );
    let two = [(even.as_slice(), 0), (even.as_slice(), 0)];
    const { assert!(SLICE_BYTES == 8 << 20, "the cases are made for it") };
    check(
        &[two[0], two[1]].map(|(p, d)| (&p[..16], d)),
        &[(0, 80_000), (80_000, 160_000), (160_000, 240_000), (240_000, 640_000)],
    );
    // Pages over the bounds, and dictionaries, are read twice: slices are as large as makes up for it.
    let odd = pages((0..16).map(|page| page * 40_000), 2 * MIB);
    check(
        &[(&even, 0), (&odd, 0)],
        &[
            (0, 80_000),
            (80_000, 160_000),
            (160_000, 240_000),
            (240_000, 320_000),
            (320_000, 400_000),
            (400_000, 480_000),
            (480_000, 560_000),
            (560_000, 640_000),
        ],
    );
    check(&[(&even, 2 << 20)], &[(0, 320_000), (320_000, 640_000)]);
    check(&[(&[], 0)], &[(0, 640_000)]);
}

#[test]
fn indexes_that_contradict_their_columns_are_not_believed() {
    let right = pages([0, 10, 20], MIB);
    let end = 3 * MIB as u64;
    assert!(are_right(&right, 0..end, 30));
    assert!(are_right(&[], 0..end, 30));
    assert!(!are_right(&right, 0..end - 1, 30), "beyond the column");
    assert!(!are_right(&right, 1..end, 30), "before the column");
    assert!(!are_right(&right, 0..end, 20), "beyond the group");
    assert!(!are_right(&pages([5, 10], MIB), 0..end, 30), "rows before the first page");
    assert!(!are_right(&pages([0, 10, 10], MIB), 0..end, 30), "a page without rows");
    let mut negative = right.clone();
    negative[1].compressed_page_size = -1;
    assert!(!are_right(&negative, 0..end, 30));
}

//! Whatever is encoded is decoded to the same, by every road: wholly, at some rows, one row from its
//! own sectors, and as the rows that qualify.
//!
//! `DOVETAIL_SEEDS` says how many seeds, `DOVETAIL_FIRST_SEED` with which to begin; a failure names
//! its seed and type.

mod support;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringViewArray, UInt16Array};
use arrow_select::take::take;
use columnar::{
    ChunkHeader, Comparison, Error, Gather, Mask, Piece, Restriction, SECTOR_BYTES, VECTOR_ROWS,
    Vector, encode,
};
use stdx::Prng;
use support::{TYPES, column, order, seeds};
use types::LogicalType;

const ROW_COUNTS: [usize; 10] = [1, 2, 16, 63, 65, 1023, 1024, 1025, 2500, 5000];

/// Calls `test` with columns of every type for each seed.
fn check(default_seeds: u64, test: impl Fn(LogicalType, &ArrayRef, &mut Prng)) {
    for seed in seeds(default_seeds) {
        for (number, ty) in TYPES.into_iter().enumerate() {
            let mut rng = Prng::new(seed.wrapping_mul(1000) + number as u64);
            let rows = ROW_COUNTS[rng.below(ROW_COUNTS.len() as u64) as usize];
            let array = column(ty, rows, &mut rng);
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                test(ty, &array, &mut rng);
            }));
            assert!(failed.is_ok(), "DOVETAIL_FIRST_SEED={seed} DOVETAIL_SEEDS=1, type {ty}");
        }
    }
}

/// A chunk of one column, its header parsed.
fn chunk_of(ty: LogicalType, array: &ArrayRef) -> (ChunkHeader, Vec<u8>) {
    let chunk = encode(&[ty], std::slice::from_ref(array)).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    header.verify(0, &chunk.body).unwrap();
    (header, chunk.body)
}

fn slice(array: &ArrayRef, header: &ChunkHeader, vector: usize) -> ArrayRef {
    array.slice(vector * VECTOR_ROWS, header.rows_of(vector))
}

#[test]
fn every_vector_is_decoded_to_what_was_encoded() {
    check(40, |ty, array, _| {
        let (header, body) = chunk_of(ty, array);
        assert_eq!(header.row_count(), array.len());
        assert_eq!(header.columns()[0].null_count(), array.null_count());
        let pieces = [Piece { offset: 0, bytes: &body }];
        for index in 0..header.vector_count() {
            let found = Vector::new(&header, 0, index, &pieces).unwrap().decode().unwrap();
            let expected = slice(array, &header, index);
            assert_eq!(found.data_type(), &ty.arrow());
            assert_eq!(&found, &expected, "vector {index}");
        }
    });
}

#[test]
fn chosen_rows_are_those_of_the_whole_vector() {
    check(40, |ty, array, rng| {
        let (header, body) = chunk_of(ty, array);
        let pieces = [Piece { offset: 0, bytes: &body }];
        let index = rng.below(header.vector_count() as u64) as usize;
        let vector = Vector::new(&header, 0, index, &pieces).unwrap();
        for count in [0, 1, 5, 16, 17, 700] {
            let rows: Vec<u16> =
                (0..count).map(|_| rng.below(vector.rows() as u64) as u16).collect();
            let expected =
                take(&slice(array, &header, index), &UInt16Array::from(rows.clone()), None);
            assert_eq!(&vector.take(&rows).unwrap(), &expected.unwrap(), "{rows:?}");
        }
    });
}

#[test]
fn gathered_rows_are_those_of_each_vector() {
    check(40, |ty, array, rng| {
        let (header, body) = chunk_of(ty, array);
        let pieces = [Piece { offset: 0, bytes: &body }];
        let mut gather = Gather::new(ty, 100).unwrap();
        let mut expected: Vec<ArrayRef> = vec![array.slice(0, 0)];
        for index in 0..header.vector_count() {
            let vector = Vector::new(&header, 0, index, &pieces).unwrap();
            let share = [0.0, 0.01, 0.5, 1.0][rng.below(4) as usize];
            let rows = (0..vector.rows() as u16).filter(|_| rng.chance(share));
            let rows: Vec<u16> = rows.collect();
            let is_whole = rows.len() == vector.rows();
            gather.add(&vector, (!is_whole).then_some(&rows[..])).unwrap();
            let rows = UInt16Array::from(rows);
            expected.push(take(&slice(array, &header, index), &rows, None).unwrap());
        }
        let expected: Vec<&dyn Array> = expected.iter().map(|array| array.as_ref()).collect();
        let found = gather.finish().unwrap();
        assert_eq!(found.data_type(), &ty.arrow());
        assert_eq!(&found, &arrow_select::concat::concat(&expected).unwrap());
    });
}

#[test]
fn nothing_gathered_is_an_empty_array() {
    for ty in TYPES {
        let found = Gather::new(ty, 0).unwrap().finish().unwrap();
        assert_eq!((found.data_type(), found.len()), (&ty.arrow(), 0));
    }
}

#[test]
fn rows_and_vectors_that_are_not_the_column_s_are_refused() {
    let array: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b"]));
    let (header, body) = chunk_of(LogicalType::Text, &array);
    let pieces = [Piece { offset: 0, bytes: &body }];
    let vector = Vector::new(&header, 0, 0, &pieces).unwrap();
    let mut gather = Gather::new(LogicalType::Text, 2).unwrap();
    assert!(matches!(gather.add(&vector, Some(&[2])), Err(Error::Mismatch(_))));
    let mut gather = Gather::new(LogicalType::Int64, 2).unwrap();
    assert!(matches!(gather.add(&vector, None), Err(Error::Mismatch(_))));
}

#[test]
fn one_row_needs_two_sectors_and_rarely_more() {
    let needed = std::cell::RefCell::new([0_u32; 16]);
    check(10, |ty, array, rng| {
        let (header, body) = chunk_of(ty, array);
        for _ in 0..20 {
            let row = rng.below(array.len() as u64) as usize;
            let (index, position) = (row / VECTOR_ROWS, (row % VECTOR_ROWS) as u16);
            let (found, sectors) = read_one(&header, &body, index, position);
            assert_eq!(&found, &array.slice(row, 1), "row {row}");
            needed.borrow_mut()[sectors] += 1;
        }
    });
    let needed = needed.into_inner();
    println!("rows by the sectors that they needed: {needed:?}");
    let rare: u32 = needed[3..].iter().sum();
    assert!(rare * 20 <= needed.iter().sum::<u32>(), "{needed:?}");
}

/// Long texts: with the head and the places that it tells of, and nothing else, rows are found.
#[test]
fn few_rows_need_the_head_and_their_own_places() {
    let (mut heads, mut whole) = (0, 0);
    for seed in 0..40 {
        let mut rng = Prng::new(seed);
        let texts = (0..3000).map(|_| match rng.below(20) {
            0 => None,
            _ => {
                Some((0..rng.below(8)).map(|_| format!("{:x}", rng.next_u64())).collect::<String>())
            }
        });
        let array: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
        let (header, body) = chunk_of(LogicalType::Text, &array);
        for index in 0..header.vector_count() {
            let Some(head) = header.head(0, index) else {
                whole += 1;
                continue;
            };
            heads += 1;
            let piece = |at: &std::ops::Range<u64>| Piece {
                offset: at.start,
                bytes: &body[at.start as usize..at.end as usize],
            };
            let mut positions: Vec<u16> =
                (0..10).map(|_| rng.below(header.rows_of(index) as u64) as u16).collect();
            positions.sort_unstable();
            positions.dedup();
            let pieces = [piece(&head)];
            let vector = Vector::new(&header, 0, index, &pieces).unwrap();
            let places = vector.places(&positions).unwrap().unwrap();
            let pieces: Vec<Piece> =
                std::iter::once(piece(&head)).chain(places.iter().map(piece)).collect();
            let vector = Vector::new(&header, 0, index, &pieces).unwrap();
            let mut gather = Gather::new(LogicalType::Text, positions.len()).unwrap();
            gather.add(&vector, Some(&positions)).unwrap();
            let rows = positions.iter().map(|at| (index * VECTOR_ROWS) as u32 + u32::from(*at));
            let rows = arrow_array::UInt32Array::from_iter_values(rows);
            let wanted = take(&array, &rows, None).unwrap();
            assert_eq!(&gather.finish().unwrap(), &wanted, "seed {seed}, vector {index}");
        }
    }
    assert!(heads > 50, "{heads} long vectors, {whole} others");
}

/// Found by seed 23: the bytes of an empty string are never absent, whatever is at hand.
#[test]
fn an_empty_string_needs_no_bytes() {
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["", ""]));
    let (header, body) = chunk_of(LogicalType::Text, &texts);
    assert!(body.is_empty());
    let (found, sectors) = read_one(&header, &body, 0, 1);
    assert_eq!((&found, sectors), (&texts.slice(1, 1), 0));
}

/// Reads one row as the engine does: what is absent is read, and the row tried again.
fn read_one(header: &ChunkHeader, body: &[u8], index: usize, position: u16) -> (ArrayRef, usize) {
    let mut pieces: Vec<Piece> = Vec::new();
    loop {
        match Vector::new(header, 0, index, &pieces).unwrap().take(&[position]) {
            Ok(found) => {
                let sectors = pieces.iter().flat_map(|piece| {
                    let first = piece.offset as usize / SECTOR_BYTES;
                    first..first + piece.bytes.len() / SECTOR_BYTES
                });
                return (found, sectors.collect::<std::collections::BTreeSet<_>>().len());
            }
            Err(Error::Absent(range)) => {
                let bytes = &body[range.start as usize..range.end as usize];
                header.verify(range.start, bytes).unwrap();
                pieces.push(Piece { offset: range.start, bytes });
            }
            Err(error) => panic!("{error}"),
        }
    }
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

#[test]
fn restrictions_select_what_a_look_at_each_row_selects() {
    check(60, |ty, array, rng| {
        if ty == LogicalType::Interval {
            return;
        }
        let (header, body) = chunk_of(ty, array);
        let pieces = [Piece { offset: 0, bytes: &body }];
        let constants = [array.clone(), column(ty, 50, rng)];
        for _ in 0..6 {
            let from = &constants[rng.below(2) as usize];
            let constant = from.slice(rng.below(from.len() as u64) as usize, 1);
            let comparison = COMPARISONS[rng.below(6) as usize];
            let restriction = Restriction::new(ty, comparison, &constant).unwrap();
            for index in 0..header.vector_count() {
                let vector = Vector::new(&header, 0, index, &pieces).unwrap();
                let rows = slice(array, &header, index);
                let among = Mask::from_fn(VECTOR_ROWS, |_| rng.chance(0.7));
                let expected = Mask::from_fn(rows.len(), |row| {
                    among.contains(row)
                        && rows.is_valid(row)
                        && constant.is_valid(0)
                        && holds(comparison, order(ty, &rows, row, &constant, 0).unwrap())
                });
                let found = vector.select(&restriction, &among).unwrap();
                let encoding = header.columns()[0].vectors()[index].encoding;
                assert_eq!(found, expected, "{comparison:?} {constant:?} {encoding:?}");
            }
        }
    });
}

#[test]
fn nulls_are_selected_where_they_are_asked_for() {
    check(10, |ty, array, _| {
        let (header, body) = chunk_of(ty, array);
        let pieces = [Piece { offset: 0, bytes: &body }];
        for index in 0..header.vector_count() {
            let vector = Vector::new(&header, 0, index, &pieces).unwrap();
            let rows = slice(array, &header, index);
            let all = Mask::first(rows.len());
            let null = vector.select(&Restriction::is_null(ty).unwrap(), &all).unwrap();
            assert_eq!(null, Mask::from_fn(rows.len(), |row| rows.is_null(row)));
            let valid = vector.select(&Restriction::is_not_null(ty).unwrap(), &all).unwrap();
            assert_eq!(valid, all.and_not(&null));
            assert_eq!(null.positions().len(), rows.null_count());
        }
    });
}

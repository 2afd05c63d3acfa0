//! Whole chunks: how a stream of rows is cut, where things lie, what is refused.

mod support;

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int32Array, Int64Array, ListArray, StringViewArray,
    types::Int32Type,
};
use columnar::{
    Chunk, ChunkBuilder, ChunkHeader, Comparison, Encoding, Error, Mask, Piece, Restriction,
    SECTOR_BYTES, SEGMENT_BYTES_MAX, VECTOR_ROWS, Vector, Verdict, encode,
};
use stdx::Prng;
use support::{column, numbers};
use types::LogicalType;

/// All rows of one column of some chunks.
fn decoded(chunks: &[Chunk], column: usize) -> ArrayRef {
    let mut vectors: Vec<ArrayRef> = Vec::new();
    for chunk in chunks {
        let header = ChunkHeader::parse(&chunk.header).unwrap();
        let pieces = [Piece { offset: 0, bytes: &chunk.body }];
        for index in 0..header.vector_count() {
            let vector = Vector::new(&header, column, index, &pieces).unwrap();
            vectors.push(vector.decode().unwrap());
        }
    }
    let vectors: Vec<&dyn Array> = vectors.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&vectors).unwrap()
}

#[test]
fn a_stream_of_rows_becomes_chunks_of_the_wanted_size() {
    const TARGET: usize = 256 << 10;
    let mut rng = Prng::new(1);
    let types = [LogicalType::Int64, LogicalType::Text];
    let mut builder = ChunkBuilder::new(types.to_vec(), TARGET);
    let (mut chunks, mut pushed): (Vec<Chunk>, [Vec<ArrayRef>; 2]) = Default::default();
    for _ in 0..60 {
        let rows = 1 + rng.below(5000) as usize;
        let keys: Int64Array = (0..rows).map(|_| Some(rng.next_u64() as i64)).collect();
        let names = (0..rows).map(|row| Some(format!("name {row}")));
        let columns: [ArrayRef; 2] = [Arc::new(keys), Arc::new(StringViewArray::from_iter(names))];
        chunks.extend(builder.push(&columns).unwrap());
        pushed.iter_mut().zip(columns).for_each(|(all, column)| all.push(column));
    }
    chunks.extend(builder.finish().unwrap());
    for (column, pushed) in pushed.iter().enumerate() {
        let pushed: Vec<&dyn Array> = pushed.iter().map(AsRef::as_ref).collect();
        assert_eq!(&decoded(&chunks, column), &arrow_select::concat::concat(&pushed).unwrap());
    }
    let inner = &chunks[1..chunks.len() - 1];
    assert!(inner.len() >= 3, "{} chunks", chunks.len());
    for chunk in inner {
        let len = chunk.body.len();
        assert!((TARGET / 2..TARGET * 2).contains(&len), "{len}");
    }
}

#[test]
fn vectors_lie_whole_in_segments_and_columns_begin_at_sectors() {
    let mut rng = Prng::new(2);
    let types = [LogicalType::Int64, LogicalType::Text, LogicalType::Bool, LogicalType::Uuid];
    let arrays: Vec<ArrayRef> = types.iter().map(|ty| column(*ty, 50_000, &mut rng)).collect();
    let chunk = encode(&types, &arrays).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    let mut end = 0;
    for column in header.columns() {
        for segment in column.segments() {
            assert_eq!(segment.bytes.start, end, "segments adjoin");
            assert_eq!(segment.bytes.end as usize % SECTOR_BYTES, 0);
            let len = (segment.bytes.end - segment.bytes.start) as usize;
            let stored = column.vectors()[segment.vectors.clone()].iter();
            let stored: Vec<_> = stored.filter(|vector| !vector.bytes.is_empty()).collect();
            assert!(len <= SEGMENT_BYTES_MAX || stored.len() == 1);
            for vector in stored {
                assert!(segment.bytes.start <= vector.bytes.start);
                assert!(vector.bytes.end <= segment.bytes.end);
            }
            end = segment.bytes.end;
        }
    }
    assert_eq!(end as usize, chunk.body.len());
}

#[test]
fn encodings_follow_from_the_values() {
    let mut rng = Prng::new(3);
    let random: Vec<i64> = (0..1024).map(|_| rng.next_u64() as i64).collect();
    let few = |row: i64| random[(random[row as usize] & 7) as usize];
    let check = |encoding: Encoding, bytes_max: usize, value: &dyn Fn(i64) -> i64| {
        let array: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1024).map(value)));
        let chunk = encode(&[LogicalType::Int64], &[array]).unwrap();
        let header = ChunkHeader::parse(&chunk.header).unwrap();
        let vector = &header.columns()[0].vectors()[0];
        assert_eq!(vector.encoding, encoding);
        assert_eq!((vector.bytes.end - vector.bytes.start) as usize, bytes_max);
    };
    check(Encoding::Constant, 0, &|_| -5);
    check(Encoding::Packed, 24 + 10 * 128, &|row| random[row as usize] & 1023);
    check(Encoding::Packed, 24 + 4 * 128, &|row| (random[row as usize] & 15) * 1_000_000);
    check(Encoding::Dictionary, 8 + 24 + 3 * 128 + 8 * 8, &few);
    check(Encoding::Runs, 8 + 8 + 24 + 128, &|row| row / 256 * 1_000_000_007 % 100);
    check(Encoding::Delta, 16 * 8 + 24, &|row| row * 1_000_000_007 + row / 64);
    check(Encoding::Plain, 1024 * 8, &|row| random[row as usize]);
}

#[test]
fn arrays_are_stored_as_text() {
    let ty = LogicalType::Int32.array_of();
    let rows = (0..1500).map(|row| {
        let elements = (0..row % 4).map(move |i| (i != 2).then_some(row * i));
        (row % 10 != 3).then_some(elements)
    });
    let array: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows));
    assert_eq!(array.data_type(), &ty.arrow());
    let chunk = encode(&[ty], std::slice::from_ref(&array)).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    assert_eq!((header.columns()[0].ty(), header.columns()[0].zone()), (ty, None));
    assert_eq!(&decoded(&[chunk], 0), &array);
    let equal = Restriction::new(ty, Comparison::Equal, &array.slice(0, 1));
    assert!(matches!(equal, Err(Error::Unsupported(_))));
}

#[test]
fn what_does_not_fit_is_refused() {
    let integers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let refused = |ty, array: &ArrayRef| encode(&[ty], std::slice::from_ref(array)).unwrap_err();
    assert!(matches!(refused(LogicalType::Int64, &integers), Error::Mismatch(_)));
    let lists = LogicalType::Int32.array_of().array_of();
    assert!(matches!(refused(lists, &integers), Error::Unsupported(_)));
    let long = Decimal128Array::from(vec![1_i128 << 70]).with_precision_and_scale(38, 2).unwrap();
    let narrow = long.with_data_type(LogicalType::Decimal { precision: 10, scale: 2 }.arrow());
    let ty = LogicalType::Decimal { precision: 10, scale: 2 };
    assert!(matches!(refused(ty, &(Arc::new(narrow) as _)), Error::Mismatch(_)));
    let two = Restriction::new(LogicalType::Int32, Comparison::Equal, &integers);
    assert!(matches!(two, Err(Error::Mismatch(_))));
    let mut rng = Prng::new(4);
    let interval = column(LogicalType::Interval, 1, &mut rng);
    let interval = Restriction::new(LogicalType::Interval, Comparison::Equal, &interval);
    assert!(matches!(interval, Err(Error::Unsupported(_))));
}

#[test]
fn bounds_answer_for_chunks_that_are_not_read() {
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(1000..9000));
    let chunk = encode(&[LogicalType::Int64], &[array]).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    let column = &header.columns()[0];
    let verdict = |comparison, constant: i64| {
        let constant = Int64Array::from(vec![constant]);
        let restriction = Restriction::new(LogicalType::Int64, comparison, &constant).unwrap();
        restriction.verdict(header.row_count(), column.null_count(), column.zone())
    };
    assert_eq!(verdict(Comparison::Less, 1000), Verdict::None);
    assert_eq!(verdict(Comparison::Less, 1001), Verdict::Some);
    assert_eq!(verdict(Comparison::Greater, 999), Verdict::All);
    assert_eq!(verdict(Comparison::Equal, 9000), Verdict::None);
    assert_eq!(verdict(Comparison::NotEqual, 9000), Verdict::All);
}

#[test]
fn a_vector_that_its_bounds_exclude_needs_no_bytes() {
    let mut rng = Prng::new(5);
    let values = numbers(VECTOR_ROWS, &mut rng).into_iter().map(|v| v % 1000);
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let chunk = encode(&[LogicalType::Int64], &[array]).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    let vector = Vector::new(&header, 0, 0, &[]).unwrap();
    let constant = Int64Array::from(vec![5000]);
    let all = Mask::first(VECTOR_ROWS);
    for (comparison, expected) in [(Comparison::Equal, Mask::NONE), (Comparison::Less, all)] {
        let restriction = Restriction::new(LogicalType::Int64, comparison, &constant).unwrap();
        assert_eq!(vector.select(&restriction, &all).unwrap(), expected);
    }
}

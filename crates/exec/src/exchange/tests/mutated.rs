//! Frames that were changed by chance: each is an error or rows, never a panic, and nothing grows.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, ListArray, NullArray, RecordBatch, StringArray,
};
use stdx::Prng;

use super::{
    After, BUFFER_BYTES, CREDITS, batch, credit, encoded, end, hear, hello, machine, seeds,
};
use crate::exchange::frame::{HEADER_BYTES, Header, Kind, frame, seal};
use crate::exchange::wire::Wire;

/// A number below `sides`.
fn roll(prng: &mut Prng, sides: usize) -> usize {
    prng.below(sides as u64) as usize
}

/// Changes bytes, numbers, or the length.
fn mutate(prng: &mut Prng, bytes: &mut Vec<u8>) {
    for _ in 0..=roll(prng, 4) {
        let at = roll(prng, bytes.len().max(1));
        match roll(prng, 6) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << roll(prng, 8),
            2 if at < bytes.len() => bytes[at] = roll(prng, 256) as u8,
            3 => {
                let word = [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX, 64][roll(prng, 6)];
                let place = bytes.iter_mut().skip(at & !3).zip(word.to_le_bytes());
                place.for_each(|(byte, new)| *byte = new);
            }
            4 => bytes.truncate(at),
            _ => bytes.insert(at.min(bytes.len()), roll(prng, 256) as u8),
        }
    }
}

/// Rows of the types that the other tests do not have.
fn varied(row_count: usize) -> RecordBatch {
    let n = 0..row_count as i64;
    let lists = n.clone().map(|i| {
        (i % 4 != 0).then(|| (0..i % 5).map(|at| (at != 2).then_some(at)).collect::<Vec<_>>())
    });
    let text = |i: i64| (i % 3 != 0).then(|| format!("text {i}"));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        Arc::new(n.clone().map(|i| (i % 6 != 0).then_some(i % 2 == 0)).collect::<BooleanArray>()),
        Arc::new(NullArray::new(row_count)),
        Arc::new(n.clone().map(text).collect::<StringArray>()),
        Arc::new(n.map(|i| i as f64).collect::<Float64Array>()),
    ];
    let columns = columns.into_iter().enumerate().map(|(i, c)| (format!("v{i}"), c, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("a batch")
}

/// The rows that decode after the bytes were changed have the types that were agreed on, and are
/// whole.
#[test]
fn mutated_batches_are_errors_or_rows() {
    let (mut errors, mut rows_seen) = (0, 0);
    for seed in seeds(300) {
        let mut prng = Prng::new(seed);
        let count = 1 + roll(&mut prng, 40);
        let original = if seed % 2 == 0 { batch(count) } else { varied(count) };
        let wire = Wire::new(&original.schema()).expect("a form");
        let original = wire.encode(&original).expect("encoded");
        for _ in 0..30 {
            let mut bytes = original.clone();
            mutate(&mut prng, &mut bytes);
            match wire.decode(bytes) {
                Err(error) => {
                    assert_eq!(error.state.0, "08P01", "seed {seed}: {error:?}");
                    errors += 1;
                }
                Ok(rows) => {
                    assert_eq!(rows.schema(), *wire.schema());
                    rows.columns().iter().for_each(|c| c.to_data().validate_full().expect("whole"));
                    rows_seen += 1;
                }
            }
        }
    }
    assert!(errors > 1000 && rows_seen > 100, "{errors} errors, {rows_seen} batches of rows");
}

#[test]
fn mutated_headers_are_errors_or_lie_within_limits() {
    for seed in seeds(300) {
        let mut prng = Prng::new(seed);
        let mut bytes = frame(Kind::Rows, &encoded(2));
        bytes.truncate(HEADER_BYTES);
        for _ in 0..30 {
            let mut header = bytes.clone();
            mutate(&mut prng, &mut header);
            let Some(header) = header.first_chunk() else { continue };
            match Header::read(header, BUFFER_BYTES) {
                Ok(header) => assert!(header.len <= BUFFER_BYTES + HEADER_BYTES, "{header:?}"),
                Err(error) => assert_eq!(error.state.0, "08P01", "seed {seed}"),
            }
        }
    }
}

/// The frames of a peer, with some left out, said twice and changed; half of them with checksums
/// that fit.
fn conversation(prng: &mut Prng) -> Vec<u8> {
    let rows = encoded(1 + roll(prng, 30));
    let frames = [
        hello(),
        credit(3),
        frame(Kind::Ping, &[]),
        frame(Kind::Rows, &rows),
        frame(Kind::Part, &rows[..rows.len() / 2]),
        frame(Kind::Rows, &rows[rows.len() / 2..]),
        end(2),
    ];
    let changed = roll(prng, frames.len());
    let mut all = vec![];
    for (at, mut frame) in frames.into_iter().enumerate() {
        if at == changed {
            match roll(prng, 4) {
                0 => continue,
                1 => all.extend_from_slice(&frame.clone()),
                2 => mutate(prng, &mut frame),
                _ => {
                    let mut payload = frame.split_off(HEADER_BYTES);
                    mutate(prng, &mut payload);
                    payload.truncate(BUFFER_BYTES);
                    let kind = [Kind::Rows, Kind::Part, Kind::Error, Kind::End][roll(prng, 4)];
                    frame.extend_from_slice(&payload);
                    seal(kind, &mut frame);
                }
            }
        }
        all.extend_from_slice(&frame);
    }
    all
}

#[test]
fn mutated_conversations_end_and_nothing_grows() {
    let (mut errors, mut whole) = (0, 0);
    for seed in seeds(300) {
        let mut prng = Prng::new(seed);
        let bytes = conversation(&mut prng);
        let at_once = 1 + roll(&mut prng, 3000);
        let after = [After::Silent, After::Half, After::Gone][roll(&mut prng, 3)];
        let heard =
            machine(seed).block_on(move || hear(bytes, at_once, Duration::from_micros(50), after));
        // Buffers and credits, pieces on their way, and a batch that is put together.
        let room = (2 + CREDITS + 4) * (BUFFER_BYTES + HEADER_BYTES) + (CREDITS + 2) * BUFFER_BYTES;
        assert!(heard.memory_bytes_max <= room, "seed {seed}: {}", heard.memory_bytes_max);
        match heard.result {
            Ok(()) => whole += 1,
            Err(error) => {
                let known = ["08P01", "08006"].contains(&error.state.0) || error.detail.is_some();
                assert!(known, "seed {seed}: {error:?}");
                errors += 1;
            }
        }
        assert!(heard.row_count <= 4 * batch(30).num_rows(), "seed {seed}");
    }
    assert!(errors > 0 && whole > 0, "{errors} errors, {whole} heard");
}

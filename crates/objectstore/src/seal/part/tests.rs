//! Parts open as the whole does, and what is not just them is refused.

use std::ops::Range;

use super::Segments;
use crate::seal::{ChunkPlace, DataKey, FileId, FileOwner, Opener, SEGMENT_BYTES, Sealer};
use crate::{ErrorKind, sealed_len};

const OWNER: FileOwner = FileOwner { database: [3; 16], table: 9 };
const PLACE: ChunkPlace = ChunkPlace { kind: 1, group: 0, column: 0, ordinal: 0 };

/// Runs on a worker of its own.
fn on_worker(check: impl AsyncFnOnce() + Send + 'static) {
    let runtime = runtime::Runtime::start(runtime::Config {
        workers: 1,
        ring: runtime::RingChoice::Threads,
        ..runtime::Config::default()
    });
    runtime.expect("a runtime").block_on(move || async move { check().await });
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}

async fn sealed(plain: &[u8], id: FileId) -> Vec<u8> {
    let mut sealer = Sealer::with_id(&DataKey::new([1; 32]), OWNER, id);
    sealer.seal(PLACE, plain).await.expect("sealed")
}

async fn part(
    whole: &[u8],
    plain_len: usize,
    range: &Range<usize>,
    id: FileId,
) -> crate::Result<(Range<usize>, Vec<u8>)> {
    let segments = Segments::around(range, plain_len);
    let mut buf = whole[segments.sealed()].to_vec();
    let opener = Opener::new(&DataKey::new([1; 32]), OWNER, id);
    let opened = opener.open_segments(PLACE, &segments, &mut buf).await;
    if opened.is_err() {
        assert!(buf.iter().all(|byte| *byte == 0), "nothing of it is given out");
    }
    buf.truncate(segments.plain().len());
    opened.map(|()| (segments.plain(), buf))
}

#[test]
fn each_range_opens_by_its_segments_alone() {
    on_worker(async || {
        let id = FileId([5; 32]);
        for plain_len in [1, SEGMENT_BYTES - 1, SEGMENT_BYTES, 3 * SEGMENT_BYTES + 4096] {
            let plain = bytes(plain_len);
            let whole = sealed(&plain, id).await;
            assert_eq!(whole.len(), sealed_len(plain_len));
            let steps = [0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, plain_len];
            for (start, end) in steps.iter().flat_map(|start| steps.map(|end| (*start, end))) {
                let (place, got) = part(&whole, plain_len, &(start..end), id).await.expect("open");
                assert_eq!(got, plain[place.clone()], "{start}..{end} of {plain_len}");
                let inside = start..end.min(plain_len);
                let is_covered = place.start <= inside.start && inside.end <= place.end;
                assert!(inside.is_empty() || is_covered, "{inside:?} {place:?}");
            }
        }
    });
}

#[test]
fn what_is_changed_exchanged_or_of_another_file_is_refused() {
    on_worker(async || {
        let (id, plain_len) = (FileId([5; 32]), 2 * SEGMENT_BYTES + 100);
        let whole = sealed(&bytes(plain_len), id).await;
        let all = 0..plain_len;
        for at in (12..whole.len()).step_by(1009) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            let refused = part(&changed, plain_len, &all, id).await.expect_err("a flipped bit");
            assert_eq!(refused.kind(), ErrorKind::Corrupt, "{at}");
        }
        let refused = part(&whole, plain_len, &all, FileId([6; 32])).await;
        assert!(refused.is_err(), "another file");
        let segment = SEGMENT_BYTES + 16;
        let mut exchanged = whole.clone();
        exchanged[12..12 + 2 * segment].rotate_left(segment);
        assert!(part(&exchanged, plain_len, &all, id).await.is_err(), "other places");
        assert!(part(&whole, plain_len - 1, &(0..1), id).await.is_err(), "another length");
    });
}

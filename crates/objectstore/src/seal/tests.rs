//! Bytes that another program makes as well, and everything that must not open.

use proptest::prelude::*;
use ring::digest::{SHA256, digest};
use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};

use super::*;

const OWNER: FileOwner = FileOwner {
    database: *b"\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7",
    table: 42,
};
const PLACE: ChunkPlace = ChunkPlace { kind: 1, group: 3, column: 5, ordinal: 9 };
/// Flips and exchanges of one run; a long run sets `DOVETAIL_FLIPS`.
const FLIP_COUNT: usize = 5_000;

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let config = Config { workers: 1, ring: RingChoice::Sim(Disk::new(3)), ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(test)
}

fn key() -> DataKey {
    DataKey::new(std::array::from_fn(|i| i as u8))
}

fn id() -> FileId {
    FileId(std::array::from_fn(|i| 100 + i as u8))
}

fn sealer(next: u64, table: u64) -> Sealer {
    let owner = FileOwner { table, ..OWNER };
    Sealer { next, ..Sealer::with_id(&key(), owner, id()) }
}

#[test]
fn another_program_makes_the_same_bytes() {
    simulated(|| async {
        let sealed = sealer(7, 42).seal(PLACE, b"a core never waits").await.expect("sealed");
        assert_eq!(
            hex(&sealed),
            "010000000700000000000000201b778a3cab8cdd2c54307ed415f4604ca6f6bcab00301c4eee49602f9a\
             b4489dac"
        );
        let empty = ChunkPlace { kind: 2, ..ChunkPlace::default() };
        let sealed = sealer(0, 42).seal(empty, b"").await.expect("sealed");
        assert_eq!(hex(&sealed), "010000000000000000000000aa8e31147a8e86651f41036c0e3805c7");
        let plain: Vec<u8> = (0..2 * 262_144 + 1000).map(|i| (i * 7 + i / 251) as u8).collect();
        let place = ChunkPlace { kind: 1, group: 1 << 31, column: 1, ordinal: 0 };
        let sealed = sealer(1 << 33, 1 << 40).seal(place, &plain).await.expect("sealed");
        assert_eq!(sealed.len(), 525_348);
        assert_eq!(
            hex(digest(&SHA256, &sealed).as_ref()),
            "8d43ba8084823b9354ee2e83a31fd33512fc93c55a9ede17de187e4e71b26b01"
        );
    });
}

#[test]
fn keys_are_derived_as_published() {
    // RFC 5869, appendix A.1 and A.3: the first 32 bytes do not depend on how many are wanted.
    let salt: Vec<u8> = (0..=0x0c).collect();
    let info: Vec<u8> = (0xf0..=0xf9).collect();
    let derived = derive(&[0x0b; 22], &salt, &info);
    assert_eq!(hex(&derived), "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    let derived = derive(&[0x0b; 22], &[], &[]);
    assert_eq!(hex(&derived), "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

#[test]
fn chunks_of_all_lengths_come_back() {
    simulated(|| async {
        let s = SEGMENT_BYTES;
        let mut sealer = Sealer::new(&key(), OWNER);
        let opener = Opener::new(&key(), OWNER, sealer.file_id());
        let lengths = [0, 1, 15, 16, 17, s - 1, s, s + 1, 2 * s - 16, 2 * s, 2 * s + 1, 3 * s + 5];
        for (ordinal, length) in (0..).zip(lengths) {
            let place = ChunkPlace { ordinal, ..PLACE };
            let plain: Vec<u8> = (0..length).map(|i| (i * 31 + length) as u8).collect();
            let sealed = sealer.seal(place, &plain).await.expect("sealed");
            assert_eq!(sealed.len(), sealed_len(length));
            assert!(length < 16 || sealed.windows(16).all(|part| part != &plain[..16]));
            assert_eq!(opener.open(place, &sealed).await.expect("opened"), plain, "{length}");
        }
    });
}

/// A chunk, where it is, and what opens it.
struct Case {
    place: ChunkPlace,
    owner: FileOwner,
    id: FileId,
    sealed: Vec<u8>,
}

impl Case {
    async fn is_refused(&self, key: &DataKey) -> bool {
        let opened = Opener::new(key, self.owner, self.id).open(self.place, &self.sealed).await;
        opened.is_err_and(|error| error.kind() == ErrorKind::Corrupt)
    }
}

#[test]
fn every_flip_and_every_exchange_is_refused() {
    let count = std::env::var("DOVETAIL_FLIPS").ok().and_then(|text| text.parse().ok());
    let count = count.unwrap_or(FLIP_COUNT);
    simulated(move || async move {
        let mut cases = cases().await;
        let large = cases.pop().expect("one is large");
        for case in &cases {
            assert!(!case.is_refused(&key()).await, "it opens as it is");
        }
        for i in 0..count {
            let from = &cases[runtime::random_u64() as usize % cases.len()];
            // The large one is rare: it takes its time.
            let from = if i % 500 == 0 { &large } else { from };
            let (what, damaged) = damage(from, &cases);
            assert!(damaged.is_refused(&key()).await, "{what} of {:?}", from.place);
        }
        assert!(cases[0].is_refused(&DataKey::new([9; 32])).await, "another key");
    });
}

/// Chunks of two versions of two tables, with two columns of two chunks each; the last one has several
/// segments.
async fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for table in [1, 2, 1, 2] {
        let owner = FileOwner { table, ..OWNER };
        let mut sealer = Sealer::new(&key(), owner);
        for (column, ordinal) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let place = ChunkPlace { column, ordinal, ..PLACE };
            let plain = vec![7; 40 + 10 * (ordinal as usize)];
            let sealed = sealer.seal(place, &plain).await.expect("sealed");
            cases.push(Case { place, owner, id: sealer.file_id(), sealed });
        }
        if cases.len() == 16 {
            let sealed = sealer.seal(PLACE, &vec![7; 2 * SEGMENT_BYTES + 77]).await;
            let sealed = sealed.expect("sealed");
            cases.push(Case { place: PLACE, owner, id: sealer.file_id(), sealed });
        }
    }
    cases
}

/// Something that must not open, and what was done.
fn damage(from: &Case, cases: &[Case]) -> (&'static str, Case) {
    let draw = |n: usize| runtime::random_u64() as usize % n;
    let Case { mut place, mut owner, mut id, mut sealed } =
        Case { sealed: from.sealed.clone(), ..*from };
    let what = match draw(8) {
        0..=3 => {
            let bit = draw(sealed.len() * 8);
            sealed[bit / 8] ^= 1 << (bit % 8);
            "a bit"
        }
        4 => {
            // Each other chunk is of another column, place, table, file or version.
            let others = cases.iter().filter(|other| other.sealed != from.sealed);
            let others: Vec<&Case> = others.collect();
            sealed = others[draw(others.len())].sealed.clone();
            "another chunk"
        }
        5 => {
            sealed.truncate(draw(sealed.len()));
            "the end"
        }
        6 => {
            sealed.extend(vec![0; 1 + draw(40)]);
            "more"
        }
        _ => {
            match draw(7) {
                0 => place.kind += 1,
                1 => place.group += 1,
                2 => place.column += 1,
                3 => place.ordinal += 1,
                4 => owner.table += 1,
                5 => owner.database[draw(16)] ^= 1,
                _ => id.0[draw(32)] ^= 1,
            }
            "the place"
        }
    };
    (what, Case { place, owner, id, sealed })
}

#[test]
fn segments_cannot_change_places() {
    simulated(|| async {
        let plain = vec![7; 3 * SEGMENT_BYTES];
        let sealed = sealer(0, 42).seal(PLACE, &plain).await.expect("sealed");
        let (header, body) = sealed.split_at(HEADER_BYTES);
        let segments: Vec<&[u8]> = body.chunks(SEGMENT_BYTES + TAG_BYTES).collect();
        let opener = Opener::new(&key(), OWNER, id());
        for order in [&[1, 0, 2][..], &[0, 2, 1], &[0, 0, 2], &[0, 1], &[1, 2], &[0, 1, 2, 2]] {
            let parts = order.iter().map(|i| segments[*i]);
            let other = [header, &parts.collect::<Vec<_>>().concat()].concat();
            opener.open(PLACE, &other).await.expect_err("in another order");
        }
        opener.open(PLACE, &sealed).await.expect("in its own");
    });
}

#[test]
fn no_nonce_comes_twice() {
    simulated(|| async {
        let mut ledger = BTreeSet::new();
        for _ in 0..50 {
            let mut sealer = Sealer::new(&key(), OWNER);
            for ordinal in 0..20 {
                let place = ChunkPlace { ordinal, ..PLACE };
                let length = (runtime::random_u64() as usize) % (2 * SEGMENT_BYTES);
                let (before, plain) = (sealer.next, vec![0; length]);
                let sealed = sealer.seal(place, &plain).await.expect("sealed");
                let first = u64::from_le_bytes(sealed[4..12].try_into().expect("eight bytes"));
                assert_eq!(first, before);
                for segment in 0..segment_count(length) as u64 {
                    assert!(ledger.insert((sealer.file_id(), first + segment)), "{first}");
                }
                let again = sealer.seal(place, &plain).await;
                assert_eq!(again.expect_err("sealed before").kind(), ErrorKind::Invalid);
            }
        }
    });
}

#[test]
fn keys_are_not_shown() {
    let (key, bytes) = DataKey::draw();
    let sealer = Sealer::with_id(&key, OWNER, id());
    let shown = format!("{key:?} {sealer:?} {:?}", Opener::new(&key, OWNER, id()));
    assert!(!shown.contains(&hex(&bytes)) && shown.starts_with("DataKey(..)"), "{shown}");
}

proptest! {
    #[test]
    fn no_length_is_read_in_two_ways(body in 0usize..5_000_000) {
        if let Some(plain) = plain_len(body) {
            prop_assert_eq!(sealed_len(plain), HEADER_BYTES + body);
        }
        prop_assert_eq!(plain_len(sealed_len(body) - HEADER_BYTES), Some(body));
    }
}

//! One bit after the other is flipped in each kind of page and in the log (`storage::simulation::flip_bits`).
//! `DOVETAIL_FLIPS=1000000` is the full number, `DOVETAIL_FIRST_SEED` chooses other files and other bits.

use storage::simulation::{Place, flip_bits};

/// Flips of a quick run.
const FLIPS: u64 = 2_000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn flipped_bits_are_told_or_mended_or_in_unused_bytes() {
    let seed = variable("DOVETAIL_FIRST_SEED").unwrap_or(1);
    let report = flip_bits(seed, variable("DOVETAIL_FLIPS").unwrap_or(FLIPS));
    let report = report.unwrap_or_else(|failure| panic!("{failure}"));
    for (place, flips) in &report {
        println!("{:<12} {flips}", format!("{place:?}"));
    }
    println!("{:<12} {:>8}", "all", report.values().map(|flips| flips.count).sum::<u64>());
    for (place, flips) in report {
        let (caught, what) = match place {
            Place::Directory
            | Place::Inner
            | Place::Leaf
            | Place::Overflow
            | Place::DoubleWrite => (flips.told, "told"),
            Place::Header => (flips.mended, "mended"),
            // Seven bytes of padding behind a frame, at most.
            Place::Log => (flips.told + flips.unused + flips.mended, "told, or in padding"),
            Place::LastFrame => {
                (flips.cut_off + flips.unused + flips.mended, "taken for one that was cut off")
            }
            Place::HeaderRest | Place::Free | Place::LogRest => {
                (flips.unused + flips.mended, "without effect")
            }
        };
        assert_eq!(caught, flips.count, "{place:?}: each is {what}: {flips}");
        assert!(place != Place::Log || flips.told > flips.count * 9 / 10, "{flips}");
    }
}

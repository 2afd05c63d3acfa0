//! How many plans of long texts are kept.

use sql::{DeviceProfile, InFlight};
use types::zone::Zone;

use super::{Key, Known, LONG_TEXTS_BYTES_MAX, LONG_TEXTS_BYTES_MIN, Plans};

fn key(bytes: usize, number: u64) -> Key {
    Key {
        text: " ".repeat(bytes).into(),
        place: (number, 0),
        types: vec![],
        zone: Zone::Fixed(0),
        switches: ([true; 5], InFlight::Many, DeviceProfile::default()),
    }
}

#[test]
fn long_texts_have_a_share_of_the_memory() {
    for (memory, bytes) in
        [(64 << 20, LONG_TEXTS_BYTES_MIN), (1 << 30, 128 << 10), (64 << 30, LONG_TEXTS_BYTES_MAX)]
    {
        let plans = Plans::new(memory);
        assert!(!plans.is_too_long(bytes));
        assert!(plans.is_too_long(bytes + 1));
    }
}

#[test]
fn a_long_text_takes_the_place_of_those_that_were_not_used() {
    let plans = Plans::new(64 << 20);
    let long: Vec<Key> = (0..4).map(|number| key(LONG_TEXTS_BYTES_MIN / 4, number)).collect();
    let short = key(10, 0);
    for key in long.iter().chain([&short]) {
        plans.keep(key.clone(), Known::Once);
    }
    assert!(plans.of(&long[0]).is_some());
    plans.keep(key(LONG_TEXTS_BYTES_MIN / 2, 9), Known::Once);
    let kept = long.iter().map(|key| plans.of(key).is_some());
    assert_eq!(kept.collect::<Vec<_>>(), [true, false, false, true]);
    plans.keep(key(LONG_TEXTS_BYTES_MIN, 10), Known::Once);
    assert!(long.iter().all(|key| plans.of(key).is_none()));
    assert!(plans.of(&short).is_some());
}

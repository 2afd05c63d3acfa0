//! Values that stay, and values that go.

use super::{LONG_TEXTS_BYTES_MAX, LONG_TEXTS_BYTES_MIN, ONCE_MAX, Recent, long_texts_max};

/// A text of so many bytes.
fn text(bytes: usize, number: u32) -> String {
    let mut text = number.to_string();
    text.push_str(&" ".repeat(bytes - text.len()));
    text
}

#[test]
fn long_texts_have_a_share_of_the_memory() {
    for (memory, bytes) in
        [(64 << 20, LONG_TEXTS_BYTES_MIN), (1 << 30, 128 << 10), (64 << 30, LONG_TEXTS_BYTES_MAX)]
    {
        assert_eq!(long_texts_max(memory), bytes);
    }
}

#[test]
fn a_long_text_takes_the_place_of_those_that_were_not_used() {
    let mut recent = Recent::new(10, LONG_TEXTS_BYTES_MIN);
    let long: Vec<String> = (0..4).map(|number| text(LONG_TEXTS_BYTES_MIN / 4, number)).collect();
    let short = text(10, 0);
    for key in long.iter().chain([&short]) {
        recent.keep(key.clone(), ());
    }
    assert!(recent.of(&long[0]).is_some());
    recent.keep(text(LONG_TEXTS_BYTES_MIN / 2, 9), ());
    let kept = long.iter().map(|key| recent.of(key).is_some());
    assert_eq!(kept.collect::<Vec<_>>(), [true, false, false, true]);
    recent.keep(text(LONG_TEXTS_BYTES_MIN, 10), ());
    assert!(long.iter().all(|key| recent.of(key).is_none()));
    assert!(recent.of(&short).is_some());
    recent.keep(text(LONG_TEXTS_BYTES_MIN + 1, 11), ());
    assert!(recent.of(&text(LONG_TEXTS_BYTES_MIN + 1, 11)).is_none(), "longer than all may be");
    assert!(recent.of(&text(LONG_TEXTS_BYTES_MIN, 10)).is_some(), "it has taken no place");
}

#[test]
fn so_many_are_kept_and_a_key_is_known_to_have_come() {
    let mut recent = Recent::new(2, LONG_TEXTS_BYTES_MIN);
    for number in 0..3 {
        recent.keep(text(4, number), number);
    }
    let kept = (0..3).map(|number| recent.of(&text(4, number)));
    assert_eq!(kept.collect::<Vec<_>>(), [None, Some(1), Some(2)]);
    assert!(!recent.comes_again("a"));
    assert!(recent.comes_again("a"));
    for number in 0..ONCE_MAX {
        recent.comes_again(&number);
    }
    assert!(!recent.comes_again("a"), "it was forgotten");
}

//! Looking out is given up where it does not pay, and taken up again where it does.

use super::{CREDIT_MAX, RETRY_COUNT, Watcher};

#[test]
fn looking_out_in_vain_is_tried_seldom() {
    let watcher = Watcher::default();
    assert!(watcher.tries());
    watcher.note(false);
    let tried = (0..10 * RETRY_COUNT).filter(|_| {
        let tries = watcher.tries();
        if tries {
            watcher.note(false);
        }
        tries
    });
    assert_eq!(tried.count(), 10);
}

#[test]
fn successes_bring_it_back_and_outweigh_single_failures() {
    let watcher = Watcher::default();
    watcher.note(false);
    (0..RETRY_COUNT - 1).for_each(|_| assert!(!watcher.tries()));
    for _ in 0..2 * CREDIT_MAX {
        watcher.note(true);
    }
    for _ in 0..CREDIT_MAX / 2 {
        assert!(watcher.tries());
        watcher.note(false);
    }
    assert!(watcher.tries(), "as many failures as are made up for");
    watcher.note(false);
    assert!(!watcher.tries());
}

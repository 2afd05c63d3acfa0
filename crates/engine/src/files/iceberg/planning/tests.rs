//! Limits of what is read before a query is planned.

use super::{BYTES_MAX, ENTRIES_MAX, Effort};

#[test]
fn what_all_manifests_have_together_is_limited() {
    // Files of a gigabyte, the first one without compression and the second one by half.
    let mut effort = Effort::new();
    let gigabyte = BYTES_MAX / 2;
    effort.begin(gigabyte / 2).expect("some are left");
    effort.step(gigabyte / 2).expect("some are left");
    effort.begin(gigabyte / 2).expect("some are left");
    effort.step(gigabyte / 4).expect("some are left");
    effort.step(gigabyte / 2).expect("some are left");
    let error = effort.begin(1).expect_err("none are left");
    assert_eq!((error.state.0, error.message.contains("bytes")), ("54000", true));
    // Entries that have no bytes of their own, as those of files that are gone.
    let mut effort = Effort::new();
    for _ in 0..ENTRIES_MAX {
        effort.step(7).expect("some are left");
    }
    let error = effort.step(7).expect_err("none are left");
    assert_eq!((error.state.0, error.message.contains("entries")), ("54000", true));
    assert!(error.hint.is_some());
}

//! What counts as slow, and how often that has consequences.

use super::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn what_is_slow_is_learned() {
    let restarts = Restarts::new(0.05);
    assert_eq!(restarts.slow_after(16 << 20), None);
    for i in 0..200 {
        // One of twenty takes ten times as long.
        restarts.note(16 << 20, MS * if i % 20 == 0 { 1000 } else { 100 });
    }
    assert_eq!(restarts.slow_after(16 << 20), Some(MS * 150));
    assert_eq!(restarts.slow_after(17 << 20), Some(MS * 150), "sizes are alike");
    assert_eq!(restarts.slow_after(1 << 10), None, "another size is another matter");
    (0..200).for_each(|_| restarts.note(16 << 20, MS * 1000));
    assert_eq!(restarts.slow_after(16 << 20), Some(MS * 1500), "all are slow now");
}

#[test]
fn few_are_begun_again() {
    let restarts = Restarts::new(0.05);
    (0..1000).for_each(|_| restarts.note(1 << 20, MS * 10));
    let taken = (0..1000).filter(|_| restarts.take()).count();
    assert_eq!(taken, 8);
    (0..100).for_each(|_| restarts.note(1 << 20, MS * 10));
    assert!((4..=5).contains(&(0..100).filter(|_| restarts.take()).count()));
}

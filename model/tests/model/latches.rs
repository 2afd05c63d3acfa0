//! The frame word: pins, latches, writes and evictions.

use std::sync::Arc;

use loom::thread;

use crate::check::check;
use crate::pool::Pool;

#[test]
fn a_page_is_read_whole_and_changed_by_one_at_a_time() {
    check("latches", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 10, 0, false);
        let writers = [11, 12].map(|value| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.change(1, value))
        });
        if let Some(found) = pool.read(1) {
            assert!((10..13).contains(&found), "{found}");
        }
        let changed = writers.map(|writer| writer.join().unwrap());
        assert_eq!(pool.is_dirty(frame), changed.contains(&true));
        let expected: &[u32] = match changed {
            [true, true] => &[11, 12],
            [true, false] => &[11],
            [false, true] => &[12],
            [false, false] => &[10],
        };
        assert!(expected.contains(&pool.read(1).expect("nobody is in the way")));
    });
}

#[test]
fn a_frame_that_goes_to_another_page_shows_nobody_the_wrong_one() {
    check("eviction", || {
        let pool = Pool::new(1, 3);
        pool.load(1, 1, 0, false);
        let loader = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                pool.evict_one();
                if pool.free_frames() > 0 {
                    pool.load(2, 2, 0, false);
                }
            })
        };
        let reader = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.read(1).is_none_or(|found| found == 1))
        };
        for pid in [2, 1] {
            assert!(pool.read(pid).is_none_or(|found| found == pid), "another page");
        }
        loader.join().unwrap();
        assert!(reader.join().unwrap(), "another page");
    });
}

#[test]
fn a_page_that_is_clean_is_what_was_written() {
    check("write-back", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 10, 0, true);
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.change(1, 11))
        };
        let flusher = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.flush(frame))
        };
        let is_changed = writer.join().unwrap();
        flusher.join().unwrap();
        let value = pool.read(1).expect("nobody is in the way");
        assert_eq!(value, if is_changed { 11 } else { 10 });
        assert!(pool.is_dirty(frame) || pool.on_disk(1) == value, "a change is lost");
    });
}

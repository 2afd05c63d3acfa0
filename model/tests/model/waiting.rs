//! The list of free frames: who waits gets one, and none is lost.

use std::sync::Arc;

use loom::thread;

use crate::check::{block_on, check, poll_once};
use crate::error::StorageError;
use crate::pool::Pool;

#[test]
fn who_waits_gets_the_frame_that_is_unpinned() {
    check("unpin", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 1, 1, false);
        let pinned = Arc::clone(&pool);
        let unpinned = thread::spawn(move || pinned.unpin(frame));
        assert_eq!(block_on(pool.take()), Ok(frame));
        unpinned.join().unwrap();
    });
}

#[test]
fn who_waits_gets_the_frame_whose_reader_is_gone() {
    check("reader", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 1, 0, false);
        let reading = Arc::clone(&pool);
        let reader = thread::spawn(move || reading.read(1));
        assert_eq!(block_on(pool.take()), Ok(frame));
        assert!(reader.join().unwrap().is_none_or(|found| found == 1));
    });
}

#[test]
fn two_who_wait_get_one_frame_in_turn() {
    check("two waiters", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 1, 1, false);
        let waiters = [(); 2].map(|()| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let frame = block_on(pool.take()).expect("it comes back");
                pool.release_frame(frame);
            })
        });
        pool.unpin(frame);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(pool.free_frames(), 1);
    });
}

#[test]
fn a_frame_that_comes_while_its_waiter_leaves_is_not_lost() {
    check("leaving", || {
        let pool = Pool::new(1, 2);
        let frame = block_on(pool.take()).unwrap();
        let returned = Arc::clone(&pool);
        let returning = thread::spawn(move || returned.release_frame(frame));
        if let Some(taken) = poll_once(pool.take()) {
            pool.release_frame(taken.unwrap());
        }
        returning.join().unwrap();
        assert_eq!(pool.free_frames(), 1, "a frame is lost");
    });
}

#[test]
fn who_leaves_the_queue_does_not_keep_others_waiting() {
    check("leaving first", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 1, 1, false);
        let leaver = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                if let Some(taken) = poll_once(pool.take()) {
                    pool.release_frame(taken.unwrap());
                }
            })
        };
        let pinned = Arc::clone(&pool);
        let unpinned = thread::spawn(move || pinned.unpin(frame));
        let taken = block_on(pool.take()).expect("it comes back");
        pool.release_frame(taken);
        leaver.join().unwrap();
        unpinned.join().unwrap();
        assert_eq!(pool.free_frames(), 1, "a frame is lost");
    });
}

#[test]
fn a_dirty_page_is_written_for_who_waits() {
    check("dirty", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 10, 0, true);
        let changing = Arc::clone(&pool);
        let writer = thread::spawn(move || changing.change(1, 11));
        assert_eq!(block_on(pool.take()), Ok(frame));
        let is_changed = writer.join().unwrap();
        assert_eq!(pool.on_disk(1), if is_changed { 11 } else { 10 }, "a change is lost");
    });
}

#[test]
fn who_waits_when_there_will_be_no_more_frames_is_told() {
    check("failure", || {
        let pool = Pool::new(1, 2);
        let frame = pool.load(1, 1, 1, false);
        let failing = Arc::clone(&pool);
        let failed = thread::spawn(move || failing.fail_all());
        let unpinning = Arc::clone(&pool);
        let unpinned = thread::spawn(move || unpinning.unpin(frame));
        match block_on(pool.take()) {
            Ok(taken) => pool.release_frame(taken),
            Err(StorageError) => {}
        }
        failed.join().unwrap();
        unpinned.join().unwrap();
        pool.evict_one();
        assert_eq!(pool.free_frames(), 1, "a frame is lost");
    });
}

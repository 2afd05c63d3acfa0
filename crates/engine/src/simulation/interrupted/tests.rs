//! When work is interrupted.

use std::path::Path;

use runtime::sim::Disk;

use super::{Interrupt, Moment};
use crate::activity::cancel::CancelHandle;
use crate::database::Database;
use crate::door;
use crate::options::{Options, Simulation};

/// Work that goes on so many times: how often it has begun to, whether a cancel was seen by then, and what it gave.
fn check(interrupt: Interrupt, expected: (u64, bool, Option<()>)) {
    let simulation = Some(Simulation { disk: Disk::new(1), seed: 1 });
    let options = Options { simulation, workers: 1, memory_bytes: 12 << 20, ..Options::few() };
    let db = Database::create(Path::new("/db"), options).expect("a database");
    let found = door::wait(&db.handle(), || {
        Box::pin(async {
            let handle = CancelHandle(Default::default());
            let cancel = handle.0.lock().expect("nobody has panicked").clone();
            let mut turns = 0;
            let work = async {
                while turns < 5 && !cancel.is_cancelled() {
                    turns += 1;
                    runtime::yield_now().await;
                }
            };
            let done = interrupt.around(&handle, work).await;
            (turns, cancel.is_cancelled(), done)
        })
    });
    assert_eq!(found, expected, "{interrupt:?}");
}

#[test]
fn it_comes_before_that_turn() {
    check(Interrupt::Nothing, (5, false, Some(())));
    for turn in 1..=5 {
        let moment = Moment::Suspensions(turn);
        check(Interrupt::Cancel(moment), (turn, true, Some(())));
        check(Interrupt::Drop(moment), (turn, false, None));
    }
    let late = Moment::Suspensions(6);
    check(Interrupt::Cancel(late), (5, false, Some(())));
    check(Interrupt::Drop(late), (5, false, Some(())));
}

//! Who waits for recovery is told, and only then.

use std::sync::Mutex;

use runtime::sync::WaitQueue;
use runtime::{Config, Runtime};

use super::*;

#[test]
fn long_recoveries_are_told_of_step_by_step() {
    let config = Config { workers: 1, ..Config::default() };
    let told = Runtime::start(config).expect("a runtime starts").block_on(|| async {
        let told = Arc::new((Mutex::new(vec![]), WaitQueue::new()));
        let theirs = told.clone();
        let watch = RecoveryWatch::new(move |said| {
            theirs.0.lock().expect("told").push(said.to_owned());
            theirs.1.wake_all();
        });
        // It ends when somebody has been told twice.
        let opening = told.1.wait(|| (told.0.lock().expect("told").len() == 2).then_some(7));
        let step = || {
            let done = told.0.lock().expect("told").len() as u64;
            RecoveryStep { phase: RecoveryPhase::Changes, done, total: 9 }
        };
        let every = Duration::from_millis(1);
        assert_eq!(watched(opening, step, Some(&watch), every).await, 7);
        // What is over at once is not spoken of.
        assert_eq!(watched(async { 8 }, RecoveryStep::default, Some(&watch), every).await, 8);
        told.0.lock().expect("told").clone()
    });
    let ends = [": 0 of 9 logged changes are in place", ": 1 of 9 logged changes are in place"];
    assert_eq!(told.len(), 2);
    for (said, end) in told.iter().zip(ends) {
        assert!(said.starts_with("recovery in progress, elapsed time: ") && said.ends_with(end));
    }
}

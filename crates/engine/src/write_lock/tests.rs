//! How a wait for the right to write ends.

use runtime::{Config, Runtime};

use super::*;

fn wait_for(lock: &Arc<WriteLock>, wait: LockWait) -> Option<&'static str> {
    let runtime = Runtime::start(Config::default()).expect("a runtime starts");
    let lock = lock.clone();
    runtime.block_on(move || async move { lock.acquire(&wait).await.err().map(|e| e.state.0) })
}

#[test]
fn a_wait_ends_with_the_right_the_time_or_the_wish() {
    let lock = Arc::<WriteLock>::default();
    assert_eq!(wait_for(&lock, LockWait::default()), None);
    let held = lock.semaphore.try_acquire().expect("nobody has it");
    let short = LockWait { timeout: Some(Duration::from_millis(20)), ..LockWait::default() };
    let before = time::now();
    assert_eq!(wait_for(&lock, short), Some("55P03"));
    assert!(before.elapsed() >= Duration::from_millis(20));
    let cancelled = LockWait::default();
    cancelled.cancel.cancel();
    assert_eq!(wait_for(&lock, cancelled), Some("57014"));
    drop(held);
    assert_eq!(wait_for(&lock, LockWait::default()), None);
}

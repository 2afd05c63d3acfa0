//! What is lent comes back, however the work ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::Config;
use crate::runtime::Runtime;

/// Counts itself when it goes.
struct Counted<'a>(&'a AtomicU32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn work_borrows_from_the_thread_that_waits() {
    let runtime = Runtime::start(Config::default()).expect("a runtime starts");
    let (mut numbers, mut told) = (vec![1, 2], String::new());
    let count = runtime.handle().block_on_scoped(
        || {
            Box::pin(async {
                crate::yielding::yield_now().await;
                numbers.push(3);
                numbers.len()
            })
        },
        || told.push_str("meanwhile"),
    );
    assert_eq!((count, numbers, told.as_str()), (3, vec![1, 2, 3], "meanwhile"));
}

#[test]
fn what_was_lent_is_gone_before_a_panic_goes_on() {
    let runtime = Runtime::start(Config::default()).expect("a runtime starts");
    for beside_panics in [false, true] {
        let dropped = AtomicU32::new(0);
        let held = Counted(&dropped);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            runtime.handle().block_on_scoped(
                || {
                    Box::pin(async move {
                        let _held = held;
                        crate::yielding::yield_now().await;
                        assert!(beside_panics, "of the work");
                    })
                },
                || assert!(!beside_panics, "of the thread"),
            )
        }));
        assert!(ended.is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }
}

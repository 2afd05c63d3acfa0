//! In which order those get a key that wait for it, and who passes them.

use std::sync::Arc;

use runtime::JoinHandle;
use runtime::sync::Cancel;

use super::*;
use LockMode::{KeyShare, NoKeyUpdate, Share, Update};

/// A transaction that has the right to write.
fn one(locks: &Locks) -> WriteRight {
    locks.try_share().expect("nobody writes alone")
}

fn count_waiting(right: &WriteRight) -> usize {
    right.0.locks.shown().iter().filter(|lock| !lock.is_granted).count()
}

/// A transaction that waits for a key until it has it, or is told to end.
struct Waiter {
    _right: WriteRight,
    cancel: Cancel,
    task: JoinHandle<SqlResult<()>>,
}

impl Waiter {
    async fn new(locks: &Locks, mode: LockMode) -> Waiter {
        Waiter::of(locks.share(&short()).await.expect("nobody writes alone"), "a", mode).await
    }

    async fn of(right: WriteRight, name: &'static str, mode: LockMode) -> Waiter {
        let (wait, waiting) = (LockWait::default(), count_waiting(&right));
        let (theirs, cancel) = (right.clone(), wait.cancel.clone());
        let task = runtime::spawn(async move { theirs.lock(key(name, mode), &wait).await });
        while count_waiting(&right) == waiting {
            assert!(!task.is_finished(), "{mode:?} has to wait");
            runtime::yield_now().await;
        }
        Waiter { _right: right, cancel, task }
    }

    /// True if it has the key by now; it is given the time to take it.
    async fn has_it(&self) -> bool {
        for _ in 0..64 {
            runtime::yield_now().await;
        }
        self.task.is_finished()
    }

    async fn end(self) -> &'static str {
        state(self.task.await.expect("it goes on"))
    }
}

#[test]
fn those_who_wait_for_a_row_get_it_in_their_order() {
    run(|| async {
        let locks = Locks::default();
        let first = one(&locks);
        assert!(first.try_lock(&key("a", Update)[0].0, Update));
        let second = Waiter::new(&locks, Update).await;
        let third = Waiter::new(&locks, NoKeyUpdate).await;
        let fourth = Waiter::new(&locks, NoKeyUpdate).await;
        drop(first);
        // The second has not gone on yet, and has it as good as got.
        assert!(!one(&locks).try_lock(&key("a", KeyShare)[0].0, KeyShare));
        assert!(second.has_it().await && !third.has_it().await);
        drop(second);
        assert!(third.has_it().await && !fourth.has_it().await);
        drop(third);
        assert_eq!(fourth.end().await, "ok");
        assert!(locks.0.state().is_idle());
    });
}

#[test]
fn who_may_share_a_row_with_those_that_have_it_passes_those_that_wait() {
    run(|| async {
        let locks = Locks::default();
        let (first, other) = (one(&locks), one(&locks));
        first.lock(key("a", Share), &short()).await.expect("nobody has it");
        let waits = Waiter::new(&locks, Update).await;
        other.lock(key("a", Share), &short()).await.expect("it may share the row");
        let behind = Waiter::new(&locks, NoKeyUpdate).await;
        // A holder of a part of it goes before those that wait for that.
        drop(other);
        first.lock(key("a", Update), &short()).await.expect("nobody else has it");
        assert_eq!(state(one(&locks).lock(key("a", KeyShare), &short()).await), "55P03");
        drop(first);
        assert!(waits.has_it().await && !behind.has_it().await);
        drop(waits);
        assert_eq!(behind.end().await, "ok");
    });
}

#[test]
fn a_table_is_passed_by_nobody() {
    run(|| async {
        let locks = Locks::default();
        let first = one(&locks);
        first.lock(key("", KeyShare), &short()).await.expect("nobody has it");
        let waits = Waiter::of(locks.share(&short()).await.expect("it may"), "", Update).await;
        assert!(!one(&locks).try_lock(&key("", KeyShare)[0].0, KeyShare));
        drop(first);
        assert_eq!(waits.end().await, "ok");
    });
}

#[test]
fn those_behind_one_that_gives_up_go_on() {
    run(|| async {
        let locks = Locks::default();
        let (first, other) = (one(&locks), one(&locks));
        first.lock(key("a", KeyShare), &short()).await.expect("nobody has it");
        other.lock(key("a", Share), &short()).await.expect("it may share the row");
        let gives_up = Waiter::new(&locks, Update).await;
        let behind = Waiter::new(&locks, NoKeyUpdate).await;
        drop(other);
        assert!(!behind.has_it().await, "one is before it");
        gives_up.cancel.cancel();
        assert_eq!(gives_up.end().await, "57014");
        assert_eq!(behind.end().await, "ok");
        drop(first);
        assert!(locks.0.state().is_idle());
    });
}

#[test]
fn who_waits_behind_another_one_is_a_part_of_circles() {
    run(|| async {
        let locks = Locks::default();
        let (first, second) = (one(&locks), locks.share(&short()).await.expect("it may"));
        let third = locks.share(&short()).await.expect("it may");
        first.lock(key("a", Share), &short()).await.expect("nobody has it");
        third.lock(key("b", Update), &short()).await.expect("nobody has it");
        second.lock(key("a", KeyShare), &short()).await.expect("it may share the row");
        let before = Waiter::new(&locks, Update).await;
        let behind = Waiter::of(third, "a", NoKeyUpdate).await;
        drop(first);
        assert!(!behind.has_it().await, "one is before it, that waits for the second");
        let wait = LockWait::default();
        assert_eq!(state(second.lock(key("b", KeyShare), &wait).await), "40P01");
        drop(second);
        assert_eq!(before.end().await, "ok");
        assert_eq!(behind.end().await, "ok");
    });
}

/// Many, each of which locks rows in some order and modes: in the end all have gone on, or failed
/// in a circle.
#[test]
fn whatever_they_want_nobody_waits_forever() {
    const MODES: [LockMode; 4] = [KeyShare, Share, NoKeyUpdate, Update];
    for seed in 1..=64u64 {
        run(move || async move {
            let (locks, mut random) = (Arc::new(Locks::default()), seed);
            let mut next = move |count: usize| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) as usize % count
            };
            let mut tasks = vec![];
            for _ in 0..16 {
                let wishes: Vec<_> =
                    (0..4).map(|_| (["a", "b", "c"][next(3)], MODES[next(4)], next(3))).collect();
                let locks = locks.clone();
                tasks.push(runtime::spawn(async move { write(&locks, wishes).await }));
            }
            for task in tasks {
                let ended = state(task.await.expect("it goes on"));
                assert!(["ok", "40P01"].contains(&ended), "seed {seed}: {ended}");
            }
            assert!(locks.0.state().is_idle(), "seed {seed}");
        });
    }
}

/// Locks rows one by one, with so many pauses behind each.
async fn write(locks: &Locks, wishes: Vec<(&'static str, LockMode, usize)>) -> SqlResult<()> {
    let right = locks.share(&LockWait::default()).await?;
    for (name, mode, pauses) in wishes {
        right.lock(key(name, mode), &LockWait::default()).await?;
        for _ in 0..pauses {
            runtime::yield_now().await;
        }
    }
    Ok(())
}

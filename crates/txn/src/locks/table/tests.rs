//! How waits for the right to write, and for keys, end.

use runtime::{Config, Runtime};
use storage::TreeId;

use super::*;

mod queues;

fn run<T: Send + 'static, F: Future<Output = T> + 'static>(
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 1, ..Config::default() };
    Runtime::start(config).expect("a runtime starts").block_on(make)
}

fn short() -> LockWait {
    LockWait { timeout: Some(Duration::from_millis(20)), ..LockWait::default() }
}

fn key(name: &str, mode: LockMode) -> Vec<(LockKey, LockMode)> {
    vec![(LockKey { tree: TreeId(1), key: name.into() }, mode)]
}

fn state<T>(result: SqlResult<T>) -> &'static str {
    result.err().map_or("ok", |error| error.state.0)
}

#[test]
fn a_wait_ends_with_the_right_the_time_or_the_wish() {
    run(|| async {
        let locks = Locks::default();
        let alone = locks.exclude(&short()).await.expect("nobody writes");
        assert_eq!(state(locks.share(&short()).await), "55P03");
        assert_eq!(state(locks.exclude(&short().without_waiting()).await), "55P03");
        let cancelled = LockWait::default();
        cancelled.cancel.cancel();
        assert_eq!(state(locks.share(&cancelled).await), "57014");
        drop(alone);
        let (one, _two) = (locks.share(&short()).await, locks.share(&short()).await);
        assert_eq!(state(locks.exclude(&short()).await), "55P03");
        drop(one);
    });
}

#[test]
fn those_who_come_later_wait_for_one_who_wants_to_write_alone() {
    run(|| async {
        let locks = Locks::default();
        let one = locks.share(&short()).await.expect("nobody writes");
        let theirs = locks.clone();
        let alone = runtime::spawn(async move { theirs.exclude(&LockWait::default()).await });
        runtime::yield_now().await;
        assert_eq!(state(locks.share(&short()).await), "55P03");
        drop(one);
        let alone = alone.await.expect("it goes on").expect("it has the right");
        assert!(alone.is_exclusive());
    });
}

#[test]
fn locks_are_held_until_their_transaction_ends() {
    use LockMode::{KeyShare, NoKeyUpdate, Update};
    run(|| async {
        let locks = Locks::default();
        let one = locks.share(&short()).await.expect("nobody writes");
        let two = locks.share(&short()).await.expect("nobody writes alone");
        one.lock(key("a", KeyShare), &short()).await.expect("nobody has it");
        two.lock(key("a", NoKeyUpdate), &short()).await.expect("the key stays");
        assert_eq!(state(two.lock(key("a", Update), &short()).await), "55P03");
        assert_eq!(state(one.lock(key("a", NoKeyUpdate), &short()).await), "55P03");
        drop(one);
        two.lock(key("a", Update), &short()).await.expect("nobody else has it");
        drop(two);
        assert!(locks.0.state().is_idle());
    });
}

#[test]
fn the_last_of_a_circle_fails() {
    run(|| async {
        let locks = Locks::default();
        let one = locks.share(&short()).await.expect("nobody writes");
        let two = locks.share(&short()).await.expect("nobody writes alone");
        one.lock(key("a", LockMode::Update), &short()).await.expect("nobody has it");
        two.lock(key("b", LockMode::Update), &short()).await.expect("nobody has it");
        let theirs = one.clone();
        let waits = runtime::spawn(async move {
            theirs.lock(key("b", LockMode::Update), &LockWait::default()).await
        });
        runtime::yield_now().await;
        let wait = LockWait::default();
        assert_eq!(state(two.lock(key("a", LockMode::Update), &wait).await), "40P01");
        assert_eq!(state(two.exclude(&wait).await), "40P01");
        drop(two);
        waits.await.expect("it goes on").expect("the other one has ended");
        one.exclude(&wait).await.expect("nobody else writes");
    });
}

#[test]
fn a_wait_that_ends_by_itself_is_no_part_of_a_circle() {
    use LockMode::{KeyShare, Update};
    run(|| async {
        let locks = Locks::default();
        let one = locks.share(&short()).await.expect("nobody writes");
        let two = locks.share(&short()).await.expect("nobody writes alone");
        // The empty key is the table.
        one.lock(key("", KeyShare), &short()).await.expect("nobody has it");
        two.lock(key("a", Update), &short()).await.expect("nobody has it");
        let merge = locks.try_share().expect("nobody writes alone");
        let gives_up = runtime::spawn(async move { merge.lock(key("", Update), &short()).await });
        runtime::yield_now().await;
        let theirs = two.clone();
        let behind =
            runtime::spawn(
                async move { theirs.lock(key("", KeyShare), &LockWait::default()).await },
            );
        runtime::yield_now().await;
        // Who waits for it waits for one that waits for the merge, which waits for the first.
        assert_eq!(state(one.lock(key("a", Update), &short()).await), "55P03");
        assert_eq!(state(gives_up.await.expect("it goes on")), "55P03");
        behind.await.expect("it goes on").expect("nobody is before it");
    });
}

#[test]
fn one_at_a_time_changes_definitions_beside_the_others() {
    run(|| async {
        let locks = Locks::default();
        let one = locks.share(&short()).await.expect("nobody writes");
        one.lock(key("a", LockMode::Update), &short()).await.expect("nobody has it");
        let two = locks.define(&short()).await.expect("nobody else defines");
        let three = locks.share(&short()).await.expect("nobody writes alone");
        assert!(two.may_define() && !two.is_exclusive() && !one.may_define());
        assert_eq!(state(locks.define(&short()).await), "55P03");
        assert_eq!(state(one.define(&short()).await), "55P03");
        // One that has locked nothing lets the one who defines go on.
        assert_eq!(state(three.define(&short()).await), "55P03");
        drop(one);
        two.exclude(&short()).await.expect("nobody else writes");
        assert_eq!(state(three.share(&short()).await), "55P03");
        drop(two);
        three.define(&short()).await.expect("nobody else defines");
        drop(three);
        assert!(locks.0.state().is_idle());
    });
}

#[test]
fn who_takes_numbers_waits_for_the_one_who_has_altered_sequences() {
    run(|| async {
        let (locks, wait) = (Locks::default(), LockWait::default());
        let definer = locks.define(&short()).await.expect("nobody else defines");
        let writer = locks.share(&short()).await.expect("nobody writes alone");
        locks.await_numbers(&short()).await.expect("it has altered nothing yet");
        definer.note_numbers_altered();
        assert!(locks.alters_numbers());
        definer.await_numbers(&short()).await.expect("it is the one who has");
        assert_eq!(state(locks.await_numbers(&short()).await), "55P03");
        assert_eq!(state(writer.await_numbers(&short()).await), "55P03");
        writer.lock(key("a", LockMode::Update), &short()).await.expect("nobody has it");
        let theirs = definer.clone();
        let waits = runtime::spawn(async move {
            theirs.lock(key("a", LockMode::Update), &LockWait::default()).await
        });
        runtime::yield_now().await;
        assert_eq!(state(writer.await_numbers(&wait).await), "40P01");
        drop(writer);
        waits.await.expect("it goes on").expect("the other one has ended");
        let theirs = locks.clone();
        let taker = runtime::spawn(async move { theirs.await_numbers(&LockWait::default()).await });
        runtime::yield_now().await;
        drop(definer);
        taker.await.expect("it goes on").expect("nobody alters sequences");
        assert!(!locks.alters_numbers() && locks.0.state().is_idle());
    });
}

#[test]
fn who_waits_to_define_is_a_part_of_circles() {
    run(|| async {
        let (locks, wait) = (Locks::default(), LockWait::default());
        let one = locks.share(&short()).await.expect("nobody writes");
        one.lock(key("a", LockMode::Update), &short()).await.expect("nobody has it");
        let two = locks.define(&short()).await.expect("nobody else defines");
        let theirs = one.clone();
        let waits = runtime::spawn(async move { theirs.define(&LockWait::default()).await });
        runtime::yield_now().await;
        assert_eq!(state(two.lock(key("a", LockMode::Share), &wait).await), "40P01");
        assert_eq!(state(two.exclude(&wait).await), "40P01");
        two.lock(key("b", LockMode::Update), &short()).await.expect("nobody has it");
        drop(two);
        waits.await.expect("it goes on").expect("the other one has ended");
        let two = locks.share(&short()).await.expect("nobody writes alone");
        two.lock(key("b", LockMode::Update), &short()).await.expect("it has gone");
        let theirs = one.clone();
        let waits = runtime::spawn(async move {
            theirs.lock(key("b", LockMode::Update), &LockWait::default()).await
        });
        runtime::yield_now().await;
        assert_eq!(state(two.define(&wait).await), "40P01");
        drop(two);
        waits.await.expect("it goes on").expect("the other one has ended");
    });
}

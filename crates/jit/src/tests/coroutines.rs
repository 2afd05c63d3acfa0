//! Coroutines: the same answers however often they wait, and nothing left when they are dropped.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use ir::Arithmetic;
use stdx::Prng;

use super::compiler;
use crate::lookup::Sum;
use crate::{ARGUMENTS_MAX, Coroutine, Expr, Failed, Fault, NotCompiled, Proxy, Script, Statement};

/// The environment of look-ups in tests: a table in which even keys have their squares.
struct Table {
    /// How often the look-up of a key waits.
    waits: fn(i64) -> u32,
    polls: Cell<usize>,
    /// Futures that are alive.
    alive: Cell<usize>,
    /// Where a look-up fails, or panics.
    fails_at: Option<i64>,
    panics_at: Option<i64>,
}

impl Table {
    fn new(waits: fn(i64) -> u32) -> Table {
        Table { waits, polls: Cell::new(0), alive: Cell::new(0), fails_at: None, panics_at: None }
    }
}

/// Counts a future as long as it lives.
struct Alive<'a>(&'a Cell<usize>);

impl<'a> Alive<'a> {
    fn new(count: &'a Cell<usize>) -> Alive<'a> {
        count.set(count.get() + 1);
        Alive(count)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Is pending so many times.
async fn wait(times: u32) {
    let mut left = times;
    poll_fn(|cx| match left {
        0 => Poll::Ready(()),
        _ => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

struct Square;

impl Proxy<Table> for Square {
    async fn call(table: &Table, [key, ..]: [i64; ARGUMENTS_MAX]) -> Result<Option<i64>, Failed> {
        let _alive = Alive::new(&table.alive);
        table.polls.set(table.polls.get() + 1);
        wait((table.waits)(key)).await;
        assert_ne!(table.panics_at, Some(key), "the look-up of {key}");
        match table.fails_at == Some(key) {
            true => Err(Failed),
            false => Ok((key % 2 == 0).then_some(key * key)),
        }
    }
}

fn sum() -> Coroutine<Table> {
    Sum::compile::<Table, Square>(&compiler()).unwrap()
}

/// The answer of `sum`, computed otherwise.
fn expected(keys: &[i64], least: i64, greatest: i64) -> Vec<i64> {
    let found = keys.iter().filter(|key| *key % 2 == 0).map(|key| key * key);
    let taken: Vec<_> = found.filter(|word| (least..=greatest).contains(word)).collect();
    let missing = keys.iter().filter(|key| *key % 2 != 0).count();
    vec![taken.iter().sum(), taken.len() as i64, missing as i64]
}

/// Polls to the end; the answer, and how many polls it took.
fn drive<T>(future: impl Future<Output = T>) -> (T, usize) {
    let mut future = pin!(future);
    for polls in 1.. {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return (answer, polls);
        }
    }
    unreachable!("polls have no end")
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn waiting_changes_no_answer() {
    let (coroutine, keys, go) = (sum(), (0..1000).collect::<Vec<i64>>(), go());
    let cases: [(fn(i64) -> u32, usize); 3] =
        [(|_| 0, 1), (|_| 1, 1001), (|key| u32::from(key % 10 == 0) * 3, 301)];
    for (waits, polls) in cases {
        let table = Table::new(waits);
        let run = coroutine.run(&table, &[100, 250_000], &[&keys], &go);
        assert_eq!(drive(run), (Ok(expected(&keys, 100, 250_000)), polls));
        assert_eq!((table.polls.get(), table.alive.get()), (1000, 0));
    }
}

#[test]
fn a_batch_without_keys_asks_nobody() {
    let (coroutine, table, go) = (sum(), Table::new(|_| 1), go());
    let run = coroutine.run(&table, &[0, 1], &[&[]], &go);
    assert_eq!(drive(run), (Ok(vec![0, 0, 0]), 1));
    assert_eq!(table.polls.get(), 0);
}

#[test]
fn dropping_a_coroutine_drops_what_it_waits_for() {
    let (coroutine, go) = (sum(), go());
    for polls in 0..5 {
        let table = Table::new(|_| 1);
        let mut run = coroutine.run(&table, &[0, 100], &[&[2, 4, 6]], &go);
        for _ in 0..polls {
            let _ = std::pin::Pin::new(&mut run).poll(&mut Context::from_waker(Waker::noop()));
        }
        let waits = usize::from((1..=3).contains(&polls));
        assert_eq!(table.alive.get(), waits, "after {polls} polls");
        drop(run);
        assert_eq!(table.alive.get(), 0, "after {polls} polls");
    }
}

#[test]
fn failures_and_panics_of_a_proxy_come_out() {
    let (coroutine, go) = (sum(), go());
    for waits in [(|_| 0) as fn(i64) -> u32, |_| 2] {
        let table = Table { fails_at: Some(4), ..Table::new(waits) };
        let run = coroutine.run(&table, &[0, 100], &[&[2, 4, 6]], &go);
        assert_eq!(drive(run).0, Err(Fault::Failed));
        assert_eq!((table.polls.get(), table.alive.get()), (2, 0));

        let table = Table { panics_at: Some(4), ..Table::new(waits) };
        let run = coroutine.run(&table, &[0, 100], &[&[2, 4, 6]], &go);
        let panic = catch_unwind(AssertUnwindSafe(|| drive(run))).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("the look-up of 4"), "{said}");
        assert_eq!((table.polls.get(), table.alive.get()), (2, 0));
    }
}

#[test]
fn overflows_and_stops_end_a_coroutine() {
    let (coroutine, go, stop) = (sum(), go(), AtomicBool::new(true));
    let table = Table::new(|_| 1);
    let keys = [3_000_000_000; 2];
    let run = coroutine.run(&table, &[i64::MIN, i64::MAX], &[&keys], &go);
    assert_eq!(drive(run).0, Err(Fault::Overflow));
    let run = coroutine.run(&table, &[0, 1], &[&[1]], &stop);
    assert_eq!(drive(run).0, Err(Fault::Interrupted));

    // It is told to stop while it waits.
    let run = coroutine.run(&table, &[0, 100], &[&[1, 2, 3]], &go);
    let mut run = pin!(run);
    assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    go.store(true, Ordering::Relaxed);
    assert_eq!(drive(run).0, Err(Fault::Interrupted));
    assert_eq!(table.alive.get(), 0);
}

#[test]
fn a_slice_ends_where_it_ends() {
    let mut script = Script::<Table>::new(1, 1);
    let (at, keys, word) = (script.parameter(0), script.slice(0), script.local());
    script.push(Statement::Set(word, Expr::element(keys, at)));
    script.answer(&[word]);
    let (coroutine, table, go) = (compiler().coroutine(&script).unwrap(), Table::new(|_| 0), go());
    let at = |at: i64| drive(coroutine.run(&table, &[at], &[&[7, 8]], &go)).0;
    assert_eq!([at(0), at(1)], [Ok(vec![7]), Ok(vec![8])]);
    assert!([2, -1, i64::MAX, i64::MIN].into_iter().all(|i| at(i) == Err(Fault::OutOfBounds)));
}

#[test]
fn handles_of_other_scripts_are_not_compiled() {
    let (mut other, compiler) = (Script::<Table>::new(3, 3), compiler());
    let (local, slice, proxy) = (other.local(), other.slice(2), other.proxy::<Square>());
    let found = Expr::from(local);
    let ask = Statement::Await { proxy, arguments: vec![], found: local, word: local };
    let strange = [
        Statement::Set(Script::<Table>::new(1, 0).parameter(0), found),
        Statement::Set(Script::<Table>::new(1, 0).parameter(0), Expr::Length(slice)),
        Statement::Set(Script::<Table>::new(1, 0).parameter(0), Expr::element(slice, 0)),
        ask,
    ];
    for statement in strange {
        let mut script = Script::<Table>::new(1, 1);
        script.push(statement);
        assert!(matches!(compiler.coroutine(&script), Err(NotCompiled::Type(_))));
    }
    let mut script = Script::<Table>::new(1, 1);
    script.answer(&[local]);
    assert!(matches!(compiler.coroutine(&script), Err(NotCompiled::Type(_))));
    assert_eq!(compiler.counts().types, 5);
}

/// A second proxy, with a larger and more aligned future, that is asked two words.
struct Difference;

#[repr(align(64))]
struct Aligned([i64; 16]);

impl Proxy<Table> for Difference {
    async fn call(table: &Table, [l, r, ..]: [i64; ARGUMENTS_MAX]) -> Result<Option<i64>, Failed> {
        let held = Aligned([l - r; 16]);
        wait((table.waits)(l)).await;
        assert_eq!((&raw const held).addr() % 64, 0, "the future lies as it wants to");
        Ok(Some(held.0.iter().sum::<i64>() / 16))
    }
}

#[test]
fn several_proxies_share_a_frame() {
    let mut script = Script::<Table>::new(2, 0);
    let (l, r) = (script.parameter(0), script.parameter(1));
    let [found, square, difference] = [(); 3].map(|()| script.local());
    let (squares, differences) = (script.proxy::<Square>(), script.proxy::<Difference>());
    let ask = |proxy, arguments, word| Statement::Await { proxy, arguments, found, word };
    script.push(ask(squares, vec![l.into()], square));
    script.push(ask(differences, vec![square.into(), r.into()], difference));
    let product = Expr::compute(Arithmetic::Multiply, difference, square);
    script.push(Statement::Set(r, product));
    script.answer(&[square, difference, r]);
    let (coroutine, go) = (compiler().coroutine(&script).unwrap(), go());
    for waits in [(|_| 0) as fn(i64) -> u32, |_| 1] {
        let table = Table::new(waits);
        let answer = drive(coroutine.run(&table, &[6, 5], &[], &go)).0;
        assert_eq!(answer, Ok(vec![36, 31, 31 * 36]));
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn many_run_in_any_order() {
    let (coroutine, go, random) = (sum(), go(), &mut Prng::new(29));
    let table = Table::new(|key| (key % 4) as u32);
    let batches: Vec<Vec<i64>> =
        (0..50).map(|n| (0..n).map(|_| random.below(1000) as i64).collect()).collect();
    let mut running: Vec<_> = batches
        .iter()
        .map(|keys| {
            let run = coroutine.run(&table, &[10, 90_000], &[keys], &go);
            (keys, Box::pin(run), Arc::new(Flag(AtomicBool::new(true))))
        })
        .collect();
    let mut answers = 0;
    while !running.is_empty() {
        let at = random.below(running.len() as u64) as usize;
        let (keys, run, flag) = &mut running[at];
        assert!(flag.0.swap(false, Ordering::Relaxed), "who waits has seen to being woken");
        let waker = Waker::from(Arc::clone(flag));
        if let Poll::Ready(answer) = run.as_mut().poll(&mut Context::from_waker(&waker)) {
            assert_eq!(answer, Ok(expected(keys, 10, 90_000)));
            answers += 1;
            running.swap_remove(at);
        } else if random.below(40) == 0 {
            // Cancelled.
            running.swap_remove(at);
        }
    }
    assert!(answers > 0 && table.alive.get() == 0);
}

//! Coroutines: what an await and a suspension cost in machine code, beside a native coroutine that
//! does the same and a loop without any.

use std::cell::Cell;
use std::future::poll_fn;
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use jit::lookup::Sum;
use jit::{ARGUMENTS_MAX, Compiler, Coroutine, Failed, NotCompiled, Proxy};

use crate::figure::Figure;

/// Keys of a batch: all in the caches.
const KEYS: usize = 1024;

/// Batches of a run.
const BATCHES: usize = 500;

/// The table that keys are looked up in: words, with a suspension in each look-up or in none.
struct Table {
    words: Vec<i64>,
    waits: Cell<bool>,
}

impl Table {
    async fn find(&self, key: i64) -> Option<i64> {
        let mut waits = self.waits.get();
        poll_fn(|_| match std::mem::take(&mut waits) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
        self.get(key)
    }

    fn get(&self, key: i64) -> Option<i64> {
        usize::try_from(key).ok().and_then(|key| self.words.get(key)).copied()
    }
}

struct Find;

impl Proxy<Table> for Find {
    async fn call(table: &Table, [key, ..]: [i64; ARGUMENTS_MAX]) -> Result<Option<i64>, Failed> {
        Ok(table.find(key).await)
    }
}

pub(super) fn run(
    compiler: &Compiler,
    n: usize,
    emit: &mut impl FnMut(Figure),
) -> Result<(), NotCompiled> {
    let coroutine = Sum::compile::<Table, Find>(compiler)?;
    let code = format!("{} bytes of code", coroutine.code_bytes());
    let frame = coroutine.frame_bytes() as f64;
    emit(Figure::of("codegen.coroutine.frame", "bytes", &[frame]).with_detail(code));
    let table = Table { words: (0..KEYS as i64).collect(), waits: Cell::new(false) };
    let native_frame = size_of_val(&native(&table, &[], 0, 0)) as f64;
    emit(Figure::of("codegen.coroutine.frame.native", "bytes", &[native_frame]));
    let random = &mut stdx::Prng::new(3);
    let keys: Vec<i64> = (0..KEYS).map(|_| random.below(KEYS as u64) as i64).collect();
    for (name, waits) in [("await", false), ("suspend", true)] {
        table.waits.set(waits);
        compare(name, &coroutine, &table, &keys, n, emit);
    }
    Ok(())
}

fn compare(
    name: &str,
    coroutine: &Coroutine<Table>,
    table: &Table,
    keys: &[i64],
    n: usize,
    emit: &mut impl FnMut(Figure),
) {
    let go = AtomicBool::new(false);
    let generated = || {
        drop(black_box(drive(coroutine.run(table, &[10, 1_000], &[keys], &go))));
    };
    let native = || {
        black_box(drive(native(table, keys, 10, 1_000)));
    };
    let by_hand = || {
        black_box(by_hand(table, keys, 10, 1_000));
    };
    let mut times = [(); 5].map(|()| Vec::new());
    for _ in 0..n {
        let [g, c, h] = [per_key(&generated), per_key(&native), per_key(&by_hand)];
        [g, c, h, g / c, g / h].into_iter().zip(&mut times).for_each(|(t, all)| all.push(t));
    }
    let whats = ["generated", "native", "loop", "ratio.native", "ratio.loop"];
    let details = [
        "a key looked up by the generated coroutine",
        "the same by a native coroutine",
        "the same by a loop that never waits",
        "generated / native",
        "generated / loop",
    ];
    for ((what, detail), runs) in whats.into_iter().zip(details).zip(&times) {
        let unit = if what.starts_with("ratio") { "x" } else { "ns" };
        let name = format!("codegen.coroutine.{name}.{what}");
        emit(Figure::of(name, unit, runs).with_detail(detail));
    }
}

fn per_key(run: &dyn Fn()) -> f64 {
    let started = Instant::now();
    (0..BATCHES).for_each(|_| run());
    started.elapsed().as_nanos() as f64 / (BATCHES * KEYS) as f64
}

/// Polls to the end.
fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        // The driver does not know whom it polls, as no scheduler does.
        if let Poll::Ready(answer) = black_box(future.as_mut()).poll(&mut cx) {
            return answer;
        }
    }
}

/// Sum and count of the words in a range, and how many keys are missing.
#[derive(Default)]
struct Sums([i64; 3]);

impl Sums {
    fn add(&mut self, found: Option<i64>, least: i64, greatest: i64) {
        let [sum, count, missing] = &mut self.0;
        match found {
            Some(word) if word >= least && word <= greatest => {
                *sum = sum.wrapping_add(word);
                *count += 1;
            }
            Some(_) => {}
            None => *missing += 1,
        }
    }
}

/// The work of the generated coroutine.
async fn native(table: &Table, keys: &[i64], least: i64, greatest: i64) -> [i64; 3] {
    let mut sums = Sums::default();
    for key in keys {
        sums.add(table.find(*key).await, least, greatest);
    }
    sums.0
}

fn by_hand(table: &Table, keys: &[i64], least: i64, greatest: i64) -> [i64; 3] {
    let mut sums = Sums::default();
    for key in keys {
        sums.add(table.get(*key), least, greatest);
    }
    sums.0
}

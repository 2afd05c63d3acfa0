//! What the machine's cores do together: the bound of any speed-up that is measured on them.
//! Cores of a virtual machine may share one real core, and always share caches and memory.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use stdx::Prng;

use crate::figure::Figure;

/// How long one measurement runs.
const SPAN: Duration = Duration::from_millis(300);

/// Steps between two looks at the clock.
const STEP_COUNT: u64 = 4096;

/// Words of each thread's memory: far more than a core's own caches.
const WORD_COUNT: usize = 4 << 20;

/// Work of `cores` threads set against that of one, `n` times: computing alone, and reading memory
/// at random.
pub fn measure(cores: usize, n: usize) -> [Figure; 2] {
    let (mut computing, mut reading) = (vec![], vec![]);
    for _ in 0..n {
        computing.push(work(cores, 1) / work(1, 1));
        reading.push(work(cores, WORD_COUNT) / work(1, WORD_COUNT));
    }
    let figure = |name: &str, values: &[f64], what: &str| {
        let detail = format!("{cores} cores set against one: {what}");
        Figure::of(format!("cores.{name}"), "x", values).with_detail(detail)
    };
    [
        figure("computing", &computing, "a loop without memory"),
        figure("reading", &reading, "random reads of 32 MiB each"),
    ]
}

/// Steps a second of so many threads, each with so many words of memory.
fn work(threads: usize, words: usize) -> f64 {
    let start = Barrier::new(threads);
    let steps: u64 = thread::scope(|scope| {
        let run = |seed| {
            scope.spawn({
                let start = &start;
                move || steps(seed, words, start)
            })
        };
        let running: Vec<_> = (0..threads as u64).map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("the loop does not panic")).sum()
    });
    steps as f64 / SPAN.as_secs_f64()
}

fn steps(seed: u64, words: usize, start: &Barrier) -> u64 {
    let memory: Vec<u64> = (0..words as u64).collect();
    let mut random = Prng::new(seed + 1);
    let (mut count, mut sum) = (0, 0u64);
    start.wait();
    let begin = Instant::now();
    while begin.elapsed() < SPAN {
        for _ in 0..STEP_COUNT {
            // Each address depends on what was read before, as a descent's does.
            let at = (random.below(words as u64) ^ (sum & 1)) as usize % words;
            sum = sum.wrapping_add(memory[at]);
        }
        count += STEP_COUNT;
    }
    std::hint::black_box(sum);
    count
}

//! Random direct reads of 4 KiB by one worker, in several settings, one after the other.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, Runtime, random_u64, spawn};

use crate::{cpu, figures};

const PAGE: usize = 4096;

/// A worker over io_uring without options.
pub fn plain() -> Config {
    Config {
        ring: RingChoice::Uring,
        workers: 1,
        registered_files: false,
        registered_buffers: false,
        ..Config::default()
    }
}

/// Starts a runtime per variant; those that the machine refuses are left out, and said.
pub fn start(variants: Vec<(&'static str, Config)>) -> Vec<(&'static str, Runtime)> {
    let start = |(name, config)| match Runtime::start(config) {
        Ok(runtime) => {
            println!("{name}: {}", runtime.rings()[0].reason);
            Some((name, runtime))
        }
        Err(error) => {
            println!("without {name}: {error}");
            None
        }
    };
    variants.into_iter().filter_map(start).collect()
}

/// The file named on the command line.
pub fn file() -> Option<PathBuf> {
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    if named.is_none() {
        println!("skipped: name a file to read");
    }
    named.map(PathBuf::from)
}

/// What each reader does.
#[derive(Clone, Copy)]
pub struct Load {
    /// Reads in flight at most: so many tasks.
    pub depth: usize,
    /// What a task computes after each read.
    pub compute: Duration,
}

/// Measures one load in all runtimes, alternating; the CPU time also against the first of them.
pub fn compare(what: &str, runtimes: &[(&str, Runtime)], path: &Path, load: Load) {
    let ms = std::env::args().find_map(|arg| arg.strip_prefix("--ms=")?.parse().ok());
    let time = Duration::from_millis(ms.unwrap_or(300));
    let [mut rates, mut costs, mut enters] = [const { Vec::new() }; 3];
    for figures in [&mut rates, &mut costs, &mut enters] {
        figures.resize(runtimes.len(), Vec::new());
    }
    for _ in 0..figures::rounds() {
        for (i, (_, runtime)) in runtimes.iter().enumerate() {
            let (before_us, entered) = (cpu::used_us(), runtime.stats()[0].enter_count);
            let (count, elapsed_s) = read(runtime, path.to_owned(), load, time);
            rates[i].push(count / elapsed_s);
            costs[i].push((cpu::used_us() - before_us) / count);
            enters[i].push((runtime.stats()[0].enter_count - entered) as f64 / count);
        }
    }
    for (i, (name, runtime)) in runtimes.iter().enumerate() {
        let name = format!("{what}.depth{}.{name}", load.depth);
        figures::print(&format!("{name}.rate"), "reads/s", &rates[i], "random 4 KiB reads");
        figures::print(&format!("{name}.enters"), "calls", &enters[i], "per read");
        figures::print(&format!("{name}.cpu"), "us", &costs[i], "of all threads, per read");
        let ratio =
            |all: &[f64]| all.iter().zip(&costs[0]).map(|(own, first)| own / first).collect();
        let ratios: Vec<f64> = ratio(&costs[i]);
        figures::print(&format!("{name}.cpu_ratio"), "x", &ratios, "to the first, same round");
        let refused = runtime.stats()[0].registration_refused_count;
        assert_eq!(refused, 0, "the limit of locked memory is too low");
    }
}

/// Reads for about `time`: how many, and in how many seconds.
fn read(runtime: &Runtime, path: PathBuf, load: Load, time: Duration) -> (f64, f64) {
    runtime.block_on(move || async move {
        let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
        let file = File::open(path, options).await.expect("the file named");
        let pages = file.len().await.expect("its length") / PAGE as u64;
        let begin = Instant::now();
        let reader = |mut buf: IoBuf| {
            let file = file.clone();
            spawn(async move {
                let mut count = 0;
                while begin.elapsed() < time {
                    let offset = random_u64() % pages * PAGE as u64;
                    let (result, back) = file.read_at(buf, offset).await;
                    assert_eq!(result.expect("a read"), PAGE);
                    buf = back;
                    count += 1;
                    compute(load.compute);
                }
                count
            })
        };
        let buffers = IoBuf::alloc_many(load.depth, PAGE);
        let readers: Vec<_> = buffers.into_iter().map(reader).collect();
        let mut count = 0;
        for reader in readers {
            count += reader.await.expect("a reader");
        }
        (f64::from(count), begin.elapsed().as_secs_f64())
    })
}

fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

//! What the options of a ring give: random direct reads of 4 KiB by one worker, each option against
//! none in the same rounds, one after the other.
//!
//! `cargo bench -p runtime --bench ring -- FILE [--rounds=5] [--ms=300]`: FILE is to be larger than
//! what the device caches. CPU time is that of all threads, those of the kernel for us included.
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock")]

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/figures.rs"]
mod figures;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, Runtime, Sqpoll, random_u64, spawn};

const DEPTHS: [usize; 3] = [1, 16, 128];
const PAGE: usize = 4096;

fn variants() -> Vec<(&'static str, Config)> {
    let plain = || Config {
        ring: RingChoice::Uring,
        workers: 1,
        registered_files: false,
        registered_buffers: false,
        ..Config::default()
    };
    let sqpoll = Sqpoll { idle: Duration::from_millis(2), cpu: None };
    vec![
        ("plain", plain()),
        ("files", Config { registered_files: true, ..plain() }),
        ("buffers", Config { registered_buffers: true, ..plain() }),
        ("both", Config { registered_files: true, registered_buffers: true, ..plain() }),
        ("sqpoll", Config { sqpoll: Some(sqpoll), ..plain() }),
    ]
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let Some(path) = args.next().map(PathBuf::from) else {
        return eprintln!("skipped: name a file to read");
    };
    let ms = std::env::args().find_map(|arg| arg.strip_prefix("--ms=")?.parse().ok());
    let duration = Duration::from_millis(ms.unwrap_or(300));
    let start = |(name, config)| match Runtime::start(config) {
        Ok(runtime) => Some((name, runtime)),
        Err(error) => {
            eprintln!("without {name}: {error}");
            None
        }
    };
    let runtimes: Vec<_> = variants().into_iter().filter_map(start).collect();
    for (name, runtime) in &runtimes {
        println!("{name}: {}", runtime.rings()[0].reason);
    }
    for depth in DEPTHS {
        compare(&runtimes, &path, depth, duration);
    }
}

fn compare(runtimes: &[(&str, Runtime)], path: &std::path::Path, depth: usize, time: Duration) {
    let mut rates = vec![Vec::new(); runtimes.len()];
    let mut costs = vec![Vec::new(); runtimes.len()];
    let mut enters = vec![Vec::new(); runtimes.len()];
    for _ in 0..figures::rounds() {
        for (i, (_, runtime)) in runtimes.iter().enumerate() {
            let (before_us, entered) = (cpu::used_us(), runtime.stats()[0].enter_count);
            let (count, elapsed_s) = read(runtime, path.to_owned(), depth, time);
            rates[i].push(count / elapsed_s);
            costs[i].push((cpu::used_us() - before_us) / count);
            enters[i].push((runtime.stats()[0].enter_count - entered) as f64 / count);
        }
    }
    for (i, (name, runtime)) in runtimes.iter().enumerate() {
        let name = format!("ring.{name}.depth{depth}");
        figures::print(&format!("{name}.rate"), "reads/s", &rates[i], "random 4 KiB reads");
        figures::print(&format!("{name}.cpu"), "us", &costs[i], "of all threads, per read");
        figures::print(&format!("{name}.enters"), "calls", &enters[i], "per read");
        let ratios: Vec<f64> = costs[i].iter().zip(&costs[0]).map(|(own, all)| own / all).collect();
        figures::print(&format!("{name}.cpu_ratio"), "x", &ratios, "to the first, same round");
        let stats = runtime.stats()[0];
        assert_eq!(stats.registration_refused_count, 0, "the limit of locked memory is too low");
    }
}

/// Reads with `depth` requests in flight for about `duration`: how many, and in how many seconds.
fn read(runtime: &Runtime, path: PathBuf, depth: usize, duration: Duration) -> (f64, f64) {
    runtime.block_on(move || async move {
        let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
        let file = File::open(path, options).await.expect("the file named");
        let pages = file.len().await.expect("its length") / PAGE as u64;
        let begin = Instant::now();
        let reader = |mut buf: IoBuf| {
            let file = file.clone();
            spawn(async move {
                let mut count = 0;
                while begin.elapsed() < duration {
                    let offset = random_u64() % pages * PAGE as u64;
                    let (result, back) = file.read_at(buf, offset).await;
                    assert_eq!(result.expect("a read"), PAGE);
                    buf = back;
                    count += 1;
                }
                count
            })
        };
        let readers: Vec<_> = IoBuf::alloc_many(depth, PAGE).into_iter().map(reader).collect();
        let mut count = 0;
        for reader in readers {
            count += reader.await.expect("a reader");
        }
        (f64::from(count), begin.elapsed().as_secs_f64())
    })
}

//! `dovetail bench connections`: what very many connections cost a server, and what slow ones cost
//! the others.
//!
//! The server is a process of its own; the clients are threads of this one. First many clients run a
//! mix of queries for some minutes: each answer is checked, and the server's resident memory at the
//! end is compared with that after the warm-up. Then few clients run look-ups as fast as they can,
//! in turns alone and beside a crowd of connections that are silent or send a byte a second.

pub(crate) mod client;
pub(crate) mod mix;
pub(crate) mod server;
mod slow;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use stdx::Prng;

use crate::figure::Figure;
use client::Client;
use server::Server;
use slow::Crowd;

/// Stack of a client's thread.
const STACK_BYTES: usize = 128 << 10;
/// Seconds over which memory is sampled.
const SAMPLE_S: u64 = 5;
/// How often the first part says where it is.
const LOOK: Duration = Duration::from_secs(20);
/// Clients of the second part.
const LEGAL_COUNT: usize = 8;
/// Rounds of the second part, each with and without the crowd.
const ROUND_COUNT: usize = 5;
/// Seconds of each half of a round: longer than a server waits for a login by default, so that it
/// hangs up on the crowd, which comes back.
const ROUND_S: u64 = 12;
/// How long the server has to notice that the crowd has gone.
const SETTLE: Duration = Duration::from_secs(2);

/// Most that the resident memory of the server may change, as a share.
const DRIFT_MAX: f64 = 0.02;
/// Most that the crowd may cost, in MiB, for each 2,000 of it.
const CROWD_MIB_MAX: f64 = 64.0;
/// Least of their throughput that legal clients must keep.
const THROUGHPUT_MIN: f64 = 0.9;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The binary whose `serve` is measured.
    pub server: PathBuf,
    /// Clients of the first part.
    pub connections: usize,
    /// Seconds of the first part, after the warm-up.
    pub seconds: u64,
    /// Seconds that memory settles after each client has made each kind of step.
    pub warmup: u64,
    /// Mean milliseconds that a client rests between two steps.
    pub think_ms: u64,
    /// Slow connections of the second part.
    pub slow: usize,
}

/// What the clients of the first part report.
#[derive(Default)]
struct Tally {
    over: AtomicBool,
    steps: AtomicU64,
    errors: AtomicU64,
    /// Clients that have made each kind of step.
    warm: AtomicU64,
}

/// Measures in `folder`; whether all bounds were kept.
///
/// # Errors
/// The server does not start or ends, or descriptors run out.
pub fn run(wish: &Wish, folder: &Path, mut emit: impl FnMut(Figure)) -> io::Result<bool> {
    let files = runtime::probe::raise_open_file_limit()?;
    let places = wish.connections.max(wish.slow + LEGAL_COUNT) + 10;
    eprintln!("{files} descriptors, {places} places");
    let (file, places) = (folder.join("connections.dovetail"), places.to_string());
    let args = ["--memory", "256MB", "--max-connections", places.as_str()];
    let server = Server::start(&wish.server, &file, &args)?;
    mix::fill(&mut Client::connect(server.address)?)?;
    let mut kept = true;
    if wish.connections > 0 {
        kept &= many(wish, &server, &mut emit)?;
    }
    if wish.slow > 0 {
        kept &= crowd(wish, &server, &mut emit)?;
    }
    if server.has_panicked()? {
        eprintln!("FAILED: there is a panic in the server's log");
        kept = false;
    }
    Ok(kept)
}

/// Says whether a bound was kept.
fn judge(what: &str, kept: bool) -> bool {
    eprintln!("{} {what}", if kept { "ok      " } else { "FAILED  " });
    kept
}

fn many(wish: &Wish, server: &Server, emit: &mut impl FnMut(Figure)) -> io::Result<bool> {
    let tally = Tally::default();
    let (before, after, steps) = thread::scope(|scope| {
        let spawned = (0..wish.connections).try_for_each(|number| {
            let (tally, address) = (&tally, server.address);
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            let begun = builder.spawn_scoped(scope, move || {
                if let Err(error) = live(address, number as u64, wish, tally) {
                    tally.errors.fetch_add(1, Relaxed);
                    eprintln!("client {number}: {error}");
                }
            });
            begun.map(drop)
        });
        let measured = spawned.and_then(|()| watch(wish, server, &tally));
        tally.over.store(true, Relaxed);
        measured
    })?;
    let (drift, errors) = (after / before - 1.0, tally.errors.load(Relaxed));
    let (count, seconds) = (wish.connections, wish.seconds);
    let detail = format!("{count} connections, a mix of queries, {seconds} s after a warm-up");
    let one = |name: &str, unit, value| Figure::of(format!("connections.{name}"), unit, &[value]);
    emit(one("errors", "", errors as f64).with_detail(detail));
    emit(one("steps", "1/s", steps as f64 / seconds as f64));
    emit(one("resident.before", "MiB", before / 1048576.0));
    emit(one("resident.after", "MiB", after / 1048576.0));
    emit(one("resident.drift", "share", drift).with_detail(format!("bound {DRIFT_MAX}")));
    let quiet = judge("no client had an unexpected answer", errors == 0 && steps > 0);
    Ok(judge("the server's memory stays", drift.abs() < DRIFT_MAX) && quiet)
}

/// Memory after the warm-up and at the end, and the steps in between.
fn watch(wish: &Wish, server: &Server, tally: &Tally) -> io::Result<(f64, f64, u64)> {
    let started = || tally.warm.load(Relaxed) + tally.errors.load(Relaxed);
    while started() < wish.connections as u64 {
        server.resident_bytes()?;
        thread::sleep(Duration::from_millis(200));
    }
    thread::sleep(Duration::from_secs(wish.warmup));
    let (before, first) = (server.resident_bytes_over(SAMPLE_S)?, tally.steps.load(Relaxed));
    let ends = Instant::now() + Duration::from_secs(wish.seconds.saturating_sub(SAMPLE_S));
    while Instant::now() < ends {
        thread::sleep(LOOK.min(ends - Instant::now()));
        let mib = server.resident_bytes()? as f64 / 1048576.0;
        eprintln!("{} steps, {mib:.1} MiB", tally.steps.load(Relaxed) - first);
    }
    let steps = tally.steps.load(Relaxed) - first;
    Ok((before, server.resident_bytes_over(SAMPLE_S)?, steps))
}

/// The life of one client of the first part.
fn live(address: SocketAddr, number: u64, wish: &Wish, tally: &Tally) -> io::Result<()> {
    let mut random = Prng::new(number);
    let mut rest = || Duration::from_micros(random.below(2000 * wish.think_ms + 1));
    // Not all at once.
    thread::sleep(rest());
    let mut choice = Prng::new(number ^ 0x5eed);
    let mut client = Client::connect(address)?;
    mix::prepare(&mut client)?;
    // Each kind once, so that what a session keeps of it is there before memory is measured.
    for kind in 0..mix::KIND_COUNT {
        mix::step(&mut client, kind, &mut choice)?;
        thread::sleep(rest());
    }
    tally.warm.fetch_add(1, Relaxed);
    while !tally.over.load(Relaxed) {
        let kind = choice.below(mix::KIND_COUNT);
        mix::step(&mut client, kind, &mut choice)?;
        tally.steps.fetch_add(1, Relaxed);
        thread::sleep(rest());
    }
    Ok(())
}

fn crowd(wish: &Wish, server: &Server, emit: &mut impl FnMut(Figure)) -> io::Result<bool> {
    let (mut alone, mut beside, mut cost) = (vec![], vec![], vec![]);
    let mut returned = 0;
    // What the clients themselves cost is no cost of the crowd.
    legal(server.address)?;
    for _ in 0..ROUND_COUNT {
        alone.push(legal(server.address)?);
        let before = server.resident_bytes_over(1)?;
        let crowd = Crowd::start(server.address, wish.slow)?;
        beside.push(legal(server.address)?);
        cost.push((server.resident_bytes_over(1)? - before) / 1048576.0);
        returned += crowd.returned();
        crowd.end()?;
        thread::sleep(SETTLE);
    }
    let shares: Vec<f64> =
        beside.iter().zip(&alone).map(|(with, without)| with / without).collect();
    let detail = format!(
        "{} connections, silent or a byte a second; {returned} times one was hung up on and came back",
        wish.slow
    );
    let of = |name: &str, unit, runs: &[f64]| Figure::of(format!("connections.{name}"), unit, runs);
    emit(of("slow.resident", "MiB", &cost).with_detail(detail));
    emit(of("legal.alone", "1/s", &alone).with_detail(format!("{LEGAL_COUNT} clients, look-ups")));
    emit(of("legal.beside", "1/s", &beside));
    let share = of("legal.share", "share", &shares).with_detail(format!("bound {THROUGHPUT_MIN}"));
    emit(share.clone());
    // The first crowd pays; what later ones find is there already.
    let most = cost.iter().copied().fold(0.0, f64::max);
    let bound = CROWD_MIB_MAX * (wish.slow as f64 / 2000.0).max(1.0);
    let cheap = judge("slow connections are cheap", most < bound);
    Ok(judge("legal clients keep their throughput", share.value >= THROUGHPUT_MIN) && cheap)
}

/// Look-ups per second of a few clients that never rest.
fn legal(address: SocketAddr) -> io::Result<f64> {
    let begun = Instant::now();
    let one = |number| -> io::Result<u64> {
        let (mut random, mut count) = (Prng::new(number), 0);
        let mut client = Client::connect(address)?;
        mix::prepare(&mut client)?;
        while begun.elapsed() < Duration::from_secs(ROUND_S) {
            mix::look_up(&mut client, &mut random)?;
            count += 1;
        }
        Ok(count)
    };
    let counts = thread::scope(|scope| {
        let all: Vec<_> = (0..LEGAL_COUNT as u64).map(|n| scope.spawn(move || one(n))).collect();
        let joined = all.into_iter().map(|one| one.join().expect("a client does not panic"));
        joined.sum::<io::Result<u64>>()
    })?;
    Ok(counts as f64 / begun.elapsed().as_secs_f64())
}

//! Look-ups over the protocol, alone, and beside scans of remote tables and changes in the same server.

use std::io::{self, Error};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use stdx::Prng;

use super::Wish;
use super::sides::{LOCATION, secret};
use crate::connections::client::Client;
use crate::connections::mix;
use crate::connections::server::Server;
use crate::figure::Figure;
use crate::tpch;

/// TPC-H queries that a client asks one after the other.
const SCANS: [u8; 3] = [1, 6, 9];

/// What the others did beside the look-ups.
#[derive(Default)]
struct Tally {
    over: AtomicBool,
    scans: AtomicU64,
    /// Changes that were acknowledged.
    changes: AtomicU64,
}

/// Whether every change that was acknowledged is there in the end.
pub(super) fn run(
    wish: &Wish,
    folder: &Path,
    url: &str,
    emit: &mut impl FnMut(Figure),
) -> io::Result<bool> {
    let memory = format!("{}MB", (wish.options.memory_bytes >> 20) + 256);
    let args = ["--memory", memory.as_str(), "--pool", "128MB", "--ring", wish.options.ring.name()];
    let server = Server::start(&wish.program, &folder.join("served.dovetail"), &args)?;
    let mut client = Client::connect(server.address)?;
    mix::fill(&mut client)?;
    done(
        &mut client,
        "create table sums (id int primary key, n bigint); insert into sums values (1, 0)",
    )?;
    done(&mut client, &secret(url))?;
    for table in &tpch::TABLES {
        let (name, location) = (table.name, LOCATION);
        done(&mut client, &format!("create table {name} with (location = '{location}/{name}')"))?;
    }
    let (mut alone, mut beside, tally) = (vec![], vec![], Tally::default());
    // The first turn brings the rows and the plans in.
    look_ups(wish, server.address)?;
    for _ in 0..wish.runs {
        alone.push(look_ups(wish, server.address)?);
        beside.push(look_ups_beside(wish, server.address, &tally)?);
    }
    let (scans, changes) = (tally.scans.into_inner(), tally.changes.into_inner());
    let p99 = |all: &[Vec<f64>]| -> Vec<f64> { all.iter().map(|turn| p99_of(turn)).collect() };
    let rates = |all: &[Vec<f64>]| -> Vec<f64> {
        all.iter().map(|turn| turn.len() as f64 / wish.seconds as f64).collect()
    };
    let figure = |name: &str, unit, values: &[f64]| {
        Figure::of(format!("remote.look_ups.{name}"), unit, values)
    };
    let clients = format!("{} clients that never rest, {} s a turn", wish.clients, wish.seconds);
    emit(figure("alone.p99", "µs", &p99(&alone)).with_detail(clients));
    let detail = format!("beside {scans} queries of remote tables and {changes} changes");
    emit(figure("beside.p99", "µs", &p99(&beside)).with_detail(detail));
    let over = super::queries::ratios(&p99(&beside), &p99(&alone));
    emit(figure("p99.beside_over_alone", "x", &over).with_detail("bound 3"));
    emit(figure("alone.rate", "1/s", &rates(&alone)));
    emit(figure("beside.rate", "1/s", &rates(&beside)));
    let kept = client.simple(&format!("select n from sums where n = {changes}"))?;
    if kept.row_count != 1 {
        eprintln!("FAILED  of {changes} changes that were acknowledged some are lost");
    }
    Ok(kept.row_count == 1 && !server.has_panicked()?)
}

fn done(client: &mut Client, text: &str) -> io::Result<()> {
    match client.simple(text)?.error {
        None => Ok(()),
        Some(state) => Err(Error::other(format!("{text}: {state}"))),
    }
}

fn p99_of(turn: &[f64]) -> f64 {
    let mut sorted = turn.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}

/// The times of single look-ups of all clients, in microseconds.
fn look_ups(wish: &Wish, address: SocketAddr) -> io::Result<Vec<f64>> {
    let begun = Instant::now();
    let one = |number| -> io::Result<Vec<f64>> {
        let (mut random, mut took) = (Prng::new(number), vec![]);
        let mut client = Client::connect(address)?;
        mix::prepare(&mut client)?;
        while begun.elapsed() < Duration::from_secs(wish.seconds) {
            let begun = Instant::now();
            mix::look_up(&mut client, &mut random)?;
            took.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        Ok(took)
    };
    thread::scope(|scope| {
        let clients = 0..wish.clients as u64;
        let all: Vec<_> = clients.map(|number| scope.spawn(move || one(number))).collect();
        let joined = all.into_iter().map(|one| one.join().expect("a client does not panic"));
        joined.collect::<io::Result<Vec<_>>>().map(|all| all.concat())
    })
}

fn look_ups_beside(wish: &Wish, address: SocketAddr, tally: &Tally) -> io::Result<Vec<f64>> {
    tally.over.store(false, Relaxed);
    thread::scope(|scope| {
        let scans = scope.spawn(|| scan(wish, address, tally));
        let changes = scope.spawn(|| change(address, tally));
        let took = look_ups(wish, address);
        tally.over.store(true, Relaxed);
        scans.join().expect("a client does not panic")?;
        changes.join().expect("a client does not panic")?;
        took
    })
}

fn scan(wish: &Wish, address: SocketAddr, tally: &Tally) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    for number in SCANS.iter().cycle() {
        let text = tpch::query(*number, wish.scale).unwrap_or_default();
        done(&mut client, &text)?;
        tally.scans.fetch_add(1, Relaxed);
        if tally.over.load(Relaxed) {
            break;
        }
    }
    Ok(())
}

/// Changes of single rows, as those of TPC-B.
fn change(address: SocketAddr, tally: &Tally) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    while !tally.over.load(Relaxed) {
        done(&mut client, "update sums set n = n + 1 where id = 1")?;
        tally.changes.fetch_add(1, Relaxed);
    }
    Ok(())
}

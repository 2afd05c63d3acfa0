//! The machines in which a server and its clients run, and what has to be true when all have gone.

use std::path::Path;
use std::time::Duration;

use engine::{Database, Options, Simulation};
use runtime::sim::{Disk, FaultPlan, Link, Network, NetworkFaults};
use runtime::{spawn_on, time};
use server::{Address, Server, ServerOptions};
use stdx::Prng;

use crate::channel::OWN;
use crate::model;
use crate::player::{Notes, Player, Report, Stop};
use crate::scraper::Scraper;
use crate::wire::{SERVER, Wire};

/// Name of the database in each simulated machine.
const PATH: &str = "/db";
/// A small memory, so that there is something to do for it.
const MEMORY_BYTES: usize = 12 << 20;
/// Where it answers HTTP while clients play, and when they have gone: the first place is its until the machine stops.
const HTTP: [&str; 2] = ["127.0.0.1:8432", "127.0.0.1:8433"];
/// When all have gone: what the server has not noticed by then, in simulated time, it never will.
const REST: Duration = Duration::from_secs(300);

/// What is peculiar to a scenario.
#[derive(Clone, Copy)]
struct Peculiar {
    /// The power may fail.
    is_mortal: bool,
    /// Every other client encrypts its connections.
    is_encrypted: bool,
}

/// Those who talk to the server.
struct Clients {
    players: Vec<Player>,
    scraper: Scraper,
}

fn options(disk: &Disk, seed: u64) -> Options {
    Options {
        memory_bytes: MEMORY_BYTES,
        workers: 1 + (seed % 3) as usize,
        simulation: Some(Simulation { disk: disk.clone(), seed }),
        ..pg::options()
    }
}

/// A network of the seed's choice: near or far, wide or narrow.
fn link(prng: &mut Prng) -> Link {
    Link {
        latency_ns: [20_000, 200_000, 5_000_000][prng.below(3) as usize],
        rate: [200_000, 10_000_000, 1_000_000_000][prng.below(3) as usize],
        send_bytes_max: 256 << prng.below(9),
        receive_bytes_max: 256 << prng.below(9),
        segment_bytes_max: 100 << prng.below(8),
        give_up_ns: 20_000_000_000,
        keepalive_ns: 60_000_000_000,
        ..Link::default()
    }
}

/// Everything that may befall connections.
fn unkind(prng: &mut Prng) -> NetworkFaults {
    NetworkFaults {
        refused: 0.05,
        reset: 0.2,
        vanish: 0.05,
        life_ns: 1_000_000 << prng.below(10),
        descriptor_count_max: prng.chance(0.2).then_some(8),
        ..NetworkFaults::short_and_late()
    }
}

fn create(disk: &Disk, seed: u64) -> Result<Database, String> {
    let db = Database::create(Path::new(PATH), options(disk, seed));
    let db = db.map_err(|error| format!("create: {error}"))?;
    db.session().execute(model::SETUP).map_err(|error| format!("setup: {error}"))?;
    // This thread is not of the machine: what it does next must not meet a task that still runs.
    db.checkpoint().map_err(|error| format!("checkpoint: {error}"))?;
    Ok(db)
}

fn address(text: &str) -> Address {
    Address::Tcp(text.parse().expect("an address"))
}

fn serve(db: &Database, http: &str, is_encrypted: bool) -> Result<Server, String> {
    let (listen, http_listen) = (vec![address(SERVER)], vec![address(http)]);
    let tls = is_encrypted.then(|| OWN.tls.clone());
    let options = ServerOptions { listen, http_listen, tls, ..ServerOptions::default() };
    Server::start(db, &options).map_err(|error| format!("server: {error}"))
}

/// What is left in the machine, to be compared with what was there before the clients came.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    sockets: usize,
    /// Waits for sockets.
    waits: usize,
    clients: usize,
    sessions: usize,
    pins: u64,
    /// Tasks of all workers.
    tasks: u64,
}

fn left(db: &Database, server: &Server, network: &Network) -> Left {
    let workers = db.runtime_handle().stats();
    Left {
        sockets: network.socket_count(),
        waits: network.wait_count(),
        clients: server.connection_count(),
        sessions: db.activities().sessions().len(),
        pins: db.pool().pins,
        tasks: workers.iter().map(|worker| worker.live_task_count).sum(),
    }
}

/// Waits until all that clients have left behind is gone.
async fn comes_to_rest(
    db: &Database,
    server: &Server,
    network: &Network,
    before: Left,
) -> Result<(), String> {
    let begin = time::now();
    while left(db, server, network) != before {
        if begin.elapsed() > REST {
            let after = left(db, server, network);
            return Err(format!("left behind: {after:?}, not {before:?}"));
        }
        time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Lets clients play with a server until they have gone.
async fn play(
    db: Database,
    network: Network,
    clients: Clients,
    peculiar: Peculiar,
) -> Result<Report, String> {
    let others = network.socket_count();
    let server = serve(&db, HTTP[0], peculiar.is_encrypted)?;
    time::sleep(Duration::from_secs(1)).await;
    let before = left(&db, &server, &network);
    let mut report = Report::default();
    let mut defects = vec![];
    let mut running = vec![];
    for (number, player) in clients.players.into_iter().enumerate() {
        running.push(spawn_on(number % runtime::worker_count(), move || player.play()));
    }
    running.push(spawn_on(0, move || clients.scraper.play()));
    for client in running {
        let crashed =
            |aborted| (Report::default(), Err(Stop::Defect(format!("a client: {aborted}"))));
        let (played, ended) = client.await.unwrap_or_else(crashed);
        report += played;
        if let Err(Stop::Defect(what)) = ended {
            defects.push(what);
        }
    }
    if let Some(defect) = defects.into_iter().next() {
        return Err(defect);
    }
    if !peculiar.is_mortal {
        comes_to_rest(&db, &server, &network, before).await?;
    }
    end(&db, &server, &network, others).await?;
    Ok(report)
}

/// The server ends, and with it its last socket: there are the `others` then, and those that listen for HTTP, which
/// is answered until the machine stops.
async fn end(
    db: &Database,
    server: &Server,
    network: &Network,
    others: usize,
) -> Result<(), String> {
    server.close();
    let begin = time::now();
    while network.socket_count() > others + server.http_addresses().len() {
        if begin.elapsed() > REST {
            return Err(format!(
                "left by a server that has ended: {:?}",
                left(db, server, network)
            ));
        }
        time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Asks a server once more what the clients know, when nothing fails any more.
async fn verify(
    db: Database,
    network: Network,
    known: Vec<Notes>,
    seed: u64,
) -> Result<Report, String> {
    network.faults(NetworkFaults::default());
    let others = network.socket_count();
    let server = serve(&db, HTTP[1], false)?;
    let mut report = Report::default();
    let (asked, ended) = Scraper::new(address(HTTP[1]), seed, false).play().await;
    report += asked;
    if let Err(Stop::Defect(what)) = ended {
        return Err(format!("in the end: {what}"));
    }
    for (number, notes) in known.into_iter().enumerate() {
        let (played, ended) = Player::new(number, 0, notes, false).verify().await;
        report += played;
        match ended {
            Ok(()) => {}
            Err(Stop::Defect(what)) => return Err(format!("in the end: {what}")),
            Err(Stop::Server) => return Err("in the end: the server is gone".to_owned()),
        }
    }
    end(&db, &server, &network, others).await?;
    Ok(report)
}

/// The clients of a seed.
fn clients(seed: u64, notes: &[Notes], peculiar: Peculiar) -> Clients {
    let mut prng = Prng::new(seed);
    let scraper = Scraper::new(address(HTTP[0]), prng.next_u64(), true);
    let client = |(number, notes): (usize, &Notes)| {
        let player = Player::new(number, prng.next_u64(), notes.clone(), peculiar.is_mortal);
        match peculiar.is_encrypted && number % 2 == 0 {
            true => player.encrypted(&OWN.client),
            false => player,
        }
    };
    Clients { players: notes.iter().enumerate().map(client).collect(), scraper }
}

/// Plays on a disk, on which some plan may strike; what the clients knew at their ends.
fn played(
    disk: &Disk,
    seed: u64,
    plan: FaultPlan,
    peculiar: Peculiar,
) -> Result<(Vec<Notes>, Report), String> {
    let (mut prng, network) = (Prng::new(seed ^ 0x6e65_7473), disk.network());
    let notes: Vec<Notes> = (0..2 + seed / 3 % 4).map(|_| Notes::default()).collect();
    let db = create(disk, seed)?;
    network.link(link(&mut prng));
    network.faults(unkind(&mut prng));
    disk.faults(plan);
    let (clients, theirs, kept) = (clients(seed, &notes, peculiar), network.clone(), db.clone());
    let ended = db.runtime_handle().block_on(move || play(kept, theirs, clients, peculiar));
    if !peculiar.is_mortal && ended.is_ok() {
        let (known, kept) = (notes.clone(), db.clone());
        db.runtime_handle().block_on(move || verify(kept, network, known, seed))?;
        let check = db.check().map_err(|error| format!("check: {error}"))?;
        if let Some(problem) = check.problems.first() {
            return Err(format!("in the end: {problem}"));
        }
    }
    drop(db);
    Ok((notes, ended?))
}

/// The network alone is unkind.
pub fn unkind_network(seed: u64) -> Result<Report, String> {
    let disk = Disk::new(seed);
    let peculiar = Peculiar { is_mortal: false, is_encrypted: false };
    let (_, mut report) = played(&disk, seed, FaultPlan::short_and_late(), peculiar)?;
    report.trace_hash = disk.trace_hash();
    Ok(report)
}

/// The same where every other client encrypts its connections.
pub fn unkind_and_encrypted(seed: u64) -> Result<Report, String> {
    let disk = Disk::new(seed);
    disk.network().sealed();
    let peculiar = Peculiar { is_mortal: false, is_encrypted: true };
    let (_, mut report) = played(&disk, seed, FaultPlan::short_and_late(), peculiar)?;
    report.trace_hash = disk.trace_hash();
    Ok(report)
}

/// The power fails at one write. What was acknowledged over the network is there afterwards.
pub fn power_cut(seed: u64) -> Result<Report, String> {
    let whole = Disk::new(seed);
    let peculiar = Peculiar { is_mortal: false, is_encrypted: false };
    played(&whole, seed, FaultPlan::default(), peculiar)?;
    let mut prng = Prng::new(seed ^ 0x0ff);
    let write = 1 + prng.below(whole.write_count());
    let disk = Disk::new(seed);
    let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
    let peculiar = Peculiar { is_mortal: true, ..peculiar };
    let (notes, mut report) = played(&disk, seed, plan, peculiar)?;
    let after = disk.crash(seed);
    let db = Database::open(Path::new(PATH), options(&after, seed));
    let db = db.map_err(|error| format!("recovery: {error}"))?;
    let (network, kept) = (after.network(), db.clone());
    report += db.runtime_handle().block_on(move || verify(kept, network, notes, seed))?;
    drop(db);
    report.trace_hash = disk.trace_hash();
    Ok(report)
}

/// A server at the end of its descriptors, with a client in the line, is told to end.
pub fn full_server(seed: u64) -> Result<Report, String> {
    let disk = Disk::new(seed);
    let (network, db) = (disk.network(), create(&disk, seed)?);
    network.faults(NetworkFaults { descriptor_count_max: Some(7), ..NetworkFaults::default() });
    let kept = db.clone();
    let ended = db.runtime_handle().block_on(move || async move {
        let server = serve(&kept, HTTP[0], false)?;
        let mut told = vec![];
        let mut wires = vec![];
        for _ in 0..8 {
            match Wire::open(None).await {
                Ok(wire) => wires.push(wire),
                Err(error) => told.push(error.to_string()),
            }
        }
        if told.is_empty() || told.iter().any(|state| state != "53300") {
            return Err(format!("{} clients are in, others were told {told:?}", wires.len()));
        }
        drop(wires);
        end(&kept, &server, &network, 0).await
    });
    ended.map(|()| Report::default())
}

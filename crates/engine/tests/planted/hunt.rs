//! Plants the faults, each in a process of its own, and lets simulations look for it.

use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use engine::Isolation;
use engine::simulation::history::{cut, record};
use storage::planted;

use super::faults::{FAULTS, Fault, Simulation};

/// Names the fault of a process.
const FAULT: &str = "DOVETAIL_FAULT";

/// Names how the faults begin that are to be planted.
const FAULTS_ONLY: &str = "DOVETAIL_FAULTS";

/// How long a process computes that looks for a fault, whatever else the machine has to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take for that by the clock, its end included. One that takes longer is stuck.
const STUCK: Duration = Duration::from_secs(900);

/// Transactions of each client of a history, as in `tests/histories.rs`.
const TRANSACTIONS: usize = 40;

/// The one that no simulation finds yet (docs/results.md, "The simulator").
const MISSED: &str = "left-log-given";

/// Seeds with which nothing is found when nothing is planted.
const CONTROL_SEEDS: u64 = 2;

/// Letters of a finding that are shown.
const SHOWN: usize = 72;

const LEVELS: [Isolation; 3] =
    [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

impl Simulation {
    /// What it finds with a seed.
    fn run(self, seed: u64) -> Result<(), String> {
        let options = pg::options();
        match self {
            Simulation::Statements => {
                engine::simulation::run(&options, seed).map(drop).map_err(|failure| failure.what)
            }
            Simulation::Places => {
                let seed = storage::simulation::out_of_place_seed(seed);
                storage::simulation::run(seed).map(drop).map_err(|failure| failure.what)
            }
            Simulation::Members => {
                storage::simulation::members_come_and_go(seed).map(drop).map_err(|e| e.what)
            }
            Simulation::Histories => LEVELS.iter().try_for_each(|level| {
                let history = record(&options, seed, *level, TRANSACTIONS);
                history.map_err(|failure| failure.what)?.check(*level)
            }),
            Simulation::Cuts => LEVELS.iter().try_for_each(|level| {
                cut(&options, seed, *level, TRANSACTIONS).map(drop).map_err(|failure| failure.what)
            }),
        }
    }
}

impl fmt::Display for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Simulation::Statements => "statements",
            Simulation::Places => "places",
            Simulation::Members => "members",
            Simulation::Histories => "histories",
            Simulation::Cuts => "cuts",
        })
    }
}

/// Runs in a process of its own for each fault, which it plants; with none it finds nothing.
#[test]
fn simulations_find_what_is_planted_and_nothing_else() {
    let Ok(name) = std::env::var(FAULT) else {
        let all = [
            Simulation::Statements,
            Simulation::Places,
            Simulation::Members,
            Simulation::Histories,
            Simulation::Cuts,
        ];
        return (0..CONTROL_SEEDS).for_each(|seed| {
            all.iter().for_each(|simulation| assert_eq!(simulation.run(seed), Ok(())));
        });
    };
    let fault = FAULTS.iter().find(|fault| fault.name == name).expect("a fault of the table");
    planted::plant(fault.name);
    let found = (0..).take_while(|_| computed() < PATIENCE).find_map(|seed| {
        let look = |simulation: &Simulation| simulation.run(seed).err().map(|e| (*simulation, e));
        fault.by.iter().find_map(look).map(|(simulation, what)| (simulation, seed, what))
    });
    let (seconds, reached) = (computed().as_secs_f64(), planted::reached());
    match found {
        // Then something else was found.
        Some((_, seed, what)) if reached == 0 => {
            println!("\nNOT FOUND, its place was not reached; seed {seed} found {what}");
        }
        Some((simulation, seed, what)) => {
            let what: String = what.replace('\n', " ").chars().take(SHOWN).collect();
            println!("\nfound by {simulation:<10}  seed {seed:>2} {seconds:>5.1} s  {what}");
        }
        None => println!("\nNOT FOUND in {seconds:.0} s, its place was reached {reached} times"),
    }
}

#[test]
fn each_fault_is_found() {
    let only = std::env::var(FAULTS_ONLY).unwrap_or_default();
    let chosen = |fault: &&Fault| only.split(',').any(|begin| fault.name.starts_with(begin));
    let chosen: Vec<&Fault> = FAULTS.iter().filter(chosen).collect();
    assert!(!chosen.is_empty(), "no fault begins like one of {only}");
    let mut missed = vec![];
    for fault in &chosen {
        let outcome = outcome(fault);
        println!("{:<28} {:<31} {outcome}", fault.name, fault.place);
        if !outcome.starts_with("found") {
            missed.push(fault.name);
        }
    }
    let known: Vec<&str> = chosen.iter().map(|fault| fault.name).filter(|n| *n == MISSED).collect();
    assert_eq!(missed, known, "what is not found is not what is known not to be");
}

/// What a process says in which the fault is planted.
fn outcome(fault: &Fault) -> String {
    let program = std::env::current_exe().expect("the program of the test");
    let test = "hunt::simulations_find_what_is_planted_and_nothing_else";
    let began = Instant::now();
    let mut child = Command::new(program)
        .args([test, "--exact", "--nocapture"])
        .env(FAULT, fault.name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let is_stuck = !has_ended(&mut child, began + STUCK);
    if is_stuck {
        child.kill().expect("it is a process of its own");
    }
    let mut said = String::new();
    let pipe = child.stdout.as_mut().expect("the output is piped");
    pipe.read_to_string(&mut said).expect("it prints text");
    let status = child.wait().expect("it has ended");
    let line = said.lines().find(|line| line.starts_with("found") || line.starts_with("NOT"));
    match (line, status.signal()) {
        (Some(line), _) => line.to_owned(),
        (None, _) if is_stuck => "NOT FOUND: the simulation does not end".to_owned(),
        // The simulations hear of panics: only what ends a process at once has not been told.
        (None, Some(_)) => {
            format!("found by its end           {:>5.1} s  {status}", began.elapsed().as_secs_f64())
        }
        (None, None) => format!("NOT FOUND: its process says nothing: {status}"),
    }
}

/// How long this process has computed, in all its threads.
fn computed() -> Duration {
    let told = std::fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    // In hundredths of a second: `utime` and `stime` of proc(5), counted from behind the name.
    let (_, fields) = told.rsplit_once(") ").expect("a name in parentheses");
    let times = fields.split(' ').skip(11).take(2);
    let hundredths: u64 = times.map(|time| time.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(10 * hundredths)
}

/// Waits for a process until a moment. It prints little, so the pipe takes all of it.
fn has_ended(child: &mut Child, until: Instant) -> bool {
    while Instant::now() < until {
        if child.try_wait().expect("it is a child").is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

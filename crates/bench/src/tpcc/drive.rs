//! Runs of terminals.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use engine::{Database, Isolation, Session, SqlError, SqlResult};
use runtime::time;
use stdx::Prng;

use super::transactions::{self, Statements};
use super::{Kind, Mix, Options, Scale, Side};
use crate::device::cpu_seconds;

/// Attempts at one transaction; one that fails more often has another reason than its neighbours.
const ATTEMPTS_MAX: u32 = 100;

/// The part of a slice that each side's terminals run before they are measured: statements are compiled.
const WARM_SHARE: f64 = 0.3;

/// Terminals that run for a slice before those of any side, so that a pool smaller than the data holds the
/// same pages for each: one terminal would need minutes to fill it.
const WARM_TERMINALS: usize = 64;

/// What others have brought about.
const RETRIED: [&str; 2] = ["40001", "40P01"];

/// What a run did.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    transactions: u64,
    /// Times that one began again.
    again: u64,
    elapsed_s: f64,
    cpu_s: f64,
    /// Of each kind, ascending.
    latencies_ns: BTreeMap<Kind, Vec<u64>>,
    pub ring: String,
}

impl Outcome {
    pub fn per_s(&self) -> f64 {
        self.transactions as f64 / self.elapsed_s
    }

    pub fn cpu_us_each(&self) -> f64 {
        self.cpu_s * 1e6 / self.transactions as f64
    }

    /// How many transactions had to begin again, of all.
    pub fn again_share(&self) -> f64 {
        self.again as f64 / self.transactions as f64
    }

    /// The latency that this share of a kind stays below; 0 when there was none.
    pub fn latency_ms(&self, kind: Kind, share: f64) -> f64 {
        let Some(all) = self.latencies_ns.get(&kind).filter(|all| !all.is_empty()) else {
            return 0.0;
        };
        all[((all.len() - 1) as f64 * share) as usize] as f64 / 1e6
    }
}

/// What some terminals are to do.
#[derive(Clone, Copy)]
struct Phase {
    scale: Scale,
    mix: Mix,
    isolation: Isolation,
    slice: Duration,
}

impl Phase {
    async fn run(self, db: &Database, terminals: usize, seed: u64) -> SqlResult<Outcome> {
        let Phase { scale, mix, isolation, slice } = self;
        let begin = format!("begin isolation level {}", isolation.name());
        let run = Run { scale, begin, mix, stop: Cell::new(false), done: RefCell::default() };
        let run = Rc::new(run);
        let terminal = |number| {
            let (run, session) = (run.clone(), db.session());
            let random = Prng::new((seed << 32) | number as u64);
            runtime::spawn(async move { run.terminal(session, random).await })
        };
        let running: Vec<_> = (0..terminals).map(terminal).collect();
        let over = || running.iter().any(|terminal| terminal.is_finished());
        wait(slice.mul_f64(WARM_SHARE), &over).await;
        run.done.take();
        let (began, cpu) = (time::now(), cpu_seconds()?);
        wait(slice, &over).await;
        let mut outcome = run.done.take();
        outcome.elapsed_s = began.elapsed().as_secs_f64();
        outcome.cpu_s = cpu_seconds()? - cpu;
        run.stop.set(true);
        for terminal in running {
            terminal.await.map_err(|e| SqlError::internal(e.to_string()))??;
        }
        Ok(outcome)
    }
}

/// What the terminals of a run share.
struct Run {
    scale: Scale,
    begin: String,
    mix: Mix,
    stop: Cell<bool>,
    done: RefCell<Outcome>,
}

/// Runs terminals for about the options' slice.
pub(super) fn run(
    db: &Database,
    options: &Options,
    mix: Mix,
    side: Side,
    seed: u64,
) -> SqlResult<Outcome> {
    let terminals = match side {
        Side::Terminals(count) | Side::Apart(count) => count,
        Side::Blocking => 1,
    };
    let phase =
        Phase { scale: options.scale, mix, isolation: options.isolation, slice: options.slice };
    let is_larger = db.page_count() > db.pool().frames as u64;
    let (own, ring) = (db.clone(), format!("{}, {}", db.rings()[0].kind, db.file_backend()));
    let outcome = db.runtime_handle().block_on(move || async move {
        if is_larger {
            phase.run(&own, WARM_TERMINALS, !seed).await?;
        }
        phase.run(&own, terminals, seed).await
    })?;
    let mut outcome = Outcome { ring, ..outcome };
    outcome.latencies_ns.values_mut().for_each(|all| all.sort_unstable());
    if outcome.transactions == 0 {
        return Err(SqlError::internal("no transaction ended within a measurement"));
    }
    Ok(outcome)
}

/// Waits for so long, or until a terminal has failed.
async fn wait(duration: Duration, over: &dyn Fn() -> bool) {
    let began = time::now();
    while began.elapsed() < duration && !over() {
        time::sleep(Duration::from_millis(2)).await;
    }
}

impl Run {
    async fn terminal(&self, mut session: Session, mut random: Prng) -> SqlResult<()> {
        let mut statements = Statements::new();
        while !self.stop.get() {
            let kind = self.draw(&mut random);
            let began = time::now();
            let prepared = (&mut session, &mut statements);
            let again = self.transaction(prepared, kind, &mut random).await?;
            let latency_ns = began.elapsed().as_nanos() as u64;
            let mut done = self.done.borrow_mut();
            done.transactions += 1;
            done.again += u64::from(again);
            done.latencies_ns.entry(kind).or_default().push(latency_ns);
        }
        Ok(())
    }

    fn draw(&self, random: &mut Prng) -> Kind {
        let mut left = random.below(100);
        for (kind, part) in self.mix.parts() {
            match left.checked_sub(*part) {
                None => return *kind,
                Some(rest) => left = rest,
            }
        }
        unreachable!("the parts of a mix are a hundred")
    }

    /// Runs a transaction until it is committed, or taken back by its user; how often it began again.
    async fn transaction(
        &self,
        (session, statements): (&mut Session, &mut Statements),
        kind: Kind,
        random: &mut Prng,
    ) -> SqlResult<u32> {
        let own = random.fork();
        for again in 0..ATTEMPTS_MAX {
            match self.attempt((session, statements), kind, &mut own.clone()).await {
                Err(error) if RETRIED.contains(&error.state.0) => {
                    session.run_all("rollback").await?;
                }
                ended => return ended.map(|()| again),
            }
        }
        Err(SqlError::internal(format!("{kind} failed {ATTEMPTS_MAX} times because of others")))
    }

    async fn attempt(
        &self,
        (session, statements): (&mut Session, &mut Statements),
        kind: Kind,
        random: &mut Prng,
    ) -> SqlResult<()> {
        session.run_all(&self.begin).await?;
        let prepared = (&mut *session, statements);
        let keeps = transactions::run(prepared, kind, self.scale, random).await?;
        session.run_all(if keeps { "commit" } else { "rollback" }).await.map(drop)
    }
}

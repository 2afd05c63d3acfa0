//! A store in trouble, in the simulation: statements on a table that lies there are done or are not, and
//! queries give right rows or an error. `DOVETAIL_SEEDS` sets how many seeds run.

use std::time::Duration;

use crate::support::{Faults, Speed, rows, serve, try_rows, with_server};
use engine::{Database, Options, Session, Simulation};
use runtime::sim::Disk;

/// Statements of a seed.
const TURNS: u64 = 14;

/// What the table is to hold: numbers from ranges, those left out that were deleted.
#[derive(Clone, Default)]
struct Model(Vec<i64>);

impl Model {
    fn sums(&self) -> String {
        let (count, sum) = (self.0.len(), self.0.iter().sum::<i64>());
        match count {
            0 => "0|".to_owned(),
            _ => format!("{count}|{sum}"),
        }
    }
}

struct Run {
    seed: u64,
    done: u64,
    failed: u64,
    model: Model,
}

impl Run {
    /// Runs a statement; its effect on the model is `after`.
    fn change(&mut self, session: &mut Session, text: &str, after: Model) {
        match session.execute(text) {
            Ok(_) => (self.done, self.model) = (self.done + 1, after),
            Err(error) => {
                self.failed += 1;
                assert_eq!(error.state.0, "58030", "seed {}: {text}: {error:?}", self.seed);
            }
        }
    }

    fn look(&mut self, session: &mut Session) {
        match try_rows(session, "select count(*), sum(a) from t where length(c) = 32") {
            Ok(found) => assert_eq!(found, self.model.sums(), "seed {}", self.seed),
            Err(error) => assert_eq!(error.state.0, "58030", "seed {}: {error:?}", self.seed),
        }
    }
}

/// A database in a simulated machine, with an empty table in a store there.
fn made(seed: u64) -> (Database, Session) {
    let simulation = Some(Simulation { disk: Disk::new(seed), seed });
    let (memory_bytes, pool_bytes, workers) = (64 << 20, Some(16 << 20), 2);
    let options = Options { memory_bytes, pool_bytes, workers, simulation, ..pg::options() };
    let db = Database::create("/t.dovetail".as_ref(), options).expect("a database");
    let url = serve(&db.runtime_handle());
    let mut session = db.session();
    let secret = format!("create secret s (type s3, key_id 'a', secret 'b', endpoint '{url}')");
    let table = "create table t (a bigint, c text) with (location = 's3://bucket/t')";
    session.execute(&secret).expect("a secret");
    session.execute(table).expect("a table");
    (db, session)
}

fn run(seed: u64) -> Run {
    let (db, mut session) = made(seed);
    let mut run = Run { seed, done: 0, failed: 0, model: Model::default() };
    with_server(&db.runtime_handle(), |server| *server.faults.borrow_mut() = Faults::quarter());
    for turn in 0..TURNS {
        let mut after = run.model.clone();
        match (seed + turn) % 5 {
            0 | 1 => {
                let first = turn as i64 * 10_000;
                after.0.extend(first..first + 3000);
                let insert = "insert into t select i, md5(i::text) from generate_series";
                let text = format!("{insert}({first}, {}) g(i)", first + 2999);
                run.change(&mut session, &text, after);
            }
            2 => {
                after.0.retain(|a| a % 11 != turn as i64 % 11);
                let text = format!("delete from t where a % 11 = {}", turn % 11);
                run.change(&mut session, &text, after);
            }
            3 => run.change(&mut session, "reorganize table t", after),
            _ => run.change(&mut session, "vacuum t", after),
        }
        run.look(&mut session);
    }
    with_server(&db.runtime_handle(), |server| *server.faults.borrow_mut() = Faults::default());
    session.execute("reorganize table t").expect("the store is well again");
    session.execute("create table u with (location = 's3://bucket/t')").expect("its list");
    for table in ["t", "u"] {
        let found = rows(&mut session, &format!("select count(*), sum(a) from {table}"));
        assert_eq!(found, run.model.sums(), "seed {seed}: {table}");
    }
    drop(session);
    assert!(db.check().expect("a report").problems.is_empty());
    run
}

#[test]
fn statements_are_done_or_not_and_no_row_is_wrong() {
    let seeds =
        std::env::var("DOVETAIL_SEEDS").ok().map_or(6, |text| text.parse().expect("a number"));
    let (mut done, mut failed) = (0, 0);
    for seed in 0..seeds {
        let run = run(seed);
        (done, failed) = (done + run.done, failed + run.failed);
    }
    println!("{seeds} seeds, {done} statements done, {failed} failed");
    assert!(done > failed, "{done} {failed}");
}

/// What is sent because an earlier request was slow is told apart from what failed.
#[test]
fn plans_tell_slow_requests_from_failed_ones() {
    let (db, mut session) = made(7);
    let insert = "insert into t select i, md5(i::text) from generate_series(1, 20000) g(i)";
    session.execute(insert).expect("rows");
    let set = |speed: Speed, faults: Faults| {
        with_server(&db.runtime_handle(), move |server| {
            (*server.speed.borrow_mut(), *server.faults.borrow_mut()) = (speed, faults);
        });
    };
    let query = "explain analyze select sum(length(c)) from t";
    let usual = Speed { latency: Duration::from_millis(10), rate: 20_000_000, straggles: 0.0 };
    set(usual, Faults::default());
    for _ in 0..40 {
        let plan = rows(&mut session, query);
        assert!(plan.contains(" retries=0 hedges=0 "), "{plan}");
    }
    set(Speed { rate: usual.rate / 10, ..usual }, Faults::default());
    let plan = rows(&mut session, query);
    assert!(plan.contains(" retries=0 hedges=1 ") && plan.contains(" 1 hedges "), "{plan}");
    // So many that one is told to come again, and so seldom that none is told as often as it asks.
    set(usual, Faults { busy: 0.3, ..Faults::default() });
    let plans: Vec<String> = (0..20).map(|_| rows(&mut session, query)).collect();
    assert!(plans.iter().all(|plan| plan.contains(" hedges=0 ")), "{plans:?}");
    assert!(plans.iter().any(|plan| !plan.contains(" retries=0 ")), "{plans:?}");
}

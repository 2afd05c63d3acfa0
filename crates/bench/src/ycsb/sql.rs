//! Interleaving over SQL: a look-up join and `get_many` in memory, against themselves with each key
//! waiting for its own memory.

use std::path::Path;

use engine::{Database, Options, Parameter, Prepared, Session, SqlResult, Template};
use runtime::time;
use stdx::Prng;

use super::failed;
use crate::figure::Figure;
use crate::modes;

/// Keys that one statement, and one call, looks up.
const KEY_COUNT: u64 = 100_000;

/// Keys of one call of `get_many`.
const KEYS_PER_CALL: usize = 1000;

/// Bytes of a row in its leaf, generously, and memory besides the pool.
const ROW_BYTES: u64 = 64;

const JOIN: &str = "select count(*), sum(s.v) from wanted w join stored s on s.id = w.id";

/// Measures a table of `rows` rows in a new file in `folder`, by turns for so many rounds.
///
/// # Errors
/// When a statement fails, the planner takes another join, or both sides differ in what they find.
pub fn run(folder: &Path, rows: u64, rounds: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    let memory_bytes = 4 * (rows * ROW_BYTES) as usize + (256 << 20);
    let options = Options { memory_bytes, workers: 1, ..pg::options() };
    let db = Database::create(&folder.join("ycsb.dovetail"), options)?;
    let measured = fill(&db, rows).and_then(|()| measure(&db, rows, rounds, emit));
    db.close()?;
    measured
}

fn fill(db: &Database, rows: u64) -> SqlResult<()> {
    let mut session = db.session();
    session.execute("create table stored (id bigint primary key, v bigint)")?;
    session.execute("create table wanted (n bigint primary key, id bigint)")?;
    session.execute(&format!(
        "insert into stored select i, i from generate_series(1, {rows}) as g(i)"
    ))?;
    session.execute(&format!(
        "insert into wanted select i, i * 7919::bigint * 104729 % {rows} + 1
         from generate_series(1, {KEY_COUNT}) as g(i)"
    ))?;
    session.execute("analyze stored; analyze wanted")?;
    modes::rows(&mut session, "select sum(v) from stored").map(|_| ())
}

fn measure(db: &Database, rows: u64, rounds: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    let mut session = db.session();
    session.execute("set enable_hashjoin = off")?;
    check_plan(&mut session)?;
    let mut joins = [vec![], vec![]];
    let mut calls = [vec![], vec![]];
    for round in 0..=rounds {
        for turn in 0..2 {
            let side = (round + turn) % 2;
            db.set_interleaved(side == 1);
            let (join_ns, call_ns) = (join(&mut session)?, calls_of_many(db, rows)?);
            // The first round brings everything in.
            if round > 0 {
                joins[side].push(join_ns);
                calls[side].push(call_ns);
            }
        }
    }
    db.set_interleaved(true);
    report("join", &joins, emit);
    report("get_many", &calls, emit);
    Ok(())
}

fn report(name: &str, [alone, together]: &[Vec<f64>; 2], emit: &mut dyn FnMut(Figure)) {
    let detail = format!("for each of {KEY_COUNT} keys, CPU time");
    let figure = |side: &str, runs: &[f64]| {
        Figure::of(format!("ycsb.sql.{name}.{side}"), "ns", runs).with_detail(&detail)
    };
    emit(figure("alone", alone));
    emit(figure("interleaved", together));
    let ratios: Vec<f64> = alone.iter().zip(together).map(|(a, b)| a / b).collect();
    emit(Figure::of(format!("ycsb.sql.{name}.ratio"), "x", &ratios));
}

fn check_plan(session: &mut Session) -> SqlResult<()> {
    let plan = session.execute(&format!("explain {JOIN}"))?;
    let text = plan.iter().map(|result| format!("{result:?}")).collect::<String>();
    match text.contains("Nested Loop") {
        true => Ok(()),
        false => Err(failed(format!("the join is no look-up join: {text}"))),
    }
}

/// Nanoseconds of CPU for each key of the join.
fn join(session: &mut Session) -> SqlResult<f64> {
    let result = modes::rows(session, JOIN)?;
    let figures = result.figures.as_ref().ok_or_else(|| failed("a query has figures"))?;
    if figures.reads() > 0 {
        return Err(failed("a page was read: the pool is too small"));
    }
    let count = types::text::format_value(result.batches[0].column(0), 0);
    if count.as_deref() != Some(&KEY_COUNT.to_string()) {
        return Err(failed(format!("the join has {count:?} rows")));
    }
    Ok(figures.account.cpu_ns as f64 / KEY_COUNT as f64)
}

/// Nanoseconds of CPU for each key of calls of `get_many`.
fn calls_of_many(db: &Database, rows: u64) -> SqlResult<f64> {
    let mut session = db.session();
    let template = Template::all("select v from stored where id = $1")?.pop();
    let prepared = Prepared::new(template.ok_or_else(|| failed("one statement"))?);
    db.runtime_handle().block_on(move || async move {
        let mut random = Prng::new(11);
        let began = time::thread_cpu();
        for _ in 0..KEY_COUNT / KEYS_PER_CALL as u64 {
            let mut value = || {
                let id = random.below(rows) + 1;
                vec![Parameter::unknown(id.to_string())]
            };
            let values: Vec<_> = (0..KEYS_PER_CALL).map(|_| value()).collect();
            let found = session.get_many(&prepared, &values).await?;
            if found.is_none_or(|found| found.positions.len() < KEYS_PER_CALL) {
                return Err(failed("a row is missing"));
            }
        }
        Ok((time::thread_cpu() - began).as_nanos() as f64 / KEY_COUNT as f64)
    })
}

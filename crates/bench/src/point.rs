//! `dovetail bench point`: look-ups by primary key through the embedded API, everything cached.

use std::path::Path;
use std::sync::Arc;

use engine::{Database, Options, Parameter, Prepared, Session, SqlError, SqlResult, Template};
use runtime::time;

use crate::figure::Figure;
use crate::modes;

/// Rows of the table.
const ROW_COUNT: u64 = 1_000_000;

/// Look-ups of one measurement.
const LOOK_UP_COUNT: u64 = 100_000;

const QUERY: &str = "select abalance from accounts where aid = $1";

/// Measures everything `n` times on a new table in `folder`.
pub fn run(folder: &Path, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let options = Options { memory_bytes: 1 << 30, ..pg::options() };
    let db = Database::create(&folder.join("point.dovetail"), options)?;
    eprintln!("ring {}, pool {} pages", db.file_backend(), db.pool().frames);
    fill(&mut db.session())?;
    let measured = measure(&db, n, &mut emit);
    db.close()?;
    measured
}

fn fill(session: &mut Session) -> SqlResult<()> {
    session.execute(&format!(
        "create table accounts (aid int primary key, bid int, abalance int, filler text);
         insert into accounts
         select i, i % 100, i % 1000, repeat('x', 84) from generate_series(1, {ROW_COUNT}) as g(i);
         analyze accounts"
    ))?;
    modes::rows(session, "select sum(abalance) from accounts").map(|_| ())
}

fn measure(db: &Database, n: usize, emit: &mut impl FnMut(Figure)) -> SqlResult<()> {
    let (mut prepared, mut known, mut planned, mut planning) = (vec![], vec![], vec![], vec![]);
    // The first round brings the inner nodes in.
    look_ups(db)?;
    for _ in 0..n {
        prepared.push(look_ups(db)?);
        known.push(literal_look_ups(&mut db.session(), QUERY)?.0);
        // A text with a comment is planned each time.
        let text = format!("{QUERY} /* anew */");
        let (whole, plan) = literal_look_ups(&mut db.session(), &text)?;
        planned.push(whole);
        planning.push(plan);
    }
    let detail = format!("{LOOK_UP_COUNT} random keys of {ROW_COUNT}, one after the other");
    emit(Figure::of("point.prepared", "µs", &prepared).with_detail(detail));
    let detail = "as text with its key, from a thread of its own; the plan is kept";
    emit(Figure::of("point.text", "µs", &known).with_detail(detail));
    let detail = "the same, parsed and planned each time";
    emit(Figure::of("point.planned", "µs", &planned).with_detail(detail));
    let detail = "the planner's part of that";
    emit(Figure::of("point.planned.planning", "µs", &planning).with_detail(detail));
    Ok(())
}

/// Microseconds per look-up with a plan that is kept, within a task of the database's runtime.
fn look_ups(db: &Database) -> SqlResult<f64> {
    let session = db.session();
    let prepared = Arc::new(Prepared::new(template()?));
    db.runtime_handle().block_on(move || async move {
        let mut session = session;
        let mut random = stdx::Prng::new(7);
        let started = time::now();
        for _ in 0..LOOK_UP_COUNT {
            let aid = random.below(ROW_COUNT) + 1;
            let parameters = [Parameter::unknown(aid.to_string())];
            let Some(point) = session.point(&prepared, &parameters)? else {
                return Err(SqlError::internal("the statement is a look-up by key"));
            };
            let mut rows = session.look_up(&point).await?;
            if rows.is_query() {
                return Err(SqlError::internal("one row is found without a query"));
            }
            check(rows.next().await?.map_or(0, |found| found.num_rows()))?;
        }
        Ok(started.elapsed().as_secs_f64() * 1e6 / LOOK_UP_COUNT as f64)
    })
}

/// Microseconds per look-up as text with the key in it, and those of them for planning.
fn literal_look_ups(session: &mut Session, query: &str) -> SqlResult<(f64, f64)> {
    let count = LOOK_UP_COUNT / 50;
    let mut random = stdx::Prng::new(7);
    let (started, mut planning_s) = (time::now(), 0.0);
    for _ in 0..count {
        let text = query.replace("$1", &(random.below(ROW_COUNT) + 1).to_string());
        let result = modes::rows(session, &text)?;
        check(result.row_count())?;
        planning_s += result.figures.as_ref().map_or(0.0, |f| f.planning.as_secs_f64());
    }
    let per = 1e6 / count as f64;
    Ok((started.elapsed().as_secs_f64() * per, planning_s * per))
}

fn template() -> SqlResult<Template> {
    let mut templates = Template::all(QUERY)?;
    templates.pop().ok_or_else(|| SqlError::internal("one statement"))
}

fn check(row_count: usize) -> SqlResult<()> {
    match row_count {
        1 => Ok(()),
        count => Err(SqlError::internal(format!("a look-up found {count} rows"))),
    }
}

//! `dovetail bench plans`: over a sweep of selectivity, the plan that the planner chooses against
//! every plan that hints can force, cached and cold.

mod chart;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
use engine::{Database, ExecutionMode, Session, SqlError, SqlResult, TableStorage};
use stdx::Prng;

use crate::figure::{Figure, median_of};
use crate::modes;

pub use chart::svg;

/// Rows of a batch of the load.
const LOAD_ROWS: usize = 50_000;

/// A query with the row count as `{n}`, and the hints that force other plans.
struct Template {
    name: &'static str,
    query: &'static str,
    hints: &'static [&'static [&'static str]],
}

const TEMPLATES: [Template; 3] = [
    Template {
        name: "filter",
        query: "select count(*), sum(length(pad)) from items where r <= {n}",
        hints: &[&["enable_seqscan"], &["enable_indexscan"]],
    },
    Template {
        name: "join",
        query: "select count(*), sum(length(i.pad)) from picks p join items i on i.k = p.item \
                where p.k <= {n}",
        hints: &[&["enable_hashjoin"], &["enable_indexnestloop"]],
    },
    Template {
        name: "order",
        query: "select k, length(pad) from items order by r limit {n}",
        hints: &[&["enable_seqscan"], &["enable_indexscan"]],
    },
];

/// Whether the pages are in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of them.
    Cached,
    /// None of them.
    Cold,
}

impl State {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            State::Cached => "cached",
            State::Cold => "cold",
        }
    }
}

/// The time of one plan.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Its access paths or join methods.
    pub plan: String,
    /// Median, in milliseconds.
    pub ms: f64,
}

/// One query of the sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Name of the template.
    pub template: &'static str,
    /// Whether the pages were in the pool.
    pub state: State,
    /// Rows that the query selects.
    pub rows: u64,
    /// The planner's choice.
    pub chosen: Timed,
    /// What hints force, other plans than the chosen one only.
    pub forced: Vec<Timed>,
}

impl Point {
    /// Time of the chosen plan over that of the best.
    pub fn ratio(&self) -> f64 {
        let best = self.forced.iter().map(|t| t.ms).fold(self.chosen.ms, f64::min);
        self.chosen.ms / best
    }

    /// A line of the table.
    pub fn text(&self) -> String {
        let timed = |t: &Timed| format!("{} {:.3} ms", t.plan, t.ms);
        let forced: Vec<String> = self.forced.iter().map(timed).collect();
        format!(
            "{:<7} {:<7} {:>9} rows  {:>5.2}x  {:<38} against {}",
            self.template,
            self.state.name(),
            self.rows,
            self.ratio(),
            timed(&self.chosen),
            if forced.is_empty() { "nothing else".to_owned() } else { forced.join(", ") },
        )
    }
}

/// Makes the tables with `rows` rows each, kept as rows or in columns: 100 bytes a row, in no order of the
/// indexed column.
pub fn load(db: &Database, rows: u64, storage: TableStorage) -> SqlResult<()> {
    let mut session = db.session();
    let (key, with) = match storage {
        TableStorage::Row => ("primary key", "row"),
        // The nearest that a column table has.
        TableStorage::Column => ("not null unique", "column"),
    };
    session.execute(&format!(
        "create table items (k int {key}, r int not null, pad text not null) with (storage = {with});
         create table picks (k int {key}, item int not null) with (storage = {with})"
    ))?;
    // A prime that does not divide the number of rows: each value occurs once.
    let prime = if rows.is_multiple_of(7_919) { 7_907 } else { 7_919 };
    let shuffled = |k: &u64| (k * prime % rows + 1) as i32;
    let ints = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
    for table in ["items", "picks"] {
        let mut loader = db.load(table)?;
        for first in (1..=rows).step_by(LOAD_ROWS) {
            let keys: Vec<u64> = (first..=rows.min(first + LOAD_ROWS as u64 - 1)).collect();
            let k = ints(keys.iter().map(|k| *k as i32).collect());
            let other = ints(keys.iter().map(shuffled).collect());
            let mut columns = vec![("k", k), ("other", other)];
            if table == "items" {
                let pads = keys.iter().map(|k| pad(*k));
                columns.push(("pad", Arc::new(StringViewArray::from_iter_values(pads))));
            }
            let batch = RecordBatch::try_from_iter(columns);
            loader.push(&batch.map_err(|e| SqlError::internal(e.to_string()))?)?;
        }
        loader.finish()?;
    }
    session.execute("create index items_r on items (r); analyze")?;
    Ok(())
}

/// 90 letters that no other row has.
fn pad(key: u64) -> String {
    let mut prng = Prng::new(key);
    let letters = (0..6).map(|_| format!("{:015x}", prng.next_u64() >> 4));
    letters.collect()
}

/// Runs the sweep in one state of the pool; `emit` gets each point.
pub fn run(
    db: &Database,
    rows: u64,
    state: State,
    runs: usize,
    emit: &mut impl FnMut(Point),
) -> SqlResult<()> {
    let mut session = db.session();
    if state == State::Cached {
        let all = "select sum(length(pad)), max(r) from items, picks where item = items.k";
        modes::rows(&mut session, all)?;
        modes::rows(&mut session, "select count(*) from items where r > 0")?;
    }
    for template in &TEMPLATES {
        for n in sweep(rows) {
            emit(point(&mut session, template, state, n, runs)?);
        }
    }
    Ok(())
}

/// One, three, ten, ... up to all.
fn sweep(rows: u64) -> Vec<u64> {
    let steps = (0..).flat_map(|e| [10_u64.pow(e), 3 * 10_u64.pow(e)]);
    steps.take_while(|n| *n < rows).chain([rows]).collect()
}

fn point(
    session: &mut Session,
    template: &Template,
    state: State,
    rows: u64,
    runs: usize,
) -> SqlResult<Point> {
    let query = template.query.replace("{n}", &rows.to_string());
    let mut plans: Vec<(&[&str], String, Vec<f64>)> = vec![];
    for hints in std::iter::once(&[][..]).chain(template.hints.iter().copied()) {
        let cold = state == State::Cold;
        if cold {
            session.database().drop_cache()?;
        }
        let plan = hinted(session, hints, |session| plan_of(session, &query))?;
        if plans.iter().all(|(_, known, _)| *known != plan) {
            plans.push((hints, plan, vec![]));
        }
    }
    // In turn, so that whatever else the machine does hits all alike.
    for _ in 0..runs {
        for (hints, _, times) in &mut plans {
            times.push(hinted(session, hints, |session| time(session, &query, state))?);
        }
    }
    let timed = |(_, plan, times): (_, String, Vec<f64>)| Timed { plan, ms: median_of(&times) };
    let mut timed = plans.into_iter().map(timed);
    let chosen = timed.next().expect("a query has a plan");
    Ok(Point { template: template.name, state, rows, chosen, forced: timed.collect() })
}

/// Does something with these operators disabled.
fn hinted<R>(
    session: &mut Session,
    hints: &[&str],
    what: impl FnOnce(&mut Session) -> SqlResult<R>,
) -> SqlResult<R> {
    for hint in hints {
        session.settings().set(hint, "off")?;
    }
    let result = what(session);
    for hint in hints {
        session.settings().set(hint, "on")?;
    }
    result
}

/// The time of one run in milliseconds: the best of several where one is short.
fn time(session: &mut Session, query: &str, state: State) -> SqlResult<f64> {
    let cold = state == State::Cold;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let run = modes::run(session, query, ExecutionMode::OutOfOrder, cold)?;
        best = best.min(run.elapsed);
        if run.elapsed > Duration::from_millis(5) {
            break;
        }
    }
    Ok(best.as_secs_f64() * 1e3)
}

/// The access paths and join methods of a plan, from its text.
fn plan_of(session: &mut Session, query: &str) -> SqlResult<String> {
    let result = modes::rows(session, &format!("explain {query}"))?;
    let mut words = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let line = types::text::format_value(batch.column(0), row).unwrap_or_default();
            words.extend(method(&line));
        }
    }
    Ok(words.join("+"))
}

fn method(line: &str) -> Option<&'static str> {
    let methods = [
        ("Index Nested Loop Join", "index join"),
        ("Hash Join", "hash join"),
        ("Index Only Scan", "index only"),
        ("Index Scan", "index"),
        ("Full Scan", "full"),
        ("Column Scan", "columns"),
    ];
    methods.into_iter().find(|(text, _)| line.contains(text)).map(|(_, word)| word)
}

/// The worst ratio of each template in each state, and of all.
pub fn worst(points: &[Point]) -> Vec<Figure> {
    let mut figures = vec![];
    for state in [State::Cached, State::Cold] {
        for template in &TEMPLATES {
            let of = points.iter().filter(|p| p.state == state && p.template == template.name);
            let Some(worst) = of.max_by(|a, b| a.ratio().total_cmp(&b.ratio())) else { continue };
            let name = format!("plans.{}.{}.worst", template.name, state.name());
            let figure = Figure::of(name, "x", &[worst.ratio()]);
            figures.push(figure.with_detail(format!("at {} rows", worst.rows)));
        }
    }
    let all: Vec<f64> = points.iter().map(Point::ratio).collect();
    if let Some(worst) = all.iter().copied().reduce(f64::max) {
        figures.push(Figure::of("plans.worst", "x", &[worst]));
    }
    figures
}

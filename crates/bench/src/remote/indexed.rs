//! Selective queries through an index on a remote column table, whose rows are fetched by range requests out of
//! order, beside scans of the same table and what the planner chooses.

use engine::{ResultSet, Session, SqlError, SqlResult};
use stdx::Prng;

use super::queries::{Run, Timed, ratios, timed};
use super::sides::Sides;
use super::{Wish, lines};
use crate::figure::Figure;
use crate::modes;

/// How many parts the queries ask for; each has some 30 line items, spread over all chunks.
const PARTS: [u64; 3] = [1, 10, 100];

/// How a query reads the table.
struct Path {
    name: &'static str,
    settings: &'static str,
    /// What its plan says.
    plan: Option<&'static str>,
}

const PATHS: [Path; 3] = [
    Path { name: "by_index", settings: "set enable_seqscan = off", plan: Some("Index Scan") },
    Path { name: "by_scan", settings: "set enable_indexscan = off", plan: Some("Column Scan") },
    Path { name: "chosen", settings: "", plan: None },
];

const RESET: &str = "reset enable_seqscan; reset enable_indexscan";

/// Whether all paths found the rows of the local table.
///
/// # Errors
/// Those of the databases.
pub(super) fn run(
    wish: &Wish,
    sides: &mut Sides,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<bool> {
    let index = "create index lineitem_part on lineitem (l_partkey); analyze lineitem";
    sides.remote.session.execute(index)?;
    let (mut random, mut right) = (Prng::new(7), true);
    for parts in PARTS {
        let mut runs: [Vec<Run>; 3] = Default::default();
        // The first turn is not counted: it makes connections.
        for turn in 0..=wish.runs {
            let text = query(&mut random, parts, wish.scale);
            let (expected, _) = timed(&mut sides.local.session, &text)?;
            for (path, runs) in PATHS.iter().zip(&mut runs) {
                let (found, run) = along(&mut sides.remote.session, path, &text)?;
                if found != expected {
                    eprintln!("FAILED  {} of {parts} parts: other rows", path.name);
                    right = false;
                }
                if turn > 0 {
                    runs.push(run);
                }
            }
        }
        tell(parts, &runs, emit);
    }
    Ok(right)
}

/// Sums over the line items of parts that are drawn.
fn query(random: &mut Prng, parts: u64, scale: f64) -> String {
    let all = (200_000.0 * scale) as u64;
    let keys: Vec<String> = (0..parts).map(|_| (1 + random.below(all)).to_string()).collect();
    format!(
        "select l_partkey, count(*), sum(l_quantity), sum(l_extendedprice), min(l_shipdate), max(l_comment) \
         from lineitem where l_partkey in ({}) group by l_partkey",
        keys.join(", ")
    )
}

fn along(session: &mut Session, path: &Path, text: &str) -> SqlResult<Timed> {
    if !path.settings.is_empty() {
        session.execute(path.settings)?;
    }
    if let Some(wanted) = path.plan {
        let plan = modes::rows(session, &format!("explain {text}"))?;
        if !says(&plan, wanted) {
            return Err(SqlError::internal(format!("{}: not by {wanted}", path.name)));
        }
    }
    let done = timed(session, text);
    session.execute(RESET)?;
    done
}

fn says(plan: &ResultSet, wanted: &str) -> bool {
    lines(plan).iter().flatten().flatten().any(|line| line.contains(wanted))
}

fn tell(parts: u64, runs: &[Vec<Run>; 3], emit: &mut impl FnMut(Figure)) {
    let named = |name: &str, unit, values: &[f64]| {
        Figure::of(format!("remote.parts{parts}.{name}"), unit, values)
    };
    let times = |runs: &[Run]| -> Vec<f64> { runs.iter().map(|run| run.ms).collect() };
    for (path, runs) in PATHS.iter().zip(runs) {
        let last = runs.last().copied().unwrap_or_default();
        let detail = format!("last: {}", last.text());
        emit(named(path.name, "ms", &times(runs)).with_detail(detail));
    }
    let [index, scan, chosen] = [0, 1, 2].map(|path| times(&runs[path]));
    let best: Vec<f64> = index.iter().zip(&scan).map(|(index, scan)| index.min(*scan)).collect();
    emit(named("scan_over_index", "x", &ratios(&scan, &index)));
    emit(named("chosen_over_best", "x", &ratios(&chosen, &best)).with_detail("bound 1.3"));
}

//! Compares the answers of the 22 queries with those of an independent engine.

use engine::{ExecutionMode, ResultSet, Session, SqlResult};
use types::text::format_value;

use super::queries::{QUERIES, query};
use crate::answers::{Rows, Scale, compare, order_columns, reference};
use crate::modes::rows;

/// The outcome of one query in one mode.
pub struct Check {
    /// The query, 1 to 22.
    pub query: u8,
    /// The mode.
    pub mode: ExecutionMode,
    /// What is wrong, if anything.
    pub failure: Option<String>,
}

/// Runs `wanted` queries in `modes`; needs a database of scale factor 0.01 or 1.
pub fn verify(
    session: &mut Session,
    scale: Scale,
    wanted: &[u8],
    modes: &[ExecutionMode],
    mut each: impl FnMut(Check),
) {
    for &(number, _) in QUERIES.iter().filter(|(n, _)| wanted.contains(n)) {
        for &mode in modes {
            let failure = check(session, scale, number, mode).err();
            each(Check { query: number, mode, failure });
        }
    }
}

fn check(
    session: &mut Session,
    scale: Scale,
    number: u8,
    mode: ExecutionMode,
) -> Result<(), String> {
    let factor = match scale {
        Scale::Hundredth => 0.01,
        Scale::One => 1.0,
    };
    session.settings().execution_mode = mode;
    let text = query(number, factor).expect("the query exists");
    let actual = run(session, &text).map_err(|e| e.to_string())?;
    let expected = reference(number.into(), scale).expect("the answer exists");
    let order = order_columns(number.into()).expect("the order exists");
    compare(expected, order, &actual).map_err(|e| e.to_string())
}

fn run(session: &mut Session, text: &str) -> SqlResult<Rows> {
    rows(session, text).map(|result| as_text(&result))
}

/// A result in text form.
pub fn as_text(result: &ResultSet) -> Rows {
    let header = result.schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut rows = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|c| format_value(c, row)).collect());
        }
    }
    Rows { header, rows }
}

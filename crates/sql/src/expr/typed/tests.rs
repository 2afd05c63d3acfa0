//! Random expressions over vectors of all forms: what programs make of all rows at once, and of some, is what the
//! library makes of them, also of three rows alone; errors are compared where no row may be left out of a part.
//!
//! `DOVETAIL_EXPRESSIONS` sets how many, and `DOVETAIL_FIRST_SEED` where they begin: 200,000 take
//! some ten minutes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use arrow_select::filter::filter;
use datafusion_physical_expr::PhysicalExpr;
use plan::expr::as_words;
use stdx::Prng;
use types::SqlState;
use types::text::format_value;

use super::replace;
use crate::analyze::expression::bind;
use crate::error::from_library;
use crate::expr::scalar;
use crate::expr::scalar::compile_physical;
use crate::expr::typed::Typed;

mod coded;
mod forms;
mod grow;

/// Expressions of one run of the test.
const EXPRESSIONS: u64 = 4000;

/// Differences that are told before a run ends.
const TOLD: usize = 20;

type Node = Arc<dyn PhysicalExpr>;

/// The value of the expression, or its error.
fn value(expr: &Node, batch: &RecordBatch) -> Result<ArrayRef, String> {
    let array = expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
    array.map_err(|error| error.strip_backtrace())
}

/// The value for the rows that are chosen, as a part of `CASE` is evaluated.
fn of_chosen(expr: &Node, batch: &RecordBatch, chosen: &BooleanArray) -> Result<ArrayRef, String> {
    let value = expr.evaluate_selection(batch, chosen);
    let array = value.and_then(|value| value.into_array(batch.num_rows()));
    let array = array.map_err(|error| error.strip_backtrace())?;
    filter(&array, chosen).map_err(|error| error.to_string())
}

/// The value of one row, as an array of one, or the state of its error.
fn alone(expr: &Node, batch: &RecordBatch, row: usize) -> Result<ArrayRef, SqlState> {
    let value = expr.evaluate(&batch.slice(row, 1)).and_then(|value| value.into_array(1));
    value.map_err(|error| from_library(error).state)
}

fn compiled(text: &str, schema: &Schema) -> Option<Node> {
    let (bound, schema) = bind(text, schema).ok()?;
    compile_physical(&bound, &schema).ok()
}

/// Where two results differ, if they do. Arrays are equal whatever their null rows hold.
fn difference(
    got: &Result<ArrayRef, String>,
    expected: &Result<ArrayRef, String>,
) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    let (Ok(l), Ok(r)) = (got, expected) else { return Err(format!("{got:?}, not {expected:?}")) };
    let row = (0..l.len().min(r.len())).find(|row| l.slice(*row, 1) != r.slice(*row, 1));
    let text = |array: &ArrayRef| row.map(|row| format_value(array, row));
    let types = (l.data_type(), r.data_type());
    Err(format!("row {row:?}: {:?}, not {:?} (types {types:?})", text(l), text(r)))
}

/// That a row which is evaluated alone has the value that it has in the batch.
fn check_row(expr: &Node, batch: &RecordBatch, all: &ArrayRef, row: usize) -> Result<(), String> {
    let one = alone(expr, batch, row).map_err(|state| state.to_string());
    difference(&Ok(all.slice(row, 1)), &one).map_err(|why| format!("row {row} of all: {why} alone"))
}

/// That the error of a batch is the error of one of its rows.
fn check_error(expr: &Node, batch: &RecordBatch, state: SqlState) -> Result<(), String> {
    let mut rows = 0..batch.num_rows();
    match rows.any(|row| alone(expr, batch, row).is_err_and(|of_row| of_row == state)) {
        true => Ok(()),
        false => Err(format!("{state} of the batch is the error of no row")),
    }
}

/// That the rows, each evaluated alone, say what the batch said.
fn check_alone(
    expr: &Node,
    batch: &RecordBatch,
    random: &mut Prng,
    text: &str,
) -> Result<(), String> {
    let rows = batch.num_rows() as u64;
    // Which side of these is asked first is open, and with it whether an error of the other shows.
    let is_open = [" and ", " or "].iter().any(|word| text.contains(word));
    match expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows())) {
        _ if rows == 0 => Ok(()),
        Ok(all) => {
            (0..3).try_for_each(|_| check_row(expr, batch, &all, random.below(rows) as usize))
        }
        Err(error) if !is_open => check_error(expr, batch, from_library(error).state),
        Err(_) => Ok(()),
    }
}

/// That decimals in 64 bits make no difference, and that the value may be of 64 bits.
fn check_words(
    text: &str,
    batch: &RecordBatch,
    expected: &Result<ArrayRef, String>,
) -> Result<(), String> {
    let words = in_words(batch);
    let (bound, schema) = bind(text, &batch.schema()).map_err(|error| error.to_string())?;
    let expr = scalar::compile(&bound, &schema).map_err(|error| error.to_string())?;
    for value in [expr.evaluate(&words), expr.evaluate_as_words(&words)] {
        match (value, expected) {
            (Err(_), Err(_)) => {}
            (value, expected) => {
                let value = value.map(|value| plan::expr::widened(&value));
                let value = value.map_err(|error| error.to_string());
                difference(&value, expected).map_err(|why| format!("of words: {why}"))?;
            }
        }
    }
    Ok(())
}

/// The batch with those decimals in 64 bits that fit.
fn in_words(batch: &RecordBatch) -> RecordBatch {
    let column = |column: &ArrayRef| {
        let words = as_words(column.data_type()).zip(ir::Value::load(column).ok());
        let words = words.and_then(|(ty, value)| value.into_array(&ty).ok());
        words.unwrap_or_else(|| Arc::clone(column))
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(column).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = plan::expr::schema_of(&batch.schema(), &columns);
    RecordBatch::try_new_with_options(schema, columns, &rows).unwrap()
}

/// How many expressions were what.
#[derive(Default, Debug)]
struct Counts {
    unbound: u64,
    programs: u64,
    refused: u64,
    failed: u64,
    /// Rows that code went through, and functions that there are.
    coded_rows: u64,
    functions: u64,
}

/// Of so many expressions one is compiled to machine code, too: a debug build of the generator
/// takes some milliseconds for each.
const PER_CODED: u64 = 2;

/// That machine code makes of the batch what the library does, and refuses what programs refuse.
fn check_coded(
    typed: &Node,
    batch: &RecordBatch,
    expected: &Result<ArrayRef, String>,
    counts: &mut Counts,
) -> Result<(), String> {
    let (got, figures) = coded::forced(|| value(typed, batch));
    counts.coded_rows += figures.compiled_rows;
    counts.functions += figures.functions;
    if let Some(why) = figures.why {
        return Err(format!("not compiled: {why}"));
    }
    difference(&got, expected).map_err(|why| format!("compiled: {why}"))
}

fn check(seed: u64, counts: &mut Counts) -> Result<(), String> {
    let mut random = Prng::new(seed);
    let (batch, text) = (forms::batch(&mut random), grow::any(&mut random));
    let Some(library) = compiled(&text, &batch.schema()) else {
        counts.unbound += 1;
        return Ok(());
    };
    let typed = replace(Arc::clone(&library), &batch.schema()).unwrap();
    let expected = value(&library, &batch);
    if let Some(typed) = (typed.as_ref() as &dyn std::any::Any).downcast_ref::<Typed>() {
        counts.programs += 1;
        counts.refused += u64::from(typed.run(&batch).is_err());
    }
    counts.failed += u64::from(expected.is_err());
    let chosen = (0..batch.num_rows()).map(|_| Some(random.chance(0.5))).collect();
    let some = of_chosen(&library, &batch, &chosen);
    let compared = difference(&value(&typed, &batch), &expected)
        .and_then(|()| check_words(&text, &batch, &expected))
        .and_then(|()| difference(&of_chosen(&typed, &batch, &chosen), &some))
        .and_then(|()| check_alone(&library, &batch, &mut random, &text))
        .and_then(|()| match seed.is_multiple_of(PER_CODED) {
            true => check_coded(&typed, &batch, &expected, counts),
            false => Ok(()),
        });
    compared.map_err(|why| format!("DOVETAIL_FIRST_SEED={seed}: {text}\n    {why}"))
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn programs_are_the_library_s_equals() {
    let first = number("DOVETAIL_FIRST_SEED", 0);
    let total = number("DOVETAIL_EXPRESSIONS", EXPRESSIONS);
    let mut counts = Counts::default();
    let found = (first..first + total).filter_map(|seed| check(seed, &mut counts).err());
    let found: Vec<String> = found.take(TOLD).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    println!("{total} expressions: {counts:?}");
    if total < EXPRESSIONS {
        return;
    }
    let Counts { unbound, programs, refused, failed, coded_rows, functions } = counts;
    assert!(unbound < total / 4, "{unbound} are no expressions");
    assert!(programs > total / 8, "{programs} programs");
    assert!(refused > 0 && refused < programs / 2, "{refused} of {programs} refused");
    assert!(failed > 0, "no expression has failed");
    assert!(functions > total / 16, "{functions} functions");
    assert!(coded_rows > functions, "{coded_rows} rows of {functions} functions");
}

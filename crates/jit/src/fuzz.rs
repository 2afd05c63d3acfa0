//! Random typed programs over random vectors, compiled beside interpreted: tests run some of them,
//! `dovetail bench codegen --fuzz` as many as one likes. A seed gives the same case always.

use std::sync::atomic::AtomicBool;

use arrow_array::{Array, ArrayRef};
use ir::{Program, Value};
use stdx::Prng;

use crate::batch::ColumnKind;
use crate::compiler::Compiler;
use crate::program::NotRun;
use maker::Maker;
use pick::pick;
use vectors::{Sizes, column};

mod maker;
mod pick;
mod values;
mod vectors;

/// How a case ended, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// With the same vector.
    Value,
    /// With a refusal.
    Refused,
}

/// A program and its columns.
pub struct Case {
    /// The program.
    pub program: Program,
    /// Its columns.
    pub columns: Vec<ArrayRef>,
    /// Their rows.
    pub rows: usize,
}

/// Compiles and interprets the case of a seed.
///
/// # Errors
/// The difference, or the reason why it was not compiled.
pub fn check(compiler: &Compiler, seed: u64, steps_max: usize) -> Result<Agreed, String> {
    let case = Case::new(seed, steps_max);
    let kinds: Vec<_> = case.columns.iter().map(|c| ColumnKind::of(c.data_type())).collect();
    let say = |what: String| format!("seed {seed}, {steps_max} steps: {what}");
    let compiled =
        compiler.compile_one(&case.program, &kinds).map_err(|why| say(why.to_string()))?;
    // The second batch is the first one without its first rows: bitmaps begin within a byte.
    let skipped = case.rows.min(seed as usize % 4);
    let sliced = case.columns.iter().map(|c| c.slice(skipped, case.rows - skipped)).collect();
    let batches: [(&Vec<ArrayRef>, usize); 2] =
        [(&case.columns, case.rows), (&sliced, case.rows - skipped)];
    let mut agreed = Agreed::Value;
    for (columns, rows) in batches {
        let columns: Vec<&ArrayRef> = columns.iter().collect();
        let interpreted = case.program.run(&columns, rows);
        let found = compiled.run(&columns, rows, &AtomicBool::new(false));
        agreed = match (interpreted, found) {
            (Ok(expected), Ok(found)) => {
                differs(&expected, &found, rows).map_or(Ok(agreed), |what| Err(say(what)))?
            }
            (Err(ir::Refused), Err(NotRun::Refused)) => Agreed::Refused,
            (Err(ir::Refused), Ok(_)) => return Err(say("only the interpreter refuses".into())),
            (_, Err(why)) => return Err(say(format!("the code ends with {why:?}"))),
        };
    }
    Ok(agreed)
}

/// The first row in which two values differ.
fn differs(expected: &Value, found: &Value, rows: usize) -> Option<String> {
    let same = |what: &str, row: usize, expected: &str, found: &str| {
        let text =
            format!("row {row} of {rows}, {what}: {expected} is interpreted, {found} compiled");
        (expected != found).then_some(text)
    };
    (0..rows).find_map(|row| {
        let (expected, found) = (cell(expected, row), cell(found, row));
        same("value", row, &expected, &found)
    })
}

fn cell(value: &Value, row: usize) -> String {
    match value {
        Value::Floats(floats) => match floats.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            true => "null".into(),
            // Zeroes have signs, a NaN has bits.
            false => format!("{:?} ({:x})", floats.values[row], floats.values[row].to_bits()),
        },
        Value::Words(words) => match words.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            true => "null".into(),
            false => words.values[row].to_string(),
        },
        Value::Truths(truths) if truths.is_valid(row) => truths.value(row).to_string(),
        Value::Texts(texts) if texts.is_valid(row) => format!("{:?}", texts.value(row)),
        Value::Truths(_) | Value::Texts(_) => "null".into(),
    }
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64, steps_max: usize) -> Case {
        let random = &mut Prng::new(seed);
        // A refusal of one row hides what others do.
        let rows = *pick(random, &[0, 1, 1, 1, 2, 2, 5, 63, 64, 65, 128, 200]);
        let sizes = Sizes::any(random);
        let has_nulls = random.below(3) > 0;
        let columns: Vec<_> =
            (0..1 + random.below(5)).map(|_| column(random, rows, sizes, has_nulls)).collect();
        let program = Maker::new(&columns, sizes).program(random, steps_max);
        Case { program, columns, rows }
    }
}

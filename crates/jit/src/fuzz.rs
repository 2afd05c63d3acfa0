//! Random typed programs over random vectors, compiled beside interpreted: tests run some of them,
//! `dovetail bench codegen --fuzz` as many as one likes. A seed gives the same case always.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal64Array, Decimal128Array, Int16Array,
    Int32Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use ir::{Arithmetic, Builder, Comparison, Operand, Program, Register, Text, Value};
use stdx::Prng;

use crate::batch::ColumnKind;
use crate::compiler::Compiler;
use crate::program::NotRun;

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
        Value::Words(words) => match words.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            true => "null".into(),
            false => words.values[row].to_string(),
        },
        Value::Truths(truths) if truths.is_valid(row) => truths.value(row).to_string(),
        Value::Texts(texts) if texts.is_valid(row) => format!("{:?}", texts.value(row)),
        Value::Truths(_) | Value::Texts(_) => "null".into(),
    }
}

/// Texts that begin alike, of lengths around what a view holds.
const TEXTS: [&str; 8] =
    ["", "f", "fore", "forest", "twelve bytes", "forest green hills", "forest greener", "ünï"];

/// Words at which things end.
const EDGES: [i64; 12] =
    [0, 1, -1, 2, 63, 1 << 31, -1 << 31, 1 << 32, 1 << 62, -1 << 62, i64::MAX, i64::MIN];

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64, steps_max: usize) -> Case {
        let random = &mut Prng::new(seed);
        let rows = [0, 1, 2, 63, 64, 65, 128, 200][random.below(8) as usize];
        // Cases in which most words overflow say little about the others.
        let bits = [4, 12, 30, 64][random.below(4) as usize];
        let has_nulls = random.below(3) > 0;
        let columns: Vec<_> =
            (0..1 + random.below(5)).map(|_| column(random, rows, bits, has_nulls)).collect();
        let program = Maker::new(&columns, bits).program(random, steps_max);
        Case { program, columns, rows }
    }
}

fn word(random: &mut Prng, bits: u32) -> i64 {
    match random.below(6) {
        0 if bits == 64 => EDGES[random.below(EDGES.len() as u64) as usize],
        1 => random.below(5).cast_signed() - 2,
        _ => random.next_u64().cast_signed() >> (64 - bits),
    }
}

fn column(random: &mut Prng, rows: usize, bits: u32, has_nulls: bool) -> ArrayRef {
    let valid: Vec<bool> = (0..rows).map(|_| random.below(4) > 0).collect();
    let nulls = has_nulls.then(|| NullBuffer::from(valid));
    // Words of nulls are arbitrary.
    let words = |random: &mut Prng| (0..rows).map(|_| word(random, bits)).collect::<Vec<i64>>();
    let ints = |random: &mut Prng| words(random).into_iter().map(|w| w as i32).collect::<Vec<_>>();
    match random.below(9) {
        0 => {
            let shorts: Vec<i16> = words(random).into_iter().map(|w| w as i16).collect();
            Arc::new(Int16Array::new(shorts.into(), nulls))
        }
        1 => Arc::new(Int32Array::new(ints(random).into(), nulls)),
        2 => Arc::new(Date32Array::new(ints(random).into(), nulls)),
        3 => Arc::new(TimestampMicrosecondArray::new(words(random).into(), nulls)),
        4 => Arc::new(Decimal64Array::new(words(random).into(), nulls)),
        5 => {
            let wide = words(random).into_iter().map(i128::from);
            // A few do not fit.
            let wide: Vec<i128> =
                wide.map(|w| w << if random.below(500) == 0 { 60 } else { 0 }).collect();
            Arc::new(Decimal128Array::new(wide.into(), nulls))
        }
        6 => {
            let truths: BooleanBuffer = (0..rows).map(|_| random.below(2) == 0).collect();
            Arc::new(BooleanArray::new(truths, nulls))
        }
        7 => {
            let text = |row: usize| {
                let text = *pick(random, &TEXTS);
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(text)
            };
            Arc::new((0..rows).map(text).collect::<StringViewArray>())
        }
        _ => Arc::new(Int64Array::new(words(random).into(), nulls)),
    }
}

/// Makes programs of which each step has operands of its types.
struct Maker {
    builder: Builder,
    words: Vec<Register>,
    truths: Vec<Register>,
    texts: Vec<Register>,
    bits: u32,
}

impl Maker {
    fn new(columns: &[ArrayRef], bits: u32) -> Maker {
        let (builder, empty) = (Builder::default(), Vec::new);
        let mut maker = Maker { builder, words: empty(), truths: empty(), texts: empty(), bits };
        for (at, column) in columns.iter().enumerate() {
            let register = maker.builder.column(at);
            match ColumnKind::of(column.data_type()) {
                Some(ColumnKind::Truths) => maker.truths.push(register),
                Some(ColumnKind::Texts) => maker.texts.push(register),
                _ => maker.words.push(register),
            }
        }
        maker
    }

    fn program(mut self, random: &mut Prng, steps_max: usize) -> Program {
        let steps = 1 + random.below(steps_max.max(1) as u64);
        let mut last = self.truth(random);
        for _ in 0..steps {
            last = self.step(random);
        }
        if random.below(8) == 0 {
            let all: Vec<_> =
                [&self.words, &self.truths, &self.texts].into_iter().flatten().collect();
            last = **pick(random, &all);
        }
        self.builder.finish(last)
    }

    fn truth(&mut self, random: &mut Prng) -> Register {
        if self.truths.is_empty() {
            let truth = [None, Some(false), Some(true)][random.below(3) as usize];
            self.truths.push(self.builder.truth(truth));
        }
        *pick(random, &self.truths)
    }

    fn operand(&self, random: &mut Prng) -> Operand {
        match self.words.is_empty() || random.below(4) == 0 {
            true => Operand::Constant(word(random, self.bits)),
            false => Operand::Register(*pick(random, &self.words)),
        }
    }

    fn branch(&self, random: &mut Prng) -> Option<Operand> {
        (random.below(5) > 0).then(|| self.operand(random))
    }

    fn step(&mut self, random: &mut Prng) -> Register {
        let word = (!self.words.is_empty()).then(|| *pick(random, &self.words));
        let (l, r) = (self.truth(random), self.truth(random));
        let made = match (random.below(12), word) {
            (0..=2, _) => return self.compute(random),
            (3 | 4, _) => {
                let (then, otherwise) = (self.branch(random), self.branch(random));
                let made = self.builder.choose(l, then, otherwise);
                self.words.push(made);
                return made;
            }
            (5, Some(word)) => {
                // Seldom too narrow.
                let bits = if random.below(6) == 0 { self.bits.min(20) } else { 64 };
                let (least, greatest) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
                let made = self.builder.within(word, least, greatest);
                self.words.push(made);
                return made;
            }
            (6, Some(word)) => {
                let wanted = (0..random.below(14)).map(|_| self::word(random, self.bits)).collect();
                self.builder.one_of(word, wanted)
            }
            (7, _) => self.builder.and(l, r),
            (8, _) => self.builder.or(l, r),
            (9, _) => self.builder.not(l),
            (10, _) => {
                let all: Vec<_> =
                    [&self.words, &self.truths, &self.texts].into_iter().flatten().collect();
                let value = **pick(random, &all);
                self.builder.is_null(value)
            }
            (11, _) if !self.texts.is_empty() => self.text(random),
            _ => {
                let comparison = *pick(random, &COMPARISONS);
                let (l, r) = (self.operand(random), self.operand(random));
                self.builder.compare(comparison, l, r)
            }
        };
        self.truths.push(made);
        made
    }

    fn compute(&mut self, random: &mut Prng) -> Register {
        let operation =
            *pick(random, &[Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply]);
        let (l, r) = (self.operand(random), self.operand(random));
        let made = self.builder.compute(operation, l, r);
        self.words.push(made);
        made
    }

    fn text(&mut self, random: &mut Prng) -> Register {
        let text = *pick(random, &self.texts);
        let question = match random.below(2) {
            0 => Text::StartsWith((*pick(random, &TEXTS)).into()),
            _ => {
                let count = random.below(11);
                Text::OneOf((0..count).map(|_| Box::from(*pick(random, &TEXTS))).collect())
            }
        };
        self.builder.text(text, question)
    }
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn pick<'a, T>(random: &mut Prng, of: &'a [T]) -> &'a T {
    &of[random.below(of.len() as u64) as usize]
}

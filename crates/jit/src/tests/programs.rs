//! Programs: what random ones give, and what is said of those that are not compiled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use ir::{Arithmetic, Builder, Comparison, Operand, Program, Value};
use proptest::prelude::*;

use super::compiler;
use crate::fuzz::{self, Agreed};
use crate::lower::planted::{self, Fault};
use crate::{ColumnKind, Counts, NotCompiled, NotRun};

fn number(variable: &str, otherwise: u32) -> u32 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// `DOVETAIL_JIT_CASES=1000000` is the long form, `DOVETAIL_JIT_STEPS` says how long programs are.
#[test]
fn compiled_programs_agree_with_the_interpreter() {
    let (compiler, ends) = (compiler(), [const { AtomicU64::new(0) }; 2]);
    let steps_max = number("DOVETAIL_JIT_STEPS", 40) as usize;
    let config = ProptestConfig::with_cases(number("DOVETAIL_JIT_CASES", 100));
    proptest!(config, |(seed in any::<u64>(), steps in 1..steps_max)| {
        let checked = fuzz::check(&compiler, seed, steps);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
        ends[usize::from(checked == Ok(Agreed::Refused))].fetch_add(1, Ordering::Relaxed);
    });
    let [values, refusals] = ends.map(AtomicU64::into_inner);
    println!("programs that agree: {values} in their values, {refusals} in a refusal");
}

/// Seeds among which each planted fault is found, by programs of few steps.
const SEEDS: u64 = 2_000;

#[test]
fn planted_faults_are_found() {
    let compiler = compiler();
    for fault in Fault::ALL {
        let is_wrong = |seed: &u64| fuzz::check(&compiler, *seed, 3).is_err();
        let found = planted::with(fault, || (0..SEEDS).find(is_wrong));
        println!("{fault:?} is found by seed {found:?}");
        assert!(found.is_some(), "{fault:?} is not found");
    }
}

#[test]
fn random_programs_are_of_both_kinds() {
    let compiler = compiler();
    let ends: Vec<_> = (0..60).map(|seed| fuzz::check(&compiler, seed, 12).unwrap()).collect();
    let refused = ends.iter().filter(|end| **end == Agreed::Refused).count();
    assert!((5..55).contains(&refused), "{refused} of 60 are refused");
    assert_eq!(compiler.counts(), Counts { compiled: 60, ..Counts::default() });
}

fn sum() -> Program {
    let mut builder = Builder::default();
    let (l, r) = (Operand::Register(builder.column(0)), Operand::Register(builder.column(1)));
    let sum = builder.compute(Arithmetic::Add, l, r);
    builder.finish(sum)
}

const WORDS: [Option<ColumnKind>; 2] = [Some(ColumnKind::Int64); 2];

#[test]
fn ends_of_the_range_are_exact_or_refused() {
    let (compiler, edges) = (compiler(), [0, 1, -1, 1 << 62, -1 << 62, i64::MAX, i64::MIN]);
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
    for operation in [Add, Subtract, Multiply, Divide, Remainder] {
        let mut builder = Builder::default();
        let (l, r) = (Operand::Register(builder.column(0)), Operand::Register(builder.column(1)));
        let made = builder.compute(operation, l, r);
        let compiled = compiler.compile_one(&builder.finish(made), &WORDS).unwrap();
        for (left, right) in edges.iter().flat_map(|l| edges.iter().map(move |r| (*l, *r))) {
            let columns =
                [left, right].map(|word| Arc::new(Int64Array::from(vec![word])) as ArrayRef);
            let found = compiled.run(&columns.each_ref(), 1, &AtomicBool::new(false));
            let expected = match operation {
                Add => left.checked_add(right),
                Subtract => left.checked_sub(right),
                Multiply => left.checked_mul(right),
                Divide => left.checked_div(right),
                Remainder => (right != 0).then(|| left.wrapping_rem(right)),
            };
            let found = found.map(|value| match value {
                Value::Words(words) => words.values[0],
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected.ok_or(NotRun::Refused), "{left} {operation:?} {right}");
        }
    }
}

#[test]
fn other_columns_are_not_run() {
    let compiled = compiler().compile_one(&sum(), &WORDS).unwrap();
    let words: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let run = |columns: &[&ArrayRef], rows| {
        compiled.run(columns, rows, &AtomicBool::new(false)).map(|_| ())
    };
    assert_eq!(run(&[&words, &words], 2), Ok(()));
    assert_eq!(run(&[&words, &ints], 2), Err(NotRun::Columns));
    assert_eq!(run(&[&words], 2), Err(NotRun::Columns));
    assert_eq!(run(&[&words, &words], 3), Err(NotRun::Columns));
}

#[test]
fn a_function_stops_when_told() {
    let compiled = compiler().compile_one(&sum(), &WORDS).unwrap();
    let words: ArrayRef = Arc::new(Int64Array::from(vec![1; 200]));
    let stopped = compiled.run(&[&words, &words], 200, &AtomicBool::new(true));
    assert_eq!(stopped.map(|_| ()), Err(NotRun::Interrupted));
}

#[test]
fn what_is_not_compiled_says_why() {
    let compiler = compiler();
    let compile = |program: &Program, columns: &[Option<ColumnKind>]| {
        compiler.compile_one(program, columns).map(|_| ()).unwrap_err()
    };
    assert_eq!(compile(&sum(), &WORDS[..1]), NotCompiled::Column(1));
    assert_eq!(compile(&sum(), &[WORDS[0], None]), NotCompiled::Column(1));
    assert_eq!(compile(&sum(), &[WORDS[0], Some(ColumnKind::Texts)]), NotCompiled::Type(2));
    let mut builder = Builder::default();
    let word = Operand::Register(builder.column(0));
    let mut last = builder.compare(Comparison::Less, word, Operand::Constant(-1));
    for constant in 0..300 {
        last = builder.compare(Comparison::Less, word, Operand::Constant(constant));
    }
    assert_eq!(compile(&builder.finish(last), &WORDS), NotCompiled::Steps(302));
    let expected = Counts { column: 2, types: 1, steps: 1, ..Counts::default() };
    assert_eq!(compiler.counts(), expected);
}

#[test]
fn constants_that_overflow_refuse_every_vector() {
    let mut builder = Builder::default();
    let (most, one) = (Operand::Constant(i64::MAX), Operand::Constant(1));
    let sum = builder.compute(Arithmetic::Add, most, one);
    let program = builder.finish(sum);
    let compiled = compiler().compile_one(&program, &[]).unwrap();
    for rows in [0, 1] {
        assert!(program.run(&[], rows).is_err());
        let found = compiled.run(&[], rows, &AtomicBool::new(false));
        assert_eq!(found.map(|_| ()), Err(NotRun::Refused), "{rows} rows");
    }
}

#[test]
fn code_is_shared_among_workers() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<crate::Compiled>();
    is_shared::<crate::Compiler>();
    is_shared::<crate::Coroutine<std::cell::Cell<i64>>>();
}

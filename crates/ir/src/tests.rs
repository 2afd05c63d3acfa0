//! Exactness at the ends of the range, three-valued logic, texts in their views.

mod floats;
mod quotients;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Decimal128Array, Int64Array, StringViewArray};
use arrow_schema::DataType;

use crate::{Arithmetic, Builder, Comparison, Operand, Program, Refused, Register, Text, Value};

fn run(program: Program, columns: &[ArrayRef]) -> Result<Value, Refused> {
    program.run(&columns.iter().collect::<Vec<_>>(), columns[0].len())
}

fn answers(program: Program, columns: &[ArrayRef]) -> Vec<Option<bool>> {
    let array = run(program, columns).unwrap().into_array(&DataType::Boolean).unwrap();
    array.as_boolean().iter().collect()
}

/// The operation on one pair of words.
fn computed(operation: Arithmetic, left: i64, right: i64) -> Result<i64, Refused> {
    let columns: [ArrayRef; 2] =
        [left, right].map(|word| Arc::new(Int64Array::from(vec![word])) as _);
    let mut builder = Builder::default();
    let (l, r) = (Operand::Register(builder.column(0)), Operand::Register(builder.column(1)));
    let result = builder.compute(operation, l, r);
    match run(builder.finish(result), &columns)? {
        Value::Words(words) => Ok(words.values[0]),
        other => panic!("{other:?}"),
    }
}

/// Words at which things end.
const EDGES: [i64; 11] =
    [0, 1, -1, 2, 1 << 31, 1 << 32, 1 << 61, 1 << 62, -1 << 62, i64::MAX, i64::MIN];

#[test]
fn arithmetic_is_exact_or_refused() {
    for left in EDGES {
        for right in EDGES {
            let cases = [
                (Arithmetic::Add, left.checked_add(right)),
                (Arithmetic::Subtract, left.checked_sub(right)),
                (Arithmetic::Multiply, left.checked_mul(right)),
                (Arithmetic::Divide, left.checked_div(right)),
                (Arithmetic::Remainder, (right != 0).then(|| left.wrapping_rem(right))),
            ];
            for (operation, expected) in cases {
                let got = computed(operation, left, right);
                assert_eq!(got, expected.ok_or(Refused), "{left} {operation:?} {right}");
            }
        }
    }
}

#[test]
fn decimals_beyond_64_bits_are_refused() {
    let load = |value: i128| {
        let array: ArrayRef = Arc::new(Decimal128Array::from(vec![1, value]));
        Value::load(&array).is_ok()
    };
    assert!(load(i64::MAX.into()) && load(i64::MIN.into()));
    assert!(!load(i128::from(i64::MAX) + 1) && !load(i128::from(i64::MIN) - 1));
}

/// The truths of a program over two columns of truths.
fn truths(make: impl Fn(&mut Builder, [Register; 2]) -> Register) -> Vec<Option<bool>> {
    let all = [Some(true), Some(false), None];
    let pairs: Vec<_> = all.iter().flat_map(|l| all.iter().map(move |r| (*l, *r))).collect();
    let columns: [ArrayRef; 2] = [
        Arc::new(pairs.iter().map(|pair| pair.0).collect::<BooleanArray>()),
        Arc::new(pairs.iter().map(|pair| pair.1).collect::<BooleanArray>()),
    ];
    let mut builder = Builder::default();
    let registers = [builder.column(0), builder.column(1)];
    let result = make(&mut builder, registers);
    answers(builder.finish(result), &columns)
}

#[test]
fn logic_has_three_values() {
    let (yes, no) = (Some(true), Some(false));
    let and = truths(|builder, [l, r]| builder.and(l, r));
    assert_eq!(and, [yes, no, None, no, no, no, None, no, None]);
    let or = truths(|builder, [l, r]| builder.or(l, r));
    assert_eq!(or, [yes, yes, yes, yes, no, None, yes, None, None]);
    let not = truths(|builder, [l, _]| builder.not(l));
    assert_eq!(not, [no, no, no, yes, yes, yes, None, None, None]);
    let null = truths(|builder, [l, _]| builder.is_null(l));
    assert_eq!(null, [no, no, no, no, no, no, yes, yes, yes]);
}

fn asked(question: Text) -> Vec<Option<bool>> {
    let texts = ["", "for", "forest", "forest green hills", "forest greener hills", "twelve bytes"];
    let columns: [ArrayRef; 1] = [Arc::new(StringViewArray::from(texts.to_vec()))];
    let mut builder = Builder::default();
    let column = builder.column(0);
    let result = builder.text(column, question);
    answers(builder.finish(result), &columns)
}

#[test]
fn texts_are_found_by_their_views() {
    let check = |question: Text, expected: [u8; 6]| {
        let expected = expected.map(|v| Some(v == 1));
        assert_eq!(asked(question.clone()), expected, "{question:?}");
    };
    let one_of = |texts: &[&str]| Text::OneOf(texts.iter().map(|t| Box::from(*t)).collect());
    check(one_of(&[]), [0, 0, 0, 0, 0, 0]);
    check(one_of(&["", "forest green hills"]), [1, 0, 0, 1, 0, 0]);
    check(one_of(&["twelve bytes", "forest gree"]), [0, 0, 0, 0, 0, 1]);
    check(Text::StartsWith("".into()), [1, 1, 1, 1, 1, 1]);
    check(Text::StartsWith("fo".into()), [0, 1, 1, 1, 1, 0]);
    check(Text::StartsWith("forest green".into()), [0, 0, 0, 1, 1, 0]);
    check(Text::StartsWith("forest greene".into()), [0, 0, 0, 0, 1, 0]);
}

#[test]
fn words_that_do_not_fit_a_type_are_refused() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![0, 40_000]));
    let value = Value::load(&array).unwrap();
    assert!(value.clone().into_array(&DataType::Int16).is_err());
    assert_eq!(value.into_array(&DataType::Int32).unwrap().data_type(), &DataType::Int32);
}

#[test]
fn equal_steps_are_made_once() {
    let mut builder = Builder::default();
    let column = Operand::Register(builder.column(0));
    let once = builder.compare(Comparison::Less, column, Operand::Constant(1));
    let twice = builder.compare(Comparison::Less, column, Operand::Constant(1));
    assert_eq!((once, builder.work()), (twice, 1));
}

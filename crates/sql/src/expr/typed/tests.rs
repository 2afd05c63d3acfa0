//! Random expressions: what programs make of them is what the library makes of them, errors included.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringViewArray,
};
use arrow_schema::Schema;
use datafusion_physical_expr::PhysicalExpr;
use stdx::Prng;

use super::super::from_text::bind;
use super::super::{compile_physical, typed::Typed};
use super::replace;

/// Expressions of one run of the test.
const EXPRESSIONS: u64 = 4000;

const ROWS: usize = 150;

fn texts() -> [&'static str; 7] {
    ["", "MAIL", "REG AIR", "forest green", "forest greens", "a longer text than 12", "for"]
}

/// A batch whose values are small, or some of them as large as their types allow.
fn batch(random: &mut Prng) -> RecordBatch {
    let large = random.chance(0.3);
    let nulls = random.below(3) as f64 * 0.2;
    let mut number = |small: u64, max: i128| {
        let mut one = || {
            if random.chance(nulls) {
                return None;
            }
            let extreme = large && random.chance(0.05);
            let size =
                if extreme { max - random.below(3) as i128 } else { random.below(small).into() };
            Some(if random.chance(0.4) { -size } else { size })
        };
        (0..ROWS).map(|_| one()).collect::<Vec<Option<i128>>>()
    };
    let decimals = |values: Vec<Option<i128>>, digits, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(digits, scale).unwrap())
    };
    let shorts = number(100, i16::MAX.into());
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "a",
            Arc::new(
                number(50, i64::MAX.into())
                    .iter()
                    .map(|v| v.map(|v| v as i64))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "b",
            Arc::new(
                number(50, i32::MAX.into())
                    .iter()
                    .map(|v| v.map(|v| v as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        ("c", Arc::new(shorts.iter().map(|v| v.map(|v| v as i16)).collect::<Int16Array>())),
        ("d", decimals(number(1000, 10i128.pow(15) - 1), 15, 2)),
        ("e", decimals(number(1000, 10i128.pow(18) - 1), 18, 0)),
        ("f", decimals(number(1000, 10i128.pow(30)), 38, 4)),
        ("g", decimals(number(9, 99), 4, 3)),
        (
            "day",
            Arc::new(
                number(9000, 20_000).iter().map(|v| v.map(|v| v as i32)).collect::<Date32Array>(),
            ),
        ),
        ("p", Arc::new(shorts.iter().map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>())),
        (
            "s",
            Arc::new(
                shorts
                    .iter()
                    .map(|v| v.map(|v| texts()[v.unsigned_abs() as usize % 7]))
                    .collect::<StringViewArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

fn pick<'a>(random: &mut Prng, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn number(random: &mut Prng, depth: u64) -> String {
    if depth == 0 || random.chance(0.2) {
        let leaves =
            ["a", "b", "c", "d", "e", "f", "g", "d", "e", "1", "0.05", "-7", "100", "2.50", "null"];
        return pick(random, &leaves).to_string();
    }
    let (l, r) = (number(random, depth - 1), number(random, depth - 1));
    match random.below(8) {
        0..5 => format!("({l} {} {r})", pick(random, &["+", "-", "*", "*"])),
        5 => format!("case when {} then {l} else {r} end", truth(random, depth - 1)),
        6 => format!("case when {} then {l} end", truth(random, depth - 1)),
        _ => {
            let types = ["bigint", "integer", "numeric(18,2)", "numeric(30,4)", "numeric(5,1)"];
            format!("cast({l} as {})", pick(random, &types))
        }
    }
}

fn truth(random: &mut Prng, depth: u64) -> String {
    let (l, r) = (number(random, depth.min(2)), number(random, depth.min(1)));
    if depth > 0 && random.chance(0.5) {
        let (l, r) = (truth(random, depth - 1), truth(random, depth - 1));
        return match random.below(3) {
            0 => format!("({l} and {r})"),
            1 => format!("({l} or {r})"),
            _ => format!("(not {l})"),
        };
    }
    match random.below(12) {
        0..4 => format!("({l} {} {r})", pick(random, &["=", "<>", "<", "<=", ">", ">="])),
        4 => format!("({l} between {r} and {})", number(random, 1)),
        5 => format!("(day {} date '1980-05-01')", pick(random, &["<", ">=", "="])),
        6 => format!("({l} {} null)", pick(random, &["is", "is not"])),
        7 => format!("(b {} (1, 7, 20, 33))", pick(random, &["in", "not in"])),
        8 => {
            format!("(s {} ('MAIL', 'a longer text than 12', ''))", pick(random, &["in", "not in"]))
        }
        9 => format!("(s {} '{}')", pick(random, &["=", "<>"]), pick(random, &texts())),
        10 => {
            let patterns = ["for%", "forest g%", "%", "M%", "x%"];
            format!("(s {} '{}')", pick(random, &["like", "not like"]), pick(random, &patterns))
        }
        _ => pick(random, &["p", "true", "false", "(s is null)", "(p is null)"]).to_string(),
    }
}

/// The value of the expression, or its error.
fn value(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef, String> {
    let array = expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
    array.map_err(|error| error.strip_backtrace())
}

fn compiled(text: &str, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    let (bound, schema) = bind(text, schema).ok()?;
    compile_physical(&bound, &schema).ok()
}

#[test]
fn programs_are_the_library_s_equals() {
    let first: u64 = std::env::var("DOVETAIL_FIRST_SEED").map_or(0, |seed| seed.parse().unwrap());
    let (mut programs, mut refused, mut failed) = (0, 0, 0);
    for seed in first..first + EXPRESSIONS {
        let mut random = Prng::new(seed);
        let batch = batch(&mut random);
        let depth = 1 + random.below(3);
        let text = match random.chance(0.5) {
            true => number(&mut random, depth),
            false => truth(&mut random, depth),
        };
        let Some(library) = compiled(&text, &batch.schema()) else { continue };
        let typed = replace(Arc::clone(&library), &batch.schema()).unwrap();
        let expected = value(&library, &batch);
        let got = value(&typed, &batch);
        // Arrays are equal whatever their null rows hold.
        assert_eq!(got, expected, "DOVETAIL_FIRST_SEED={seed}: {text}");
        if let Some(typed) = (typed.as_ref() as &dyn std::any::Any).downcast_ref::<Typed>() {
            programs += 1;
            refused += u64::from(typed.run(&batch).is_err());
        }
        failed += u64::from(expected.is_err());
    }
    println!("{programs} programs, {refused} of them refused, {failed} expressions failed");
    assert!(programs > EXPRESSIONS / 4, "{programs} programs");
    assert!(refused > 0 && refused < programs / 2, "{refused} of {programs} refused");
    assert!(failed > 0, "no expression has failed");
}

//! Programs as machine code: the interpreter's values and refusals, whenever code is made.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Decimal64Array, Decimal128Array, Int64Array, RecordBatch};
use arrow_schema::Schema;
use plan::codegen::{self, CodeFigures, Codegen, Start};

use super::{Node, compiled, difference, replace, value};

fn generator(start: Start) -> Arc<Codegen> {
    let timer = |work: &mut dyn FnMut()| {
        work();
        Duration::from_micros(1)
    };
    Arc::new(Codegen::new(start, timer))
}

fn within<T>(codegen: &Arc<Codegen>, work: impl FnOnce() -> T) -> T {
    codegen::with(Some(Arc::clone(codegen)), work)
}

/// The result of work whose programs are all compiled before they run, and their figures.
pub(super) fn forced<T>(work: impl FnOnce() -> T) -> (T, CodeFigures) {
    let codegen = generator(Start::FirstUse);
    let given = within(&codegen, work);
    (given, codegen.figures())
}

/// The expression with its programs, and as the library has it.
fn both(text: &str, schema: &Schema) -> (Node, Node) {
    let library = compiled(text, schema).expect("an expression");
    (replace(Arc::clone(&library), schema).expect("its programs"), library)
}

fn numbers(rows: i64) -> RecordBatch {
    let column =
        |first: i64| -> ArrayRef { Arc::new((first..first + rows).collect::<Int64Array>()) };
    let columns = [("a", column(0), true), ("b", column(-5), true)];
    RecordBatch::try_from_iter_with_nullable(columns).expect("a batch")
}

/// That the expression has the library's value over the batch.
fn check(typed: &Node, library: &Node, batch: &RecordBatch) {
    difference(&value(typed, batch), &value(library, batch)).expect("the library's value");
}

#[test]
fn a_program_is_compiled_once_for_all_clones() {
    let batch = numbers(100);
    let (typed, library) = both("a * 2 + b > 7", &batch.schema());
    let clone =
        Arc::clone(&typed).with_new_children(typed.children().into_iter().cloned().collect());
    let clone = clone.expect("a clone");
    let ((), first) = forced(|| check(&typed, &library, &batch));
    assert_eq!((first.functions, first.compiled_rows, first.interpreted_rows), (1, 100, 0));
    assert!(first.code_bytes > 0 && first.elapsed > Duration::ZERO, "{first:?}");
    let ((), again) = forced(|| check(&clone, &library, &batch));
    assert_eq!((again.functions, again.compiled_rows), (0, 100));
    assert_eq!(again.code_bytes, 0);
}

#[test]
fn without_a_generator_everything_is_interpreted() {
    let batch = numbers(100);
    let (typed, library) = both("a * 2 + b", &batch.schema());
    check(&typed, &library, &batch);
    let ((), figures) = forced(|| check(&typed, &library, &batch));
    assert_eq!(figures.functions, 1, "nothing was compiled before");
}

#[test]
fn many_rows_have_a_program_compiled_beside() {
    let batch = numbers(1 << 16);
    let (typed, library) = both("a * 3 - b", &batch.schema());
    let codegen = generator(Start::ManyRows);
    within(&codegen, || {
        for _ in 0..3 {
            check(&typed, &library, &batch);
            assert!(codegen.take_asked().is_none(), "a program of few rows");
        }
        check(&typed, &library, &batch);
    });
    let asked = codegen.take_asked().expect("the program is due");
    assert!(codegen.take_asked().is_none());
    assert_eq!(codegen.figures().functions, 0, "the generator waits for whoever does the work");
    asked();
    within(&codegen, || check(&typed, &library, &batch));
    let CodeFigures { functions, compiled_rows, interpreted_rows, .. } = codegen.figures();
    assert_eq!((functions, compiled_rows, interpreted_rows), (1, 1 << 16, 4 << 16));
}

#[test]
fn work_that_nobody_did_is_asked_for_again() {
    let batch = numbers(1 << 18);
    let (typed, _) = both("a + b + 1", &batch.schema());
    let codegen = generator(Start::ManyRows);
    let asked = || {
        within(&codegen, || value(&typed, &batch)).expect("a value");
        codegen.take_asked()
    };
    drop(asked().expect("the program is due"));
    asked().expect("it is due again")();
    assert!(asked().is_none(), "there is code");
    assert_eq!(codegen.figures().functions, 1);
}

#[test]
fn a_refused_vector_is_the_library_s() {
    let wide: Vec<i64> = vec![1, 2, i64::MAX];
    let columns: [(&str, ArrayRef, bool); 1] = [("a", Arc::new(Int64Array::from(wide)), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
    let (typed, library) = both("a * 2", &batch.schema());
    let expected = value(&library, &batch);
    assert!(expected.is_err(), "the product is out of range");
    let (got, figures) = forced(|| value(&typed, &batch));
    assert_eq!(got, expected);
    assert_eq!((figures.functions, figures.refused_rows, figures.compiled_rows), (1, 3, 0));
}

/// The sum of the column times each of some words, nested as little as can be.
fn products(words: Range<usize>) -> String {
    let middle = words.start.midpoint(words.end);
    match words.len() {
        1 => format!("a * {middle}"),
        _ => format!("({} + {})", products(words.start..middle), products(middle..words.end)),
    }
}

#[test]
fn what_cannot_be_compiled_is_interpreted_and_told() {
    let batch = numbers(10);
    let (typed, library) = both(&products(1..200), &batch.schema());
    let ((), figures) = forced(|| {
        check(&typed, &library, &batch);
        check(&typed, &library, &batch);
    });
    assert_eq!((figures.functions, figures.failures, figures.interpreted_rows), (0, 1, 20));
    let why = figures.why.expect("a reason");
    assert!(why.contains("too many"), "{why}");
}

#[test]
fn each_layout_of_columns_has_code_of_its_own() {
    let wide = Decimal128Array::from(vec![Some(150), None]).with_precision_and_scale(15, 2);
    let short = Decimal64Array::from(vec![Some(150), None]).with_precision_and_scale(15, 2);
    let wide: ArrayRef = Arc::new(wide.expect("a column"));
    let short: ArrayRef = Arc::new(short.expect("a column"));
    let batch = |column: &ArrayRef| {
        let columns = [("d", Arc::clone(column), true)];
        RecordBatch::try_from_iter_with_nullable(columns).expect("a batch")
    };
    let (wide, short) = (batch(&wide), batch(&short));
    let (typed, library) = both("d + 1.25 > 2.5", &wide.schema());
    let expected = value(&library, &wide);
    let (values, figures) = forced(|| [&wide, &short, &wide].map(|batch| value(&typed, batch)));
    values.iter().for_each(|got| difference(got, &expected).expect("the library's value"));
    assert_eq!((figures.functions, figures.compiled_rows), (2, 6));
}

//! Programs: how long compiling takes, and a row compiled beside a row interpreted.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int64Array};
use ir::{Arithmetic, Builder, Comparison, Operand, Program, Register};
use jit::{ColumnKind, Compiled, Compiler, NotCompiled};

use crate::figure::Figure;

/// Rows of a batch, as `exec` has them.
const ROWS: usize = 8192;

/// Batches of a run.
const BATCHES: usize = 200;

/// Compilations of a run: enough for a hundredth of them to be some.
const COMPILATIONS: usize = 300;

pub(super) fn run(
    compiler: &Compiler,
    n: usize,
    emit: &mut impl FnMut(Figure),
) -> Result<(), NotCompiled> {
    let columns = columns();
    let kinds: Vec<_> = columns.iter().map(|c| ColumnKind::of(c.data_type())).collect();
    for (name, program) in all() {
        let compiled = compiler.compile_one(&program, &kinds)?;
        let detail = format!("{} steps, {} bytes", program.steps().len(), compiled.code_bytes());
        let compile = || compilations(compiler, &program, &kinds);
        let times = (0..n).map(|_| compile()).collect::<Result<Vec<_>, _>>()?;
        let part = |at: usize| times.iter().map(|t| t[at]).collect::<Vec<f64>>();
        let figure = |what: &str, at| {
            let name = format!("codegen.compile.{name}.{what}");
            Figure::of(name, "us", &part(at)).with_detail(&detail)
        };
        emit(figure("median", 0));
        emit(figure("p99", 1));
        rows(name, &program, &compiled, &columns, n, emit);
    }
    Ok(())
}

/// The median and the 99th percentile of some compilations, in microseconds.
fn compilations(
    compiler: &Compiler,
    program: &Program,
    kinds: &[Option<ColumnKind>],
) -> Result<[f64; 2], NotCompiled> {
    let mut times = Vec::with_capacity(COMPILATIONS);
    for _ in 0..COMPILATIONS {
        let started = Instant::now();
        black_box(compiler.compile_one(program, kinds)?);
        times.push(started.elapsed().as_nanos() as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok([times[COMPILATIONS / 2], times[COMPILATIONS * 99 / 100]])
}

fn rows(
    name: &str,
    program: &Program,
    compiled: &Compiled,
    columns: &[ArrayRef],
    n: usize,
    emit: &mut impl FnMut(Figure),
) {
    let (columns, go): (Vec<&ArrayRef>, _) = (columns.iter().collect(), AtomicBool::new(false));
    let per_row = |run: &dyn Fn()| {
        let started = Instant::now();
        (0..BATCHES).for_each(|_| run());
        started.elapsed().as_nanos() as f64 / (BATCHES * ROWS) as f64
    };
    let interpret = || drop(black_box(program.run(&columns, ROWS)));
    let execute = || drop(black_box(compiled.run(&columns, ROWS, &go)));
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..n {
        let (interpreted, executed) = (per_row(&interpret), per_row(&execute));
        times[0].push(interpreted);
        times[1].push(executed);
        times[2].push(executed / interpreted);
    }
    let named = |what: &str| format!("codegen.row.{name}.{what}");
    emit(Figure::of(named("interpreted"), "ns", &times[0]));
    emit(Figure::of(named("compiled"), "ns", &times[1]));
    emit(Figure::of(named("ratio"), "x", &times[2]).with_detail("compiled / interpreted"));
}

/// Price, discount, tax (decimals), ship date, quantity.
fn columns() -> Vec<ArrayRef> {
    let random = &mut stdx::Prng::new(1);
    let mut words = |least: i64, greatest: i64| {
        let range = (greatest - least).unsigned_abs() + 1;
        (0..ROWS).map(|_| least + random.below(range).cast_signed()).collect::<Vec<i64>>()
    };
    let decimals = |words: Vec<i64>| -> ArrayRef {
        Arc::new(words.into_iter().map(|w| Some(i128::from(w))).collect::<Decimal128Array>())
    };
    let (price, discount, tax) = (words(90_000, 10_000_000), words(0, 10), words(0, 8));
    let (date, quantity) = (words(8_000, 10_500), words(100, 5_000));
    let dates: Vec<i32> = date.into_iter().map(|day| day as i32).collect();
    vec![
        decimals(price),
        decimals(discount),
        decimals(tax),
        Arc::new(Date32Array::from(dates)),
        Arc::new(Int64Array::from(quantity)),
    ]
}

fn all() -> [(&'static str, Program); 5] {
    [
        ("q6.filter", made(q6_filter)),
        ("q6.revenue", made(|b| product(b, 0, 1))),
        ("q1.charge", made(q1_charge)),
        ("case", made(case)),
        ("list", made(list)),
    ]
}

fn made(make: impl Fn(&mut Builder) -> Register) -> Program {
    let mut builder = Builder::default();
    let result = make(&mut builder);
    builder.finish(result)
}

fn column(builder: &mut Builder, at: usize) -> Operand {
    Operand::Register(builder.column(at))
}

fn product(builder: &mut Builder, left: usize, right: usize) -> Register {
    let (left, right) = (column(builder, left), column(builder, right));
    builder.compute(Arithmetic::Multiply, left, right)
}

fn q6_filter(builder: &mut Builder) -> Register {
    let (date, discount, quantity) = (column(builder, 3), column(builder, 1), column(builder, 4));
    let conditions = [
        (Comparison::GreaterOrEqual, date, 8_766),
        (Comparison::Less, date, 9_131),
        (Comparison::GreaterOrEqual, discount, 5),
        (Comparison::LessOrEqual, discount, 7),
        (Comparison::Less, quantity, 2_400),
    ];
    let [first, others @ ..] =
        conditions.map(|(c, column, word)| builder.compare(c, column, Operand::Constant(word)));
    others.into_iter().fold(first, |all, condition| builder.and(all, condition))
}

fn q1_charge(builder: &mut Builder) -> Register {
    let (price, discount, tax) = (column(builder, 0), column(builder, 1), column(builder, 2));
    let hundred = Operand::Constant(100);
    let rest = builder.compute(Arithmetic::Subtract, hundred, discount);
    let discounted = builder.compute(Arithmetic::Multiply, price, Operand::Register(rest));
    let with_tax = builder.compute(Arithmetic::Add, hundred, tax);
    let (l, r) = (Operand::Register(discounted), Operand::Register(with_tax));
    builder.compute(Arithmetic::Multiply, l, r)
}

fn case(builder: &mut Builder) -> Register {
    let quantity = column(builder, 4);
    let is_large = builder.compare(Comparison::Greater, quantity, Operand::Constant(2_500));
    let revenue = product(builder, 0, 1);
    builder.choose(is_large, Some(Operand::Register(revenue)), Some(Operand::Constant(0)))
}

fn list(builder: &mut Builder) -> Register {
    let quantity = builder.column(4);
    builder.one_of(quantity, vec![100, 700, 1_300, 2_200, 4_900])
}

//! `dovetail bench codegen`: machine code beside the interpreter, and its coroutines beside native
//! ones.
//!
//! Both sides of a ratio are measured in the same run, in turns.

mod coroutines;
mod programs;

use engine::{SqlError, SqlResult, SqlState};
use jit::{Compiler, NotCompiled};

use crate::figure::Figure;

/// Memory of code: far more than what is measured needs.
const CODE_BYTES_MAX: usize = 64 << 20;

/// Cycles of compiling and dropping after which the memory is looked at.
const CYCLES: u64 = 10_000;

/// Random programs are of up to so many steps.
const FUZZ_STEPS_MAX: usize = 24;

/// Measures everything `n` times.
///
/// # Errors
/// If no code can be made here, with the reason.
pub fn run(n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let compiler = Compiler::new(CODE_BYTES_MAX);
    programs::run(&compiler, n, &mut emit).map_err(refused)?;
    coroutines::run(&compiler, n, &mut emit).map_err(refused)?;
    emit(memory(&compiler)?);
    Ok(())
}

/// Compares random programs with the interpreter: `cases` of them from the seed `first`.
///
/// # Errors
/// The first one that differs, with its seed.
pub fn fuzz(first: u64, cases: u64, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let compiler = Compiler::new(CODE_BYTES_MAX);
    let mut refusals = 0u64;
    for seed in first..first.saturating_add(cases) {
        let ended = jit::fuzz::check(&compiler, seed, FUZZ_STEPS_MAX)
            .map_err(|what| SqlError::new(SqlState::INTERNAL_ERROR, what))?;
        refusals += u64::from(ended == jit::fuzz::Agreed::Refused);
    }
    let detail = format!("programs that agree, {refusals} of them in a refusal");
    emit(Figure::of("codegen.fuzz", "1", &[cases as f64]).with_detail(detail));
    Ok(())
}

fn refused(why: NotCompiled) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, why.to_string())
}

/// Resident memory before and after many cycles of compiling, running and dropping.
fn memory(compiler: &Compiler) -> SqlResult<Figure> {
    let cycle = |seed: u64| {
        let checked = jit::fuzz::check(compiler, seed % 10, FUZZ_STEPS_MAX);
        checked.map_err(|what| SqlError::new(SqlState::INTERNAL_ERROR, what))
    };
    // The allocator has what it needs after some.
    (0..100).try_for_each(|seed| cycle(seed).map(|_| ()))?;
    let before = resident_pages();
    (0..CYCLES).try_for_each(|seed| cycle(seed).map(|_| ()))?;
    let grown = resident_pages() - before;
    let detail = format!("4 KiB pages more after {CYCLES} programs compiled, run and dropped");
    Ok(Figure::of("codegen.memory.grown", "pages", &[grown]).with_detail(detail))
}

fn resident_pages() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0)
}

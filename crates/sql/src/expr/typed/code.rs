//! Programs as machine code. The interpreter is what a program means: it runs until there is code,
//! and wherever there is none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock};

use arrow_array::ArrayRef;
use ir::{Program, Refused, Value};
use jit::{ColumnKind, Compiled, Compiler, NotRun};
use plan::codegen::{Codegen, Start, Way};

/// Memory of the code of all statements of the process. A program takes one to three pages of
/// 4 KiB, so these are some eight thousand of them; beyond, expressions are interpreted.
const CODE_BYTES_MAX: usize = 64 << 20;

/// Rows of a program after which it is compiled: short statements have none of it. A program of two
/// to twelve steps takes 0.3 to 0.6 ms to compile, and where code is the faster way it saves 0.3 to
/// 0.7 ns a row (`docs/results/codegen.md`), so that a million rows pay for it, four times this.
const ROWS_MIN: u64 = 1 << 18;

/// Layouts of columns for which a program has code. Decimals come in 128 bits or in 64, nearly
/// always all of a batch alike.
const LAYOUTS_MAX: usize = 4;

/// The machine code of the process.
#[derive(Clone, Debug)]
pub struct CodeTotals {
    /// Bytes of code that there are now, in whole pages.
    pub bytes: usize,
    /// Functions ever compiled, and those that were not, by the reason why.
    pub functions: Vec<(&'static str, u64)>,
}

/// Counts over all statements, since the first expression was compiled.
pub fn code_totals() -> CodeTotals {
    let functions = COMPILER.counts().named().to_vec();
    CodeTotals { bytes: COMPILER.code_bytes(), functions }
}

static COMPILER: LazyLock<Compiler> = LazyLock::new(|| Compiler::new(CODE_BYTES_MAX));

/// Nobody stops a function within a batch, as nobody stops the interpreter: tasks give way and look
/// at their cancel between batches.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// A program and the functions that were made of it, one for each layout of its columns.
#[derive(Debug)]
pub(super) struct Code {
    program: Program,
    functions: [Function; LAYOUTS_MAX],
}

#[derive(Debug, Default)]
struct Function {
    /// Those who come first decide for which layout it is.
    layout: OnceLock<Box<[Option<ColumnKind>]>>,
    /// Rows that the interpreter went through, in all executions of the plan.
    rows: AtomicU64,
    /// `None` where it could not be made.
    made: OnceLock<Option<Compiled>>,
}

impl Code {
    pub(super) fn new(program: Program) -> Arc<Code> {
        Arc::new(Code { program, functions: Default::default() })
    }

    /// The value of the program, unless it refuses.
    pub(super) fn run(
        self: &Arc<Self>,
        columns: &[&ArrayRef],
        rows: usize,
    ) -> Result<Value, Refused> {
        let Some(codegen) = plan::codegen::current() else {
            return self.program.run(columns, rows);
        };
        let function = self.function(columns, rows, &codegen);
        let (way, value) = match function.map(|function| function.run(columns, rows, &GOES_ON)) {
            Some(Ok(value)) => (Way::Compiled, Ok(value)),
            Some(Err(NotRun::Refused)) => (Way::Refused, Err(Refused)),
            Some(Err(NotRun::Columns | NotRun::Interrupted | NotRun::Panicked)) | None => {
                let value = self.program.run(columns, rows);
                (value.as_ref().map_or(Way::Refused, |_| Way::Interpreted), value)
            }
        };
        codegen.count(way, rows);
        value
    }

    /// The function for these columns, if there is one by now.
    fn function(
        self: &Arc<Self>,
        columns: &[&ArrayRef],
        rows: usize,
        codegen: &Arc<Codegen>,
    ) -> Option<&Compiled> {
        let at = self.functions.iter().position(|function| function.is_for(columns))?;
        let function = &self.functions[at];
        match (codegen.start(), function.made.get()) {
            (_, Some(made)) => made.as_ref(),
            (Start::FirstUse, None) => self.make(at, codegen),
            (Start::ManyRows, None) => {
                if function.is_due(rows) {
                    let (code, theirs) = (Arc::clone(self), Arc::clone(codegen));
                    codegen.ask(Box::new(move || {
                        code.make(at, &theirs);
                    }));
                }
                None
            }
        }
    }

    /// Makes a function, unless somebody has.
    fn make(&self, at: usize, codegen: &Codegen) -> Option<&Compiled> {
        let function = &self.functions[at];
        let layout = function.layout.get()?;
        let make = || {
            let compiled = COMPILER.compile_one(&self.program, layout)?;
            let bytes = compiled.code_bytes();
            Ok::<_, jit::NotCompiled>((compiled, bytes))
        };
        function.made.get_or_init(|| codegen.made(make)).as_ref()
    }
}

impl Function {
    /// True if it is, or from now on is, for columns that lie like these.
    fn is_for(&self, columns: &[&ArrayRef]) -> bool {
        let layout = || columns.iter().map(|column| ColumnKind::of(column.data_type()));
        self.layout.get_or_init(|| layout().collect()).iter().copied().eq(layout())
    }

    /// True once for so many rows: those who were asked the time before may have ended.
    fn is_due(&self, rows: usize) -> bool {
        let before = self.rows.fetch_add(rows as u64, Relaxed);
        before / ROWS_MIN != (before + rows as u64) / ROWS_MIN
    }
}

//! The compiler: programs in, functions out, what cannot be compiled counted by its reason.

use std::sync::Arc;

use cranelift_codegen::isa::OwnedTargetIsa;
use ir::Program;

use crate::assembly::{Assembly, processor};
use crate::batch::ColumnKind;
use crate::coroutine::{Coroutine, Script};
use crate::counts::{Counters, Counts};
use crate::lower::{self, Typed};
use crate::memory::Budget;
use crate::program::Compiled;
use crate::refusal::NotCompiled;

/// A program and the kinds of the columns that it will be given.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The program.
    pub program: &'a Program,
    /// Kinds by position; `None` is a column that it does not use.
    pub columns: &'a [Option<ColumnKind>],
}

/// Makes machine code for the processor at hand.
pub struct Compiler {
    isa: Result<OwnedTargetIsa, NotCompiled>,
    budget: Arc<Budget>,
    counters: Counters,
}

impl Compiler {
    /// A compiler whose code takes at most so many bytes at any time.
    pub fn new(code_bytes_max: usize) -> Compiler {
        let budget = Arc::new(Budget::new(code_bytes_max));
        Compiler { isa: processor(), budget, counters: Counters::default() }
    }

    /// Functions of some programs, which share pages: these go when the last function goes.
    pub fn compile(&self, sources: &[Source<'_>]) -> Vec<Result<Compiled, NotCompiled>> {
        let made = match &self.isa {
            Ok(isa) => self.assemble(isa, sources),
            Err(why) => sources.iter().map(|_| Err(why.clone())).collect(),
        };
        made.iter().for_each(|result| self.counters.count(result));
        made
    }

    /// The function of one program, in pages of its own.
    ///
    /// # Errors
    /// Why there is none.
    pub fn compile_one(
        &self,
        program: &Program,
        columns: &[Option<ColumnKind>],
    ) -> Result<Compiled, NotCompiled> {
        let mut made = self.compile(&[Source { program, columns }]);
        made.pop().unwrap_or(Err(NotCompiled::Steps(0)))
    }

    /// The coroutine of a script.
    ///
    /// # Errors
    /// Why there is none.
    pub fn coroutine<E>(&self, script: &Script<E>) -> Result<Coroutine<E>, NotCompiled> {
        let made = match &self.isa {
            Ok(isa) => Coroutine::compile(Assembly::new(isa), &self.budget, script),
            Err(why) => Err(why.clone()),
        };
        self.counters.count(&made);
        made
    }

    /// Counts of functions that were compiled so far, and of those that were not.
    pub fn counts(&self) -> Counts {
        self.counters.counts()
    }

    /// Bytes of code that there are now, in whole pages.
    pub fn code_bytes(&self) -> usize {
        self.budget.used()
    }

    fn assemble(
        &self,
        isa: &OwnedTargetIsa,
        sources: &[Source<'_>],
    ) -> Vec<Result<Compiled, NotCompiled>> {
        let mut assembly = Assembly::new(isa);
        let entered: Vec<_> =
            sources.iter().map(|source| Entries::of(&mut assembly, source)).collect();
        if entered.iter().all(Result::is_err) {
            return entered.into_iter().map(|entries| entries.map(|_| unreachable!())).collect();
        }
        let code = assembly.finish(&self.budget);
        let finish = |entries: Entries| {
            let code = code.clone()?;
            Ok(Compiled::new(entries.typed, code, entries.begins, entries.bytes))
        };
        entered.into_iter().map(|entries| entries.and_then(finish)).collect()
    }
}

/// Where the functions of a program begin.
struct Entries {
    typed: Typed,
    /// Without nulls, and with.
    begins: [usize; 2],
    bytes: usize,
}

impl Entries {
    fn of(assembly: &mut Assembly<'_>, source: &Source<'_>) -> Result<Entries, NotCompiled> {
        let typed = Typed::of(source.program, source.columns)?;
        let before = assembly.len();
        let mut begins = [0; 2];
        for (begin, is_nullable) in begins.iter_mut().zip([false, true]) {
            *begin = assembly.function(lower::PARAMETERS, |builder| {
                lower::build(builder, &typed, is_nullable);
                Ok(())
            })?;
        }
        Ok(Entries { typed, begins, bytes: assembly.len() - before })
    }
}

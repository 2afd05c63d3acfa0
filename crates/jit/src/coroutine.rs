//! Coroutines in machine code: a function `resume(frame, cx)` that awaits native futures in its own
//! frame.
//!
//! A [`Script`] says what is done, with `Await` where a [`Proxy`] is asked. Its [`Coroutine`] is
//! one function that begins with a switch on the state in the frame: state 0 is the ramp, state `n`
//! waits in the `n`th `Await`. An answer that is there at once goes straight on, with all locals in
//! registers; otherwise the locals are spilled to the frame, and the function returns. [`Running`]
//! makes a future of it, which is polled by whatever polls futures, and drops what it waits for
//! when it is dropped. (Codegen coroutines: Umbra, section 4.1; a state polls its child, instead of
//! a continuation.)

mod emit;
mod frame;
mod proxy;
mod running;
mod script;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::assembly::Assembly;
use crate::memory::{Budget, Code};
use crate::refusal::NotCompiled;

use frame::Shape;
use proxy::Table;

pub use proxy::{ARGUMENTS_MAX, Failed, Proxy};
pub use running::{Fault, Running};
pub use script::{Expr, Local, ProxyId, Script, Slice, Statement};

/// A script in machine code; as many as one likes run at a time.
#[derive(Debug)]
pub struct Coroutine<E> {
    code: Arc<Code>,
    begin: usize,
    bytes: usize,
    shape: Shape,
    /// The proxy in which each state from 1 on waits.
    states: Vec<Table>,
    results: Vec<Local>,
    parameters: usize,
    slices: usize,
    environment: PhantomData<fn(&E)>,
}

impl<E> Coroutine<E> {
    pub(crate) fn compile(
        mut assembly: Assembly<'_>,
        budget: &Arc<Budget>,
        script: &Script<E>,
    ) -> Result<Coroutine<E>, NotCompiled> {
        let shape = Shape::of(script)?;
        let mut states = Vec::new();
        let begin = assembly.function(emit::PARAMETERS, |builder| {
            states = emit::build(builder, script, &shape)?;
            Ok(())
        })?;
        let bytes = assembly.len();
        Ok(Coroutine {
            code: assembly.finish(budget)?,
            begin,
            bytes,
            shape,
            states,
            results: script.results.clone(),
            parameters: script.parameters,
            slices: script.slices,
            environment: PhantomData,
        })
    }

    /// Bytes of the frame in which one of them runs, the futures that it awaits included.
    pub fn frame_bytes(&self) -> usize {
        self.shape.layout().size()
    }

    /// Bytes of its machine code.
    pub fn code_bytes(&self) -> usize {
        self.bytes
    }
}

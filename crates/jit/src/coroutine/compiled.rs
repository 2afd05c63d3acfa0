//! Scripts that are compiled.

use std::marker::PhantomData;
use std::sync::Arc;

use super::emit;
use super::frame::Shape;
use super::proxy::Table;
use super::script::{Local, Script};
use crate::assembly::Assembly;
use crate::memory::{Budget, Code};
use crate::refusal::NotCompiled;

/// A script in machine code; as many as one likes run at a time.
#[derive(Debug)]
pub struct Coroutine<E> {
    pub(super) code: Arc<Code>,
    pub(super) begin: usize,
    bytes: usize,
    pub(super) shape: Shape,
    /// The proxy in which each state from 1 on waits.
    pub(super) states: Vec<Table>,
    pub(super) results: Vec<Local>,
    pub(super) parameters: usize,
    pub(super) slices: usize,
    environment: PhantomData<fn(&E)>,
}

impl<E> Coroutine<E> {
    pub(crate) fn compile(
        mut assembly: Assembly<'_>,
        budget: &Arc<Budget>,
        script: &Script<E>,
    ) -> Result<Coroutine<E>, NotCompiled> {
        let futures = script.proxies.iter().map(|proxy| proxy.layout);
        let shape = Shape::of(script.locals, script.slices, futures)?;
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

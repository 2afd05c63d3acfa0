//! Scripts to machine code.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use ir::Arithmetic;

use crate::assembly::{ADDRESS, signature};
use crate::lower::{arithmetic, condition, offset};
use crate::refusal::NotCompiled;

use super::frame::{Header, Shape};
use super::proxy::{FAILED, PANICKED, PENDING, READY, Table};
use super::script::{Expr, Local, ProxyId, Script, Slice, Statement};

/// Parameters of a function: frame, context.
pub(super) const PARAMETERS: usize = 2;

/// A word does not fit.
pub(super) const OVERFLOW: i64 = 4;
/// A slice has no such position.
pub(super) const OUT_OF_BOUNDS: i64 = 5;
/// It was told to stop.
pub(super) const INTERRUPTED: i64 = 6;

/// A word is divided by zero.
pub(super) const DIVISION_BY_ZERO: i64 = 7;

/// Statements and words of one function (see the limit of programs in `lower.rs`).
const NODES_MAX: usize = 1024;

const _: () = assert!(PENDING == 0 && READY == 1 && FAILED == 2 && PANICKED == 3);

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Makes the function of a script; says in which proxy each state waits.
pub(super) fn build<E>(
    builder: &mut FunctionBuilder<'_>,
    script: &Script<E>,
    shape: &Shape,
) -> Result<Vec<Table>, NotCompiled> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let parameters: [Value; PARAMETERS] = std::array::from_fn(|at| builder.block_params(entry)[at]);
    let locals = (0..script.locals).map(|_| builder.declare_var(types::I64)).collect();
    let [ramp, fault, unknown] = [(); 3].map(|()| builder.create_block());
    builder.append_block_param(fault, types::I64);
    let mut emitter = Emitter {
        frame: parameters[0],
        context: parameters[1],
        shape,
        proxies: &script.proxies,
        locals,
        slices: script.slices,
        fault,
        states: Vec::new(),
        nodes: 0,
    };
    let state = emitter.header(builder, std::mem::offset_of!(Header, state));
    // The switch comes last: which states there are is known then.
    let choose = builder.create_block();
    builder.ins().jump(choose, &[]);

    builder.switch_to_block(ramp);
    emitter.reload(builder);
    emitter.all(builder, &script.body)?;
    script.results.iter().try_for_each(|local| emitter.variable(*local).map(|_| ()))?;
    emitter.spill(builder);
    let ready = builder.ins().iconst(types::I64, READY);
    builder.ins().return_(&[ready]);

    builder.switch_to_block(choose);
    let mut switch = Switch::new();
    switch.set_entry(0, ramp);
    for (number, (_, block)) in (1..).zip(&emitter.states) {
        switch.set_entry(number, *block);
    }
    switch.emit(builder, state, unknown);
    builder.switch_to_block(unknown);
    builder.set_cold_block(unknown);
    let panicked = builder.ins().iconst(types::I64, PANICKED);
    builder.ins().return_(&[panicked]);
    builder.switch_to_block(fault);
    builder.set_cold_block(fault);
    let status = builder.block_params(fault)[0];
    builder.ins().return_(&[status]);
    Ok(emitter.states.into_iter().map(|(proxy, _)| proxy).collect())
}

struct Emitter<'a> {
    frame: Value,
    context: Value,
    shape: &'a Shape,
    proxies: &'a [Table],
    locals: Vec<Variable>,
    slices: usize,
    /// Where a fault goes, with its status.
    fault: Block,
    /// The proxy and the block of each state from 1 on.
    states: Vec<(Table, Block)>,
    nodes: usize,
}

impl Emitter<'_> {
    fn header(&self, builder: &mut FunctionBuilder<'_>, field: usize) -> Value {
        builder.ins().load(types::I64, TRUSTED, self.frame, offset(field))
    }

    /// All locals from the frame.
    fn reload(&self, builder: &mut FunctionBuilder<'_>) {
        for (at, local) in self.locals.iter().enumerate() {
            let place = offset(self.shape.local_at(at));
            let word = builder.ins().load(types::I64, TRUSTED, self.frame, place);
            builder.def_var(*local, word);
        }
    }

    /// All locals to the frame.
    fn spill(&self, builder: &mut FunctionBuilder<'_>) {
        for (at, local) in self.locals.iter().enumerate() {
            let word = builder.use_var(*local);
            builder.ins().store(TRUSTED, word, self.frame, offset(self.shape.local_at(at)));
        }
    }

    fn count(&mut self) -> Result<(), NotCompiled> {
        self.nodes += 1;
        match self.nodes <= NODES_MAX {
            true => Ok(()),
            false => Err(NotCompiled::Steps(self.nodes)),
        }
    }

    fn all(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        body: &[Statement],
    ) -> Result<(), NotCompiled> {
        body.iter().try_for_each(|statement| self.statement(builder, statement))
    }

    fn statement(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        statement: &Statement,
    ) -> Result<(), NotCompiled> {
        self.count()?;
        match statement {
            Statement::Set(local, expr) => {
                let word = self.word(builder, expr)?;
                builder.def_var(self.variable(*local)?, word);
            }
            Statement::Await { proxy, arguments, found, word } => {
                self.ask(builder, *proxy, arguments)?;
                let answer = self.header(builder, std::mem::offset_of!(Header, word));
                builder.def_var(self.variable(*word)?, answer);
                let is_found = self.header(builder, std::mem::offset_of!(Header, found));
                builder.def_var(self.variable(*found)?, is_found);
            }
            Statement::While(condition, body) => {
                let [head, turn, again, after] = [(); 4].map(|()| builder.create_block());
                builder.ins().jump(head, &[]);
                builder.switch_to_block(head);
                let condition = self.word(builder, condition)?;
                builder.ins().brif(condition, turn, &[], after, &[]);
                builder.switch_to_block(turn);
                let stop = self.header(builder, std::mem::offset_of!(Header, stop));
                let stopped = builder.ins().load(types::I8, MemFlagsData::new(), stop, 0);
                let interrupted = builder.ins().iconst(types::I64, INTERRUPTED);
                builder.ins().brif(stopped, self.fault, &[interrupted.into()], again, &[]);
                builder.switch_to_block(again);
                self.all(builder, body)?;
                builder.ins().jump(head, &[]);
                builder.switch_to_block(after);
            }
            Statement::If(condition, yes, no) => {
                let [then, otherwise, after] = [(); 3].map(|()| builder.create_block());
                let condition = self.word(builder, condition)?;
                builder.ins().brif(condition, then, &[], otherwise, &[]);
                for (block, body) in [(then, yes), (otherwise, no)] {
                    builder.switch_to_block(block);
                    self.all(builder, body)?;
                    builder.ins().jump(after, &[]);
                }
                builder.switch_to_block(after);
            }
        }
        Ok(())
    }

    fn variable(&self, local: Local) -> Result<Variable, NotCompiled> {
        self.locals.get(local.0).copied().ok_or(NotCompiled::Type(self.nodes))
    }

    /// Starts a proxy; where it has to wait, the function returns and comes back by the switch.
    fn ask(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        proxy: ProxyId,
        arguments: &[Expr],
    ) -> Result<(), NotCompiled> {
        let table = *self.proxies.get(proxy.0).ok_or(NotCompiled::Type(self.nodes))?;
        for (at, argument) in arguments.iter().enumerate() {
            let word = self.word(builder, argument)?;
            let place = std::mem::offset_of!(Header, arguments) + at * size_of::<i64>();
            builder.ins().store(TRUSTED, word, self.frame, offset(place));
        }
        let [suspend, resume, pending, ready] = [(); 4].map(|()| builder.create_block());
        [suspend, resume, pending].iter().for_each(|block| builder.set_cold_block(*block));
        self.states.push((table, resume));
        let state = self.states.len() as i64;

        let started = self.call(builder, table.start as *const () as i64);
        self.branch(builder, started, suspend, ready);

        builder.switch_to_block(suspend);
        self.spill(builder);
        let state = builder.ins().iconst(types::I64, state);
        let place = offset(std::mem::offset_of!(Header, state));
        builder.ins().store(TRUSTED, state, self.frame, place);
        builder.ins().jump(pending, &[]);

        builder.switch_to_block(pending);
        let status = builder.ins().iconst(types::I64, PENDING);
        builder.ins().return_(&[status]);

        builder.switch_to_block(resume);
        self.reload(builder);
        let resumed = self.call(builder, table.resume as *const () as i64);
        self.branch(builder, resumed, pending, ready);

        builder.switch_to_block(ready);
        Ok(())
    }

    /// A function of a proxy, which gets header, slot and context.
    fn call(&self, builder: &mut FunctionBuilder<'_>, function: i64) -> Value {
        let callee = builder.import_signature(signature(3));
        let function = builder.ins().iconst(ADDRESS, function);
        let slot = builder.ins().iadd_imm_s(self.frame, self.shape.slot_at() as i64);
        let arguments = [self.frame, slot, self.context];
        let call = builder.ins().call_indirect(callee, function, &arguments);
        builder.inst_results(call)[0]
    }

    /// Goes on where the answer is there, waits where it is not, and ends where there is none.
    fn branch(
        &self,
        builder: &mut FunctionBuilder<'_>,
        status: Value,
        pending: Block,
        ready: Block,
    ) {
        let other = builder.create_block();
        let is_ready = builder.ins().icmp_imm_s(IntCC::Equal, status, READY);
        builder.ins().brif(is_ready, ready, &[], other, &[]);
        builder.switch_to_block(other);
        builder.ins().brif(status, self.fault, &[status.into()], pending, &[]);
    }

    fn word(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        expr: &Expr,
    ) -> Result<Value, NotCompiled> {
        self.count()?;
        Ok(match expr {
            Expr::Constant(word) => builder.ins().iconst(types::I64, *word),
            Expr::Local(local) => builder.use_var(self.variable(*local)?),
            Expr::Length(slice) => self.slice(builder, *slice)?[1],
            Expr::Element(slice, at) => {
                let at = self.word(builder, at)?;
                let [words, length] = self.slice(builder, *slice)?;
                let is_outside = builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, at, length);
                self.fault_if(builder, is_outside, OUT_OF_BOUNDS);
                let bytes = builder.ins().ishl_imm_u(at, 3);
                let address = builder.ins().iadd(words, bytes);
                builder.ins().load(types::I64, TRUSTED, address, 0)
            }
            Expr::Compute(operation, l, r) => {
                let (l, r) = (self.word(builder, l)?, self.word(builder, r)?);
                if matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
                    let is_zero = builder.ins().icmp_imm_s(IntCC::Equal, r, 0);
                    self.fault_if(builder, is_zero, DIVISION_BY_ZERO);
                }
                let (word, is_inexact) = arithmetic::exact(builder, *operation, l, r);
                self.fault_if(builder, is_inexact, OVERFLOW);
                word
            }
            Expr::Compare(comparison, l, r) => {
                let (l, r) = (self.word(builder, l)?, self.word(builder, r)?);
                let truth = builder.ins().icmp(condition(*comparison), l, r);
                builder.ins().uextend(types::I64, truth)
            }
        })
    }

    /// The address and the length of a slice, from the frame, where they never change.
    fn slice(
        &self,
        builder: &mut FunctionBuilder<'_>,
        slice: Slice,
    ) -> Result<[Value; 2], NotCompiled> {
        if slice.0 >= self.slices {
            return Err(NotCompiled::Type(self.nodes));
        }
        let at = self.shape.slice_at(slice.0);
        Ok([at, at + size_of::<usize>()].map(|place| self.header(builder, place)))
    }

    fn fault_if(&self, builder: &mut FunctionBuilder<'_>, condition: Value, status: i64) {
        let after = builder.create_block();
        let status = builder.ins().iconst(types::I64, status);
        builder.ins().brif(condition, self.fault, &[status.into()], after, &[]);
        builder.switch_to_block(after);
    }
}

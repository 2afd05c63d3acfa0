//! Arithmetic on words: the result, and whether the interpreter refuses it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ir::Arithmetic;

use super::chunk::byte;
use super::planted::{self, Fault};

/// The word, and a byte of 0 or 1: whether it is not the exact one. Code of divisions never traps.
pub(crate) fn exact(
    builder: &mut FunctionBuilder<'_>,
    operation: Arithmetic,
    l: Value,
    r: Value,
) -> (Value, Value) {
    match operation {
        Arithmetic::Add => {
            let (word, overflows) = builder.ins().sadd_overflow(l, r);
            match planted::is(Fault::SumsWrapAround) {
                true => (word, byte(builder, false)),
                false => (word, overflows),
            }
        }
        Arithmetic::Subtract => builder.ins().ssub_overflow(l, r),
        Arithmetic::Multiply => builder.ins().smul_overflow(l, r),
        Arithmetic::Divide => quotient(builder, l, r),
        Arithmetic::Remainder => {
            let (divisor, is_zero) = divisor(builder, r);
            // By 1 it is 0, as the interpreter has it where it divides by zero.
            (builder.ins().srem(l, divisor), is_zero)
        }
    }
}

/// True where a quotient needs 65 bits: that of the least word by -1.
fn is_beyond(builder: &mut FunctionBuilder<'_>, l: Value, r: Value) -> Value {
    let is_least = builder.ins().icmp_imm_s(IntCC::Equal, l, i64::MIN);
    let is_negated = builder.ins().icmp_imm_s(IntCC::Equal, r, -1);
    builder.ins().band(is_least, is_negated)
}

fn quotient(builder: &mut FunctionBuilder<'_>, l: Value, r: Value) -> (Value, Value) {
    let (divisor, is_zero) = divisor(builder, r);
    let is_beyond = is_beyond(builder, l, r);
    let (one, zero) = (builder.ins().iconst(types::I64, 1), builder.ins().iconst(types::I64, 0));
    let divisor = builder.ins().select(is_beyond, one, divisor);
    let quotient = builder.ins().sdiv(l, divisor);
    let is_refused = builder.ins().bor(is_zero, is_beyond);
    let word = builder.ins().select(is_refused, zero, quotient);
    match planted::is(Fault::LeastByMinusOne) {
        true => (word, is_zero),
        false => (word, is_refused),
    }
}

/// 1 in place of 0, and whether it is.
fn divisor(builder: &mut FunctionBuilder<'_>, r: Value) -> (Value, Value) {
    let is_zero = builder.ins().icmp_imm_s(IntCC::Equal, r, 0);
    let one = builder.ins().iconst(types::I64, 1);
    (builder.ins().select(is_zero, one, r), is_zero)
}

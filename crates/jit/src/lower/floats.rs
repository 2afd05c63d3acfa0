//! Floats of a row. In a [`Slot`](super::row::Slot) they are words, their bits, so that a choice
//! among them has no branch.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use ir::{Comparison, FloatArithmetic};

use super::planted::{self, Fault};

/// Twice the bits of infinity: bits without their sign, twice, are above it for NaN alone.
const TWICE_INFINITY: i64 = (f64::INFINITY.to_bits() << 1).cast_signed();

/// The bits of the result, and a byte of 0 or 1: whether PostgreSQL has an error in its place.
pub(super) fn compute(
    builder: &mut FunctionBuilder<'_>,
    operation: FloatArithmetic,
    l: Value,
    r: Value,
) -> (Value, Value) {
    let (left, right) = (float(builder, l), float(builder, r));
    let result = match operation {
        FloatArithmetic::Add => builder.ins().fadd(left, right),
        FloatArithmetic::Subtract => builder.ins().fsub(left, right),
        FloatArithmetic::Multiply => builder.ins().fmul(left, right),
        FloatArithmetic::Divide => builder.ins().fdiv(left, right),
    };
    let result = bits(builder, result);
    let sizes = Sizes {
        left: size(builder, l),
        right: size(builder, r),
        result: size(builder, result),
        infinity: builder.ins().iconst(types::I64, TWICE_INFINITY),
    };
    let is_refused = sizes.are_refused(builder, operation);
    (sizes.canonical(builder, result), is_refused)
}

/// Magnitudes as words without signs: twice the bits of a float without its sign.
struct Sizes {
    left: Value,
    right: Value,
    result: Value,
    infinity: Value,
}

impl Sizes {
    fn are_refused(&self, builder: &mut FunctionBuilder<'_>, operation: FloatArithmetic) -> Value {
        let is_infinite = builder.ins().icmp(IntCC::Equal, self.result, self.infinity);
        let larger = builder.ins().umax(self.left, self.right);
        let are_finite = builder.ins().icmp(IntCC::UnsignedLessThan, larger, self.infinity);
        let overflows = builder.ins().band(is_infinite, are_finite);
        match operation {
            FloatArithmetic::Add | FloatArithmetic::Subtract => overflows,
            FloatArithmetic::Multiply if planted::is(Fault::ProductsVanish) => overflows,
            FloatArithmetic::Multiply => {
                let smaller = builder.ins().umin(self.left, self.right);
                let has_terms = builder.ins().icmp_imm_s(IntCC::NotEqual, smaller, 0);
                let vanishes = self.vanishes(builder, has_terms);
                builder.ins().bor(overflows, vanishes)
            }
            FloatArithmetic::Divide => {
                let is_zero = builder.ins().icmp_imm_s(IntCC::Equal, self.right, 0);
                let is_by_zero = match planted::is(Fault::NanDividedByZero) {
                    true => is_zero,
                    false => {
                        let order = IntCC::UnsignedLessThanOrEqual;
                        let is_number = builder.ins().icmp(order, self.left, self.infinity);
                        builder.ins().band(is_zero, is_number)
                    }
                };
                let has_left = builder.ins().icmp_imm_s(IntCC::NotEqual, self.left, 0);
                let is_finite = builder.ins().icmp(IntCC::NotEqual, self.right, self.infinity);
                let has_terms = builder.ins().band(has_left, is_finite);
                let vanishes = self.vanishes(builder, has_terms);
                let is_lost = builder.ins().bor(overflows, vanishes);
                builder.ins().bor(is_by_zero, is_lost)
            }
        }
    }

    /// True for a result that is zero of terms that would not make one.
    fn vanishes(&self, builder: &mut FunctionBuilder<'_>, has_terms: Value) -> Value {
        let is_zero = builder.ins().icmp_imm_s(IntCC::Equal, self.result, 0);
        builder.ins().band(is_zero, has_terms)
    }

    /// The one NaN for all of them.
    fn canonical(&self, builder: &mut FunctionBuilder<'_>, result: Value) -> Value {
        if planted::is(Fault::NanHasASign) {
            return result;
        }
        let order = IntCC::UnsignedGreaterThan;
        let is_nan = builder.ins().icmp(order, self.result, self.infinity);
        let nan = builder.ins().iconst(types::I64, f64::NAN.to_bits().cast_signed());
        builder.ins().select(is_nan, nan, result)
    }
}

/// The comparison of two floats, given by their bits, in PostgreSQL's order.
pub(super) fn compare(
    builder: &mut FunctionBuilder<'_>,
    comparison: Comparison,
    l: Value,
    r: Value,
) -> Value {
    let equal = |builder: &mut FunctionBuilder<'_>| {
        let is_equal = ordered(builder, FloatCC::Equal, l, r);
        let (l, r) = (is_nan(builder, l), is_nan(builder, r));
        let are_nan = builder.ins().band(l, r);
        builder.ins().bor(is_equal, are_nan)
    };
    match comparison {
        Comparison::Equal => equal(builder),
        Comparison::NotEqual => {
            let is_equal = equal(builder);
            builder.ins().bxor_imm_s(is_equal, 1)
        }
        Comparison::Less => less(builder, l, r),
        Comparison::LessOrEqual => less_or_equal(builder, l, r),
        Comparison::Greater => less(builder, r, l),
        Comparison::GreaterOrEqual => less_or_equal(builder, r, l),
    }
}

fn less(builder: &mut FunctionBuilder<'_>, l: Value, r: Value) -> Value {
    let is_less = ordered(builder, FloatCC::LessThan, l, r);
    let (l, r) = (is_nan(builder, l), is_nan(builder, r));
    let is_number = builder.ins().bxor_imm_s(l, 1);
    let is_below_nan = builder.ins().band(is_number, r);
    builder.ins().bor(is_less, is_below_nan)
}

fn less_or_equal(builder: &mut FunctionBuilder<'_>, l: Value, r: Value) -> Value {
    let is_less = ordered(builder, FloatCC::LessThanOrEqual, l, r);
    let r = is_nan(builder, r);
    builder.ins().bor(is_less, r)
}

/// The processor's comparison: none holds of a NaN.
fn ordered(builder: &mut FunctionBuilder<'_>, condition: FloatCC, l: Value, r: Value) -> Value {
    let (l, r) = (float(builder, l), float(builder, r));
    builder.ins().fcmp(condition, l, r)
}

fn is_nan(builder: &mut FunctionBuilder<'_>, bits: Value) -> Value {
    let size = size(builder, bits);
    let most = match planted::is(Fault::NanHasNoOrder) {
        true => -1,
        false => TWICE_INFINITY,
    };
    let most = builder.ins().iconst(types::I64, most);
    builder.ins().icmp(IntCC::UnsignedGreaterThan, size, most)
}

/// The bits of the float next to a word.
pub(super) fn of_word(builder: &mut FunctionBuilder<'_>, word: Value) -> Value {
    let float = match planted::is(Fault::WordsHaveNoSign) {
        true => builder.ins().fcvt_from_uint(types::F64, word),
        false => builder.ins().fcvt_from_sint(types::F64, word),
    };
    bits(builder, float)
}

fn size(builder: &mut FunctionBuilder<'_>, bits: Value) -> Value {
    builder.ins().ishl_imm_u(bits, 1)
}

fn float(builder: &mut FunctionBuilder<'_>, bits: Value) -> Value {
    builder.ins().bitcast(types::F64, MemFlagsData::new(), bits)
}

fn bits(builder: &mut FunctionBuilder<'_>, float: Value) -> Value {
    builder.ins().bitcast(types::I64, MemFlagsData::new(), float)
}

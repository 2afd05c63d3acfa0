//! Programs to functions: which type each step has, and the loop over rows.
//!
//! The function goes through the rows in chunks of 64, whose bits (validity, truths) are one word
//! each. All steps of a row are computed without branches; what the interpreter would refuse sets a
//! flag, which is looked at after each chunk. Words of null rows are those that the interpreter
//! would have, so both refuse the same vectors.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::assembly::ADDRESS;
use crate::batch::{ColumnKind, View};

use chunk::{Chunk, Function, Place, REFUSED, TRUSTED};
use row::Row;

pub(crate) use chunk::{PANICKED, PARAMETERS};
pub(crate) use row::condition;
pub(crate) use typed::{Kind, Typed};

pub(crate) mod arithmetic;
mod chunk;
mod floats;
pub(crate) mod planted;
mod row;
mod texts;
mod typed;

/// The result of a function that was told to stop.
pub(crate) const INTERRUPTED: i64 = 4;

/// Makes the function of a program, for columns that may have nulls or for others.
pub(crate) fn build(builder: &mut FunctionBuilder<'_>, typed: &Typed, is_nullable: bool) {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    if typed.always_refuses() {
        let refused = builder.ins().iconst(types::I64, REFUSED);
        builder.ins().return_(&[refused]);
        return;
    }
    let parameters: [Value; PARAMETERS] = std::array::from_fn(|at| builder.block_params(entry)[at]);
    let places = typed.used().map(|(at, kind)| place(builder, parameters[0], at, kind)).collect();
    Function { typed, is_nullable, parameters, places }.build(builder);
}

fn place(
    builder: &mut FunctionBuilder<'_>,
    views: Value,
    position: usize,
    kind: ColumnKind,
) -> Place {
    let begin = position * size_of::<View>();
    let mut load = |field: usize| {
        let flags = TRUSTED.with_readonly();
        builder.ins().load(ADDRESS, flags, views, offset(begin + field))
    };
    Place {
        position,
        kind,
        values: load(std::mem::offset_of!(View, values)),
        validity: load(std::mem::offset_of!(View, validity)),
        array: load(std::mem::offset_of!(View, array)),
    }
}

/// An offset in an instruction.
pub(crate) fn offset(bytes: usize) -> i32 {
    i32::try_from(bytes).expect("views and frames have less than 2 GiB")
}

impl Function<'_> {
    fn build(&self, builder: &mut FunctionBuilder<'_>) {
        let [_, rows, _, _, stop] = self.parameters;
        let [chunks, chunk, go, done, interrupted] = [(); 5].map(|()| builder.create_block());
        let begin = builder.append_block_param(chunks, types::I64);
        let status = builder.append_block_param(done, types::I64);
        let zero = builder.ins().iconst(types::I64, 0);
        builder.ins().jump(chunks, &[zero.into()]);

        builder.switch_to_block(chunks);
        let is_chunk = builder.ins().icmp(IntCC::UnsignedLessThan, begin, rows);
        builder.ins().brif(is_chunk, chunk, &[], done, &[zero.into()]);

        builder.switch_to_block(chunk);
        let stopped = builder.ins().load(types::I8, MemFlagsData::new(), stop, 0);
        builder.ins().brif(stopped, interrupted, &[], go, &[]);

        builder.switch_to_block(go);
        let chunk = self.chunk(builder, begin);
        let flags = self.rows(builder, &chunk);
        builder.ins().brif(flags, done, &[flags.into()], chunks, &[chunk.end.into()]);

        builder.switch_to_block(interrupted);
        builder.set_cold_block(interrupted);
        let status_interrupted = builder.ins().iconst(types::I64, INTERRUPTED);
        builder.ins().jump(done, &[status_interrupted.into()]);

        builder.switch_to_block(done);
        builder.ins().return_(&[status]);
    }

    fn chunk(&self, builder: &mut FunctionBuilder<'_>, begin: Value) -> Chunk {
        let rows = self.parameters[1];
        let full = builder.ins().iadd_imm_s(begin, 64);
        let end = builder.ins().umin(full, rows);
        // A bit for each row: an eighth of it in bytes.
        let at = builder.ins().ushr_imm_u(begin, 3);
        let mut word = |base: Value| {
            let address = builder.ins().iadd(base, at);
            builder.ins().load(types::I64, TRUSTED, address, 0)
        };
        let mut of = |place: &Place| {
            let is_truths = place.kind == ColumnKind::Truths;
            [self.is_nullable.then(|| word(place.validity)), is_truths.then(|| word(place.values))]
        };
        let bits = self.places.iter().map(&mut of).collect();
        Chunk { begin, end, at, bits }
    }

    /// The loop over the rows of a chunk; the flags of all of them.
    fn rows(&self, builder: &mut FunctionBuilder<'_>, chunk: &Chunk) -> Value {
        let [_, _, values, validity, _] = self.parameters;
        let [body, after] = [(); 2].map(|()| builder.create_block());
        let [row, truths_before, valid_before, flags_before] =
            [(); 4].map(|()| builder.append_block_param(body, types::I64));
        let zero = builder.ins().iconst(types::I64, 0);
        let begin = [chunk.begin.into(), zero.into(), zero.into(), zero.into()];
        builder.ins().jump(body, &begin);

        builder.switch_to_block(body);
        let made = Row::new(self, chunk, row, flags_before).run(builder);
        let mut truths = truths_before;
        match self.typed.result() {
            Kind::Words | Kind::Floats => {
                let at = builder.ins().ishl_imm_u(row, 3);
                let address = builder.ins().iadd(values, at);
                builder.ins().store(TRUSTED, made.value, address, 0);
            }
            Kind::Truths => truths = with_bit(builder, truths_before, made.value, row),
            Kind::Texts(_) => {}
        }
        let valid = match made.valid {
            Some(valid) => with_bit(builder, valid_before, valid, row),
            None => builder.ins().iconst(types::I64, -1),
        };
        let next = builder.ins().iadd_imm_s(row, 1);
        let is_row = builder.ins().icmp(IntCC::UnsignedLessThan, next, chunk.end);
        let again = [next.into(), truths.into(), valid.into(), made.flags.into()];
        builder.ins().brif(is_row, body, &again, after, &[]);

        builder.switch_to_block(after);
        let store = |builder: &mut FunctionBuilder<'_>, word: Value, base: Value| {
            let address = builder.ins().iadd(base, chunk.at);
            builder.ins().store(TRUSTED, word, address, 0);
        };
        store(builder, valid, validity);
        if self.typed.result() == Kind::Truths {
            store(builder, truths, values);
        }
        made.flags
    }
}

/// `bits` with the bit of a row.
fn with_bit(builder: &mut FunctionBuilder<'_>, bits: Value, bit: Value, row: Value) -> Value {
    let wide = builder.ins().uextend(types::I64, bit);
    // The amount of a shift counts modulo 64, as does the place of a row in its chunk.
    let placed = builder.ins().ishl(wide, row);
    builder.ins().bor(bits, placed)
}

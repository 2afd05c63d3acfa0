//! Programs to functions: which type each step has, and the loop over rows.
//!
//! The function goes through the rows in chunks of 64, whose bits (validity, truths) are one word
//! each. All steps of a row are computed without branches; what the interpreter would refuse sets a
//! flag, which is looked at after each chunk. Words of null rows are those that the interpreter
//! would have, so both refuse the same vectors.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use ir::{Arithmetic, Operand, Program, Register, Step, Text};

use crate::assembly::ADDRESS;
use crate::batch::{ColumnKind, View};
use crate::refusal::NotCompiled;

use row::Row;

pub(crate) use row::condition;

mod row;
mod texts;

/// Parameters of a function: columns, rows, values, validity, whether to stop.
pub(crate) const PARAMETERS: usize = 5;

/// The flag of a vector that the interpreter would refuse.
pub(crate) const REFUSED: i64 = 1;

/// The flag of a proxy that has panicked.
pub(crate) const PANICKED: i64 = 2;

/// The result of a function that was told to stop.
pub(crate) const INTERRUPTED: i64 = 4;

/// Steps of one function: the time of compiling grows faster than the steps beyond some hundreds,
/// for all values of a row are alive at once (some 5 KB of code; FEASIBILITY: 64 stages 2.5 ms, 256
/// stages 27 ms).
const STEPS_MAX: usize = 256;

/// Memory of vectors: aligned, and never a trap.
pub(super) const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// The type of the vector that a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words of 64 bits.
    Words,
    /// Truths.
    Truths,
    /// The texts of a column.
    Texts(usize),
}

/// A program whose steps have types.
#[derive(Debug)]
pub(crate) struct Typed {
    steps: Vec<Step>,
    kinds: Vec<Kind>,
    columns: Vec<(usize, ColumnKind)>,
    result: Register,
    /// Questions that proxies are asked, at places that do not move.
    questions: Vec<Arc<Text>>,
}

impl Typed {
    pub(crate) fn of(
        program: &Program,
        columns: &[Option<ColumnKind>],
    ) -> Result<Typed, NotCompiled> {
        let steps = program.steps();
        if steps.len() > STEPS_MAX {
            return Err(NotCompiled::Steps(steps.len()));
        }
        let result = program.result();
        let mut typed = Typed {
            steps: steps.to_vec(),
            kinds: Vec::new(),
            columns: Vec::new(),
            result,
            questions: Vec::new(),
        };
        for (at, step) in steps.iter().enumerate() {
            let kind = typed.kind(at, step, columns)?;
            typed.kinds.push(kind);
        }
        match result.index() < steps.len() {
            true => Ok(typed),
            false => Err(NotCompiled::Type(result.index())),
        }
    }

    fn kind(
        &mut self,
        at: usize,
        step: &Step,
        columns: &[Option<ColumnKind>],
    ) -> Result<Kind, NotCompiled> {
        let is = |register: &Register, kind| match self.kinds.get(register.index()) {
            Some(found) if *found == kind => Ok(()),
            _ => Err(NotCompiled::Type(at)),
        };
        let are_words = |operands: &[&Operand]| {
            operands.iter().try_for_each(|operand| match operand {
                Operand::Constant(_) => Ok(()),
                Operand::Register(register) => is(register, Kind::Words),
            })
        };
        Ok(match step {
            Step::Column(position) => {
                let kind = columns.get(*position).copied().flatten();
                let kind = kind.ok_or(NotCompiled::Column(*position))?;
                self.columns.push((*position, kind));
                match kind {
                    ColumnKind::Truths => Kind::Truths,
                    ColumnKind::Texts => Kind::Texts(*position),
                    _ => Kind::Words,
                }
            }
            Step::Truth(_) => Kind::Truths,
            Step::Compute(_, l, r) => are_words(&[l, r]).map(|()| Kind::Words)?,
            Step::Within(words, ..) => is(words, Kind::Words).map(|()| Kind::Words)?,
            Step::Compare(_, l, r) => are_words(&[l, r]).map(|()| Kind::Truths)?,
            Step::OneOf(words, _) => is(words, Kind::Words).map(|()| Kind::Truths)?,
            Step::And(l, r) | Step::Or(l, r) => {
                is(l, Kind::Truths)?;
                is(r, Kind::Truths).map(|()| Kind::Truths)?
            }
            Step::Not(value) => is(value, Kind::Truths).map(|()| Kind::Truths)?,
            Step::IsNull(value) if value.index() < at => Kind::Truths,
            Step::IsNull(_) => return Err(NotCompiled::Type(at)),
            Step::Text(text, question) => match self.kinds.get(text.index()) {
                Some(Kind::Texts(_)) => {
                    self.questions.push(Arc::new(question.clone()));
                    Kind::Truths
                }
                _ => return Err(NotCompiled::Type(at)),
            },
            Step::Choose(condition, then, otherwise) => {
                is(condition, Kind::Truths)?;
                let branches: Vec<&Operand> = [then, otherwise].into_iter().flatten().collect();
                are_words(&branches).map(|()| Kind::Words)?
            }
        })
    }

    /// The columns that it reads, with their kinds.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, ColumnKind)> + '_ {
        self.columns.iter().copied()
    }

    /// True if the interpreter refuses each vector, that without rows included: it computes an
    /// operation on two constants once.
    fn always_refuses(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Compute(operation, Operand::Constant(l), Operand::Constant(r)) => {
                let exact = match operation {
                    Arithmetic::Add => l.checked_add(*r),
                    Arithmetic::Subtract => l.checked_sub(*r),
                    Arithmetic::Multiply => l.checked_mul(*r),
                };
                exact.is_none()
            }
            _ => false,
        })
    }

    /// The type of its result.
    pub(crate) fn result(&self) -> Kind {
        self.kinds[self.result.index()]
    }
}

/// A column's addresses, which are the same for all rows.
#[derive(Clone, Copy)]
struct Place {
    position: usize,
    kind: ColumnKind,
    values: Value,
    validity: Value,
    array: Value,
}

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

struct Function<'a> {
    typed: &'a Typed,
    is_nullable: bool,
    parameters: [Value; PARAMETERS],
    places: Vec<Place>,
}

/// The rows of a chunk, and what is known of all of them.
struct Chunk {
    begin: Value,
    end: Value,
    /// The number of the chunk, in bytes of words with a bit for each row.
    at: Value,
    /// Validity and truths of each column, where it has them.
    bits: Vec<[Option<Value>; 2]>,
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
            Kind::Words => {
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

/// A block that nothing jumps to yet.
fn cold(builder: &mut FunctionBuilder<'_>) -> Block {
    let block = builder.create_block();
    builder.set_cold_block(block);
    block
}

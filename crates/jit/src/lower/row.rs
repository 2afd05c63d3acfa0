//! The steps of one row.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ir::{Arithmetic, Comparison, Operand, Register, Step};

use super::chunk::{Chunk, Function, Place, REFUSED, TRUSTED, byte};
use super::planted::{self, Fault};
use super::typed::Kind;
use super::{arithmetic, floats, texts};
use crate::assembly::{ADDRESS, signature};
use crate::batch::ColumnKind;

/// Words that are compared with each one of a list; a longer list is searched by a proxy.
const LIST_INLINE_MAX: usize = 8;

/// The value of a step in one row.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// A word; the bits of a float; a truth as a byte of 0 or 1; arbitrary for a text.
    pub(super) value: Value,
    /// A byte of 0 or 1: whether there is a value; `None`: there is one in each row.
    pub(super) valid: Option<Value>,
}

/// The value of the program in one row, and the flags so far.
pub(super) struct Made {
    pub(super) value: Value,
    pub(super) valid: Option<Value>,
    pub(super) flags: Value,
}

/// Emits the steps of a row.
pub(super) struct Row<'a> {
    function: &'a Function<'a>,
    chunk: &'a Chunk,
    pub(super) row: Value,
    slots: Vec<Slot>,
    flags: Value,
    /// Questions to texts that have been emitted.
    asked: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        function: &'a Function<'a>,
        chunk: &'a Chunk,
        row: Value,
        flags: Value,
    ) -> Row<'a> {
        Row { function, chunk, row, slots: Vec::new(), flags, asked: 0 }
    }

    pub(super) fn run(mut self, builder: &mut FunctionBuilder<'_>) -> Made {
        let mut columns = 0;
        for step in &self.function.typed.steps {
            let slot = match step {
                Step::Column(_) => {
                    columns += 1;
                    self.column(builder, columns - 1)
                }
                step => self.step(builder, step),
            };
            self.slots.push(slot);
        }
        let Slot { value, valid } = self.slots[self.function.typed.result.index()];
        Made { value, valid, flags: self.flags }
    }

    fn step(&mut self, builder: &mut FunctionBuilder<'_>, step: &Step) -> Slot {
        match step {
            Step::Column(_) => unreachable!("columns are loaded elsewhere"),
            Step::Truth(truth) => {
                let value = byte(builder, truth.unwrap_or(false));
                let valid = truth.is_none().then(|| byte(builder, false));
                Slot { value, valid }
            }
            Step::Compute(operation, l, r) => self.compute(builder, *operation, l, r),
            Step::ComputeFloats(operation, l, r) => {
                let (l, r) = (self.operand(builder, l), self.operand(builder, r));
                let (value, is_refused) = floats::compute(builder, *operation, l.value, r.value);
                let valid = both(builder, l.valid, r.valid);
                self.flag_valid(builder, is_refused, valid);
                Slot { value, valid }
            }
            Step::ToFloat(words) => {
                let Slot { value: word, valid } = self.slot(*words);
                Slot { value: floats::of_word(builder, word), valid }
            }
            Step::Within(words, least, greatest) => {
                let slot = self.slot(*words);
                let least = builder.ins().iconst(types::I64, *least);
                let greatest = builder.ins().iconst(types::I64, *greatest);
                let below = builder.ins().icmp(IntCC::SignedLessThan, slot.value, least);
                let above = builder.ins().icmp(IntCC::SignedGreaterThan, slot.value, greatest);
                let outside = builder.ins().bor(below, above);
                self.flag(builder, outside);
                slot
            }
            Step::Compare(comparison, l, r) => {
                let (l, r) = (self.operand(builder, l), self.operand(builder, r));
                let value = builder.ins().icmp(condition(*comparison), l.value, r.value);
                Slot { value, valid: both(builder, l.valid, r.valid) }
            }
            Step::CompareFloats(comparison, l, r) => {
                let (l, r) = (self.operand(builder, l), self.operand(builder, r));
                let value = floats::compare(builder, *comparison, l.value, r.value);
                Slot { value, valid: both(builder, l.valid, r.valid) }
            }
            Step::OneOf(word, wanted) => {
                let Slot { value: word, valid } = self.slot(*word);
                Slot { value: one_of(builder, word, wanted), valid }
            }
            Step::And(l, r) => and(builder, self.slot(*l), self.slot(*r)),
            Step::Or(l, r) => {
                // By De Morgan's law, which holds in three values, too.
                let (l, r) = (not(builder, self.slot(*l)), not(builder, self.slot(*r)));
                let neither = and(builder, l, r);
                not(builder, neither)
            }
            Step::Not(value) => not(builder, self.slot(*value)),
            Step::IsNull(value) => {
                let value = match self.slot(*value).valid {
                    Some(valid) => builder.ins().bxor_imm_s(valid, 1),
                    None => byte(builder, false),
                };
                Slot { value, valid: None }
            }
            Step::Text(text, _) => self.ask(builder, *text),
            Step::Choose(condition, then, otherwise) => {
                self.choose(builder, *condition, then.as_ref(), otherwise.as_ref())
            }
        }
    }

    /// The answer to the next question about a text.
    fn ask(&mut self, builder: &mut FunctionBuilder<'_>, text: Register) -> Slot {
        let (place, valid) = (*self.text(text), self.slot(text).valid);
        let question = &self.function.typed.questions[self.asked];
        self.asked += 1;
        let (value, panicked) = texts::ask(builder, question, &place, self.row);
        if let Some(panicked) = panicked {
            self.flags = builder.ins().bor(self.flags, panicked);
        }
        Slot { value, valid }
    }

    fn slot(&self, register: Register) -> Slot {
        self.slots[register.index()]
    }

    fn operand(&self, builder: &mut FunctionBuilder<'_>, operand: &Operand) -> Slot {
        match operand {
            Operand::Register(register) => self.slot(*register),
            Operand::Constant(word) => {
                Slot { value: builder.ins().iconst(types::I64, *word), valid: None }
            }
            Operand::Float(bits) => {
                let bits = bits.cast_signed();
                Slot { value: builder.ins().iconst(types::I64, bits), valid: None }
            }
        }
    }

    /// Where the texts lie that a step makes.
    fn text(&self, register: Register) -> &Place {
        let Kind::Texts(position) = self.function.typed.kinds[register.index()] else {
            unreachable!("the types of steps have been checked")
        };
        let found = self.function.places.iter().find(|place| place.position == position);
        found.expect("a column that a step uses has a place")
    }

    /// Sets the flag of refusal where a byte is 1.
    fn flag(&mut self, builder: &mut FunctionBuilder<'_>, is_refused: Value) {
        const { assert!(REFUSED == 1) };
        let wide = builder.ins().uextend(types::I64, is_refused);
        self.flags = builder.ins().bor(self.flags, wide);
    }

    /// Sets the flag of refusal where a byte is 1 and the row has a value.
    fn flag_valid(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        is_refused: Value,
        valid: Option<Value>,
    ) {
        let is_refused = match valid {
            Some(valid) if !planted::is(Fault::NullsDivide) => {
                builder.ins().band(is_refused, valid)
            }
            _ => is_refused,
        };
        self.flag(builder, is_refused);
    }

    fn column(&mut self, builder: &mut FunctionBuilder<'_>, number: usize) -> Slot {
        let place = self.function.places[number];
        let [valid, truths] = self.chunk.bits[number];
        let valid = valid.map(|bits| bit(builder, bits, self.row));
        let value = match (place.kind, truths) {
            (ColumnKind::Truths, Some(bits)) => bit(builder, bits, self.row),
            (ColumnKind::Texts | ColumnKind::Truths, _) => byte(builder, false),
            _ => self.word(builder, &place),
        };
        Slot { value, valid }
    }

    fn word(&mut self, builder: &mut FunctionBuilder<'_>, place: &Place) -> Value {
        let shift = match place.kind {
            ColumnKind::Int16 => 1,
            ColumnKind::Int32 => 2,
            ColumnKind::Int128 => 4,
            _ => 3,
        };
        let at = builder.ins().ishl_imm_u(self.row, shift);
        let address = builder.ins().iadd(place.values, at);
        match place.kind {
            ColumnKind::Int16 => builder.ins().sload16(types::I64, TRUSTED, address, 0),
            ColumnKind::Int32 => {
                let word = builder.ins().load(types::I32, TRUSTED, address, 0);
                builder.ins().sextend(types::I64, word)
            }
            ColumnKind::Int128 => {
                let low = builder.ins().load(types::I64, TRUSTED, address, 0);
                let high = builder.ins().load(types::I64, TRUSTED, address, 8);
                let sign = builder.ins().sshr_imm_u(low, 63);
                let is_lost = builder.ins().icmp(IntCC::NotEqual, high, sign);
                self.flag(builder, is_lost);
                low
            }
            _ => builder.ins().load(types::I64, TRUSTED, address, 0),
        }
    }

    fn compute(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        operation: Arithmetic,
        l: &Operand,
        r: &Operand,
    ) -> Slot {
        let (l, r) = (self.operand(builder, l), self.operand(builder, r));
        let (value, is_refused) = arithmetic::exact(builder, operation, l.value, r.value);
        let valid = both(builder, l.valid, r.valid);
        match operation {
            Arithmetic::Divide | Arithmetic::Remainder => {
                self.flag_valid(builder, is_refused, valid);
            }
            // An overflow of a null row is refused, too.
            Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply => {
                self.flag(builder, is_refused);
            }
        }
        Slot { value, valid }
    }

    fn choose(
        &mut self,
        builder: &mut FunctionBuilder<'_>,
        condition: Register,
        then: Option<&Operand>,
        otherwise: Option<&Operand>,
    ) -> Slot {
        let Slot { value, valid } = self.slot(condition);
        let is_true = match valid {
            Some(valid) => builder.ins().band(value, valid),
            None => value,
        };
        let mut branch = |operand: Option<&Operand>| match operand {
            Some(operand) => self.operand(builder, operand),
            None => Slot {
                value: builder.ins().iconst(types::I64, 0),
                valid: Some(byte(builder, false)),
            },
        };
        let (then, otherwise) = (branch(then), branch(otherwise));
        let value = builder.ins().select(is_true, then.value, otherwise.value);
        let valid = match (then.valid, otherwise.valid) {
            (None, None) => None,
            (then, otherwise) => {
                let yes = byte(builder, true);
                let (then, otherwise) = (then.unwrap_or(yes), otherwise.unwrap_or(yes));
                Some(builder.ins().select(is_true, then, otherwise))
            }
        };
        Slot { value, valid }
    }
}

/// The bit of a row as a byte.
fn bit(builder: &mut FunctionBuilder<'_>, bits: Value, row: Value) -> Value {
    // The amount of a shift counts modulo 64.
    let first = builder.ins().ushr(bits, row);
    let byte = builder.ins().ireduce(types::I8, first);
    builder.ins().band_imm_s(byte, 1)
}

/// The generator's word for a comparison of signed words.
pub(crate) fn condition(comparison: Comparison) -> IntCC {
    match comparison {
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Less => IntCC::SignedLessThan,
        Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
        Comparison::Greater => IntCC::SignedGreaterThan,
        Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
    }
}

/// True where both sides have values.
fn both(builder: &mut FunctionBuilder<'_>, l: Option<Value>, r: Option<Value>) -> Option<Value> {
    match (l, r) {
        (Some(l), Some(r)) => Some(builder.ins().band(l, r)),
        (one, other) => one.or(other),
    }
}

fn not(builder: &mut FunctionBuilder<'_>, Slot { value, valid }: Slot) -> Slot {
    Slot { value: builder.ins().bxor_imm_s(value, 1), valid }
}

fn and(builder: &mut FunctionBuilder<'_>, l: Slot, r: Slot) -> Slot {
    if l.valid.is_none() && r.valid.is_none() {
        return Slot { value: builder.ins().band(l.value, r.value), valid: None };
    }
    let mut known = |Slot { value, valid }: Slot| {
        let opposite = builder.ins().bxor_imm_s(value, 1);
        match valid {
            Some(valid) => [value, opposite].map(|side| builder.ins().band(side, valid)),
            None => [value, opposite],
        }
    };
    let ([l_yes, l_no], [r_yes, r_no]) = (known(l), known(r));
    let yes = builder.ins().band(l_yes, r_yes);
    let no = builder.ins().bor(l_no, r_no);
    let valid = builder.ins().bor(yes, no);
    Slot { value: yes, valid: Some(valid) }
}

fn one_of(builder: &mut FunctionBuilder<'_>, word: Value, wanted: &[i64]) -> Value {
    if wanted.len() > LIST_INLINE_MAX {
        return found(builder, word, wanted);
    }
    let mut any = byte(builder, false);
    for wanted in wanted {
        let wanted = builder.ins().iconst(types::I64, *wanted);
        let is_equal = builder.ins().icmp(IntCC::Equal, word, wanted);
        any = builder.ins().bor(any, is_equal);
    }
    any
}

/// True where a list, which lives as long as the code, has the word.
fn found(builder: &mut FunctionBuilder<'_>, word: Value, wanted: &[i64]) -> Value {
    let callee = builder.import_signature(signature(3));
    let proxy = has_word as *const () as i64;
    let proxy = builder.ins().iconst(ADDRESS, proxy);
    let list = builder.ins().iconst(ADDRESS, wanted.as_ptr() as i64);
    let count = builder.ins().iconst(types::I64, wanted.len() as i64);
    let call = builder.ins().call_indirect(callee, proxy, &[list, count, word]);
    let answer = builder.inst_results(call)[0];
    builder.ins().ireduce(types::I8, answer)
}

/// The proxy of a long list. It cannot panic.
extern "C" fn has_word(list: *const i64, count: usize, word: i64) -> i64 {
    // SAFETY: the program of the running code owns the list, which has so many words.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    i64::from(list.binary_search(&word).is_ok())
}

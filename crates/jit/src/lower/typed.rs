//! Programs whose steps have types.

use std::sync::Arc;

use ir::{Arithmetic, Operand, Program, Register, Step, Text};

use crate::batch::ColumnKind;
use crate::refusal::NotCompiled;

/// Steps of one function: the time of compiling grows faster than the steps beyond some hundreds,
/// for all values of a row are alive at once (some 5 KB of code; FEASIBILITY: 64 stages 2.5 ms, 256
/// stages 27 ms).
const STEPS_MAX: usize = 256;

/// The type of the vector that a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words of 64 bits.
    Words,
    /// Floats of 64 bits.
    Floats,
    /// Truths.
    Truths,
    /// The texts of a column.
    Texts(usize),
}

/// A program whose steps have types.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(super) steps: Vec<Step>,
    pub(super) kinds: Vec<Kind>,
    columns: Vec<(usize, ColumnKind)>,
    pub(super) result: Register,
    /// Questions that proxies are asked, at places that do not move.
    pub(super) questions: Vec<Arc<Text>>,
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
        let are = |kind: Kind, operands: &[&Operand]| {
            operands.iter().try_for_each(|operand| match (operand, kind) {
                (Operand::Constant(_), Kind::Words) | (Operand::Float(_), Kind::Floats) => Ok(()),
                (Operand::Register(register), kind) => is(register, kind),
                _ => Err(NotCompiled::Type(at)),
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
                    ColumnKind::Float64 => Kind::Floats,
                    _ => Kind::Words,
                }
            }
            Step::Truth(_) => Kind::Truths,
            Step::Compute(_, l, r) => are(Kind::Words, &[l, r]).map(|()| Kind::Words)?,
            Step::ComputeFloats(_, l, r) => are(Kind::Floats, &[l, r]).map(|()| Kind::Floats)?,
            Step::ToFloat(words) => is(words, Kind::Words).map(|()| Kind::Floats)?,
            Step::Within(words, ..) => is(words, Kind::Words).map(|()| Kind::Words)?,
            Step::Compare(_, l, r) => are(Kind::Words, &[l, r]).map(|()| Kind::Truths)?,
            Step::CompareFloats(_, l, r) => are(Kind::Floats, &[l, r]).map(|()| Kind::Truths)?,
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
                let kind = if branches.iter().any(|b| self.is_float(b)) {
                    Kind::Floats
                } else {
                    Kind::Words
                };
                are(kind, &branches).map(|()| kind)?
            }
        })
    }

    fn is_float(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Constant(_) => false,
            Operand::Float(_) => true,
            Operand::Register(register) => self.kinds.get(register.index()) == Some(&Kind::Floats),
        }
    }

    /// The columns that it reads, with their kinds.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, ColumnKind)> + '_ {
        self.columns.iter().copied()
    }

    /// True if the interpreter refuses each vector, that without rows included: it computes an
    /// operation on two constants once.
    pub(super) fn always_refuses(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Compute(operation, Operand::Constant(l), Operand::Constant(r)) => {
                let exact = match operation {
                    Arithmetic::Add => l.checked_add(*r),
                    Arithmetic::Subtract => l.checked_sub(*r),
                    Arithmetic::Multiply => l.checked_mul(*r),
                    Arithmetic::Divide => l.checked_div(*r),
                    Arithmetic::Remainder => (*r != 0).then_some(0),
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

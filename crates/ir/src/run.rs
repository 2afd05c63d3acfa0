//! The interpreter: one vector for each step.

use arrow_array::{Array, ArrayRef, BooleanArray};
use stdx::Vectors;

use crate::choice::choose;
use crate::floats::{self, Floats};
use crate::kernels;
use crate::load::Value;
use crate::program::{Operand, Program, Register, Step};
use crate::refused::Refused;
use crate::words::{Words, bits_of, compare, compute, within};
use crate::{logic, texts};

mod operands;

impl Program {
    /// The value of the expression for each of `rows` rows of some columns.
    ///
    /// # Errors
    /// [`Refused`] where a vector is not of the type that the program was made for, and where words are
    /// not enough.
    pub fn run(&self, columns: &[&ArrayRef], rows: usize) -> Result<Value, Refused> {
        let mut run = Run { values: Vec::with_capacity(self.steps.len()), rows };
        for step in &self.steps {
            let value = match step {
                Step::Column(at) => Value::load(columns.get(*at).ok_or(Refused)?)?,
                step => run.step(step)?,
            };
            run.values.push(value);
        }
        run.values.into_iter().nth(self.result.0).ok_or(Refused)
    }
}

struct Run {
    values: Vec<Value>,
    rows: usize,
}

impl Run {
    fn step(&self, step: &Step) -> Result<Value, Refused> {
        Ok(match step {
            Step::Column(_) => return Err(Refused),
            Step::Truth(value) => Value::Truths(BooleanArray::from(vec![*value; self.rows])),
            Step::Compute(operation, l, r) => {
                let (left, right, nulls) = (self.side(l)?, self.side(r)?, self.nulls(l, r)?);
                let widest = Vectors::widest();
                let rows = self.rows;
                let values = compute(widest, *operation, left, right, rows, nulls.as_ref())?;
                Value::Words(Words { values: values.into(), nulls })
            }
            Step::ComputeFloats(operation, l, r) => {
                let (left, right) = (self.float_side(l)?, self.float_side(r)?);
                let (widest, nulls) = (Vectors::widest(), self.nulls(l, r)?);
                let rows = self.rows;
                let values =
                    floats::compute(widest, *operation, left, right, rows, nulls.as_ref())?;
                Value::Floats(Floats { values: values.into(), nulls })
            }
            Step::ToFloat(words) => {
                let Words { values, nulls } = self.words(*words)?;
                let values = kernels::floats::of_words(Vectors::widest(), values);
                Value::Floats(Floats { values: values.into(), nulls: nulls.clone() })
            }
            Step::Within(words, least, greatest) => {
                let words = self.words(*words)?;
                within(&words.values, *least, *greatest)?;
                Value::Words(words.clone())
            }
            Step::Compare(comparison, l, r) => {
                let (left, right) = (self.side(l)?, self.side(r)?);
                let values = compare(Vectors::widest(), *comparison, left, right, self.rows);
                Value::Truths(BooleanArray::new(values, self.nulls(l, r)?))
            }
            Step::CompareFloats(comparison, l, r) => {
                let (left, right) = (self.float_side(l)?, self.float_side(r)?);
                let values =
                    floats::compare(Vectors::widest(), *comparison, left, right, self.rows);
                Value::Truths(BooleanArray::new(values, self.nulls(l, r)?))
            }
            Step::OneOf(word, wanted) => {
                let Words { values, nulls } = self.words(*word)?;
                let found = bits_of(values, |word| wanted.binary_search(&word).is_ok());
                Value::Truths(BooleanArray::new(found, nulls.clone()))
            }
            Step::And(l, r) => Value::Truths(logic::and(self.truths(*l)?, self.truths(*r)?)),
            Step::Or(l, r) => Value::Truths(logic::or(self.truths(*l)?, self.truths(*r)?)),
            Step::Not(value) => Value::Truths(logic::not(self.truths(*value)?)),
            Step::IsNull(value) => Value::Truths(logic::is_null(self.nulls_of(*value)?, self.rows)),
            Step::Text(text, question) => {
                let Value::Texts(found) = self.value(*text)? else { return Err(Refused) };
                let answers = texts::ask(found, question);
                Value::Truths(BooleanArray::new(answers, found.nulls().cloned()))
            }
            Step::Choose(condition, then, otherwise) => {
                return self.choose(*condition, then.as_ref(), otherwise.as_ref());
            }
        })
    }

    /// Words, unless one of the two is floats.
    fn choose(
        &self,
        condition: Register,
        then: Option<&Operand>,
        otherwise: Option<&Operand>,
    ) -> Result<Value, Refused> {
        let condition = logic::is_true(self.truths(condition)?);
        if [then, otherwise].into_iter().flatten().any(|operand| self.is_floats(operand)) {
            let branch = |operand: &Operand| {
                Ok::<_, Refused>((self.float_side(operand)?, self.operand_nulls(operand)?))
            };
            let (then, otherwise) = (then.map(branch), otherwise.map(branch));
            let (values, nulls) = choose(&condition, then.transpose()?, otherwise.transpose()?);
            return Ok(Value::Floats(Floats { values: values.into(), nulls }));
        }
        let branch = |operand: &Operand| {
            Ok::<_, Refused>((self.side(operand)?, self.operand_nulls(operand)?))
        };
        let (then, otherwise) = (then.map(branch), otherwise.map(branch));
        let (values, nulls) = choose(&condition, then.transpose()?, otherwise.transpose()?);
        Ok(Value::Words(Words { values: values.into(), nulls }))
    }
}

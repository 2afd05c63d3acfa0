//! The interpreter: one vector for each step.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use stdx::Vectors;

use crate::choice::choose;
use crate::load::Value;
use crate::program::{Arithmetic, Operand, Program, Register, Step};
use crate::words::{Side, Words, bits_of, compare, compute, within};
use crate::{Refused, logic, texts};

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
                let values = self.computed(*operation, l, r)?.into();
                Value::Words(Words { values, nulls: self.nulls(l, r)? })
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
                let condition = logic::is_true(self.truths(*condition)?);
                let branch = |operand: &Option<Operand>| match operand {
                    None => Ok(None),
                    Some(operand) => Ok(Some((self.side(operand)?, self.operand_nulls(operand)?))),
                };
                Value::Words(choose(&condition, branch(then)?, branch(otherwise)?))
            }
        })
    }

    fn computed(
        &self,
        operation: Arithmetic,
        l: &Operand,
        r: &Operand,
    ) -> Result<Vec<i64>, Refused> {
        compute(Vectors::widest(), operation, self.side(l)?, self.side(r)?, self.rows)
    }

    fn value(&self, register: Register) -> Result<&Value, Refused> {
        self.values.get(register.0).ok_or(Refused)
    }

    fn words(&self, register: Register) -> Result<&Words, Refused> {
        match self.value(register)? {
            Value::Words(words) => Ok(words),
            _ => Err(Refused),
        }
    }

    fn truths(&self, register: Register) -> Result<&BooleanArray, Refused> {
        match self.value(register)? {
            Value::Truths(truths) => Ok(truths),
            _ => Err(Refused),
        }
    }

    fn side(&self, operand: &Operand) -> Result<Side<'_>, Refused> {
        Ok(match operand {
            Operand::Constant(value) => Side::Constant(*value),
            Operand::Register(register) => Side::Vector(&self.words(*register)?.values),
        })
    }

    fn nulls_of(&self, register: Register) -> Result<Option<&NullBuffer>, Refused> {
        Ok(match self.value(register)? {
            Value::Words(words) => words.nulls.as_ref(),
            Value::Truths(truths) => truths.nulls(),
            Value::Texts(texts) => texts.nulls(),
        })
    }

    fn operand_nulls(&self, operand: &Operand) -> Result<Option<&NullBuffer>, Refused> {
        match operand {
            Operand::Constant(_) => Ok(None),
            Operand::Register(register) => self.nulls_of(*register),
        }
    }

    fn nulls(&self, left: &Operand, right: &Operand) -> Result<Option<NullBuffer>, Refused> {
        Ok(NullBuffer::union(self.operand_nulls(left)?, self.operand_nulls(right)?))
    }
}

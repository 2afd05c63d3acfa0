//! The vectors that a step takes.

use arrow_array::{Array, BooleanArray};
use arrow_buffer::NullBuffer;

use super::Run;
use crate::load::Value;
use crate::program::{Operand, Register};
use crate::refused::Refused;
use crate::side::Side;
use crate::words::Words;

impl Run {
    pub(super) fn value(&self, register: Register) -> Result<&Value, Refused> {
        self.values.get(register.0).ok_or(Refused)
    }

    pub(super) fn words(&self, register: Register) -> Result<&Words, Refused> {
        match self.value(register)? {
            Value::Words(words) => Ok(words),
            _ => Err(Refused),
        }
    }

    pub(super) fn truths(&self, register: Register) -> Result<&BooleanArray, Refused> {
        match self.value(register)? {
            Value::Truths(truths) => Ok(truths),
            _ => Err(Refused),
        }
    }

    pub(super) fn side(&self, operand: &Operand) -> Result<Side<'_>, Refused> {
        match operand {
            Operand::Constant(word) => Ok(Side::Constant(*word)),
            Operand::Float(_) => Err(Refused),
            Operand::Register(register) => Ok(Side::Vector(&self.words(*register)?.values)),
        }
    }

    pub(super) fn float_side(&self, operand: &Operand) -> Result<Side<'_, f64>, Refused> {
        match operand {
            Operand::Constant(_) => Err(Refused),
            Operand::Float(bits) => Ok(Side::Constant(f64::from_bits(*bits))),
            Operand::Register(register) => match self.value(*register)? {
                Value::Floats(floats) => Ok(Side::Vector(&floats.values)),
                _ => Err(Refused),
            },
        }
    }

    pub(super) fn is_floats(&self, operand: &Operand) -> bool {
        self.float_side(operand).is_ok()
    }

    pub(super) fn nulls_of(&self, register: Register) -> Result<Option<&NullBuffer>, Refused> {
        Ok(match self.value(register)? {
            Value::Words(words) => words.nulls.as_ref(),
            Value::Floats(floats) => floats.nulls.as_ref(),
            Value::Truths(truths) => truths.nulls(),
            Value::Texts(texts) => texts.nulls(),
        })
    }

    pub(super) fn operand_nulls(&self, operand: &Operand) -> Result<Option<&NullBuffer>, Refused> {
        match operand {
            Operand::Constant(_) | Operand::Float(_) => Ok(None),
            Operand::Register(register) => self.nulls_of(*register),
        }
    }

    pub(super) fn nulls(
        &self,
        left: &Operand,
        right: &Operand,
    ) -> Result<Option<NullBuffer>, Refused> {
        Ok(NullBuffer::union(self.operand_nulls(left)?, self.operand_nulls(right)?))
    }
}

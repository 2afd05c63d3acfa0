//! Decimals that are computed of a row.

use ir::Refused;
use types::cells::Value;

use super::{Operation, Row, RowExpr};

/// A decimal, or a whole number, as the number of its last digit at a scale.
#[derive(Clone, Debug)]
pub struct DecimalSide {
    /// Its value.
    pub expr: RowExpr,
    /// So many digits are appended to it, all of them nought.
    pub power: u32,
}

/// A sum, a difference or a product of decimals.
#[derive(Clone, Debug)]
pub struct DecimalResult {
    /// The operation.
    pub operation: Operation,
    /// Its two sides.
    pub sides: [DecimalSide; 2],
    /// So many digits it may have.
    pub precision: u8,
    /// True if it is a word.
    pub is_word: bool,
}

impl DecimalSide {
    fn value(&self, row: Row<'_>) -> Result<Option<i128>, Refused> {
        let value = match self.expr.value(row)? {
            Value::Null => return Ok(None),
            Value::Word(word) => i128::from(word),
            Value::Bytes(bytes) => i128::from_le_bytes(bytes.try_into().map_err(|_| Refused)?),
        };
        let power = 10_i128.checked_pow(self.power).ok_or(Refused)?;
        value.checked_mul(power).map(Some).ok_or(Refused)
    }
}

impl DecimalResult {
    /// The value of a row.
    pub(super) fn value<'a>(&'a self, row: Row<'a>) -> Result<Value<'a>, Refused> {
        let (left, right) = (self.sides[0].value(row)?, self.sides[1].value(row)?);
        let (Some(left), Some(right)) = (left, right) else { return Ok(Value::Null) };
        let result = match self.operation {
            Operation::Add => left.checked_add(right),
            Operation::Subtract => left.checked_sub(right),
            Operation::Multiply => left.checked_mul(right),
            Operation::Divide | Operation::Remainder => None,
        };
        let result = result.ok_or(Refused)?;
        let end = 10_u128.checked_pow(self.precision.into()).ok_or(Refused)?;
        if result.unsigned_abs() >= end {
            return Err(Refused);
        }
        match self.is_word {
            true => i64::try_from(result).map(Value::Word).map_err(|_| Refused),
            false => Ok(Value::Bytes(row.made.alloc_slice_copy(&result.to_le_bytes()))),
        }
    }
}

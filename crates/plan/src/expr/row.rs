//! Expressions over a row: what they are of its values, without vectors.
//!
//! There is a form for columns, constants, parameters, whole numbers, sums and products of decimals,
//! some functions of texts, `CASE`, comparisons of what has the machine's order, and truths made of
//! those. None of these has an error of its own: what would be
//! one is [`Refused`], and then evaluated by who knows its errors, a vector at a time
//! ([`super::Computed`]).

mod decimals;
mod texts;

use std::cmp::Ordering;

use arrow_schema::DataType;
use bumpalo::Bump;
pub use decimals::{DecimalResult, DecimalSide};
use ir::{Comparison, Refused};
pub use texts::TextFunction;
use types::cells::{Cells, Value};

/// An expression over a row.
#[derive(Clone, Debug)]
pub enum RowExpr {
    /// The column at this position.
    Column(usize),
    /// A constant: a value of the constants of the program.
    Constant(Constant),
    /// The parameter with this number.
    Parameter(usize),
    /// Arithmetic of two whole numbers of one type, whose result is of that type.
    Arithmetic(Operation, Whole, Box<(RowExpr, RowExpr)>),
    /// Arithmetic of decimals.
    Decimal(Box<DecimalResult>),
    /// A function of texts.
    Text(TextFunction, Vec<RowExpr>),
    /// The value behind the first condition that is true, else the last one.
    Case(Vec<(RowExpr, RowExpr)>, Box<RowExpr>),
    /// A comparison of two values of one type.
    Compare(Comparison, Box<(RowExpr, RowExpr)>),
    /// True if the value is one of a list.
    OneOf(Box<RowExpr>, Vec<RowExpr>),
    /// True if both are.
    And(Box<(RowExpr, RowExpr)>),
    /// True if one is.
    Or(Box<(RowExpr, RowExpr)>),
    /// The other truth.
    Not(Box<RowExpr>),
    /// True if it is null.
    IsNull(Box<RowExpr>),
}

/// A constant value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Null.
    Null,
    /// A word.
    Word(i64),
    /// Bytes.
    Bytes(Box<[u8]>),
}

/// An operation on whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient, without what is behind its point.
    Divide,
    /// The rest of a division, with the sign of the dividend.
    Remainder,
}

/// A type of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Of 16 bits.
    Int16,
    /// Of 32 bits.
    Int32,
    /// Of 64 bits.
    Int64,
}

/// A row, with the parameters of the execution.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// The rows that it is one of.
    pub rows: &'a Cells,
    /// Its number.
    pub at: usize,
    /// Parameters, as one row.
    pub parameters: &'a Cells,
    /// Memory for values that are made.
    pub made: &'a Bump,
}

impl From<Value<'_>> for Constant {
    fn from(value: Value<'_>) -> Constant {
        match value {
            Value::Null => Constant::Null,
            Value::Word(word) => Constant::Word(word),
            Value::Bytes(bytes) => Constant::Bytes(bytes.into()),
        }
    }
}

impl Whole {
    /// The type, if it is one of whole numbers.
    pub fn of(ty: &DataType) -> Option<Whole> {
        match ty {
            DataType::Int16 => Some(Whole::Int16),
            DataType::Int32 => Some(Whole::Int32),
            DataType::Int64 => Some(Whole::Int64),
            _ => None,
        }
    }

    fn has(self, word: i64) -> bool {
        match self {
            Whole::Int16 => i16::try_from(word).is_ok(),
            Whole::Int32 => i32::try_from(word).is_ok(),
            Whole::Int64 => true,
        }
    }
}

impl Operation {
    fn result(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Operation::Add => left.checked_add(right),
            Operation::Subtract => left.checked_sub(right),
            Operation::Multiply => left.checked_mul(right),
            Operation::Divide => left.checked_div(right),
            Operation::Remainder => left.checked_rem(right),
        }
    }
}

/// True if the comparison is, for two values in this order.
fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// The order of two values of a type that has the order of its words or bytes; nothing with null.
fn order(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Word(left), Value::Word(right)) => Some(left.cmp(&right)),
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn truth(is_true: bool) -> Value<'static> {
    Value::Word(is_true.into())
}

impl RowExpr {
    /// The value of the row.
    ///
    /// # Errors
    /// [`Refused`] where it would be an error, such as a number that is out of its range.
    pub fn value<'a>(&'a self, row: Row<'a>) -> Result<Value<'a>, Refused> {
        Ok(match self {
            RowExpr::Column(at) => row.rows.value(row.at, *at),
            RowExpr::Constant(Constant::Null) => Value::Null,
            RowExpr::Constant(Constant::Word(word)) => Value::Word(*word),
            RowExpr::Constant(Constant::Bytes(bytes)) => Value::Bytes(bytes),
            RowExpr::Parameter(number) => row.parameters.value(0, *number),
            RowExpr::Arithmetic(operation, whole, sides) => {
                let sides = (sides.0.value(row)?, sides.1.value(row)?);
                let (Value::Word(left), Value::Word(right)) = sides else { return Ok(Value::Null) };
                let result = operation.result(left, right).filter(|word| whole.has(*word));
                Value::Word(result.ok_or(Refused)?)
            }
            RowExpr::Decimal(result) => result.value(row)?,
            RowExpr::Text(function, arguments) => function.value(arguments, row)?,
            RowExpr::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    if condition.value(row)?.is_true() {
                        return value.value(row);
                    }
                }
                otherwise.value(row)?
            }
            RowExpr::Compare(comparison, sides) => {
                let order = order(sides.0.value(row)?, sides.1.value(row)?);
                order.map_or(Value::Null, |order| truth(holds(*comparison, order)))
            }
            RowExpr::OneOf(value, list) => one_of(value.value(row)?, list, row)?,
            RowExpr::And(sides) => match sides.0.value(row)? {
                Value::Word(0) => truth(false),
                left => match (left, sides.1.value(row)?) {
                    (_, Value::Word(0)) => truth(false),
                    (Value::Null, _) | (_, Value::Null) => Value::Null,
                    _ => truth(true),
                },
            },
            RowExpr::Or(sides) => match sides.0.value(row)? {
                Value::Word(1) => truth(true),
                left => match (left, sides.1.value(row)?) {
                    (_, Value::Word(1)) => truth(true),
                    (Value::Null, _) | (_, Value::Null) => Value::Null,
                    _ => truth(false),
                },
            },
            RowExpr::Not(inner) => match inner.value(row)? {
                Value::Null => Value::Null,
                value => truth(!value.is_true()),
            },
            RowExpr::IsNull(inner) => truth(inner.value(row)?.is_null()),
        })
    }
}

fn one_of<'a>(value: Value<'a>, list: &'a [RowExpr], row: Row<'a>) -> Result<Value<'a>, Refused> {
    let mut has_null = value.is_null();
    for member in list {
        match order(value, member.value(row)?) {
            Some(order) if order.is_eq() => return Ok(truth(true)),
            Some(_) => {}
            None => has_null = true,
        }
    }
    Ok(if has_null && !list.is_empty() { Value::Null } else { truth(false) })
}

//! Programs: steps over registers, each written once.

use std::sync::Arc;

/// The vector that a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register(pub(crate) usize);

impl Register {
    /// The position of the step in its program.
    pub fn index(self) -> usize {
        self.0
    }
}

/// One side of an operation on words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Another step's vector.
    Register(Register),
    /// The same word in each row.
    Constant(i64),
    /// The float of these bits in each row.
    Float(u64),
}

impl Operand {
    /// The same float in each row.
    pub fn float(value: f64) -> Operand {
        Operand::Float(value.to_bits())
    }
}

/// What is computed of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, cut off towards zero.
    Divide,
    /// `%`, with the sign of the dividend.
    Remainder,
}

/// An operation on two floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatArithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

/// How two words or floats are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What is asked of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// Whether it is one of these.
    OneOf(Arc<[Box<str>]>),
    /// Whether it starts with this.
    StartsWith(Arc<str>),
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// One of the columns that the program is given.
    Column(usize),
    /// The same truth in each row.
    Truth(Option<bool>),
    /// An operation on words.
    Compute(Arithmetic, Operand, Operand),
    /// An operation on floats.
    ComputeFloats(FloatArithmetic, Operand, Operand),
    /// The float next to each word.
    ToFloat(Register),
    /// The words, each of which must be in the range.
    Within(Register, i64, i64),
    /// A comparison of words.
    Compare(Comparison, Operand, Operand),
    /// A comparison of floats in PostgreSQL's order: a NaN equals a NaN and is the greatest.
    CompareFloats(Comparison, Operand, Operand),
    /// Whether the word is one of these, which ascend.
    OneOf(Register, Arc<[i64]>),
    /// Both, in three-valued logic.
    And(Register, Register),
    /// Either, in three-valued logic.
    Or(Register, Register),
    /// The opposite.
    Not(Register),
    /// True where there is no value.
    IsNull(Register),
    /// A question about texts.
    Text(Register, Text),
    /// Where the condition is true the first, otherwise the second, both words or both floats;
    /// `None` is null.
    Choose(Register, Option<Operand>, Option<Operand>),
}

/// An expression, ready to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) result: Register,
}

impl Program {
    /// The steps, of which each uses those before it.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step whose vector is the value of the program.
    pub fn result(&self) -> Register {
        self.result
    }
}

//! Expressions as typed programs over vectors, and the interpreter that runs them.
//!
//! A [`Program`] is a list of steps, each of which makes one vector of those before it. Whole
//! numbers, dates and decimals are [`Words`] of 64 bits, beside them stand [`Floats`]; what does not
//! fit, or would be an error, ends the run with [`Refused`], and whoever asked takes a slower way for
//! this vector. So a program has one meaning, that of the slower way, and no errors of its own.
//! No I/O, no `async fn`.

mod builder;
mod choice;
mod division;
mod floats;
mod kernels;
mod load;
mod logic;
mod program;
mod refused;
mod run;
mod side;
mod store;
mod texts;
mod words;

#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use floats::Floats;
pub use load::Value;
pub use program::{
    Arithmetic, Comparison, FloatArithmetic, Operand, Program, Register, Step, Text,
};
pub use refused::Refused;
pub use words::Words;

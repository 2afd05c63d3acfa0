//! Programs in the making.

use stdx::HashMap;

use crate::program::{
    Arithmetic, Comparison, FloatArithmetic, Operand, Program, Register, Step, Text,
};

/// Makes programs: equal steps are made once.
#[derive(Default)]
pub struct Builder {
    steps: Vec<Step>,
    known: HashMap<Step, Register>,
}

impl Builder {
    /// The column at a position of those that the program is given.
    pub fn column(&mut self, position: usize) -> Register {
        self.push(Step::Column(position))
    }

    /// The same truth in each row.
    pub fn truth(&mut self, value: Option<bool>) -> Register {
        self.push(Step::Truth(value))
    }

    /// An operation on words. A run refuses what overflows, and divisions by zero.
    pub fn compute(&mut self, operation: Arithmetic, left: Operand, right: Operand) -> Register {
        self.push(Step::Compute(operation, left, right))
    }

    /// An operation on floats. A run refuses what PostgreSQL does: a division by zero, and a result
    /// that is infinite or zero only because a float holds no more.
    pub fn compute_floats(
        &mut self,
        operation: FloatArithmetic,
        left: Operand,
        right: Operand,
    ) -> Register {
        self.push(Step::ComputeFloats(operation, left, right))
    }

    /// The float next to each word, of two the even one.
    pub fn to_float(&mut self, words: Register) -> Register {
        self.push(Step::ToFloat(words))
    }

    /// The words as they are; a run refuses those outside of `least..=greatest`.
    pub fn within(&mut self, words: Register, least: i64, greatest: i64) -> Register {
        self.push(Step::Within(words, least, greatest))
    }

    /// A comparison of words.
    pub fn compare(&mut self, comparison: Comparison, left: Operand, right: Operand) -> Register {
        self.push(Step::Compare(comparison, left, right))
    }

    /// A comparison of floats in PostgreSQL's order.
    pub fn compare_floats(
        &mut self,
        comparison: Comparison,
        left: Operand,
        right: Operand,
    ) -> Register {
        self.push(Step::CompareFloats(comparison, left, right))
    }

    /// True where a word is one of `words`.
    pub fn one_of(&mut self, word: Register, mut words: Vec<i64>) -> Register {
        words.sort_unstable();
        words.dedup();
        self.push(Step::OneOf(word, words.into()))
    }

    /// Both, in three-valued logic.
    pub fn and(&mut self, left: Register, right: Register) -> Register {
        self.push(Step::And(left, right))
    }

    /// Either, in three-valued logic.
    pub fn or(&mut self, left: Register, right: Register) -> Register {
        self.push(Step::Or(left, right))
    }

    /// The opposite.
    pub fn not(&mut self, truth: Register) -> Register {
        self.push(Step::Not(truth))
    }

    /// True where there is no value.
    pub fn is_null(&mut self, value: Register) -> Register {
        self.push(Step::IsNull(value))
    }

    /// A question about texts.
    pub fn text(&mut self, text: Register, question: Text) -> Register {
        self.push(Step::Text(text, question))
    }

    /// Words or floats: the first where the condition is true, otherwise the second. `None` is
    /// null.
    pub fn choose(
        &mut self,
        condition: Register,
        then: Option<Operand>,
        otherwise: Option<Operand>,
    ) -> Register {
        self.push(Step::Choose(condition, then, otherwise))
    }

    /// Steps so far that compute something.
    pub fn work(&self) -> usize {
        self.steps.iter().filter(|step| !matches!(step, Step::Column(_))).count()
    }

    /// The program whose value is that of `result`.
    pub fn finish(self, result: Register) -> Program {
        Program { steps: self.steps, result }
    }

    fn push(&mut self, step: Step) -> Register {
        let steps = &mut self.steps;
        *self.known.entry(step).or_insert_with_key(|step| {
            steps.push(step.clone());
            Register(steps.len() - 1)
        })
    }
}

//! Programs: steps over registers, each written once.

use std::sync::Arc;

use stdx::HashMap;

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
}

/// How two words are compared.
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
    /// The words, each of which must be in the range.
    Within(Register, i64, i64),
    /// A comparison of words.
    Compare(Comparison, Operand, Operand),
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
    /// Where the condition is true the first, otherwise the second; `None` is null.
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

    /// An operation on words.
    pub fn compute(&mut self, operation: Arithmetic, left: Operand, right: Operand) -> Register {
        self.push(Step::Compute(operation, left, right))
    }

    /// The words as they are; a run refuses those outside of `least..=greatest`.
    pub fn within(&mut self, words: Register, least: i64, greatest: i64) -> Register {
        self.push(Step::Within(words, least, greatest))
    }

    /// A comparison of words.
    pub fn compare(&mut self, comparison: Comparison, left: Operand, right: Operand) -> Register {
        self.push(Step::Compare(comparison, left, right))
    }

    /// Whether a word is one of `words`.
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

    /// Whether there is no value.
    pub fn is_null(&mut self, value: Register) -> Register {
        self.push(Step::IsNull(value))
    }

    /// A question about texts.
    pub fn text(&mut self, text: Register, question: Text) -> Register {
        self.push(Step::Text(text, question))
    }

    /// Words: the first where the condition is true, otherwise the second. `None` is null.
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

//! Random programs.

use arrow_array::{Array, ArrayRef};
use ir::{Builder, Comparison, Program, Register, Text};
use stdx::Prng;

use super::pick::pick;
use super::vectors::{Sizes, TEXTS};
use crate::batch::ColumnKind;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Makes programs of which each step has operands of its types.
pub(super) struct Maker {
    pub(super) builder: Builder,
    pub(super) words: Vec<Register>,
    pub(super) truths: Vec<Register>,
    pub(super) floats: Vec<Register>,
    texts: Vec<Register>,
    pub(super) sizes: Sizes,
}

impl Maker {
    pub(super) fn new(columns: &[ArrayRef], sizes: Sizes) -> Maker {
        let mut maker = Maker {
            builder: Builder::default(),
            words: Vec::new(),
            truths: Vec::new(),
            floats: Vec::new(),
            texts: Vec::new(),
            sizes,
        };
        for (at, column) in columns.iter().enumerate() {
            let register = maker.builder.column(at);
            match ColumnKind::of(column.data_type()) {
                Some(ColumnKind::Truths) => maker.truths.push(register),
                Some(ColumnKind::Texts) => maker.texts.push(register),
                Some(ColumnKind::Float64) => maker.floats.push(register),
                _ => maker.words.push(register),
            }
        }
        maker
    }

    pub(super) fn program(mut self, random: &mut Prng, steps_max: usize) -> Program {
        let steps = 1 + random.below(steps_max.max(1) as u64);
        let mut last = self.truth(random);
        for _ in 0..steps {
            last = self.step(random);
        }
        if random.below(8) == 0 {
            last = self.any(random);
        }
        self.builder.finish(last)
    }

    /// The register of some step, of any type.
    fn any(&self, random: &mut Prng) -> Register {
        let all = [&self.words, &self.truths, &self.floats, &self.texts];
        let all: Vec<_> = all.into_iter().flatten().copied().collect();
        *pick(random, &all)
    }

    pub(super) fn truth(&mut self, random: &mut Prng) -> Register {
        if self.truths.is_empty() {
            let truth = [None, Some(false), Some(true)][random.below(3) as usize];
            self.truths.push(self.builder.truth(truth));
        }
        *pick(random, &self.truths)
    }

    fn step(&mut self, random: &mut Prng) -> Register {
        match random.below(18) {
            0..4 => self.compute(random),
            4..7 => self.compute_floats(random),
            7..9 => self.choose(random),
            9 => self.cast(random),
            _ => {
                let made = self.question(random);
                self.truths.push(made);
                made
            }
        }
    }

    fn question(&mut self, random: &mut Prng) -> Register {
        let word = (!self.words.is_empty()).then(|| *pick(random, &self.words));
        let (l, r) = (self.truth(random), self.truth(random));
        let comparison = *pick(random, &COMPARISONS);
        match (random.below(11), word) {
            (0 | 1, Some(word)) => {
                let wanted = (0..random.below(14)).map(|_| self.sizes.word(random)).collect();
                self.builder.one_of(word, wanted)
            }
            (2, _) => self.builder.and(l, r),
            (3, _) => self.builder.or(l, r),
            (4, _) => self.builder.not(l),
            (5, _) => {
                let value = self.any(random);
                self.builder.is_null(value)
            }
            (6 | 7, _) if !self.texts.is_empty() => self.text(random),
            (8 | 9, _) => {
                let (l, r) = (self.float_operand(random), self.float_operand(random));
                self.builder.compare_floats(comparison, l, r)
            }
            _ => {
                let (l, r) = (self.operand(random), self.operand(random));
                self.builder.compare(comparison, l, r)
            }
        }
    }

    fn text(&mut self, random: &mut Prng) -> Register {
        let text = *pick(random, &self.texts);
        let question = match random.below(2) {
            0 => Text::StartsWith((*pick(random, &TEXTS)).into()),
            _ => {
                let count = random.below(11);
                Text::OneOf((0..count).map(|_| Box::from(*pick(random, &TEXTS))).collect())
            }
        };
        self.builder.text(text, question)
    }
}

//! Steps of random programs that make words and floats.

use ir::{Arithmetic, Comparison, FloatArithmetic, Operand, Register};
use stdx::Prng;

use super::maker::Maker;
use super::pick::pick;

const OPERATIONS: [Arithmetic; 5] = [
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Divide,
    Arithmetic::Remainder,
];

const FLOAT_OPERATIONS: [FloatArithmetic; 4] = [
    FloatArithmetic::Add,
    FloatArithmetic::Subtract,
    FloatArithmetic::Multiply,
    FloatArithmetic::Divide,
];

impl Maker {
    pub(super) fn operand(&self, random: &mut Prng) -> Operand {
        match self.words.is_empty() || random.below(4) == 0 {
            true => Operand::Constant(self.sizes.word(random)),
            false => Operand::Register(*pick(random, &self.words)),
        }
    }

    pub(super) fn float_operand(&self, random: &mut Prng) -> Operand {
        match self.floats.is_empty() || random.below(4) == 0 {
            true => Operand::float(self.sizes.float(random)),
            false => Operand::Register(*pick(random, &self.floats)),
        }
    }

    pub(super) fn choose(&mut self, random: &mut Prng) -> Register {
        let condition = self.truth(random);
        let is_float = random.below(2) == 0;
        let [then, otherwise] = [(); 2].map(|()| {
            (random.below(5) > 0).then(|| match is_float {
                true => self.float_operand(random),
                false => self.operand(random),
            })
        });
        let made = self.builder.choose(condition, then, otherwise);
        // Two nulls are words.
        match is_float && (then.is_some() || otherwise.is_some()) {
            true => self.floats.push(made),
            false => self.words.push(made),
        }
        made
    }

    /// Words within a range, or as floats.
    pub(super) fn cast(&mut self, random: &mut Prng) -> Register {
        let word = match self.words.is_empty() {
            true => return self.compute(random),
            false => *pick(random, &self.words),
        };
        match random.below(2) {
            0 => {
                // Seldom too narrow.
                let (least, greatest) = match random.below(6) {
                    0 => self.sizes.range(20),
                    _ => (i64::MIN, i64::MAX),
                };
                let made = self.builder.within(word, least, greatest);
                self.words.push(made);
                made
            }
            _ => {
                let made = self.builder.to_float(word);
                self.floats.push(made);
                made
            }
        }
    }

    pub(super) fn compute(&mut self, random: &mut Prng) -> Register {
        let operation = *pick(random, &OPERATIONS);
        let (l, mut r) = (self.operand(random), self.operand(random));
        let divides = matches!(operation, Arithmetic::Divide | Arithmetic::Remainder);
        if divides && random.below(4) > 0 {
            // Most divisors are null in place of zero, or nothing but refusals would be seen.
            let is_zero = self.builder.compare(Comparison::Equal, r, Operand::Constant(0));
            r = Operand::Register(self.builder.choose(is_zero, None, Some(r)));
        }
        let made = self.builder.compute(operation, l, r);
        self.words.push(made);
        made
    }

    pub(super) fn compute_floats(&mut self, random: &mut Prng) -> Register {
        let operation = *pick(random, &FLOAT_OPERATIONS);
        let (mut l, mut r) = (self.float_operand(random), self.float_operand(random));
        if operation == FloatArithmetic::Divide {
            let zero = Operand::float(0.0);
            let is_zero = self.builder.compare_floats(Comparison::Equal, r, zero);
            let nan = Some(Operand::float(f64::NAN));
            match random.below(4) {
                // Of NaN by zero there is a quotient.
                0 => l = Operand::Register(self.builder.choose(is_zero, nan, Some(l))),
                1 => {}
                _ => r = Operand::Register(self.builder.choose(is_zero, None, Some(r))),
            }
        }
        let made = self.builder.compute_floats(operation, l, r);
        self.floats.push(made);
        made
    }
}

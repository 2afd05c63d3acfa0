//! Floats of 64 bits: those operations of the library whose results `ir` has bit by bit.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{CaseExpr, CastExpr, Column, Literal};
use ir::{FloatArithmetic, Operand, Register};

use super::{Lowering, Node, Part, comparison, is};
use crate::expr::exact;

impl Lowering<'_> {
    /// Floats; a null constant is none.
    pub(super) fn floats(&mut self, node: &Node) -> Option<Operand> {
        if self.ty(node)? != DataType::Float64 {
            return None;
        }
        if is::<Column>(node).is_some() {
            return self.column(node).map(Operand::Register);
        }
        if let Some(literal) = is::<Literal>(node) {
            return match literal.value() {
                ScalarValue::Float64(Some(value)) => Some(Operand::float(*value)),
                _ => None,
            };
        }
        if let Some(case) = is::<CaseExpr>(node) {
            return self.case(case, &DataType::Float64).map(Operand::Register);
        }
        if let Some(cast) = is::<CastExpr>(node) {
            return self.cast_to_floats(cast.expr());
        }
        self.float_arithmetic(node).map(Operand::Register)
    }

    /// Whole numbers as the floats next to them.
    fn cast_to_floats(&mut self, from: &Node) -> Option<Operand> {
        match self.ty(from)? {
            DataType::Float64 => return self.floats(from),
            ty if ty.is_integer() => {}
            _ => return None,
        }
        match self.words(from)? {
            Part::Vector(register) => Some(Operand::Register(self.builder.to_float(register))),
            Part::Word(word) => Some(Operand::float(word as f64)),
            Part::Null => None,
        }
    }

    fn float_arithmetic(&mut self, node: &Node) -> Option<Register> {
        let binary = exact::of_floats(node)?;
        let operation = match binary.op() {
            Operator::Plus => FloatArithmetic::Add,
            Operator::Minus => FloatArithmetic::Subtract,
            Operator::Multiply => FloatArithmetic::Multiply,
            Operator::Divide => FloatArithmetic::Divide,
            _ => return None,
        };
        let (left, right) = (self.floats(binary.left())?, self.floats(binary.right())?);
        if operation == FloatArithmetic::Divide {
            let is_zero = |bits: u64| f64::from_bits(bits) == 0.0;
            let is_safe = matches!(right, Operand::Float(bits) if !is_zero(bits));
            self.divisions += usize::from(!is_safe);
        }
        Some(self.builder.compute_floats(operation, left, right))
    }

    /// A comparison of floats in PostgreSQL's order.
    pub(super) fn compared_floats(
        &mut self,
        left: &Node,
        operator: Operator,
        right: &Node,
    ) -> Option<Register> {
        let comparison = comparison(operator)?;
        let (left, right) = (self.floats(left)?, self.floats(right)?);
        Some(self.builder.compare_floats(comparison, left, right))
    }
}

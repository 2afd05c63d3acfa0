//! From the library's expressions to programs.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NegativeExpr, NotExpr,
};
use ir::{Arithmetic, Builder, Comparison, Operand, Program, Register, Text, Value};

use crate::expr::compared;
use crate::expr::liked::Liked;

mod floats;

/// Powers of ten that fit a word.
const POWERS_MAX: u32 = 18;

/// One program in the making, over rows of a schema.
pub(super) struct Lowering<'a> {
    schema: &'a Schema,
    builder: Builder,
    columns: Vec<Node>,
    /// Divisions by what may be zero, so far.
    divisions: usize,
}

/// A part of an expression: what it is for each row.
#[derive(Clone, Copy)]
enum Part {
    Vector(Register),
    Word(i64),
    Null,
}

impl Part {
    /// A side of an operation; nothing is computed with null.
    fn operand(self) -> Option<Operand> {
        match self {
            Part::Vector(register) => Some(Operand::Register(register)),
            Part::Word(word) => Some(Operand::Constant(word)),
            Part::Null => None,
        }
    }
}

type Node = Arc<dyn PhysicalExpr>;

fn is<T: PhysicalExpr>(node: &Node) -> Option<&T> {
    (node.as_ref() as &dyn std::any::Any).downcast_ref::<T>()
}

impl<'a> Lowering<'a> {
    pub(super) fn new(schema: &'a Schema) -> Lowering<'a> {
        Lowering { schema, builder: Builder::default(), columns: vec![], divisions: 0 }
    }

    /// The program of an expression that computes something, with the columns that it reads.
    pub(super) fn program(mut self, node: &Node) -> Option<(Program, Vec<Node>)> {
        let ty = self.ty(node)?;
        let result = match (Value::is_words(&ty), &ty) {
            (true, _) => match self.words(node)? {
                Part::Vector(register) => register,
                Part::Word(_) | Part::Null => return None,
            },
            (false, DataType::Boolean) => self.truths(node)?,
            (false, DataType::Float64) => match self.floats(node)? {
                Operand::Register(register) => register,
                Operand::Constant(_) | Operand::Float(_) => return None,
            },
            _ => return None,
        };
        if self.builder.work() == 0 || self.columns.is_empty() {
            return None;
        }
        Some((self.builder.finish(result), self.columns))
    }

    fn ty(&self, node: &Node) -> Option<DataType> {
        node.data_type(self.schema).ok()
    }

    /// One of the columns that the program is given; `node` is a column.
    fn column(&mut self, node: &Node) -> Option<Register> {
        if !Value::is_loadable(&self.ty(node)?) {
            return None;
        }
        let known = self.columns.iter().position(|column| column.eq(node));
        let at = known.unwrap_or_else(|| {
            self.columns.push(Arc::clone(node));
            self.columns.len() - 1
        });
        Some(self.builder.column(at))
    }

    /// Whole numbers, dates, decimals.
    fn words(&mut self, node: &Node) -> Option<Part> {
        let ty = self.ty(node)?;
        if !Value::is_words(&ty) {
            return None;
        }
        if is::<Column>(node).is_some() {
            return self.column(node).map(Part::Vector);
        }
        if let Some(literal) = is::<Literal>(node) {
            return word(literal.value());
        }
        if let Some(binary) = is::<BinaryExpr>(node) {
            return self.arithmetic(binary, &ty).map(Part::Vector);
        }
        if let Some(cast) = is::<CastExpr>(node) {
            return self.cast(cast.expr(), &ty);
        }
        if let Some(case) = is::<CaseExpr>(node) {
            return self.case(case, &ty).map(Part::Vector);
        }
        if let Some(negative) = is::<NegativeExpr>(node) {
            let is_decimal = matches!(ty, DataType::Decimal128(..));
            let word = self.words(negative.arg()).filter(|_| is_decimal)?.operand()?;
            let zero = Operand::Constant(0);
            return Some(Part::Vector(self.builder.compute(Arithmetic::Subtract, zero, word)));
        }
        None
    }

    fn arithmetic(&mut self, binary: &BinaryExpr, ty: &DataType) -> Option<Register> {
        let operation = match binary.op() {
            Operator::Plus => Arithmetic::Add,
            Operator::Minus => Arithmetic::Subtract,
            Operator::Multiply => Arithmetic::Multiply,
            Operator::Divide => Arithmetic::Divide,
            Operator::Modulo => Arithmetic::Remainder,
            _ => return None,
        };
        let (l, r) = (self.ty(binary.left())?, self.ty(binary.right())?);
        let (left, right) = (self.words(binary.left())?, self.words(binary.right())?);
        if let (Some(l), Some(r), Some(scale)) = (scale(&l), scale(&r), scale(ty)) {
            let (left, right) = match operation {
                Arithmetic::Multiply if l + r == scale => (left, right),
                Arithmetic::Add | Arithmetic::Subtract if l.max(r) == scale => {
                    (self.raised(left, scale - l)?, self.raised(right, scale - r)?)
                }
                _ => return None,
            };
            return Some(self.builder.compute(operation, left.operand()?, right.operand()?));
        }
        if &l != ty || &r != ty {
            return None;
        }
        let (least, greatest) = range(ty)?;
        if matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
            self.divisions += usize::from(!matches!(right, Part::Word(word) if word != 0));
        }
        let result = self.builder.compute(operation, left.operand()?, right.operand()?);
        Some(self.builder.within(result, least, greatest))
    }

    /// Ten to the power of `digits` as much.
    fn raised(&mut self, part: Part, digits: u32) -> Option<Part> {
        let factor = 10i64.checked_pow(digits)?;
        Some(match part {
            part if digits == 0 => part,
            Part::Word(word) => Part::Word(word.checked_mul(factor)?),
            Part::Null => Part::Null,
            Part::Vector(register) => {
                let (word, factor) = (Operand::Register(register), Operand::Constant(factor));
                Part::Vector(self.builder.compute(Arithmetic::Multiply, word, factor))
            }
        })
    }

    /// Casts that lose nothing, or are refused.
    fn cast(&mut self, from: &Node, to: &DataType) -> Option<Part> {
        let from_type = self.ty(from)?;
        let part = self.words(from)?;
        if from_type == *to {
            return Some(part);
        }
        let (from_scale, bounds) = match (&from_type, to) {
            (ty, DataType::Decimal128(digits, _)) if ty.is_integer() => (0, digit_bounds(*digits)),
            (DataType::Decimal128(..), DataType::Decimal128(digits, _)) => {
                (scale(&from_type)?, digit_bounds(*digits))
            }
            (from, to) if from.is_integer() && to.is_integer() => (0, range(to)?),
            _ => return None,
        };
        let raised = self.raised(part, scale(to).unwrap_or(0).checked_sub(from_scale)?)?;
        let (least, greatest) = bounds;
        match raised {
            Part::Vector(register) => {
                Some(Part::Vector(self.builder.within(register, least, greatest)))
            }
            Part::Word(word) => (least..=greatest).contains(&word).then_some(Part::Word(word)),
            Part::Null => Some(Part::Null),
        }
    }

    /// A choice whose conditions and branches are all computed for all rows. One that divides by
    /// what may be zero is left to the library, which divides in the rows that are meant.
    fn case(&mut self, case: &CaseExpr, ty: &DataType) -> Option<Register> {
        if case.expr().is_some() {
            return None;
        }
        let divisions = self.divisions;
        let mut otherwise = match case.else_expr() {
            Some(node) => self.branch(node, ty)?,
            None => None,
        };
        let mut chosen = None;
        for (when, then) in case.when_then_expr().iter().rev() {
            let then = self.branch(then, ty)?;
            if *ty == DataType::Float64 && then.is_none() && otherwise.is_none() {
                // A choice of two nulls would be words.
                return None;
            }
            let condition = self.truths(when)?;
            let register = self.builder.choose(condition, then, otherwise);
            otherwise = Some(Operand::Register(register));
            chosen = Some(register);
        }
        chosen.filter(|_| self.divisions == divisions)
    }

    fn branch(&mut self, node: &Node, ty: &DataType) -> Option<Option<Operand>> {
        let is_null = is::<Literal>(node).is_some_and(|literal| literal.value().is_null());
        match is_null {
            true => Some(None),
            false if self.ty(node)? != *ty => None,
            false if *ty == DataType::Float64 => self.floats(node).map(Some),
            false => Some(self.words(node)?.operand()),
        }
    }

    fn truths(&mut self, node: &Node) -> Option<Register> {
        if self.ty(node)? != DataType::Boolean {
            return None;
        }
        if is::<Column>(node).is_some() {
            return self.column(node);
        }
        if let Some(ScalarValue::Boolean(value)) = is::<Literal>(node).map(Literal::value) {
            return Some(self.builder.truth(*value));
        }
        if let Some(binary) = is::<BinaryExpr>(node) {
            return match binary.op() {
                Operator::And | Operator::Or => {
                    let (l, r) = (self.truths(binary.left())?, self.truths(binary.right())?);
                    Some(match binary.op() {
                        Operator::And => self.builder.and(l, r),
                        _ => self.builder.or(l, r),
                    })
                }
                _ => self.comparison(binary),
            };
        }
        if let Some(not) = is::<NotExpr>(node) {
            let inner = self.truths(not.arg())?;
            return Some(self.builder.not(inner));
        }
        if let Some(test) = is::<IsNullExpr>(node) {
            return self.is_null(test.arg());
        }
        if let Some(test) = is::<IsNotNullExpr>(node) {
            let inner = self.is_null(test.arg())?;
            return Some(self.builder.not(inner));
        }
        if let Some(list) = is::<InListExpr>(node) {
            return self.one_of(list);
        }
        if let Some((left, operator, right)) = compared::sides(node) {
            return self.compared_floats(left, operator, right);
        }
        is::<Liked>(node).and_then(|liked| self.like(liked.like()))
    }

    fn is_null(&mut self, node: &Node) -> Option<Register> {
        let ty = self.ty(node)?;
        let value = match ty {
            DataType::Boolean => self.truths(node)?,
            DataType::Utf8View => self.text(node)?,
            DataType::Float64 => match self.floats(node)? {
                Operand::Register(register) => register,
                Operand::Constant(_) | Operand::Float(_) => return None,
            },
            _ => match self.words(node)? {
                Part::Vector(register) => register,
                Part::Word(_) | Part::Null => return None,
            },
        };
        Some(self.builder.is_null(value))
    }

    fn comparison(&mut self, binary: &BinaryExpr) -> Option<Register> {
        let comparison = comparison(*binary.op())?;
        let (l, r) = (self.ty(binary.left())?, self.ty(binary.right())?);
        let is_alike = match (scale(&l), scale(&r)) {
            (Some(l), Some(r)) => l == r,
            _ => l == r,
        };
        if is_alike && Value::is_words(&l) {
            let (left, right) = (self.words(binary.left())?, self.words(binary.right())?);
            let compared = self.builder.compare(comparison, left.operand()?, right.operand()?);
            return Some(compared);
        }
        let wanted = text_of(binary.right())?;
        let question = Text::OneOf([wanted.into_boxed_str()].into());
        let is_equal = match comparison {
            Comparison::Equal => true,
            Comparison::NotEqual => false,
            _ => return None,
        };
        let text = self.text(binary.left())?;
        let found = self.builder.text(text, question);
        Some(if is_equal { found } else { self.builder.not(found) })
    }

    /// A column of texts.
    fn text(&mut self, node: &Node) -> Option<Register> {
        is::<Column>(node)?;
        if self.ty(node)? == DataType::Utf8View { self.column(node) } else { None }
    }

    fn one_of(&mut self, list: &InListExpr) -> Option<Register> {
        let found = if self.ty(list.expr())? == DataType::Utf8View {
            let wanted = list.list().iter().map(|node| Some(text_of(node)?.into_boxed_str()));
            let wanted: Option<Vec<Box<str>>> = wanted.collect();
            let question = Text::OneOf(wanted?.into());
            let text = self.text(list.expr())?;
            self.builder.text(text, question)
        } else {
            let ty = self.ty(list.expr())?;
            let Part::Vector(word) = self.words(list.expr())? else { return None };
            let wanted = list.list().iter().map(|node| self.member(node, &ty));
            let wanted: Vec<i64> = wanted.collect::<Option<_>>()?;
            self.builder.one_of(word, wanted)
        };
        Some(if list.negated() { self.builder.not(found) } else { found })
    }

    fn member(&self, node: &Node, ty: &DataType) -> Option<i64> {
        match word(is::<Literal>(node)?.value())? {
            Part::Word(word) if self.ty(node)? == *ty => Some(word),
            _ => None,
        }
    }

    /// Patterns that are a beginning.
    fn like(&mut self, like: &LikeExpr) -> Option<Register> {
        let pattern = text_of(like.pattern())?;
        let prefix = pattern.strip_suffix('%')?;
        if like.case_insensitive() || prefix.contains(['%', '_', '\\']) {
            return None;
        }
        let text = self.text(like.expr())?;
        let found = self.builder.text(text, Text::StartsWith(prefix.into()));
        Some(if like.negated() { self.builder.not(found) } else { found })
    }
}

/// The comparison that an operator is.
fn comparison(operator: Operator) -> Option<Comparison> {
    Some(match operator {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// A constant as a word.
fn word(value: &ScalarValue) -> Option<Part> {
    if value.is_null() {
        return Some(Part::Null);
    }
    Some(Part::Word(match value {
        ScalarValue::Int16(Some(v)) => i64::from(*v),
        ScalarValue::Int32(Some(v)) | ScalarValue::Date32(Some(v)) => i64::from(*v),
        ScalarValue::Int64(Some(v)) | ScalarValue::TimestampMicrosecond(Some(v), _) => *v,
        ScalarValue::Decimal128(Some(v), ..) => i64::try_from(*v).ok()?,
        _ => return None,
    }))
}

fn text_of(node: &Node) -> Option<String> {
    match is::<Literal>(node)?.value() {
        ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Digits after the point of a decimal.
fn scale(ty: &DataType) -> Option<u32> {
    match ty {
        DataType::Decimal128(_, scale) => u32::try_from(*scale).ok(),
        _ => None,
    }
}

/// The least and the greatest value of an integer type.
fn range(ty: &DataType) -> Option<(i64, i64)> {
    match ty {
        DataType::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        DataType::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
        DataType::Int64 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// What has so many digits, as far as it fits a word.
fn digit_bounds(digits: u8) -> (i64, i64) {
    match u32::from(digits) {
        digits if digits <= POWERS_MAX => (1 - 10i64.pow(digits), 10i64.pow(digits) - 1),
        _ => (i64::MIN, i64::MAX),
    }
}

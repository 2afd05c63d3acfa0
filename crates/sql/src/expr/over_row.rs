//! The library's expressions as expressions over a row: of whole numbers, of decimals, of texts, of
//! what has the machine's order, and of truths.

mod decimals;

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use plan::expr::{Comparison, Constant, Operation, RowExpr, TextFunction, Whole};
use types::cells::{has_form, is_counted, value_of};

use super::concatenated::Concatenated;
use super::library::as_node;
use super::measured::Measured;
use super::runtime_parameter::RuntimeParameter;
use super::typed::Typed;

type Node = Arc<dyn PhysicalExpr>;

/// Members of a list that are compared one after the other; the library looks longer ones up in a
/// table.
const MEMBERS_MAX: usize = 16;

/// An expression over a row of `input`; `None` where it has no such form.
pub(super) fn over_row(node: &Node, input: &Schema) -> Option<RowExpr> {
    if let Some(typed) = as_node::<Typed>(node) {
        return over_row(typed.library(), input);
    }
    if let Some(column) = as_node::<Column>(node) {
        return Some(RowExpr::Column(column.index()));
    }
    if let Some(literal) = as_node::<Literal>(node) {
        let array = literal.value().to_array().ok()?;
        let value = has_form(array.data_type()).then(|| value_of(array.as_ref(), 0).ok());
        return Some(RowExpr::Constant(value??.into()));
    }
    if let Some(measured) = as_node::<Measured>(node) {
        return over_row(measured.inner(), input);
    }
    if let Some(call) = as_node::<ScalarFunctionExpr>(node) {
        return match call.fun().inner().downcast_ref::<RuntimeParameter>() {
            Some(parameter) => Some(RowExpr::Parameter(parameter.number())),
            None => of_call(call, input),
        };
    }
    if let Some(both) = as_node::<Concatenated>(node) {
        return of_texts(TextFunction::Concat, both.sides().iter(), input);
    }
    if let Some(case) = as_node::<CaseExpr>(node) {
        return of_case(case, input);
    }
    if let Some(cast) = as_node::<CastExpr>(node) {
        return widened(cast, input);
    }
    if let Some(list) = as_node::<InListExpr>(node) {
        return one_of(list, input);
    }
    if let Some(binary) = as_node::<BinaryExpr>(node) {
        return of_binary(binary, input);
    }
    of_truth(node, input)
}

fn of_truth(node: &Node, input: &Schema) -> Option<RowExpr> {
    let inner = |node| over_row(node, input).map(Box::new);
    if let Some(not) = as_node::<NotExpr>(node) {
        return inner(not.arg()).map(RowExpr::Not);
    }
    if let Some(test) = as_node::<IsNullExpr>(node) {
        return inner(test.arg()).map(RowExpr::IsNull);
    }
    let test = as_node::<IsNotNullExpr>(node)?;
    Some(RowExpr::Not(RowExpr::IsNull(inner(test.arg())?).into()))
}

/// A whole number has the same word as a number of a wider type.
fn widened(cast: &CastExpr, input: &Schema) -> Option<RowExpr> {
    let bytes = |ty: &DataType| match ty {
        DataType::Int16 => Some(2),
        DataType::Int32 => Some(4),
        DataType::Int64 => Some(8),
        _ => None,
    };
    let (from, to) = (cast.expr().data_type(input).ok()?, cast.cast_type());
    if bytes(&from)? > bytes(to)? {
        return None;
    }
    over_row(cast.expr(), input)
}

/// A function of texts that is the same for a row as the library's.
fn of_call(call: &ScalarFunctionExpr, input: &Schema) -> Option<RowExpr> {
    let function = match call.name() {
        "upper" => TextFunction::Upper,
        "lower" => TextFunction::Lower,
        "left" => TextFunction::Left,
        "length" | "character_length" => TextFunction::Length,
        _ => return None,
    };
    let first = call.args().first()?.data_type(input).ok()?;
    (first == DataType::Utf8View).then(|| of_texts(function, call.args().iter(), input)).flatten()
}

fn of_texts<'a>(
    function: TextFunction,
    arguments: impl Iterator<Item = &'a Node>,
    input: &Schema,
) -> Option<RowExpr> {
    let arguments = arguments.map(|node| over_row(node, input)).collect::<Option<Vec<_>>>()?;
    (arguments.len() == function.arguments()).then_some(RowExpr::Text(function, arguments))
}

/// A `CASE` of conditions, whose values are all of its type.
fn of_case(case: &CaseExpr, input: &Schema) -> Option<RowExpr> {
    if case.expr().is_some() {
        return None;
    }
    let ty = case.data_type(input).ok().filter(has_form)?;
    let value = |node: &Node| {
        let is_alike = node.data_type(input).is_ok_and(|value| value == ty);
        is_alike.then(|| over_row(node, input)).flatten()
    };
    let branch = |(when, then): &(Node, Node)| {
        let is_truth = when.data_type(input).is_ok_and(|ty| ty == DataType::Boolean);
        Some((is_truth.then(|| over_row(when, input)).flatten()?, value(then)?))
    };
    let branches = case.when_then_expr().iter().map(branch).collect::<Option<Vec<_>>>()?;
    let otherwise = match case.else_expr() {
        Some(node) => value(node)?,
        None => RowExpr::Constant(Constant::Null),
    };
    Some(RowExpr::Case(branches, Box::new(otherwise)))
}

fn one_of(list: &InListExpr, input: &Schema) -> Option<RowExpr> {
    if list.list().len() > MEMBERS_MAX {
        return None;
    }
    let ty = list.expr().data_type(input).ok()?;
    let member = |node: &Node| {
        let is_alike = node.data_type(input).is_ok_and(|member| member == ty);
        is_alike.then(|| over_row(node, input)).flatten()
    };
    let members = list.list().iter().map(member).collect::<Option<Vec<_>>>()?;
    let value = has_order(&ty).then(|| over_row(list.expr(), input)).flatten()?;
    let found = RowExpr::OneOf(value.into(), members);
    Some(if list.negated() { RowExpr::Not(found.into()) } else { found })
}

/// True if values of the type have the order of their words or bytes.
fn has_order(ty: &DataType) -> bool {
    is_counted(ty) || matches!(ty, DataType::Utf8View)
}

fn of_binary(binary: &BinaryExpr, input: &Schema) -> Option<RowExpr> {
    let sides = || {
        let (left, right) = (over_row(binary.left(), input)?, over_row(binary.right(), input)?);
        Some(Box::new((left, right)))
    };
    let test = match binary.op() {
        Operator::Plus => return arithmetic(binary, Operation::Add, input),
        Operator::Minus => return arithmetic(binary, Operation::Subtract, input),
        Operator::Multiply => return arithmetic(binary, Operation::Multiply, input),
        Operator::Divide => return arithmetic(binary, Operation::Divide, input),
        Operator::Modulo => return arithmetic(binary, Operation::Remainder, input),
        Operator::And => return sides().map(RowExpr::And),
        Operator::Or => return sides().map(RowExpr::Or),
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let left = binary.left().data_type(input).ok()?;
    let is_alike = binary.right().data_type(input).is_ok_and(|right| right == left);
    (is_alike && has_order(&left)).then(sides).flatten().map(|sides| RowExpr::Compare(test, sides))
}

/// Arithmetic of whole numbers of one type.
fn arithmetic(binary: &BinaryExpr, operation: Operation, input: &Schema) -> Option<RowExpr> {
    let ty = binary.data_type(input).ok()?;
    if let DataType::Decimal128(..) = ty {
        return decimals::arithmetic(binary, operation, &ty, input);
    }
    let whole = Whole::of(&ty)?;
    let side = |node: &Node| {
        let is_alike = node.data_type(input).is_ok_and(|side| side == ty);
        is_alike.then(|| over_row(node, input)).flatten()
    };
    let sides = Box::new((side(binary.left())?, side(binary.right())?));
    Some(RowExpr::Arithmetic(operation, whole, sides))
}

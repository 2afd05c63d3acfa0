//! Expressions that are made of parameters alone: their values at an execution.
//!
//! A parameter that already is of the type that is asked for is its own value. What is computed of
//! some is compiled when the plan is made, with the parameters as arguments.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, FieldRef, Schema};
use bumpalo::Bump;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::{Cast, Expr};
use plan::expr::{Form, Row, RowExpr};
use plan::{Parameters, constant, limits, row_of};
use types::cells::Cells;
use types::{SqlResult, zone};

use crate::cast::exact::exactly;
use crate::error::from_library;
use crate::expr::runtime_parameter::parameter;
use crate::expr::scalar;
use crate::logical::constants::fold;
use crate::optimize::values::{literal, of_type};
use crate::parse::expressions;
use crate::parse::parameter::Parameter;
use crate::walk::nodes::Nodes;

/// An expression that is made of parameters alone.
pub(super) struct Made {
    expr: Expr,
    source: Source,
    /// The type that it has.
    ty: DataType,
    /// True if it is converted to that type, which must leave it as it is.
    is_converted: bool,
}

/// Where its value comes from.
enum Source {
    /// It is a parameter.
    Given(Argument),
    /// It is computed over a row of arguments.
    OverRow { expr: RowExpr, ty: DataType, arguments: Vec<Argument> },
    /// It is computed by an expression that was compiled.
    Computed { expr: plan::expr::Expr, arguments: Vec<Argument> },
    /// It is folded as a constant.
    Folded,
}

/// A parameter of the statement.
struct Argument {
    number: usize,
    /// Its type; of others the text is an argument.
    ty: Option<DataType>,
}

impl Made {
    /// An expression that had the type `ty` with the values `given`.
    pub(super) fn new(expr: Expr, ty: DataType, is_converted: bool, given: &[Parameter]) -> Made {
        let source = Source::of(&expr, given);
        Made { expr, source, ty, is_converted }
    }

    /// True if it is this expression as this type.
    pub(super) fn is(&self, expr: &Expr, ty: &DataType, is_converted: bool) -> bool {
        self.expr == *expr && self.ty == *ty && self.is_converted == is_converted
    }

    /// Its value, never null; `None` where it has none of the type.
    pub(super) fn value(&self, given: &[Parameter]) -> Option<ScalarValue> {
        let value = match &self.source {
            Source::Given(argument) => argument.value(given)?,
            Source::OverRow { expr, ty, arguments } => over_row(expr, ty, arguments, given)?,
            Source::Computed { expr, arguments } => computed(expr, arguments, given)?,
            Source::Folded => evaluated(&self.expr, given).ok()??,
        };
        let value = if self.is_converted { exactly(&value, &self.ty)? } else { value };
        (!value.is_null() && value.data_type() == self.ty).then_some(value)
    }
}

impl Source {
    fn of(expr: &Expr, given: &[Parameter]) -> Source {
        let mut arguments = vec![];
        if let Expr::Placeholder(placeholder) = expr
            && let Some(field) = &placeholder.field
            && let Some(argument) = Argument::of(&placeholder.id, field, given)
            && argument.ty.is_some()
        {
            return Source::Given(argument);
        }
        let Ok(of_arguments) = compiled(expr, given, &mut arguments) else { return Source::Folded };
        // Folding has rules of its own, which count where both differ.
        let value = evaluated(expr, given).ok().flatten();
        if let Form::Foreign(evaluator) = of_arguments.form()
            && let Some(expr) = evaluator.over_row(&Schema::empty())
            && over_row(&expr, of_arguments.data_type(), &arguments, given) == value
        {
            let ty = of_arguments.data_type().clone();
            return Source::OverRow { expr, ty, arguments };
        }
        match computed(&of_arguments, &arguments, given) == value {
            true => Source::Computed { expr: of_arguments, arguments },
            false => Source::Folded,
        }
    }
}

impl Argument {
    fn of(id: &str, field: &FieldRef, given: &[Parameter]) -> Option<Argument> {
        let (number, value) = of_number(id, given)?;
        let ty = of_type(value, field.data_type()).map(|_| field.data_type().clone());
        Some(Argument { number, ty })
    }

    fn value(&self, given: &[Parameter]) -> Option<ScalarValue> {
        let value = given.get(self.number)?;
        match &self.ty {
            Some(ty) => of_type(value, ty),
            None => Some(ScalarValue::Utf8(Some(value.text()?.into_owned()))),
        }
    }
}

/// The expression over arguments.
fn compiled(
    expr: &Expr,
    given: &[Parameter],
    arguments: &mut Vec<Argument>,
) -> SqlResult<plan::expr::Expr> {
    let placed = expr.clone().transform_up(|part: Expr| {
        let Expr::Placeholder(placeholder) = &part else { return Ok(Transformed::no(part)) };
        let Some(field) = &placeholder.field else { return Ok(Transformed::no(part)) };
        let argument = Argument::of(&placeholder.id, field, given);
        let Some((argument, value)) = argument.and_then(|a| a.value(given).map(|value| (a, value)))
        else {
            return Ok(Transformed::no(part));
        };
        let (is_text, field) = (argument.ty.is_none(), field.clone());
        let placed = parameter(arguments.len(), value);
        arguments.push(argument);
        Ok(Transformed::yes(match is_text && *field.data_type() != DataType::Utf8 {
            true => Expr::Cast(Cast { expr: Box::new(placed), field }),
            false => placed,
        }))
    });
    scalar::compile(&placed.data().map_err(from_library)?, &DFSchema::empty())
}

/// The value of an expression over a row of arguments; `None` where it has none, of which planning
/// says why.
fn over_row(
    expr: &RowExpr,
    ty: &DataType,
    arguments: &[Argument],
    given: &[Parameter],
) -> Option<ScalarValue> {
    let values = arguments.iter().map(|argument| argument.value(given));
    let parameters = row_of(values.collect::<Option<Vec<_>>>()?.iter()).ok()?;
    let (rows, made) = (Cells::default(), Bump::new());
    let row = Row { rows: &rows, at: 0, parameters: &parameters, made: &made };
    constant(expr.value(row).ok()?, ty)
}

/// The value of a compiled expression; `None` where it has none, of which planning says why.
fn computed(
    expr: &plan::expr::Expr,
    arguments: &[Argument],
    given: &[Parameter],
) -> Option<ScalarValue> {
    let values = arguments.iter().map(|argument| argument.value(given));
    let values = values.collect::<Option<Vec<_>>>()?.into();
    let parameters = Parameters { values, context: zone::current(), calls: None };
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Schema::empty().into(), vec![], &one_row).ok()?;
    let work = || limits::folding(|| expr.evaluate(&row));
    let array = limits::with_parameters(parameters, work).ok()?;
    ScalarValue::try_from_array(&array, 0).ok()
}

/// The value of an expression of parameters alone, where it is one constant.
pub(super) fn evaluated(expr: &Expr, given: &[Parameter]) -> Result<Option<ScalarValue>> {
    let valued = |part: Expr| {
        let Expr::Placeholder(placeholder) = &part else { return fold(part) };
        match (of_number(&placeholder.id, given), &placeholder.field) {
            (Some((_, value)), Some(field)) => literal(value, field).map(Transformed::yes),
            _ => Ok(Transformed::no(part)),
        }
    };
    Ok(match expr.clone().transform_up(valued).data()? {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    })
}

/// The number of a placeholder, with its value.
pub(super) fn of_number<'a>(id: &str, given: &'a [Parameter]) -> Option<(usize, &'a Parameter)> {
    let number = expressions::index(id)?;
    Some((number, given.get(number)?))
}

//! Values in the places of parameters.
//!
//! A parameter is a placeholder to the library, which takes literals for what they are. While the order of
//! joins is chosen it is a literal with its number, so that this is done for some value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use arrow_schema::{DataType, Field};
use datafusion_common::metadata::FieldMetadata;
use datafusion_common::tree_node::{
    Transformed, TransformedResult, TreeNodeRecursion, TreeNodeVisitor,
};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::{Cast, Placeholder};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use types::{Datum, SqlResult};

use crate::analyze::typing::elements::as_list_of_constant;
use crate::error::from_library;
use crate::logical::constants::fold;
use crate::logical::run::{limited, simplified};
use crate::parse::expressions;
use crate::parse::parameter::Parameter;
use crate::rewrite::clock;
use crate::walk::nodes::{Nodes, erased, erased_ref};

/// Where a literal has the number of its parameter.
const NUMBER: &str = "dovetail.parameter";

/// The values of so many parameters, and behind them those of the clock, where a moment is given.
pub(crate) fn all(
    parameters: &[Parameter],
    count: usize,
    now_us: Option<i64>,
) -> SqlResult<Vec<Parameter>> {
    let mut values = parameters[..count.min(parameters.len())].to_vec();
    let moments = now_us.and_then(clock::texts).into_iter().flatten();
    values.extend(moments.map(Parameter::unknown));
    Ok(values)
}

/// The plan for these values, with what is made of them alone computed.
pub(crate) fn with_values(plan: LogicalPlan, values: &[Parameter]) -> SqlResult<LogicalPlan> {
    let is_limited = is_limited_by_parameters(&plan).map_err(from_library)?;
    let valued = |expr: Expr| {
        let Expr::Placeholder(placeholder) = &expr else { return fold(expr) };
        let number = expressions::index(&placeholder.id);
        match (number.and_then(|number| values.get(number)), &placeholder.field) {
            (Some(value), Some(field)) => literal(value, field).map(Transformed::yes),
            _ => Ok(Transformed::no(expr)),
        }
    };
    let bound = replaced(plan, &is_parameter, &valued).map_err(from_library)?;
    let Transformed { data: mut bound, transformed: has_lists, .. } =
        listed(bound).map_err(from_library)?;
    // Short lists become alternatives, as they are in a plan for values alone.
    if has_lists || compares_casts(&bound).map_err(from_library)? {
        bound = simplified(bound)?;
    }
    match is_limited {
        true => limited(bound),
        false => Ok(bound),
    }
}

/// The plan without tests of parameters for nulls: one that is null is a constant of its plan, and
/// no parameter.
pub(crate) fn without_null_tests(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let answer = |expr: Expr| match is_null_test(&expr) {
        Some(value) => Ok(Transformed::yes(Expr::Literal(ScalarValue::from(value), None))),
        None => Ok(decided(expr)),
    };
    replaced(plan, &|expr| is_null_test(expr).is_some(), &answer).map_err(from_library)
}

/// A conjunction or disjunction without a side that is a known truth.
fn decided(expr: Expr) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr else {
        return Transformed::no(expr);
    };
    // The truth of one side that is that of both.
    let deciding = match op {
        Operator::Or => true,
        Operator::And => false,
        _ => return Transformed::no(expr),
    };
    let truth = |side: &Expr| match side {
        Expr::Literal(ScalarValue::Boolean(truth), _) => *truth,
        _ => None,
    };
    let (one, other) = (truth(left), truth(right));
    Transformed::yes(match (one, other) {
        (None, None) => return Transformed::no(expr),
        _ if one == Some(deciding) || other == Some(deciding) => {
            Expr::Literal(ScalarValue::from(deciding), None)
        }
        (Some(_), _) => right.as_ref().clone(),
        (None, _) => left.as_ref().clone(),
    })
}

/// The value of a test of a parameter for null, also behind a cast.
fn is_null_test(expr: &Expr) -> Option<bool> {
    let (of, value) = match expr {
        Expr::IsNull(of) => (of, false),
        Expr::IsNotNull(of) => (of, true),
        _ => return None,
    };
    let of = match &**of {
        Expr::Cast(cast) => without_same(cast),
        of => of,
    };
    is_parameter(of).then_some(value)
}

/// The operand of a cast, behind casts to the same type: a parameter has one to its own type where
/// it stands, to which a statement may add another.
fn without_same(cast: &Cast) -> &Expr {
    match &*cast.expr {
        Expr::Cast(inner) if inner.field.data_type() == cast.field.data_type() => {
            without_same(inner)
        }
        operand => operand,
    }
}

/// The plan with lists in the places of comparisons with arrays that have become constants.
fn listed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let is_call = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => matches!(call.func.name(), "any_eq" | "all_ne"),
        _ => false,
    };
    plan.transform_up(|node| {
        let mut found = false;
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            found |= has(expr, &is_call)?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        }))?;
        if !found {
            return Ok(Transformed::no(node));
        }
        let (schema, preserver) = (read_by(&node)?, NamePreserver::new(&node));
        let as_list = |part: Expr| match &part {
            Expr::ScalarFunction(call) => {
                let list = as_list_of_constant(call, &schema)?;
                Ok(list.map_or_else(|| Transformed::no(part.clone()), Transformed::yes))
            }
            _ => Ok(Transformed::no(part)),
        };
        node.map_expressions(erased(&mut |expr: Expr| {
            let name = preserver.save(&expr);
            Ok(expr.transform_up(as_list)?.update_data(|expr| name.restore(expr)))
        }))
    })
}

/// The columns that the expressions of a node read.
pub(crate) fn read_by(node: &LogicalPlan) -> Result<DFSchema> {
    match node {
        LogicalPlan::TableScan(scan) => {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())
        }
        other => Ok(merge_schema(&other.inputs())),
    }
}

/// Whether a number of rows is a parameter: sorts below know theirs with its value alone.
pub(crate) fn is_limited_by_parameters(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= is_number_a_parameter(node)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether a number of rows within a subquery is a parameter. What becomes of the subquery depends on its value:
/// of `EXISTS` the library leaves out all numbers but 0.
pub(crate) fn are_subqueries_limited(bound: &LogicalPlan) -> Result<bool> {
    let (mut all, mut outside) = (0, 0);
    bound.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        all += usize::from(is_number_a_parameter(node)?);
        Ok(TreeNodeRecursion::Continue)
    }))?;
    bound.apply(|node| {
        outside += usize::from(is_number_a_parameter(node)?);
        let is_inside = matches!(node, LogicalPlan::Subquery(_));
        Ok(if is_inside { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
    })?;
    Ok(all > outside)
}

fn is_number_a_parameter(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    if matches!(node, LogicalPlan::Limit(_)) {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            found |= has(expr, &is_parameter)?;
            Ok(TreeNodeRecursion::Continue)
        }))?;
    }
    Ok(found)
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Placeholder(_))
}

/// The number of the parameter that a literal stands for.
pub(crate) fn number(expr: &Expr) -> Option<usize> {
    let Expr::Literal(_, Some(noted)) = expr else { return None };
    noted.inner().get(NUMBER)?.parse().ok()
}

/// A value as a literal of the field's type.
pub(crate) fn literal(parameter: &Parameter, field: &arrow_schema::FieldRef) -> Result<Expr> {
    if let Some(value) = of_type(parameter, field.data_type()) {
        return Ok(Expr::Literal(value, None));
    }
    let text = parameter.text().map(Cow::into_owned);
    let value = Expr::Literal(ScalarValue::Utf8(text), None);
    if *field.data_type() == DataType::Utf8 {
        return Ok(value);
    }
    let field = field.clone();
    fold(Expr::Cast(Cast { expr: Box::new(value), field })).map(|folded| folded.data)
}

/// The value as it is, where it is one of the type already.
pub(crate) fn of_type(parameter: &Parameter, wanted: &DataType) -> Option<ScalarValue> {
    if let (Datum::Text(_), DataType::List(_)) = (&parameter.value, wanted) {
        let ty = parameter.ty.filter(|ty| ty.arrow() == *wanted)?;
        return ScalarValue::try_from_array(&parameter.value.vector(ty).ok()?, 0).ok();
    }
    let is_it = parameter.ty.is_some_and(|ty| ty.arrow() == *wanted && parameter.value.is_of(ty));
    let value = match &parameter.value {
        Datum::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Datum::Int(value) => match wanted {
            DataType::Int16 => ScalarValue::Int16(Some(i16::try_from(*value).ok()?)),
            DataType::Int32 => ScalarValue::Int32(Some(i32::try_from(*value).ok()?)),
            DataType::Int64 => ScalarValue::Int64(Some(*value)),
            _ => return None,
        },
        Datum::Float(value) => match wanted {
            DataType::Float32 => ScalarValue::Float32(Some(*value as f32)),
            _ => ScalarValue::Float64(Some(*value)),
        },
        Datum::Date(days) => ScalarValue::Date32(Some(*days)),
        Datum::Timestamp(micros) => match wanted {
            DataType::Timestamp(_, zone) => {
                ScalarValue::TimestampMicrosecond(Some(*micros), zone.clone())
            }
            _ => return None,
        },
        _ => return None,
    };
    is_it.then_some(value)
}

/// The plan with other expressions in the place of those that have a parameter.
fn replaced(
    plan: LogicalPlan,
    is_parameter: &impl Fn(&Expr) -> bool,
    replace: &impl Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up(|node| {
        let preserver = NamePreserver::new(&node);
        node.map_expressions(erased(&mut |expr: Expr| {
            if !has(&expr, is_parameter)? {
                return Ok(Transformed::no(expr));
            }
            let name = preserver.save(&expr);
            let bound = expr.transform_up(replace)?;
            Ok(bound.update_data(|expr| name.restore(expr)))
        }))
    })
    .data()
}

/// Whether a column is compared with a literal as another type: what the library makes of that may be a key.
fn compares_casts(plan: &LogicalPlan) -> Result<bool> {
    let is_cast = |expr: &Expr| match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            matches!(
                (left.as_ref(), right.as_ref()),
                (Expr::Cast(_), Expr::Literal(..)) | (Expr::Literal(..), Expr::Cast(_))
            )
        }
        _ => false,
    };
    let mut found = false;
    plan.apply(|node| {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            found |= has(expr, &is_cast)?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        }))
    })?;
    Ok(found)
}

pub(crate) fn is_comparison(op: Operator) -> bool {
    use Operator as O;
    matches!(op, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
}

/// Looks for an expression.
struct Search<'a, F> {
    is_it: &'a F,
    is_found: bool,
}

impl<'n, F: Fn(&Expr) -> bool> TreeNodeVisitor<'n> for Search<'_, F> {
    type Node = Expr;

    fn f_down(&mut self, expr: &'n Expr) -> Result<TreeNodeRecursion> {
        self.is_found |= (self.is_it)(expr);
        Ok(if self.is_found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }
}

fn has(expr: &Expr, is_it: &impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut search = Search { is_it, is_found: false };
    datafusion_common::tree_node::TreeNode::visit(expr, &mut search)?;
    Ok(search.is_found)
}

/// The plan with literals in the places of placeholders, which have the numbers of these. Truths stay: who
/// orders joins drops conditions that are true.
pub(crate) fn with_numbered(plan: LogicalPlan, values: &[Parameter]) -> SqlResult<LogicalPlan> {
    let numbered = |expr: Expr| {
        let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
        let number = expressions::index(&placeholder.id);
        let known = number.and_then(|number| Some((number, values.get(number)?)));
        let (Some((number, given)), Some(field)) = (known, &placeholder.field) else {
            return Ok(Transformed::no(expr));
        };
        let Expr::Literal(value, _) = literal(given, field)? else {
            return Ok(Transformed::no(expr));
        };
        if *field.data_type() == DataType::Boolean {
            return Ok(Transformed::no(expr));
        }
        let noted = field.metadata().iter().map(|(name, value)| (name.clone(), value.clone()));
        let number = [(NUMBER.to_owned(), number.to_string())];
        let noted: BTreeMap<String, String> = noted.chain(number).collect();
        Ok(Transformed::yes(Expr::Literal(value, Some(FieldMetadata::new(noted)))))
    };
    replaced(plan, &is_parameter, &numbered).map_err(from_library)
}

/// The plan with placeholders in the places of literals that have a number.
pub(crate) fn without_numbered(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let is_numbered = |expr: &Expr| number(expr).is_some();
    replaced(plan, &is_numbered, &without_number).map_err(from_library)
}

/// The placeholder of a literal that has a number.
pub(crate) fn without_number(expr: Expr) -> Result<Transformed<Expr>> {
    let (Some(number), Expr::Literal(value, Some(noted))) = (number(&expr), &expr) else {
        return Ok(Transformed::no(expr));
    };
    let mut noted = noted.to_hashmap();
    noted.remove(NUMBER);
    let field = Field::new("", value.data_type(), false).with_metadata(noted);
    let (id, field) = (format!("${}", number + 1), Some(field.into()));
    Ok(Transformed::yes(Expr::Placeholder(Placeholder { id, field })))
}

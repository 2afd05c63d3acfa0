//! Expressions as SQL text, for `EXPLAIN` and messages.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr::{AggregateFunctionParams, InList};
use datafusion_expr::{Case, Expr, Operator};
use types::text::format_value;

use crate::expr::runtime_parameter;
use crate::functions::conditions::within;
use crate::walk::nodes::Nodes;

/// A bound expression as SQL.
pub(crate) fn expression(expr: &Expr) -> String {
    match expr {
        Expr::Alias(alias) => expression(&alias.expr),
        Expr::Column(column) => column.name.clone(),
        Expr::ScalarFunction(call) if call.args.is_empty() && runtime_parameter::is_one(expr) => {
            call.name().to_owned()
        }
        Expr::Literal(value, _) => literal(value),
        Expr::BinaryExpr(b) => {
            format!("({} {} {})", expression(&b.left), operator(b.op), expression(&b.right))
        }
        Expr::Not(e) => format!("(NOT {})", expression(e)),
        Expr::Negative(e) => format!("(- {})", expression(e)),
        Expr::IsNull(e) => format!("({} IS NULL)", expression(e)),
        Expr::IsNotNull(e) => format!("({} IS NOT NULL)", expression(e)),
        Expr::Between(b) => {
            let not = if b.negated { "NOT " } else { "" };
            let (e, low, high) = (expression(&b.expr), expression(&b.low), expression(&b.high));
            format!("({e} {not}BETWEEN {low} AND {high})")
        }
        Expr::Like(like) => {
            let not = if like.negated { "NOT " } else { "" };
            let word = if like.case_insensitive { "ILIKE" } else { "LIKE" };
            format!("({} {not}{word} {})", expression(&like.expr), expression(&like.pattern))
        }
        Expr::Cast(cast) => expression(&cast.expr),
        Expr::InList(list) => in_list(list),
        Expr::Case(case) => case_text(case),
        Expr::ScalarFunction(call) if within(call).is_some() => list(&call.args),
        Expr::ScalarFunction(call) => format!("{}({})", call.name(), list(&call.args)),
        Expr::AggregateFunction(call) => aggregate(call.func.name(), &call.params),
        other => unmarked(other).human_display().to_string(),
    }
}

/// The expression without what rules note at its literals.
fn unmarked(expr: &Expr) -> Expr {
    let bare = expr.clone().transform(|part| match part {
        Expr::Literal(value, Some(_)) => Ok(Transformed::yes(Expr::Literal(value, None))),
        other => Ok(Transformed::no(other)),
    });
    bare.map_or_else(|_| expr.clone(), |bare| bare.data)
}

/// Expressions separated by commas.
pub(crate) fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(expression).collect::<Vec<_>>().join(", ")
}

/// A constant as SQL.
pub(crate) fn literal(value: &ScalarValue) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    match value {
        ScalarValue::Utf8(Some(s))
        | ScalarValue::Utf8View(Some(s))
        | ScalarValue::LargeUtf8(Some(s)) => format!("'{}'", s.replace('\'', "''")),
        ScalarValue::Boolean(Some(value)) => value.to_string(),
        ScalarValue::Date32(_) | ScalarValue::TimestampMicrosecond(..) => {
            format!("'{}'", plain(value))
        }
        other => plain(other),
    }
}

/// A value without quotes.
fn plain(value: &ScalarValue) -> String {
    let text = value.to_array().ok().and_then(|array| format_value(&array, 0));
    text.unwrap_or_else(|| value.to_string())
}

/// PostgreSQL's name of a vector type.
pub(crate) fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Null => "unknown".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Int16 => "smallint".into(),
        DataType::Int32 => "integer".into(),
        DataType::Int64 => "bigint".into(),
        DataType::UInt32 => "oid".into(),
        DataType::Float32 => "real".into(),
        DataType::Float64 => "double precision".into(),
        DataType::Decimal128(..) | DataType::Decimal256(..) => "numeric".into(),
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "text".into(),
        DataType::Date32 => "date".into(),
        DataType::Timestamp(_, None) => "timestamp without time zone".into(),
        DataType::Interval(_) => "interval".into(),
        other if types::LogicalType::of_arrow(other).is_some() => {
            types::LogicalType::of_arrow(other).map(|ty| ty.to_string()).unwrap_or_default()
        }
        other => other.to_string().to_lowercase(),
    }
}

fn operator(op: Operator) -> String {
    match op {
        Operator::NotEq => "<>".into(),
        other => other.to_string(),
    }
}

fn in_list(in_list: &InList) -> String {
    let not = if in_list.negated { "NOT " } else { "" };
    format!("({} {not}IN ({}))", expression(&in_list.expr), list(&in_list.list))
}

fn case_text(case: &Case) -> String {
    let mut text = String::from("CASE");
    if let Some(subject) = &case.expr {
        text += &format!(" {}", expression(subject));
    }
    for (when, then) in &case.when_then_expr {
        text += &format!(" WHEN {} THEN {}", expression(when), expression(then));
    }
    if let Some(otherwise) = &case.else_expr {
        text += &format!(" ELSE {}", expression(otherwise));
    }
    text + " END"
}

fn aggregate(name: &str, params: &AggregateFunctionParams) -> String {
    let star = |e: &Expr| matches!(e, Expr::Literal(v, _) if !v.is_null());
    let args = if name == "count" && !params.distinct && params.args.iter().all(star) {
        "*".to_string()
    } else {
        list(&params.args)
    };
    let distinct = if params.distinct { "DISTINCT " } else { "" };
    let filter = match &params.filter {
        Some(filter) => format!(" FILTER (WHERE {})", expression(filter)),
        None => String::new(),
    };
    format!("{name}({distinct}{args}){filter}")
}

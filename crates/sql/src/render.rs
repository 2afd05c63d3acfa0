//! Expressions as SQL text, for `EXPLAIN` and messages.

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{AggregateFunctionParams, InList};
use datafusion_expr::{Case, Expr, Operator};

/// A bound expression as SQL.
pub(crate) fn expression(expr: &Expr) -> String {
    match expr {
        Expr::Alias(alias) => expression(&alias.expr),
        Expr::Column(column) => column.name.clone(),
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
        Expr::ScalarFunction(call) => format!("{}({})", call.name(), list(&call.args)),
        Expr::AggregateFunction(call) => aggregate(call.func.name(), &call.params),
        other => other.human_display().to_string(),
    }
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
        ScalarValue::Date32(_) | ScalarValue::TimestampMicrosecond(..) => {
            format!("'{}'", plain(value))
        }
        other => plain(other),
    }
}

/// A value without quotes.
pub(crate) fn plain(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Decimal128(Some(v), _, scale) => decimal(*v, *scale),
        _ => value.cast_to(&arrow_schema::DataType::Utf8).map_or_else(
            |_| value.to_string(),
            |text| match text {
                ScalarValue::Utf8(Some(text)) => text,
                other => other.to_string(),
            },
        ),
    }
}

fn decimal(value: i128, scale: i8) -> String {
    let Ok(scale) = usize::try_from(scale) else {
        return format!("{value}{}", "0".repeat(scale.unsigned_abs().into()));
    };
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
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

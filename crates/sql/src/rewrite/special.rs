//! Operators and tests with a syntax of their own.

use datafusion_sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Subscript, UnaryOperator, Value,
};
use types::{SqlError, SqlResult};

use crate::parse::balance::balanced;
use crate::parse::expressions::{binary, call, cast_as, plain_arguments};
use crate::parse::object_name::last_name;
use crate::rewrite::rows;

/// The expression in words that the library knows; `None` where it knows these.
pub(crate) fn rewritten(expr: &mut Expr) -> SqlResult<Option<Expr>> {
    Ok(Some(match expr {
        Expr::Like { any: true, .. } | Expr::ILike { any: true, .. } => liked(expr)?,
        Expr::AtTimeZone { timestamp, time_zone } => {
            call("timezone", vec![(**time_zone).clone(), (**timestamp).clone()])
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGStartsWith, right } => {
            call("starts_with", vec![(**left).clone(), (**right).clone()])
        }
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) if is_beyond_decimals(text) => {
                let text = Expr::value(Value::SingleQuotedString(text.clone()));
                cast_as(text, DataType::DoublePrecision)
            }
            _ => return Ok(None),
        },
        Expr::CompoundFieldAccess { access_chain, .. } => {
            access_chain.iter_mut().for_each(whole_slice);
            return Ok(None);
        }
        Expr::IsNormalized { expr, form, negated } => {
            let form = form.map(|form| Expr::value(Value::SingleQuotedString(form.to_string())));
            let args = std::iter::once((**expr).clone()).chain(form).collect();
            let test = call("is_normalized", args);
            match *negated {
                true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(test) },
                false => test,
            }
        }
        _ => return rows::rewritten(expr),
    }))
}

/// `LIKE ANY` of patterns that are written out.
fn liked(expr: &Expr) -> SqlResult<Expr> {
    let patterns = match expr {
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => written_out(pattern),
        _ => None,
    };
    let mut blank = expr.clone();
    if let Expr::Like { any, pattern, .. } | Expr::ILike { any, pattern, .. } = &mut blank {
        (*any, **pattern) = (false, Expr::value(Value::Null));
    }
    let one = |written: Expr| {
        let mut one = blank.clone();
        if let Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } = &mut one {
            **pattern = written;
        }
        Expr::Nested(Box::new(one))
    };
    let all = patterns.into_iter().flatten().map(one);
    let any = balanced(all, |a, b| binary(a, BinaryOperator::Or, b));
    any.ok_or_else(|| {
        SqlError::unsupported("LIKE ANY of what is no list of patterns")
            .with_hint("Write the patterns as ARRAY['a%', 'b%'].")
    })
}

fn written_out(patterns: &Expr) -> Option<Vec<Expr>> {
    match patterns {
        Expr::Nested(inner) => written_out(inner),
        Expr::Array(array) => Some(array.elem.clone()),
        Expr::Function(function) if last_name(&function.name) == "make_array" => {
            plain_arguments(function)
        }
        _ => None,
    }
}

/// Whether a number has an exponent that no decimal has digits for: it is double precision.
fn is_beyond_decimals(number: &str) -> bool {
    let Some((digits, exponent)) = number.split_once(['e', 'E']) else { return false };
    exponent.parse::<i32>().is_ok_and(|e| !(-60..=38).contains(&e)) && digits.len() <= 38
}

/// Bounds that are left out of a slice are those of every array.
fn whole_slice(access: &mut AccessExpr) {
    let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) = access else {
        return;
    };
    let number = |bound: i32| Expr::value(Value::Number(bound.to_string(), false));
    lower_bound.get_or_insert_with(|| number(1));
    upper_bound.get_or_insert_with(|| number(i32::MAX));
}

/// The form that `normalize(text, NFD)` names is a word.
pub(crate) fn word_as_text(function: &mut Function) {
    if last_name(&function.name) != "normalize" {
        return;
    }
    let FunctionArguments::List(list) = &mut function.args else { return };
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(form))) = list.args.get_mut(1)
        && let Expr::Identifier(word) = &*form
    {
        *form = Expr::value(Value::SingleQuotedString(word.value.clone()));
    }
}

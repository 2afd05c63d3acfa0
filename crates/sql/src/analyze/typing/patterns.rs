//! Patterns of the operators `~`, `~*` and their negations.

use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{Expr, Operator, binary_expr, lit, not};

use crate::functions::library::call;
use crate::functions::scalar::regexps::operator_pattern;

/// An operator whose right side is in words of the engine behind it, which are not all those of PostgreSQL.
/// The result is its own translation: expressions are typed more than once. Patterns that may differ from row
/// to row are those of a function, which keeps some of them compiled.
pub(crate) fn operator(left: Expr, op: Operator, pattern: Expr) -> Result<Expr> {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    let is_negated = matches!(op, RegexNotMatch | RegexNotIMatch);
    let pattern = match pattern {
        _ if !is_negated && !matches!(op, RegexMatch | RegexIMatch) => pattern,
        Expr::Literal(value, meta) => match value.try_as_str() {
            Some(Some(text)) => {
                let text = operator_pattern(text)
                    .map_err(|error| DataFusionError::External(Box::new(error)))?;
                Expr::Literal(ScalarValue::Utf8(Some(unlike_any(op, text))), meta)
            }
            _ => Expr::Literal(value, meta),
        },
        // It is translated, once for all rows.
        Expr::ScalarFunction(given)
            if given.func.name() == "similar_to_regex"
                && matches!(given.args.first(), Some(Expr::Literal(..))) =>
        {
            Expr::ScalarFunction(given)
        }
        varying => {
            let flags = if matches!(op, RegexIMatch | RegexNotIMatch) { "i" } else { "" };
            let matched = call("regexp_like", vec![left, varying, lit(flags)])?;
            return Ok(if is_negated { not(matched) } else { matched });
        }
    };
    Ok(binary_expr(left, op, pattern))
}

/// The pattern `.*` in other words: the library takes it for `IS NOT NULL`, which is never unknown.
fn unlike_any(op: Operator, text: String) -> String {
    let is_match = matches!(op, Operator::RegexMatch | Operator::RegexIMatch);
    if is_match && text == ".*" { ".{0,}".to_owned() } else { text }
}

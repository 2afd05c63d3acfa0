//! Patterns of the operators `~`, `~*` and their negations.

use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{Expr, Operator};

use super::super::operator_pattern;
use super::call;

/// The pattern in words of the engine behind the operators, which are not all those of PostgreSQL. The
/// result is its own translation: expressions are typed more than once.
pub(super) fn compiled(op: Operator, pattern: Expr) -> Result<Expr> {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    if !matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch) {
        return Ok(pattern);
    }
    match pattern {
        Expr::Literal(value, meta) => match value.try_as_str() {
            Some(Some(text)) => {
                let text = operator_pattern(text)
                    .map_err(|error| DataFusionError::External(Box::new(error)))?;
                Ok(Expr::Literal(ScalarValue::Utf8(Some(unlike_any(op, text))), meta))
            }
            _ => Ok(Expr::Literal(value, meta)),
        },
        Expr::ScalarFunction(given) if OURS.contains(&given.func.name()) => {
            Ok(Expr::ScalarFunction(given))
        }
        other => call("operator_pattern", vec![other]),
    }
}

/// Functions that give translated patterns.
const OURS: [&str; 2] = ["operator_pattern", "similar_to_regex"];

/// The pattern `.*` in other words: the library takes it for `IS NOT NULL`, which is never unknown.
fn unlike_any(op: Operator, text: String) -> String {
    let is_match = matches!(op, Operator::RegexMatch | Operator::RegexIMatch);
    if is_match && text == ".*" { ".{0,}".to_owned() } else { text }
}

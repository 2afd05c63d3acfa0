//! `IS [NOT] DISTINCT FROM`, whose right side the library reads as far as an expression goes: `a IS
//! DISTINCT FROM b AND c` is `(a IS DISTINCT FROM b) AND c`.

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::subquery::ahead;
use super::symmetric::is;

/// The comparison, if these words stand next.
pub(super) fn read(
    parser: &mut Parser<'_>,
    expr: &Expr,
    dialect: &dyn Dialect,
) -> Option<Result<Expr, ParserError>> {
    let starts_with = |words: &[&str]| {
        words.iter().zip(ahead(parser)).filter(|(w, t)| is(t, w)).count() == words.len()
    };
    let negated = starts_with(&["is", "not", "distinct", "from"]);
    if !negated && !starts_with(&["is", "distinct", "from"]) {
        return None;
    }
    for _ in 0..3 + usize::from(negated) {
        parser.next_token();
    }
    let left = Box::new(expr.clone());
    let right = parser.parse_subexpr(dialect.prec_value(Precedence::Is)).map(Box::new);
    Some(right.map(|right| match negated {
        true => Expr::IsNotDistinctFrom(left, right),
        false => Expr::IsDistinctFrom(left, right),
    }))
}

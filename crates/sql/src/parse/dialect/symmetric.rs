//! `BETWEEN SYMMETRIC`, which the library does not know: the bounds in either order. `ASYMMETRIC`
//! says what is usual.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use datafusion_sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::subquery::ahead;

/// The comparison, if one of these words stands behind `BETWEEN`; `None` where the library reads
/// what stands next.
pub(super) fn read(
    parser: &mut Parser<'_>,
    expr: &Expr,
    dialect: &dyn Dialect,
) -> Option<Result<Expr, ParserError>> {
    let negated = ahead(parser).next().is_some_and(|token| is(token, "not"));
    let symmetric = symmetric(ahead(parser).skip(usize::from(negated)))?;
    let words = 2 + usize::from(negated);
    let precedence = dialect.prec_value(Precedence::Between);
    Some(bounds(parser, words, precedence).map(|(low, high)| {
        let compared = between(expr, low.clone(), high.clone());
        let compared = match symmetric {
            false => compared,
            true => Expr::BinaryOp {
                left: Box::new(compared),
                op: BinaryOperator::Or,
                right: Box::new(between(expr, high, low)),
            },
        };
        let compared = Expr::Nested(Box::new(compared));
        match negated {
            true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(compared) },
            false => compared,
        }
    }))
}

/// True if the token is the word, in letters of any case.
pub(super) fn is(token: &Token, word: &str) -> bool {
    let Token::Word(found) = token else { return false };
    found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word)
}

/// True if the word behind `BETWEEN` is `SYMMETRIC`; `None` where it is neither that nor
/// `ASYMMETRIC`.
fn symmetric<'a>(mut tokens: impl Iterator<Item = &'a Token>) -> Option<bool> {
    if !is(tokens.next()?, "between") {
        return None;
    }
    let word = tokens.next()?;
    let symmetric = is(word, "symmetric");
    (symmetric || is(word, "asymmetric")).then_some(symmetric)
}

fn between(expr: &Expr, low: Expr, high: Expr) -> Expr {
    let (expr, low, high) = (Box::new(expr.clone()), Box::new(low), Box::new(high));
    Expr::Between { expr, negated: false, low, high }
}

/// The operands on both sides of `AND`, behind so many words.
fn bounds(
    parser: &mut Parser<'_>,
    words: usize,
    precedence: u8,
) -> Result<(Expr, Expr), ParserError> {
    for _ in 0..words {
        parser.next_token();
    }
    let low = parser.parse_subexpr(precedence)?;
    parser.expect_keyword(Keyword::AND)?;
    Ok((low, parser.parse_subexpr(precedence)?))
}

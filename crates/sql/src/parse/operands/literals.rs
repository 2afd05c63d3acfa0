//! Literals of a syntax tree, and expressions of nothing else.

use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Interval, UnaryOperator, Value,
    ValueWithSpan,
};
use datafusion_sql::sqlparser::tokenizer::Location;

use super::SUMMED_MAX;

/// The kinds of literals that may be parameters in a place.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kinds {
    All,
    /// Whole numbers and texts with a type: another text is an interval or a date beside an
    /// operator, and decides about the operator.
    WholeNumbers,
}

/// The kinds of literals that may be parameters beside an operator.
pub(super) fn beside(op: &BinaryOperator) -> Option<Kinds> {
    use BinaryOperator as B;
    match op {
        op if compares(op) => Some(Kinds::All),
        B::StringConcat | B::AtArrow | B::ArrowAt | B::PGOverlap => Some(Kinds::All),
        B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo => Some(Kinds::WholeNumbers),
        B::BitwiseAnd | B::BitwiseOr => Some(Kinds::WholeNumbers),
        _ => None,
    }
}

/// True of an operator that compares.
pub(super) fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

/// A literal, and whether its type is told.
type Found<'a> = (&'a ValueWithSpan, bool);

/// The literal that an expression is, behind parentheses, a sign or its type, and before a cast.
pub(super) fn literal(expr: &Expr) -> Option<Found<'_>> {
    match expr {
        Expr::Value(value) => Some((value, false)),
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => {
            literal(inner)
        }
        Expr::TypedString(typed) => {
            says_all(&typed.data_type).then_some((&typed.value, true)).filter(is_text)
        }
        Expr::Interval(Interval {
            value,
            leading_field: None,
            last_field: None,
            leading_precision: None,
            fractional_seconds_precision: None,
        }) => match &**value {
            Expr::Value(value) => Some((value, true)).filter(is_text),
            _ => None,
        },
        Expr::Cast {
            expr: inner, kind: CastKind::Cast | CastKind::DoubleColon, data_type, ..
        } => {
            let (value, _) = literal(inner)?;
            let is_one = match value.value {
                Value::Number(..) => true,
                Value::SingleQuotedString(_) => says_all(data_type),
                _ => false,
            };
            is_one.then_some((value, true))
        }
        _ => None,
    }
}

fn is_text((value, _): &Found<'_>) -> bool {
    matches!(value.value, Value::SingleQuotedString(_))
}

/// True of a type that a parameter can have which is cast to it: it has no digits or length.
fn says_all(ty: &DataType) -> bool {
    use DataType as D;
    match ty {
        D::Date | D::Timestamp(None, _) | D::Time(None, _) => true,
        D::Interval { fields: None, precision: None } => true,
        D::Uuid | D::Bytea | D::Text | D::Boolean | D::Bool => true,
        D::SmallInt(None) | D::Int2(None) | D::BigInt(None) | D::Int8(None) => true,
        D::Int(None) | D::Integer(None) | D::Int4(None) => true,
        D::Real | D::Float4 | D::DoublePrecision | D::Float8 => true,
        D::Varchar(None) | D::CharacterVarying(None) => true,
        D::Array(ArrayElemTypeDef::SquareBracket(element, None)) => says_all(element),
        _ => false,
    }
}

/// The place of the first literal of a list.
pub(super) fn first_of(list: &[Expr]) -> Option<Location> {
    literal(list.first()?).map(|(value, _)| value.span.start)
}

/// True if an expression has the same parts as an operand of `=` as it has before `IN`.
pub(super) fn binds_tighter(expr: &Expr) -> bool {
    use BinaryOperator as B;
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_) => true,
        Expr::Function(_) | Expr::Cast { kind: CastKind::DoubleColon | CastKind::Cast, .. } => true,
        Expr::BinaryOp { op, .. } => {
            matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo)
        }
        _ => false,
    }
}

/// The operands of an expression that does not bind looser than a comparison.
pub(super) fn operands_of(expr: &Expr) -> impl Iterator<Item = &Expr> {
    let operands: [Option<&Expr>; 3] = match expr {
        Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => [None; 3],
        Expr::BinaryOp { left, right, .. } => [Some(left), Some(right), None],
        Expr::Between { expr, low, high, .. } => [Some(expr), Some(low), Some(high)],
        Expr::Like { expr, pattern, .. }
        | Expr::ILike { expr, pattern, .. }
        | Expr::SimilarTo { expr, pattern, .. } => [Some(expr), Some(pattern), None],
        Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => [Some(left), None, None],
        Expr::InList { expr, .. }
        | Expr::InSubquery { expr, .. }
        | Expr::Cast { expr, .. }
        | Expr::Collate { expr, .. }
        | Expr::AtTimeZone { timestamp: expr, .. }
        | Expr::IsDistinctFrom(expr, _)
        | Expr::IsNotDistinctFrom(expr, _) => [Some(expr), None, None],
        _ => [None; 3],
    };
    operands.into_iter().flatten()
}

/// True of literals and operators alone: the expression is computed when it is planned, and its
/// error is that of the statement, whatever rows there are.
pub(super) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, right, .. } => is_constant(left) && is_constant(right),
        Expr::Nested(inner) => is_constant(inner),
        _ => literal(expr).is_some(),
    }
}

/// True if an expression of literals and operators has no error, nor would it for other literals of
/// their kinds: neither an overflow, nor a division by zero.
pub(super) fn cannot_fail(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right }
            if is_moment(left) && is_span(right) =>
        {
            true
        }
        // A text beside a number is a text.
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
            let is_part = |side: &Expr| is_plain_text(side) || largest(side).is_some();
            is_part(left) && is_part(right) && (is_plain_text(left) || is_plain_text(right))
        }
        other => largest(other).is_some(),
    }
}

/// The greatest absolute value that such an expression of whole numbers has, whatever literals of
/// the same kinds stand in it. `None` if it may be out of the range of `int`, or is something else.
fn largest(expr: &Expr) -> Option<i64> {
    let largest = match expr {
        Expr::BinaryOp { left, op, right } => {
            let (l, r) = (largest(left)?, largest(right)?);
            match op {
                BinaryOperator::Plus | BinaryOperator::Minus => l + r,
                BinaryOperator::Multiply => l.checked_mul(r)?,
                // A literal zero behind these is no parameter, and another one is none for ever.
                BinaryOperator::Divide if is_not_zero(right) => l,
                BinaryOperator::Modulo if is_not_zero(right) => l.min(r),
                _ => return None,
            }
        }
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => {
            largest(inner)?
        }
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            match digits.parse::<i32>().ok()? {
                0..SUMMED_MAX => i64::from(SUMMED_MAX) - 1,
                _ => i64::from(i32::MAX),
            }
        }
        _ => return None,
    };
    (largest <= i64::from(i32::MAX)).then_some(largest)
}

fn is_not_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.parse() != Ok(0))
        }
        _ => false,
    }
}

/// True of a date or timestamp of the years that literals have which are taken out.
fn is_moment(expr: &Expr) -> bool {
    let is_one = |ty: &DataType| matches!(ty, DataType::Date | DataType::Timestamp(None, _));
    matches!(expr, Expr::TypedString(typed) if is_one(&typed.data_type))
}

/// True of an interval that is far shorter than the time before and behind these years.
fn is_span(expr: &Expr) -> bool {
    matches!(expr, Expr::Interval(_)) && literal(expr).is_some()
}

fn is_plain_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value)
        if matches!(value.value, Value::SingleQuotedString(_)))
}

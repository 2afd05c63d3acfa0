//! Types of columns that refer to others: by `=` between both, so nothing is rounded or cut.

use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

/// Whether several values of a column with type `own` may be equal to one of `other`.
pub fn is_coarser(own: LogicalType, other: LogicalType) -> bool {
    let is_padded = |ty| matches!(ty, LogicalType::Char(_));
    let (from, to) = (own.arrow(), other.arrow());
    (to.is_floating() && !from.is_floating()) || (is_padded(other) && !is_padded(own))
}

/// Whether a column with type `own` can refer to one with `other`: there is an `=` of both that the unique
/// key goes by, or `own` becomes `other` by itself.
fn can_refer(own: LogicalType, other: LogicalType) -> bool {
    use LogicalType::{
        Array, Date, Decimal, Float32, Float64, Numeric, Oid, Timestamp, TimestampTz,
    };
    let is_integer = |ty: LogicalType| ty.arrow().is_signed_integer();
    let is_exact = |ty| is_integer(ty) || matches!(ty, Decimal { .. } | Numeric);
    let is_moment = |ty| matches!(ty, Date | Timestamp | TimestampTz);
    let is_float = |ty| matches!(ty, Float32 | Float64);
    match (own.plain(), other.plain()) {
        (Array(own), Array(other)) => own == other || (is_decimal(*own) && is_decimal(*other)),
        (own, Decimal { .. } | Numeric) => is_exact(own),
        (own, Float32 | Float64) => is_exact(own) || is_float(own),
        (own, Oid) => own == Oid || is_integer(own),
        (own, other) if is_integer(other) => is_integer(own),
        (own, other) if is_moment(other) => is_moment(own),
        (own, other) => own.arrow() == other.arrow(),
    }
}

/// Refuses a foreign key whose column `own` cannot refer to `other`.
///
/// # Errors
/// 42804
pub fn check_can_refer(constraint: &str, own: &Column, other: &Column) -> SqlResult<()> {
    if can_refer(own.ty, other.ty) {
        return Ok(());
    }
    let message = format!("foreign key constraint \"{constraint}\" cannot be implemented");
    let detail = format!(
        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
        own.name,
        other.name,
        unmeasured(own.ty),
        unmeasured(other.ty)
    );
    Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail))
}

/// The type's name without lengths and digits.
fn unmeasured(ty: LogicalType) -> String {
    match ty {
        LogicalType::Varchar(_) => "character varying".into(),
        LogicalType::Char(_) => "character".into(),
        LogicalType::Decimal { .. } => LogicalType::Numeric.to_string(),
        LogicalType::Array(element) => format!("{}[]", unmeasured(*element)),
        other => other.plain().to_string(),
    }
}

fn is_decimal(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Decimal { .. } | LogicalType::Numeric)
}

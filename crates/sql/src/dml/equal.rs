//! Values of a column as those of another that are equal to them: what `=` between their types says. A foreign
//! key refers by it, so what would have to be rounded or cut for the other column is equal to nothing there.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;
use types::{Column, LogicalType, SqlError, SqlResult};

use super::assign::assign;
use crate::error::from_arrow;

/// Each value as the one of `column` that is equal to it, null where there is none.
///
/// # Errors
/// 22003 for what is no floating-point number.
pub fn equal(values: &ArrayRef, column: &Column) -> SqlResult<ArrayRef> {
    let (from, to) = (values.data_type(), column.ty.arrow());
    if *from == to {
        return Ok(match column.ty {
            LogicalType::Char(_) => without_blanks(values),
            _ => Arc::clone(values),
        });
    }
    if to.is_floating() && !from.is_floating() {
        // There is no `=` of the two: the number is rounded before it is compared.
        return assign(values, &Column { nullable: true, ..column.clone() });
    }
    let converted = converted(values, column.ty.plain())?;
    let own = LogicalType::of_arrow(from).ok_or_else(|| SqlError::internal("a key of no type"))?;
    let back = self::converted(&converted, own)?;
    let compare = make_comparator(values, &back, SortOptions::default()).map_err(from_arrow)?;
    let differs: BooleanArray = (0..values.len()).map(|i| Some(compare(i, i).is_ne())).collect();
    arrow_select::nullif::nullif(&converted, &differs).map_err(from_arrow)
}

/// Whether several values of a column with type `own` may be equal to one of `other`.
pub fn is_coarser(own: LogicalType, other: LogicalType) -> bool {
    let is_padded = |ty| matches!(ty, LogicalType::Char(_));
    let (from, to) = (own.arrow(), other.arrow());
    (to.is_floating() && !from.is_floating()) || (is_padded(other) && !is_padded(own))
}

/// Whether a column with type `own` can refer to one with `other`: there is an `=` of both that the unique
/// key goes by, or `own` becomes `other` by itself.
pub(crate) fn can_refer(own: LogicalType, other: LogicalType) -> bool {
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

/// The values as those of another type, rounded where they have to be; null where they are out of its range.
fn converted(values: &ArrayRef, ty: LogicalType) -> SqlResult<ArrayRef> {
    if !values.data_type().is_temporal() {
        let options = CastOptions { safe: true, ..CastOptions::default() };
        return cast_with_options(values, &ty.arrow(), &options).map_err(from_arrow);
    }
    let column = Column { name: String::new(), ty, nullable: true };
    assign(values, &column).or_else(|_| {
        let one = |row| match assign(&values.slice(row, 1), &column) {
            Ok(value) => value,
            Err(_) => new_null_array(&ty.arrow(), 1),
        };
        let each: Vec<ArrayRef> = (0..values.len()).map(one).collect();
        let each: Vec<&dyn Array> = each.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&each).map_err(from_arrow)
    })
}

fn is_decimal(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Decimal { .. } | LogicalType::Numeric)
}

fn without_blanks(values: &ArrayRef) -> ArrayRef {
    let texts = values.as_string_view();
    if !texts.iter().flatten().any(|text| text.ends_with(' ')) {
        return Arc::clone(values);
    }
    let mut trimmed = StringViewBuilder::with_capacity(texts.len());
    texts.iter().for_each(|text| trimmed.append_option(text.map(|t| t.trim_end_matches(' '))));
    Arc::new(trimmed.finish())
}

//! Types in casts and literals as PostgreSQL means them; what we do not have is refused.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::planner::TypePlanner;
use datafusion_sql::sqlparser::ast::{DataType, ExactNumberInfo};
use types::moment::DIGITS_MAX;
use types::{LogicalType, oid};

use crate::parse::object_name;

/// The name of the target of a cast, which nobody sees. The library takes one without a name and notes for
/// a cast of the vectors alone, and has the notes on the operand stay: `c::text` of a `char(5)` would be
/// padded still, and `b::int` a boolean to those who ask for its type.
const WRITTEN: &str = "cast";

/// Gives the vectors of our logical types; the library's timestamps would count nanoseconds.
#[derive(Debug)]
pub(crate) struct ColumnTypes;

impl TypePlanner for ColumnTypes {
    fn plan_type_field(&self, ty: &DataType) -> Result<Option<FieldRef>> {
        match ty {
            // The precision is that of the operand.
            DataType::Numeric(ExactNumberInfo::None)
            | DataType::Decimal(ExactNumberInfo::None)
            | DataType::Dec(ExactNumberInfo::None) => {
                return Ok(Some(Arc::new(Field::new(WRITTEN, ANY_NUMERIC, true))));
            }
            _ => {}
        }
        let told = told_type(ty);
        let ty = crate::parse::column_type(ty)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let limited = matches!(ty, LogicalType::Varchar(_) | LogicalType::Char(2..));
        if limited {
            let error = types::SqlError::unsupported(format!("a cast to {ty}"))
                .with_hint("cast to text and use substring() or left() to shorten");
            return Err(DataFusionError::External(Box::new(error)));
        }
        let field = Field::new(WRITTEN, ty.arrow(), true);
        if let LogicalType::Rounded(_, digits @ ..DIGITS_MAX) = ty {
            let digits = [(DIGITS.to_owned(), digits.to_string())];
            return Ok(Some(Arc::new(field.with_metadata(digits.into()))));
        }
        Ok(Some(Arc::new(match told {
            Some(oid) => crate::analyze::told::told(field, oid),
            None => field,
        })))
    }
}

/// The note of a cast to times with fewer digits than microseconds.
const DIGITS: &str = "digits";

/// How many digits of a second a cast leaves, and its target without this note.
pub(crate) fn digits_left(field: &FieldRef) -> Option<(u8, FieldRef)> {
    let digits = field.metadata().get(DIGITS)?.parse().ok()?;
    let mut plain = field.as_ref().clone();
    plain.metadata_mut().remove(DIGITS);
    Some((digits, Arc::new(plain)))
}

/// The number of a type that is `text` here and another one to clients.
fn told_type(ty: &DataType) -> Option<u32> {
    match ty {
        DataType::Varchar(None) | DataType::CharacterVarying(None) => Some(oid::VARCHAR),
        DataType::Char(None) | DataType::Character(None) => Some(oid::BPCHAR),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let last = object_name::identifier(name.0.last()?.as_ident()?);
            match last.as_str() {
                "name" => Some(oid::NAME),
                "bpchar" => Some(oid::BPCHAR),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The type of a cast to `numeric` without a precision, until its operand is known: one that no value has,
/// and wide enough for all, since `VALUES` find a common type before that.
pub(crate) const ANY_NUMERIC: arrow_schema::DataType = arrow_schema::DataType::Decimal256(74, 20);

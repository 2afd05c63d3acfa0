//! Types in casts and literals as PostgreSQL means them; what we do not have is refused.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::planner::TypePlanner;
use datafusion_sql::sqlparser::ast::{ArrayElemTypeDef, DataType, ExactNumberInfo};
use types::described::Declared;
use types::moment::DIGITS_MAX;
use types::{LogicalType, oid};

use crate::analyze::told::CAST;
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
        if let LogicalType::Array(element) = ty
            && element.has_limit()
        {
            let field = Field::new(WRITTEN, ty.arrow(), true);
            return Ok(Some(Arc::new(noted(field, told, *element))));
        }
        if ty.has_limit() {
            let field = noted(Field::new(WRITTEN, ty.arrow(), true), told, ty);
            return Ok(Some(Arc::new(field)));
        }
        let field = Field::new(WRITTEN, ty.arrow(), true);
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
    let digits = field.metadata().get(DIGITS)?.parse().ok().filter(|d: &u8| *d < DIGITS_MAX)?;
    let mut plain = field.as_ref().clone();
    plain.metadata_mut().remove(DIGITS);
    Some((digits, Arc::new(plain)))
}

/// The note of a cast to texts, or to an array of them, that have at most so many characters.
const CHARACTERS: &str = "characters";

/// The target of a cast with the limit of its type, or of the elements of an array.
fn noted(field: Field, told: Option<u32>, limited: LogicalType) -> Field {
    let mut field = match told {
        Some(oid) => crate::analyze::told::told(field, oid),
        None => field,
    };
    let (note, number) = match limited {
        LogicalType::Rounded(_, digits) => (DIGITS, u32::from(digits)),
        LogicalType::Varchar(characters) | LogicalType::Char(characters) => {
            (CHARACTERS, characters)
        }
        _ => return field,
    };
    field.metadata_mut().insert(note.to_owned(), number.to_string());
    field
}

/// The type that a cast names, as clients are told it.
pub(crate) fn declared(field: &Field) -> Option<Declared> {
    let number = |note: &str| field.metadata().get(note)?.parse::<u32>().ok();
    let (told, characters) = (number(CAST), number(CHARACTERS));
    let digits = number(DIGITS).and_then(|digits| u8::try_from(digits).ok());
    let text = |oid| match (oid, characters?) {
        (oid::VARCHAR, characters) => Some(LogicalType::Varchar(characters)),
        (oid::BPCHAR, characters) => Some(LogicalType::Char(characters)),
        _ => None,
    };
    let own = LogicalType::of_arrow(field.data_type());
    let limited = match own {
        Some(LogicalType::Array(element)) => digits
            .and_then(|digits| element.with_digits(digits))
            .or_else(|| text(oid::element_of(told?)?))
            .map(LogicalType::array_of),
        Some(own) => digits.and_then(|digits| own.with_digits(digits)).or_else(|| text(told?)),
        None => None,
    };
    limited.map(Declared::Own).or(told.map(Declared::Text)).or(own.map(Declared::Own))
}

/// How many characters a cast leaves of the elements of an array, and its target without this note.
pub(crate) fn characters_left(field: &FieldRef) -> Option<(u32, FieldRef)> {
    let characters = field.metadata().get(CHARACTERS)?.parse().ok()?;
    let mut plain = field.as_ref().clone();
    plain.metadata_mut().remove(CHARACTERS);
    Some((characters, Arc::new(plain)))
}

/// The number of a type that is `text` here and another one to clients.
fn told_type(ty: &DataType) -> Option<u32> {
    match ty {
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => {
            Some(oid::VARCHAR)
        }
        DataType::Char(_) | DataType::Character(_) => Some(oid::BPCHAR),
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element),
        ) => oid::array_of(told_type(element)?),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let last = object_name::identifier(name.0.last()?.as_ident()?);
            match last.as_str() {
                "name" => Some(oid::NAME),
                "varchar" => Some(oid::VARCHAR),
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

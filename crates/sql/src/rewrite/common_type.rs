//! The type that the values of a column of `VALUES` have in common (PostgreSQL's `select_common_type`), as
//! far as the values themselves say which types they have.

use datafusion_sql::sqlparser::ast::{DataType, ExactNumberInfo, Expr, UnaryOperator, Value};
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::parse::expressions;

/// What a value says of its type.
enum Said {
    /// A literal in quotes, or null.
    Nothing,
    /// A literal of this type.
    Literal(LogicalType),
    /// A cast, or a literal with its type before it.
    Written(LogicalType, DataType),
}

/// What is to be done about a column.
pub(crate) enum Column {
    /// Its values have one type as they are.
    Plain,
    /// Those that are not casts to this type need one.
    Cast(DataType),
    /// Only the binder knows the types of its values.
    Unknown,
}

/// The type of a column.
///
/// # Errors
/// 42804 for types that no value can have both.
pub(crate) fn of_column<'a>(values: impl Iterator<Item = &'a Expr>) -> SqlResult<Column> {
    let Some(said) = values.map(said).collect::<Option<Vec<Said>>>() else {
        return Ok(Column::Unknown);
    };
    let types: Vec<&LogicalType> = said.iter().filter_map(Said::ty).collect();
    let Some(first) = types.first() else { return Ok(Column::Plain) };
    let is_one = types.iter().all(|ty| ty == first);
    if !is_one && types.iter().any(|ty| matches!(ty, LogicalType::Rounded(..))) {
        return Ok(Column::Unknown);
    }
    let is_literal = |s: &Said| matches!(s, Said::Literal(_));
    if is_one
        && (said.iter().all(is_literal) || said.iter().all(|s| matches!(s, Said::Written(..))))
    {
        return Ok(Column::Plain);
    }
    let mut common = **first;
    for ty in &types[1..] {
        common = common_of(common, ty)?;
    }
    match common {
        LogicalType::Text => return Ok(Column::Cast(DataType::Text)),
        LogicalType::Varchar(_) => return Ok(Column::Cast(DataType::Varchar(None))),
        LogicalType::Char(_) => return Ok(Column::Cast(expressions::bpchar())),
        _ => {}
    }
    let written = said.iter().find_map(|s| match s {
        Said::Written(ty, written) if *ty == common => Some(written.clone()),
        _ => None,
    });
    Ok(match name(&common).filter(|_| !is_one).or(written).or_else(|| name(&common)) {
        Some(ty) => Column::Cast(ty),
        None => Column::Unknown,
    })
}

impl Said {
    fn ty(&self) -> Option<&LogicalType> {
        match self {
            Said::Nothing => None,
            Said::Literal(ty) | Said::Written(ty, _) => Some(ty),
        }
    }
}

fn said(value: &Expr) -> Option<Said> {
    match value {
        Expr::Nested(inner) => said(inner),
        Expr::Value(value) => literal(&value.value),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => Some(Said::Literal(number(&format!("-{text}")))),
                _ => None,
            },
            // Minus binds less than a cast.
            Expr::Cast { data_type, .. } => written(data_type)
                .filter(|said| said.ty().is_some_and(|ty| number_width(ty).is_some())),
            _ => None,
        },
        Expr::Cast { data_type, .. } => written(data_type),
        Expr::TypedString(typed) => written(&typed.data_type),
        Expr::Interval(_) => written(&DataType::Interval { fields: None, precision: None }),
        _ => None,
    }
}

fn written(ty: &DataType) -> Option<Said> {
    let logical = crate::parse::column_type(ty).ok()?;
    Some(Said::Written(logical, ty.clone()))
}

fn literal(value: &Value) -> Option<Said> {
    Some(match value {
        Value::Null | Value::SingleQuotedString(_) => Said::Nothing,
        Value::Boolean(_) => Said::Literal(LogicalType::Bool),
        Value::Number(text, _) => Said::Literal(number(text)),
        _ => return None,
    })
}

fn number(text: &str) -> LogicalType {
    match (text.parse::<i32>(), text.parse::<i64>()) {
        (Ok(_), _) => LogicalType::Int32,
        (_, Ok(_)) => LogicalType::Int64,
        _ => LogicalType::Numeric,
    }
}

fn is_text(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_))
}

/// The type that takes the values of the other as well.
fn common_of(a: LogicalType, b: &LogicalType) -> SqlResult<LogicalType> {
    let wider = |ladder: fn(&LogicalType) -> Option<u8>| match (ladder(&a), ladder(b)) {
        (Some(x), Some(y)) => Some(if y > x { *b } else { a }),
        _ => None,
    };
    if a == *b || (is_text(&a) && is_text(b)) {
        return Ok(a);
    }
    wider(number_width).or_else(|| wider(instant_width)).ok_or_else(|| {
        let name = |ty: &LogicalType| crate::render::type_name(&ty.arrow());
        let message = format!("VALUES types {} and {} cannot be matched", name(&a), name(b));
        SqlError::new(SqlState::DATATYPE_MISMATCH, message)
    })
}

fn number_width(ty: &LogicalType) -> Option<u8> {
    Some(match ty {
        LogicalType::Int16 => 0,
        LogicalType::Int32 => 1,
        LogicalType::Int64 => 2,
        LogicalType::Decimal { .. } => 3,
        LogicalType::Numeric => 4,
        LogicalType::Float32 => 5,
        LogicalType::Float64 => 6,
        _ => return None,
    })
}

fn instant_width(ty: &LogicalType) -> Option<u8> {
    Some(match ty {
        LogicalType::Date => 0,
        LogicalType::Timestamp => 1,
        LogicalType::TimestampTz => 2,
        _ => return None,
    })
}

/// The name of a number's type.
fn name(ty: &LogicalType) -> Option<DataType> {
    Some(match ty {
        LogicalType::Int16 => DataType::SmallInt(None),
        LogicalType::Int32 => DataType::Integer(None),
        LogicalType::Int64 => DataType::BigInt(None),
        LogicalType::Decimal { .. } | LogicalType::Numeric => {
            DataType::Numeric(ExactNumberInfo::None)
        }
        LogicalType::Float32 => DataType::Real,
        LogicalType::Float64 => DataType::DoublePrecision,
        LogicalType::Bool => DataType::Boolean,
        _ => return None,
    })
}

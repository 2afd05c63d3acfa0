//! Where the columns of a table stand in a data file: they are found by their ids, whatever they were called when it
//! was written.

use std::sync::Arc;

use iceberg::{DataFile, Field, Transform};
use plan::ScalarValue;
use types::{LogicalType, SqlError, SqlResult};

use super::super::columns::{ColumnType, FileColumn};
use super::super::given::{Given, Opened};
use super::lake::{Lake, damaged};
use super::values::{logical, scalar};
use crate::files::parquet::footer::ParquetFile;

/// A data file with the columns that are wanted of it, in their types of today.
///
/// # Errors
/// XX001 for a column of a type that cannot have become that of the table, 0A000 for a file without ids.
pub(super) fn of(
    lake: &Lake,
    data: &DataFile,
    parquet: ParquetFile,
    wanted: &[&Field],
) -> SqlResult<Opened> {
    let path = parquet.found.path.clone();
    let roots = with_ids(lake, &parquet)?;
    let (mut places, mut given, mut stored) = (vec![], vec![], vec![]);
    for field in wanted {
        let ty = type_of(field)?;
        given.push(match roots.iter().position(|(id, _)| *id == Some(field.id)) {
            None => Given::Always(absent(lake, data, field, ty)?),
            Some(root) => {
                let column = &roots[root].1;
                if !becomes(&column.ty, ty) {
                    return Err(damaged(&path, differs(column, field, ty)));
                }
                places.push(root);
                stored.push((places.len() - 1, ty));
                Given::Stored(stored.len() - 1)
            }
        });
    }
    let parquet = Some(Arc::new(parquet.with_columns(places)));
    Ok(Opened { given, stored, parquet, deleted: None })
}

/// The type of a column of the table.
///
/// # Errors
/// 0A000
pub(super) fn type_of(field: &Field) -> SqlResult<LogicalType> {
    logical(&field.ty).map_err(|stored| {
        SqlError::unsupported(format!("column \"{}\" of type {stored}", field.name))
    })
}

/// The columns of a file with their ids: its own, or those of the table for their names.
pub(super) fn with_ids(
    lake: &Lake,
    parquet: &ParquetFile,
) -> SqlResult<Vec<(Option<i32>, FileColumn)>> {
    let mut roots = parquet.roots();
    if roots.iter().any(|(id, _)| id.is_some()) {
        return Ok(roots);
    }
    for (id, column) in &mut roots {
        *id = lake.metadata.name_mapping().id(&column.name);
    }
    match roots.is_empty() || roots.iter().any(|(id, _)| id.is_some()) {
        true => Ok(roots),
        false => {
            let what = format!("the file \"{}\" without ids of columns", parquet.found.path);
            Err(SqlError::unsupported(what)
                .with_hint("The table needs the property schema.name-mapping.default."))
        }
    }
}

fn differs(column: &FileColumn, field: &Field, ty: LogicalType) -> String {
    let own = match &column.ty {
        ColumnType::Known(own) => own.to_string(),
        ColumnType::Unknown(own) => own.clone(),
    };
    format!("Its column \"{}\" is of type {own}, and \"{}\" of {ty}.", column.name, field.name)
}

/// Whether values of a file's type are of a column's, or a column of such values may have become one.
fn becomes(own: &ColumnType, ty: LogicalType) -> bool {
    let ColumnType::Known(own) = *own else { return false };
    match (own, ty) {
        (LogicalType::Int16, LogicalType::Int32 | LogicalType::Int64)
        | (LogicalType::Int32, LogicalType::Int64)
        | (LogicalType::Float32, LogicalType::Float64)
        // Writers that do not mark them as such have them as 16 bytes, which is looked after when they are read.
        | (LogicalType::Bytea, LogicalType::Uuid) => true,
        (
            LogicalType::Decimal { precision, scale },
            LogicalType::Decimal { precision: wider, scale: same },
        ) => scale == same && precision <= wider,
        _ => own == ty,
    }
}

/// The value of a column that a file does not have: that of its partition, or null where it is not partitioned by the
/// column.
fn absent(lake: &Lake, data: &DataFile, field: &Field, ty: LogicalType) -> SqlResult<ScalarValue> {
    let spec = lake.metadata.spec(data.spec_id);
    let spec = spec.map_err(|error| lake.fault(&data.path, &error))?;
    let same = spec
        .fields
        .iter()
        .position(|of| of.source_id == field.id && of.transform == Transform::Identity);
    let value = same.map(|number| data.partition_value(number));
    match value {
        None | Some(Some(None)) => ScalarValue::try_from(&ty.arrow())
            .map_err(|error| SqlError::internal(error.to_string())),
        Some(value) => value.flatten().and_then(|value| scalar(value, ty)).ok_or_else(|| {
            let what = "The value that its partition has for the column";
            damaged(&data.path, format!("{what} \"{}\" is none of type {ty}.", field.name))
        }),
    }
}

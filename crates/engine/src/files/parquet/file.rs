//! A Parquet file that is read as a table.

use std::sync::Arc;

use arrow_schema::Field;
use parquet::schema::types::Type;
use types::{SqlError, SqlResult, SqlState};

use super::describe::type_of;
use super::footer::ParquetFile;
use crate::files::columns::{FileColumn, Origin};

impl ParquetFile {
    /// Its columns.
    pub(crate) fn columns(&self) -> Vec<FileColumn> {
        let fields = self.fields().iter().enumerate();
        let column = |(number, field): (usize, &Arc<Field>)| FileColumn {
            name: field.name().clone(),
            ty: type_of(field, self.schema()),
            origin: Origin::Stored(number),
        };
        fields.map(column).collect()
    }

    /// Its columns, with the ids that they have in tables of Iceberg.
    pub(crate) fn roots(&self) -> Vec<(Option<i32>, FileColumn)> {
        let stored = self.schema().root_schema().get_fields();
        let id = |stored: &Arc<Type>| {
            let info = stored.get_basic_info();
            info.has_id().then(|| info.id())
        };
        stored.iter().map(id).zip(self.columns()).collect()
    }

    /// The file with these of its columns, in this order.
    pub(crate) fn with_columns(self, places: Vec<usize>) -> ParquetFile {
        ParquetFile { places, ..self }
    }

    /// The file with its columns in the order of another one's.
    ///
    /// # Errors
    /// 42804 when it has not all of them with the same types.
    pub(crate) fn in_order_of(mut self, first: &ParquetFile) -> SqlResult<ParquetFile> {
        let (own, theirs, path) = (self.columns(), first.columns(), self.found.path.clone());
        let differs = |what: String| {
            let message =
                format!("file \"{path}\" has other columns than \"{}\"", first.found.path);
            SqlError::new(SqlState("42804"), message).with_detail(what)
        };
        let place = |column: &FileColumn| {
            let found = own.iter().position(|other| other.name == column.name);
            let found =
                found.ok_or_else(|| differs(format!("It has no column \"{}\".", column.name)))?;
            match own[found].ty == column.ty {
                true => Ok(found),
                false => Err(differs(format!("Column \"{}\" has another type.", column.name))),
            }
        };
        let places = theirs.iter().map(place).collect::<SqlResult<Vec<_>>>()?;
        self.places = places;
        Ok(self)
    }
}

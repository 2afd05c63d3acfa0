//! Rows that a program lends to its session: queries read them by a name, from the program's own memory.
//!
//! They are Arrow vectors, and those of our types are not copied. Nobody else sees them, no transaction
//! has them, and nothing can change them. Tables and views come first where names are the same. A query
//! that has begun keeps them until it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use exec::{Access, LocalFuture, Part, Source, Step};
use plan::Scan;
use plan::catalog::{TableDef, TableId, TableStatistics, TableStorage};
use types::{Column, LogicalType, Schema, SqlError, SqlResult, SqlState};

use crate::files::convert::{converted, exactly, logical, name_of_unknown};

/// Ids of lent relations lie between those of parts of a statement and those of files.
const FIRST_ID: u32 = TableId::SYSTEM + (5 << 28);

/// How many ids there are: they begin anew then. Two relations of one statement never have the same,
/// because a session cannot have so many at once.
const ID_COUNT: u32 = 1 << 28;

/// Rows of a part of a scan: enough that a worker has something to do, few enough that all have.
const PART_ROWS: usize = 1 << 16;

/// Rows of a step, so that a scan gives way now and then.
const STEP_ROWS: usize = 2048;

/// Rows as the engine reads them.
#[derive(Clone, Debug)]
pub struct Lent {
    columns: Schema,
    batches: Vec<RecordBatch>,
}

impl Lent {
    /// Rows of a program. Vectors of other types than ours are converted here, on the calling thread, so
    /// that no worker has to.
    ///
    /// # Errors
    /// 0A000 for a type that has none here, 22000 for values that the type has not, 42701 for a name that
    /// two columns have.
    pub fn new(schema: &SchemaRef, batches: &[RecordBatch]) -> SqlResult<Lent> {
        let columns = Schema { columns: columns(schema)? };
        let own = columns.arrow();
        let batches = batches.iter().filter(|batch| batch.num_rows() > 0).map(|batch| {
            let arrays = batch.columns().iter().zip(&columns.columns);
            let arrays = arrays.map(|(array, column)| {
                vector(array, column.ty).map_err(|error| not_read(&column.name, &error))
            });
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let arrays = arrays.collect::<SqlResult<_>>()?;
            RecordBatch::try_new_with_options(own.clone(), arrays, &options).map_err(internal)
        });
        let batches = batches.collect::<SqlResult<Vec<_>>>()?;
        Ok(Lent { columns, batches })
    }
}

/// The lent relations of a session, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct LentTables {
    pub(crate) relations: BTreeMap<String, LentTable>,
    lent_count: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct LentTable {
    def: Arc<TableDef>,
    batches: Arc<Vec<RecordBatch>>,
}

impl LentTables {
    pub(crate) fn add(&mut self, name: &str, lent: Lent) {
        let Lent { columns, batches } = lent;
        let row_count = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let statistics = TableStatistics { row_count, ..TableStatistics::default() };
        let def = TableDef {
            id: TableId(FIRST_ID + self.lent_count),
            name: name.to_owned(),
            schema: columns,
            storage: TableStorage::Row,
            primary_key: vec![],
            indexes: vec![],
            statistics: Arc::new(statistics),
            constraints: Arc::default(),
        };
        self.lent_count = (self.lent_count + 1) % ID_COUNT;
        let table = LentTable { def: Arc::new(def), batches: Arc::new(batches) };
        self.relations.insert(name.to_owned(), table);
    }

    pub(crate) fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.relations.get(name).map(|table| table.def.clone())
    }

    /// What gives the rows of a scan; `None` of what is not lent.
    pub(crate) fn source(&self, scan: &Scan) -> Option<SqlResult<LentSource>> {
        let table = self.relations.values().find(|table| table.def.id == scan.table.id)?;
        let batches = table.batches.iter().map(|batch| batch.project(&scan.columns));
        let batches = batches.collect::<Result<_, _>>().map_err(internal);
        Some(batches.map(|batches| LentSource { batches }))
    }
}

/// The source of a scan.
pub(crate) struct LentSource {
    batches: Vec<RecordBatch>,
}

/// Rows of a batch: which one, from where and up to where.
struct Rows {
    batch: usize,
    start: usize,
    end: usize,
}

fn part(rows: Rows) -> Part {
    Part(Box::new(rows))
}

impl Source for LentSource {
    fn roots(&self) -> Vec<Part> {
        let parts = self.batches.iter().enumerate().flat_map(|(batch, rows)| {
            let count = rows.num_rows();
            let starts = (0..count).step_by(PART_ROWS);
            starts.map(move |start| Rows { batch, start, end: count.min(start + PART_ROWS) })
        });
        parts.map(part).collect()
    }

    fn step<'a>(&'a self, rows: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        let Rows { batch, start, end } = *rows.0.downcast().expect("parts come from this source");
        let next = end.min(start + STEP_ROWS);
        let rows = self.batches[batch].slice(start, next - start);
        let rest = (next < end).then(|| part(Rows { batch, start: next, end }));
        Box::pin(async move { Ok(Step { rows: Some(rows), parts: rest.into_iter().collect() }) })
    }
}

fn columns(schema: &SchemaRef) -> SqlResult<Vec<Column>> {
    let mut columns: Vec<Column> = vec![];
    for field in schema.fields() {
        let name = field.name().clone();
        let Some(ty) = type_of(field.data_type()) else {
            let ty = name_of_unknown(field.data_type());
            return Err(SqlError::unsupported(format!("column \"{name}\" of type {ty}")));
        };
        if columns.iter().any(|column| column.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        columns.push(Column { name, ty, nullable: true });
    }
    Ok(columns)
}

/// The type in which vectors of a program's type are read: as those of files, and what only memory has.
fn type_of(ty: &DataType) -> Option<LogicalType> {
    match ty {
        DataType::Dictionary(_, value) => type_of(value),
        DataType::RunEndEncoded(_, value) => type_of(value.data_type()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            type_of(item.data_type()).map(LogicalType::array_of)
        }
        DataType::Date64 => Some(LogicalType::Timestamp),
        DataType::Duration(_) | DataType::Interval(_) => Some(LogicalType::Interval),
        other => logical(other),
    }
}

/// A vector of a program as one of ours.
fn vector(array: &ArrayRef, ty: LogicalType) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, value) => vector(&exactly(array, value)?, ty),
        DataType::RunEndEncoded(_, value) => vector(&exactly(array, value.data_type())?, ty),
        _ => converted(array, ty),
    }
}

/// Values that are none of their type's.
fn not_read(column: &str, error: &ArrowError) -> SqlError {
    let message = format!("column \"{column}\" has values that cannot be read");
    SqlError::new(SqlState("22000"), message).with_detail(error.to_string())
}

fn internal(error: ArrowError) -> SqlError {
    SqlError::internal(error.to_string())
}

#[cfg(test)]
mod tests;

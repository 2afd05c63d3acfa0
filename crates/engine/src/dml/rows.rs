//! Rows with their row ids, and batches put together.

use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use types::SqlResult;
use types::cells::Cells;
use types::key::KeyEncoder;
use types::writer::encode_key;

use crate::catalog::entry::TableEntry;
use crate::fault::internal;
use crate::load::keys::key_arrays;

/// Rows of a table: all its columns in order, and a row id for each, which is meaningless in a table
/// with a primary key. Few rows come as cells, and become vectors where somebody asks for these.
#[derive(Clone)]
pub(crate) struct Rows(Arc<Content>);

struct Content {
    schema: SchemaRef,
    count: usize,
    /// With the row id behind the columns, where there is one.
    cells: Option<Cells>,
    vectors: OnceLock<Vectors>,
}

struct Vectors {
    batch: RecordBatch,
    ids: ArrayRef,
}

/// Whole rows that are to be inserted: they have no row ids yet.
pub(crate) enum NewRows {
    Cells(Cells),
    Vectors(RecordBatch),
}

impl Rows {
    /// Rows as vectors.
    pub(crate) fn new(batch: RecordBatch, ids: ArrayRef) -> Rows {
        let (schema, count) = (batch.schema(), batch.num_rows());
        let vectors = OnceLock::from(Vectors { batch, ids });
        Rows(Arc::new(Content { schema, count, cells: None, vectors }))
    }

    /// Rows as cells: the columns of the table, then its row id if it has one.
    pub(crate) fn of_cells(entry: &TableEntry, cells: Cells) -> Rows {
        let columns = entry.layout.schema.columns.len();
        assert_eq!(cells.width(), columns, "rows have all columns of their table");
        Rows::with_cells(&entry.schema(), cells)
    }

    fn with_cells(schema: &SchemaRef, cells: Cells) -> Rows {
        let (schema, count) = (schema.clone(), cells.len());
        Rows(Arc::new(Content { schema, count, cells: Some(cells), vectors: OnceLock::new() }))
    }

    /// No rows of the table.
    pub(crate) fn none(entry: &TableEntry) -> Rows {
        Rows::of_cells(entry, Cells::new(entry.layout.schema.columns.len()))
    }

    /// The rows that a query found by `sql::dml`: the table's columns, its row id if it has one, and
    /// what else the query computed.
    pub(crate) fn found(entry: &TableEntry, found: &RecordBatch) -> SqlResult<Rows> {
        let schema = entry.schema();
        let count = schema.fields().len();
        let columns = found.columns()[..count].to_vec();
        let batch = batch(&schema, columns, found.num_rows())?;
        let ids = match entry.def.primary_key.is_empty() {
            true => found.column(count).clone(),
            false => no_ids(found.num_rows()),
        };
        Ok(Rows::new(batch, ids))
    }

    /// Rows of the table, put together.
    pub(crate) fn all(entry: &TableEntry, rows: &[Rows]) -> SqlResult<Rows> {
        if let [rows] = rows {
            return Ok(rows.clone());
        }
        let batches: Vec<RecordBatch> = rows.iter().map(|rows| rows.batch().clone()).collect();
        let batch = concatenated(&entry.schema(), &batches)?;
        let ids: Vec<&dyn Array> = rows.iter().map(|rows| &**rows.ids()).collect();
        if ids.is_empty() {
            return Ok(Rows::none(entry));
        }
        Ok(Rows::new(batch, arrow_select::concat::concat(&ids).map_err(internal)?))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns of the table.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    /// The rows as cells, if they came as such.
    pub(crate) fn cells(&self) -> Option<&Cells> {
        self.0.cells.as_ref()
    }

    /// The rows as vectors.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.vectors().batch
    }

    /// Their row ids.
    pub(crate) fn ids(&self) -> &ArrayRef {
        &self.vectors().ids
    }

    fn vectors(&self) -> &Vectors {
        let Content { schema, cells, vectors, .. } = &*self.0;
        let of_cells = || {
            let cells = cells.as_ref().expect("rows are cells or vectors");
            Vectors::of(schema, cells).expect("cells are values of their columns")
        };
        vectors.get_or_init(of_cells)
    }

    /// The rows at these positions.
    pub(crate) fn take(&self, positions: &[u32]) -> SqlResult<Rows> {
        if let Some(cells) = &self.0.cells {
            return Ok(Rows::with_cells(self.schema(), cells.copied(positions)));
        }
        let positions = UInt32Array::from(positions.to_vec());
        let batch = taken(self.batch(), &positions)?;
        let ids = arrow_select::take::take(self.ids(), &positions, None).map_err(internal)?;
        Ok(Rows::new(batch, ids))
    }

    /// All rows of both.
    pub(crate) fn and(&self, more: &Rows) -> SqlResult<Rows> {
        if let (Some(cells), Some(more)) = (self.cells(), more.cells()) {
            let mut all = cells.clone();
            all.append(more);
            return Ok(Rows::with_cells(self.schema(), all));
        }
        let schema = self.batch().schema();
        let more_batch = batch(&schema, more.batch().columns().to_vec(), more.len())?;
        let batch = concatenated(&schema, &[self.batch().clone(), more_batch])?;
        let ids = arrow_select::concat::concat(&[self.ids(), more.ids()]).map_err(internal)?;
        Ok(Rows::new(batch, ids))
    }

    /// The keys of the rows in the clustered tree.
    pub(crate) fn keys(&self, entry: &TableEntry) -> SqlResult<Vec<Vec<u8>>> {
        if let Some(cells) = self.cells() {
            return keys_of(entry, cells);
        }
        let key = &entry.layout.key;
        let encoder = KeyEncoder::new(key, &key_arrays(key, self.batch(), self.ids()));
        let encode = |row| {
            let mut bytes = vec![];
            encoder.encode(row, &mut bytes)?;
            Ok(bytes)
        };
        (0..self.len()).map(encode).collect()
    }
}

impl Vectors {
    fn of(schema: &SchemaRef, cells: &Cells) -> SqlResult<Vectors> {
        let fields = schema.fields().iter().enumerate();
        let columns = fields.map(|(at, field)| cells.vector(at, field.data_type()));
        let batch = batch(schema, columns.collect::<SqlResult<_>>()?, cells.len())?;
        let count = schema.fields().len();
        let ids = match cells.width() > count {
            true => cells.vector(count, &DataType::Int64)?,
            false => no_ids(cells.len()),
        };
        Ok(Vectors { batch, ids })
    }
}

impl NewRows {
    pub(crate) fn len(&self) -> usize {
        match self {
            NewRows::Cells(cells) => cells.len(),
            NewRows::Vectors(batch) => batch.num_rows(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows at these positions, which ascend.
    pub(crate) fn take(self, positions: &[u32]) -> SqlResult<NewRows> {
        if positions.len() == self.len() {
            return Ok(self);
        }
        Ok(match self {
            NewRows::Cells(cells) => NewRows::Cells(cells.take(positions)),
            NewRows::Vectors(batch) => {
                NewRows::Vectors(taken(&batch, &UInt32Array::from(positions.to_vec()))?)
            }
        })
    }

    /// The same as values.
    pub(crate) fn cells(&self, positions: &[u32]) -> SqlResult<Cells> {
        match self {
            NewRows::Cells(cells) => Ok(cells.copied(positions)),
            NewRows::Vectors(batch) => cells_of(batch.columns(), positions),
        }
    }

    /// As vectors of this schema, the table's or that of its rows while generated columns are null.
    pub(crate) fn into_batch(self, schema: &SchemaRef) -> SqlResult<RecordBatch> {
        match self {
            NewRows::Cells(cells) => Ok(Vectors::of(schema, &cells)?.batch),
            NewRows::Vectors(batch) => Ok(batch),
        }
    }

    /// With new row ids.
    pub(crate) async fn numbered(self, entry: &TableEntry) -> SqlResult<Rows> {
        match self {
            NewRows::Cells(cells) if !entry.def.primary_key.is_empty() => {
                Ok(Rows::of_cells(entry, cells))
            }
            NewRows::Cells(cells) => {
                let ids = entry.take_row_ids(cells.len()).await?;
                let mut numbered = Cells::new(cells.width() + 1);
                for row in 0..cells.len() {
                    cells.row(row).for_each(|value| numbered.push(value));
                    numbered.push_of(ids.as_ref(), row)?;
                    numbered.end_row();
                }
                Ok(Rows::of_cells(entry, numbered))
            }
            NewRows::Vectors(batch) => {
                let ids = entry.take_row_ids(batch.num_rows()).await?;
                Ok(Rows::new(batch, ids))
            }
        }
    }
}

/// Rows of vectors as values.
pub(super) fn cells_of(columns: &[ArrayRef], positions: &[u32]) -> SqlResult<Cells> {
    let mut cells = Cells::new(columns.len());
    for row in positions {
        for column in columns {
            cells.push_of(column.as_ref(), *row as usize)?;
        }
        cells.end_row();
    }
    Ok(cells)
}

/// The keys of rows in the clustered tree of their table.
pub(crate) fn keys_of(entry: &TableEntry, rows: &Cells) -> SqlResult<Vec<Vec<u8>>> {
    let encode = |row| {
        let mut key = vec![];
        encode_key(&entry.layout.key, rows, row, &mut key).map(|()| key)
    };
    (0..rows.len()).map(encode).collect()
}

/// In the place of row ids, where there are none.
fn no_ids(count: usize) -> ArrayRef {
    Arc::new(Int64Array::from(vec![0; count]))
}

/// The rows of a batch, which may have no columns, at these positions.
pub(super) fn taken(rows: &RecordBatch, positions: &UInt32Array) -> SqlResult<RecordBatch> {
    match rows.num_columns() {
        0 => batch(&rows.schema(), vec![], positions.len()),
        _ => take_record_batch(rows, positions).map_err(internal),
    }
}

/// A batch of this schema; nulls where it allows none are the caller's mistake.
pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    count: usize,
) -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(internal)
}

/// All rows of the batches, whatever their schemas say of nulls.
pub(crate) fn concatenated(schema: &SchemaRef, batches: &[RecordBatch]) -> SqlResult<RecordBatch> {
    let is_strict = |columns: &[ArrayRef]| {
        columns.iter().zip(schema.fields()).all(|(c, f)| f.is_nullable() || c.null_count() == 0)
    };
    if let [one] = batches
        && is_strict(one.columns())
    {
        return batch(schema, one.columns().to_vec(), one.num_rows());
    }
    let open = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true));
    let open: SchemaRef = Arc::new(Schema::new(open.collect::<Vec<_>>()));
    let same = |b: &RecordBatch| batch(&open, b.columns().to_vec(), b.num_rows());
    let batches = batches.iter().map(same).collect::<SqlResult<Vec<_>>>()?;
    let all = arrow_select::concat::concat_batches(&open, &batches).map_err(internal)?;
    match is_strict(all.columns()) {
        true => batch(schema, all.columns().to_vec(), all.num_rows()),
        false => Ok(all),
    }
}

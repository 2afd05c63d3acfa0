//! Rows that parts of a statement have given, as relations for those after them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use plan::catalog::{TableDef, TableId, TableStatistics, TableStorage};
use types::{Column, LogicalType, Schema as TableSchema, SqlError, SqlResult};

/// What parts of a `WITH` have given, by the numbers of the parts; `None` for those that give no rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results(Vec<Option<Rows>>);

#[derive(Clone, Debug)]
struct Rows {
    def: Arc<TableDef>,
    rows: RecordBatch,
}

impl Results {
    /// The next part has given no rows.
    pub(crate) fn push_none(&mut self) {
        self.0.push(None);
    }

    /// The next part has given these rows.
    ///
    /// # Errors
    /// XX000 for rows that have another schema.
    pub(crate) fn push(&mut self, schema: &Schema, rows: &[RecordBatch]) -> SqlResult<()> {
        let column = |field: &Arc<arrow_schema::Field>| Column {
            name: field.name().clone(),
            ty: LogicalType::of_arrow(field.data_type()).unwrap_or(LogicalType::Text),
            nullable: true,
        };
        let columns = schema.fields().iter().map(column).collect();
        let rows = concat_batches(&Arc::new(schema.clone()), rows)
            .map_err(|error| SqlError::internal(error.to_string()))?;
        let statistics =
            TableStatistics { row_count: rows.num_rows() as u64, ..TableStatistics::default() };
        let number = self.0.len();
        let def = TableDef {
            id: TableId(TableId::GIVEN + number as u32),
            name: number.to_string(),
            schema: TableSchema { columns },
            storage: TableStorage::Row,
            primary_key: vec![],
            indexes: vec![],
            statistics: Arc::new(statistics),
            constraints: Arc::default(),
        };
        self.0.push(Some(Rows { def: Arc::new(def), rows }));
        Ok(())
    }

    /// The relation of a part, by its number as a text.
    pub(super) fn table(&self, number: &str) -> Option<Arc<TableDef>> {
        Some(self.0.get(number.parse::<usize>().ok()?)?.as_ref()?.def.clone())
    }

    /// The rows of a relation, the columns at `ordinals`.
    pub(super) fn rows(&self, id: TableId, ordinals: &[usize]) -> Option<SqlResult<RecordBatch>> {
        let number = id.0.checked_sub(TableId::GIVEN)?;
        let rows = self.0.get(number as usize)?.as_ref()?.rows.project(ordinals);
        Some(rows.map_err(|error| SqlError::internal(error.to_string())))
    }
}

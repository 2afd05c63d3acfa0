//! Rows of system relations: columns are set by name, the others are null or their type's zero.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use sql::{SystemValue, system_column};
use types::{LogicalType, SqlError, SqlResult};

use crate::relation::{Relation, RelationColumn};

/// A row, as many values as the relation has columns.
pub(crate) type Row = Vec<SystemValue>;

/// Collects the rows of one relation.
pub(crate) struct Rows {
    pub(crate) relation: &'static Relation,
    template: Row,
    rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn new(relation: &'static Relation) -> Rows {
        let template = relation.columns.iter().map(unset).collect();
        Rows { relation, template, rows: vec![] }
    }

    /// Adds a row with these columns set.
    pub(crate) fn push<const N: usize>(&mut self, values: [(&str, SystemValue); N]) {
        self.push_some(values);
    }

    /// Adds a row with these columns set, however many.
    pub(crate) fn push_some<'n>(
        &mut self,
        values: impl IntoIterator<Item = (&'n str, SystemValue)>,
    ) {
        let mut row = self.template.clone();
        for (column, value) in values {
            let ordinal = self.relation.ordinal(column);
            row[ordinal.expect("system relations have the columns that are set")] = value;
        }
        self.rows.push(row);
    }

    /// Adds a whole row.
    pub(crate) fn push_row(&mut self, row: Row) {
        assert_eq!(row.len(), self.template.len(), "a row has all columns");
        self.rows.push(row);
    }

    pub(crate) fn finish(self) -> Vec<Row> {
        self.rows
    }
}

/// The value of a column that nobody set.
fn unset(column: &RelationColumn) -> SystemValue {
    if !column.not_null {
        return SystemValue::Null;
    }
    match column.ty {
        LogicalType::Array(_) => SystemValue::List(vec![]),
        LogicalType::Bool => SystemValue::Bool(false),
        LogicalType::Text => SystemValue::Text(String::new()),
        LogicalType::Float32 | LogicalType::Float64 => SystemValue::Float(0.0),
        _ => SystemValue::Int(0),
    }
}

/// The columns of `rows` at `ordinals`.
pub(crate) fn batch(
    relation: &Relation,
    rows: &[Row],
    ordinals: &[usize],
) -> SqlResult<RecordBatch> {
    let column = |&ordinal: &usize| {
        let values: Vec<SystemValue> = rows.iter().map(|row| row[ordinal].clone()).collect();
        system_column(&values, relation.columns[ordinal].ty)
    };
    let arrays = ordinals.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
    let schema = relation.row_type.project(ordinals);
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
        .map_err(|e| SqlError::internal(format!("rows of {}: {e}", relation.name)))
}

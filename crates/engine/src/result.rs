//! What a statement gives back.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::figures::QueryFigures;

/// The result of one statement.
#[derive(Debug)]
pub enum StatementResult {
    /// Rows.
    Rows(ResultSet),
    /// A command tag, as PostgreSQL's: `CREATE TABLE`, `INSERT 0 3`.
    Command {
        /// The tag.
        tag: String,
    },
}

impl StatementResult {
    /// Rows given, or changed as the tag says.
    pub fn row_count(&self) -> u64 {
        match self {
            StatementResult::Rows(rows) => rows.row_count() as u64,
            StatementResult::Command { tag } => {
                tag.rsplit_once(' ').and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
            }
        }
    }
}

/// Rows with their columns.
#[derive(Debug)]
pub struct ResultSet {
    /// Names and types.
    pub schema: SchemaRef,
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
    /// A command tag: `SELECT 3`.
    pub tag: String,
    /// What running the query took; `None` for results that did not come from a query.
    pub figures: Option<Box<QueryFigures>>,
}

impl ResultSet {
    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// A result of text columns.
    pub fn text(columns: &[&str], rows: Vec<Vec<String>>, tag: &str) -> ResultSet {
        use arrow_array::{ArrayRef, StringViewArray};
        use arrow_schema::{DataType, Field, Schema};
        use std::sync::Arc;
        let field = |name: &&str| Field::new(*name, DataType::Utf8View, false);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let column = |i: usize| {
            let values = rows.iter().map(|row| row[i].as_str());
            Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef
        };
        let arrays = (0..columns.len()).map(column).collect();
        let batch =
            RecordBatch::try_new(schema.clone(), arrays).expect("columns follow the schema");
        ResultSet { schema, batches: vec![batch], tag: tag.to_owned(), figures: None }
    }
}

pub(crate) fn tag(text: &str) -> StatementResult {
    StatementResult::Command { tag: text.to_owned() }
}

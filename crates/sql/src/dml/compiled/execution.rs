//! One execution of a statement that is compiled.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use datafusion_common::ScalarValue;
use plan::IndexRef;
use plan::catalog::TableDef;
use types::{SqlError, SqlResult};

use super::{Compiled, RowRules, Work};
use crate::catalog::Catalog;
use crate::dml::assign;
use crate::dml::assign::{or_null, refuse_nulls};
use crate::dml::conflict::Conflict;
use crate::dml::expressions::RowExprs;
use crate::error::from_arrow;
use crate::parse::dml::{Delete, Insert, Update};
use crate::parse::parameter::Parameter;
use crate::parse::statement::Statement;
use crate::parse::statement::kept::Kept;
use crate::parse::template::Template;

/// A statement that is compiled, with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Execution {
    compiled: Arc<Compiled>,
    values: Arc<[Parameter]>,
    /// As it came, where the values were taken out of a text.
    text: Option<Arc<str>>,
}

impl Insert {
    /// How it is run if it is compiled: its own values are still parameters then.
    pub fn execution(&self) -> Option<&Execution> {
        self.execution.as_ref().and_then(Kept::get)
    }
}

impl Update {
    /// How it is run if it is compiled: its own values are still parameters then.
    pub fn execution(&self) -> Option<&Execution> {
        self.execution.as_ref().and_then(Kept::get)
    }
}

impl Delete {
    /// How it is run if it is compiled: its own values are still parameters then.
    pub fn execution(&self) -> Option<&Execution> {
        self.execution.as_ref().and_then(Kept::get)
    }
}

impl Execution {
    pub(super) fn new(
        compiled: &Arc<Compiled>,
        values: &[Parameter],
        text: Option<&str>,
    ) -> Execution {
        let (compiled, text) = (Arc::clone(compiled), text.map(Arc::from));
        Execution { compiled, values: values.into(), text }
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        self.compiled.table_name()
    }

    /// Whether it is right for this version of its table.
    pub fn fits(&self, table: &Arc<TableDef>) -> bool {
        self.compiled.fits(table, &self.values)
    }

    /// The statement and the values of its parameters; `None` of one that came as text.
    pub fn prepared(&self) -> Option<(&Template, &[Parameter])> {
        self.text.is_none().then_some((&self.compiled.template, &self.values[..]))
    }

    /// The statement as it is planned each time.
    ///
    /// # Errors
    /// What parsing says.
    pub fn planned(&self) -> SqlResult<Statement> {
        let Some(text) = &self.text else { return self.compiled.template.bind(&self.values) };
        let mut templates = Template::all(text)?;
        match (templates.pop(), templates.is_empty()) {
            (Some(only), true) => only.bind(&[]),
            _ => Err(SqlError::internal("a statement is none any more")),
        }
    }

    /// The key of the rows that are changed: an index of the table and the values of its first columns;
    /// `None` where only planning tells what the values mean.
    pub fn key(&self) -> Option<(&IndexRef, Vec<ScalarValue>)> {
        match &self.compiled.work {
            Work::Update { found_by, .. } | Work::Delete { found_by } => {
                Some((&found_by.key.index, found_by.key.values(&self.values)?))
            }
            Work::Insert { .. } => None,
        }
    }

    /// What is returned of the rows.
    pub fn returning(&self) -> Option<&RowExprs> {
        self.compiled.returning.as_ref()
    }

    /// What single rows must fulfil.
    pub fn rules(&self) -> &RowRules {
        &self.compiled.rules
    }

    /// What happens to rows that are in the way of those that are inserted.
    pub fn conflict(&self) -> Option<&Conflict> {
        match &self.compiled.work {
            Work::Insert { conflict, .. } => conflict.as_ref(),
            _ => None,
        }
    }

    /// Those of the rows with the key that the statement is about. `rows` have all columns of the table;
    /// `values` are those of [`Execution::values`].
    ///
    /// # Errors
    /// What computing says.
    pub fn meant(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let (Work::Update { found_by, .. } | Work::Delete { found_by }) = &self.compiled.work
        else {
            return Err(SqlError::internal("an INSERT finds no rows"));
        };
        let mut meant = rows.clone();
        for condition in &found_by.conditions {
            let held = condition.evaluate(&self.inputs(&meant, values)?)?;
            meant = filter_record_batch(&meant, held.as_boolean()).map_err(from_arrow)?;
        }
        Ok(meant)
    }

    /// The rows as they become, but for generated columns. Both are as in [`Execution::meant`].
    ///
    /// # Errors
    /// What computing and assigning the values says; 23502.
    pub fn updated(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let Work::Update { assignments, .. } = &self.compiled.work else { return Ok(rows.clone()) };
        let (table, inputs) = (&self.compiled.table, self.inputs(rows, values)?);
        let mut columns = rows.columns().to_vec();
        for (ordinal, value) in assignments {
            let column = or_null(&table.schema.columns[*ordinal]);
            columns[*ordinal] = assign(&value.evaluate(&inputs)?, &column)?;
        }
        refuse_nulls(table, &table.schema, &columns)?;
        RecordBatch::try_new(table.schema.arrow(), columns).map_err(from_arrow)
    }

    /// The rows of an `INSERT`, but for generated columns; `None` where the planned road has to say what
    /// is wrong with its values. No number of a sequence is taken then.
    ///
    /// # Errors
    /// What defaults say; 23502.
    pub fn inserted(&self, catalog: &dyn Catalog) -> SqlResult<Option<RecordBatch>> {
        let Work::Insert { rows, .. } = &self.compiled.work else { return Ok(None) };
        let Ok(values) = self.values(catalog) else { return Ok(None) };
        rows.rows(&self.compiled.table, &values, &self.values, catalog)
    }

    /// The values as columns of one row.
    ///
    /// # Errors
    /// 22P02 and 22003 for what is no value of its type; what computing with the values alone says.
    pub fn values(&self, catalog: &dyn Catalog) -> SqlResult<RecordBatch> {
        let row = self.compiled.values.row(&self.values, catalog.now_us())?;
        self.compiled.constants.iter().try_for_each(|expr| expr.evaluate(&row).map(drop))?;
        Ok(row)
    }

    /// Rows of the table with the values beside each.
    fn inputs(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let count = rows.num_rows();
        let of_each = UInt32Array::from(vec![0; count]);
        let beside = |value: &ArrayRef| match count {
            1 => Ok(value.clone()),
            _ => take(value, &of_each, None).map_err(from_arrow),
        };
        let mut columns = rows.columns().to_vec();
        for value in values.columns() {
            columns.push(beside(value)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let inputs = self.compiled.inputs.clone();
        RecordBatch::try_new_with_options(inputs, columns, &options).map_err(from_arrow)
    }
}

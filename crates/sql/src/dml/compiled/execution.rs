//! One execution of a statement that is compiled.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use plan::IndexRef;
use plan::catalog::TableDef;
use types::cells::Cells;
use types::{SqlError, SqlResult};

use super::{Compiled, RowRules, Work};
use crate::catalog::Catalog;
use crate::dml::assign::refuse_null_cells;
use crate::dml::conflict::Conflict;
use crate::dml::expressions::RowExprs;
use crate::dml::formula::{Formula, Inputs, with_values};
use crate::parse::dml::{Delete, Insert, Update};
use crate::parse::parameter::Parameter;
use crate::parse::statement::Statement;
use crate::parse::statement::kept::Kept;
use crate::parse::template::Template;

/// Bytes of rows with the values beside each, which are in no account.
const BYTES_MAX: usize = 1 << 20;

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

    /// True if the rows with the values beside each of them are more than is copied: a plan has the
    /// memory of its query for that, and does not copy a value for each row.
    pub fn is_too_large(&self, rows: &Cells, values: &Cells) -> bool {
        rows.memory() + rows.len().saturating_mul(values.memory()) > BYTES_MAX
    }

    /// Those of the rows with the key that the statement is about. `rows` have all columns of the table;
    /// `values` are those of [`Execution::values`].
    ///
    /// # Errors
    /// What computing says.
    pub fn meant(&self, rows: Cells, values: &Cells) -> SqlResult<Cells> {
        let (Work::Update { found_by, .. } | Work::Delete { found_by }) = &self.compiled.work
        else {
            return Err(SqlError::internal("an INSERT finds no rows"));
        };
        let mut meant = rows;
        for condition in &found_by.conditions {
            let held = condition.values(&self.inputs(&meant, values))?.held(meant.len())?;
            meant = meant.take(&held);
        }
        Ok(meant)
    }

    /// The rows as they become, but for generated columns. Both are as in [`Execution::meant`].
    ///
    /// # Errors
    /// What computing and assigning the values says; 23502.
    pub fn updated(&self, rows: &Cells, values: &Cells) -> SqlResult<Cells> {
        let Work::Update { assignments, .. } = &self.compiled.work else { return Ok(rows.clone()) };
        let (table, inputs) = (&self.compiled.table, self.inputs(rows, values));
        let columns = &table.schema.columns;
        let assigned = |(ordinal, value): &(usize, Formula)| {
            Ok((*ordinal, value.assigned(&inputs, &columns[*ordinal])?))
        };
        let assigned = assignments.iter().map(assigned).collect::<SqlResult<Vec<_>>>()?;
        let updated = with_values(rows, &assigned)?;
        refuse_null_cells(table, &table.schema, &updated)?;
        Ok(updated)
    }

    /// The rows of an `INSERT`, but for generated columns, and its values as in
    /// [`Execution::values`];
    /// `None` where the planned road has to say what is wrong with its values. No number of a
    /// sequence
    /// is taken then.
    ///
    /// # Errors
    /// What defaults say; 23502.
    pub fn inserted(&self, catalog: &dyn Catalog) -> SqlResult<Option<(Cells, Cells)>> {
        let Work::Insert { rows, .. } = &self.compiled.work else { return Ok(None) };
        let Ok(values) = self.values(catalog) else { return Ok(None) };
        let values = Inputs::new(&self.compiled.value_schema, values);
        let rows = rows.rows(&self.compiled.table, &values, &self.values, catalog)?;
        Ok(rows.map(|rows| (rows, values.into_rows())))
    }

    /// The values as one row.
    ///
    /// # Errors
    /// 22P02 and 22003 for what is no value of its type; what computing with the values alone says.
    pub fn values(&self, catalog: &dyn Catalog) -> SqlResult<Cells> {
        let row = self.compiled.values.row(&self.values, catalog.now_us())?;
        if self.compiled.constants.is_empty() {
            return Ok(row);
        }
        let inputs = Inputs::new(&self.compiled.value_schema, row);
        self.compiled.constants.iter().try_for_each(|expr| expr.values(&inputs).map(drop))?;
        Ok(inputs.into_rows())
    }

    /// Rows of the table with the values beside each.
    fn inputs(&self, rows: &Cells, values: &Cells) -> Inputs<'_> {
        let mut inputs = Cells::new(rows.width() + values.width());
        for row in 0..rows.len() {
            rows.row(row).chain(values.row(0)).for_each(|value| inputs.push(value));
            inputs.end_row();
        }
        Inputs::new(&self.compiled.inputs, inputs)
    }
}

//! Expressions that run as programs over words and floats of 64 bits, with the library's as what
//! they mean.
//!
//! The largest parts of an expression that `ir` knows are replaced. A vector that a program refuses, for
//! it would overflow or holds more than 64 bits, is evaluated by the library: so results and errors are
//! the library's in every case.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use ir::{Refused, Value};
use plan::expr::{is_of, widened_columns};
use types::SqlResult;

use crate::walk::nodes::Nodes;
use code::Code;
pub use code::{CodeTotals, code_totals};
use lower::Lowering;

mod code;
mod lower;
#[cfg(test)]
mod tests;

/// A part of an expression with its program.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    library: Arc<dyn PhysicalExpr>,
    /// Shared by all clones, so that each has the machine code of the others.
    code: Arc<Code>,
    /// The columns that the program reads, each once, and the types that it was made for.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    types: Arc<[DataType]>,
    ty: DataType,
}

/// `expr` with its largest parts that can be programs as such.
pub(super) fn replace(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    let found = expr.transform_down(|node| {
        Ok(match Typed::of(&node, schema) {
            Some(typed) => Transformed::new(Arc::new(typed), true, TreeNodeRecursion::Jump),
            None => Transformed::no(node),
        })
    });
    found.data()
}

impl Typed {
    fn of(library: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Typed> {
        let (program, columns) = Lowering::new(schema).program(library)?;
        let types = columns.iter().map(|column| column.data_type(schema));
        Some(Typed {
            library: Arc::clone(library),
            code: Code::new(program),
            types: types.collect::<Result<_>>().ok()?,
            columns,
            ty: library.data_type(schema).ok()?,
        })
    }

    /// The library's expression.
    pub(super) fn library(&self) -> &Arc<dyn PhysicalExpr> {
        &self.library
    }

    /// The value of the program, unless it refuses.
    pub(super) fn run(&self, batch: &RecordBatch) -> std::result::Result<Value, Refused> {
        let found = |(column, ty): (&Arc<dyn PhysicalExpr>, &DataType)| {
            let at = column_at(column)?;
            batch.columns().get(at).filter(|found| is_of(found.data_type(), ty))
        };
        let columns: Option<Vec<&ArrayRef>> =
            self.columns.iter().zip(self.types.iter()).map(found).collect();
        self.code.run(&columns.ok_or(Refused)?, batch.num_rows())
    }
}

/// The position of the column, if the expression is one.
fn column_at(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    (expr.as_ref() as &dyn std::any::Any).downcast_ref::<Column>().map(Column::index)
}

impl PartialEq for Typed {
    fn eq(&self, other: &Typed) -> bool {
        self.library.eq(&other.library)
    }
}

impl Eq for Typed {}

impl Hash for Typed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.library.hash(state);
    }
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.library.fmt(f)
    }
}

/// The batch with those columns as the plan has them that the expression reads.
pub(crate) fn widened_for<'a>(
    physical: &Arc<dyn PhysicalExpr>,
    batch: &'a RecordBatch,
) -> SqlResult<Cow<'a, RecordBatch>> {
    let read = || collect_columns(physical).iter().map(Column::index).collect();
    widened_columns(batch, read)
}

impl PhysicalExpr for Typed {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.ty.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.library.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.run(batch).and_then(|value| value.into_array(&self.ty)) {
            Ok(array) => Ok(ColumnarValue::Array(array)),
            Err(Refused) => {
                let batch = widened_for(&self.library, batch)
                    .map_err(|error| DataFusionError::External(Box::new(error)))?;
                self.library.evaluate(&batch)
            }
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.columns.iter().collect()
    }

    /// The library moves columns where it evaluates a part of an expression on fewer of them.
    fn with_new_children(
        self: Arc<Self>,
        columns: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let library = Arc::clone(&self.library).transform_down(|node| {
            let place = self.columns.iter().position(|column| column.eq(&node));
            Ok(match place.and_then(|place| columns.get(place)) {
                Some(moved) => Transformed::new(Arc::clone(moved), true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            })
        });
        let library = library.data()?;
        Ok(Arc::new(Typed { library, columns, ..Typed::clone(&self) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.library.fmt_sql(f)
    }
}

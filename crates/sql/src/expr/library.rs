//! The library's physical expressions as evaluators of a plan.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::utils::collect_columns;
use plan::expr::{Costs, Evaluate, Expr, Form, RowExpr, Words};
use types::SqlResult;

use crate::cast::strict::STRICT_CAST;
use crate::error::{from_arrow, from_library};
use crate::expr::over_row::over_row;
use crate::expr::typed::{Typed, widened_for};

/// An expression of the library, with the type that its values get.
#[derive(Debug)]
pub(crate) struct Library {
    physical: Arc<dyn PhysicalExpr>,
    ty: DataType,
}

/// The expression of a plan: columns and constants are the plan's own.
pub(crate) fn of(physical: Arc<dyn PhysicalExpr>, ty: DataType, text: &str, costs: Costs) -> Expr {
    Expr::new(form(physical, &ty), ty, text, costs)
}

/// The form of such an expression.
pub(crate) fn form(physical: Arc<dyn PhysicalExpr>, ty: &DataType) -> Form {
    if let Some(column) = as_node::<Column>(&physical) {
        return Form::Column(column.index());
    }
    match as_node::<Literal>(&physical).map(Literal::value) {
        Some(value) if value.data_type() == *ty => Form::Literal(Arc::new(value.clone())),
        _ => Form::Foreign(Arc::new(Library { physical, ty: ty.clone() })),
    }
}

/// The library's expression for one that this crate has made.
pub(crate) fn physical(expr: &Expr) -> Arc<dyn PhysicalExpr> {
    match expr.form() {
        Form::Column(at) => Arc::new(Column::new(expr.text(), *at)),
        Form::Literal(value) => Arc::new(Literal::new(value.as_ref().clone())),
        Form::Foreign(evaluator) => {
            let library = evaluator.as_any().downcast_ref::<Library>();
            Arc::clone(&library.expect("an expression of this crate").physical)
        }
    }
}

/// The expression as a node of this kind, if it is one.
pub(crate) fn as_node<T: PhysicalExpr>(physical: &Arc<dyn PhysicalExpr>) -> Option<&T> {
    (physical.as_ref() as &dyn Any).downcast_ref::<T>()
}

impl Evaluate for Library {
    fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        let batch = match as_node::<Typed>(&self.physical) {
            Some(_) => Cow::Borrowed(batch),
            None => widened_for(&self.physical, batch)?,
        };
        let value = self.physical.evaluate(&batch).map_err(from_library)?;
        let array = value.into_array(batch.num_rows()).map_err(from_library)?;
        if array.data_type() == &self.ty {
            return Ok(array);
        }
        arrow_cast::cast_with_options(&array, &self.ty, &STRICT_CAST).map_err(from_arrow)
    }

    fn words(&self, batch: &RecordBatch) -> Option<Words> {
        match as_node::<Typed>(&self.physical)?.run(batch).ok()? {
            ir::Value::Words(words) => Some(words),
            ir::Value::Floats(_) | ir::Value::Truths(_) | ir::Value::Texts(_) => None,
        }
    }

    fn columns(&self) -> Option<Vec<usize>> {
        Some(collect_columns(&self.physical).iter().map(Column::index).collect())
    }

    fn over_row(&self, input: &Schema) -> Option<RowExpr> {
        let is_its_type = self.physical.data_type(input).is_ok_and(|ty| ty == self.ty);
        is_its_type.then(|| over_row(&self.physical, input)).flatten()
    }

    fn is_volatile(&self) -> bool {
        fn is_volatile(part: &Arc<dyn PhysicalExpr>) -> bool {
            part.is_volatile_node() || part.children().into_iter().any(is_volatile)
        }
        is_volatile(&self.physical)
    }

    fn is_same(&self, other: &dyn Evaluate) -> bool {
        let other = other.as_any().downcast_ref::<Library>();
        other.is_some_and(|o| self.ty == o.ty && self.physical.as_ref() == o.physical.as_ref())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! Scalar expressions over the columns of a batch.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use ir::Words;
use types::SqlResult;
use types::zone::{self, Context};

use crate::cast::strict::STRICT_CAST;
use crate::error::{from_arrow, from_library};
use crate::expr::words::as_words;
use crate::expr::{exact, measured, ordered, slow, typed, words};
use crate::interrupt;

/// A scalar expression over the columns of a batch.
#[derive(Clone)]
pub struct Expr {
    pub(crate) physical: Arc<dyn PhysicalExpr>,
    pub(crate) ty: DataType,
    pub(crate) text: Arc<str>,
    /// Whether each row takes long.
    pub(crate) is_slow: bool,
    /// True if values of any size are computed in it.
    pub(crate) makes_values: bool,
    /// What the statement that it was compiled for works in.
    pub(crate) context: Context,
}

/// The same computation on the same columns.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.ty == other.ty && self.physical.as_ref() == other.physical.as_ref()
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// The column at position `index` of the batch.
    pub fn column(index: usize, name: &str, ty: DataType) -> Expr {
        let physical = Arc::new(Column::new(name, index));
        Expr::plain(physical, ty, name)
    }

    /// A constant.
    pub fn literal(value: ScalarValue) -> Expr {
        let text = crate::render::literal(&value);
        let ty = value.data_type();
        Expr::plain(Arc::new(Literal::new(value)), ty, &text)
    }

    /// An expression that costs little.
    fn plain(physical: Arc<dyn PhysicalExpr>, ty: DataType, text: &str) -> Expr {
        let (is_slow, makes_values) = (false, false);
        Expr { physical, ty, text: text.into(), is_slow, makes_values, context: zone::current() }
    }

    /// The same in what the statement works in that runs now.
    pub(crate) fn in_context(&self) -> Expr {
        Expr { context: zone::current(), ..self.clone() }
    }

    /// Compiles a bound and coerced expression over rows of `schema`.
    pub(crate) fn compile(expr: &datafusion_expr::Expr, schema: &DFSchema) -> SqlResult<Expr> {
        let text = crate::render::expression(expr);
        let physical = compile_physical(expr, schema)?;
        let physical = typed::replace(physical, schema.as_arrow()).map_err(from_library)?;
        let measured = measured::measured(physical, schema.as_arrow()).map_err(from_library)?;
        let ty = measured.data.data_type(schema.as_arrow()).map_err(from_library)?;
        let (is_slow, makes_values) = (slow::is_slow(expr), measured.transformed);
        Ok(Expr { is_slow, makes_values, ..Expr::plain(measured.data, ty, &text) })
    }

    /// The same value as another type; an error where a value does not fit.
    pub(crate) fn cast(self, ty: &DataType) -> Expr {
        if self.ty == *ty {
            return self;
        }
        let cast = CastExpr::new(Arc::clone(&self.physical), ty.clone(), Some(STRICT_CAST));
        Expr { physical: Arc::new(cast), ty: ty.clone(), ..self }
    }

    /// The type of the result.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// As SQL-like text, for `EXPLAIN`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Rows that it is best evaluated for at once: others can have their turn before the next.
    pub fn rows_at_once(&self) -> usize {
        if self.is_slow { slow::ROWS_AT_ONCE } else { usize::MAX }
    }

    /// True if some rows may take long, or much memory: it is best evaluated for few of them at
    /// once.
    pub fn is_heavy(&self) -> bool {
        self.is_slow || self.makes_values
    }

    /// The position of the column, if the expression is nothing but a column.
    pub fn is_column(&self) -> Option<usize> {
        self.as_physical::<Column>().map(Column::index)
    }

    /// The value, if the expression is nothing but a constant.
    pub fn is_literal(&self) -> Option<&ScalarValue> {
        self.as_physical::<Literal>().map(Literal::value)
    }

    /// Whether it may have another value each time it is evaluated, or does something then.
    pub fn is_volatile(&self) -> bool {
        fn is_volatile(part: &Arc<dyn PhysicalExpr>) -> bool {
            part.is_volatile_node() || part.children().into_iter().any(is_volatile)
        }
        is_volatile(&self.physical)
    }

    pub(crate) fn as_physical<T: PhysicalExpr>(&self) -> Option<&T> {
        (self.physical.as_ref() as &dyn std::any::Any).downcast_ref::<T>()
    }

    /// The value for each row of `batch` as words of 64 bits, where it is at hand so and fits them.
    pub fn words(&self, batch: &RecordBatch) -> Option<Words> {
        let value = match (self.is_column(), self.as_physical::<typed::Typed>()) {
            (Some(at), _) => ir::Value::load(batch.columns().get(at)?).ok()?,
            (_, Some(typed)) => typed.run(batch).ok()?,
            _ => return None,
        };
        match value {
            ir::Value::Words(words) => Some(words),
            ir::Value::Truths(_) | ir::Value::Texts(_) => None,
        }
    }

    /// The value for each row of `batch`: an array as long as the batch, of type `data_type()`.
    ///
    /// Errors: 22003 (a number out of range), 22012 (division by zero), 22P02 (text that is no value
    /// of the type it is cast to), and what the functions used report.
    pub fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        let _entered = zone::enter(self.context);
        let batch = match self.as_physical::<typed::Typed>() {
            Some(_) => Cow::Borrowed(batch),
            None => words::widened_for(&self.physical, batch).map_err(from_arrow)?,
        };
        let value = self.physical.evaluate(&batch).map_err(from_library)?;
        let array = value.into_array(batch.num_rows()).map_err(from_library)?;
        if array.data_type() == &self.ty {
            return Ok(array);
        }
        arrow_cast::cast_with_options(&array, &self.ty, &STRICT_CAST).map_err(from_arrow)
    }

    /// The same, with decimals in 64 bits where they are at hand so and fit them: for batches that are read by
    /// expressions alone.
    ///
    /// Errors: as [`Expr::evaluate`].
    pub fn evaluate_as_words(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        if let Some(ty) = as_words(&self.ty)
            && let Some(words) = self.words(batch)
            && let Ok(array) = ir::Value::Words(words).into_array(&ty)
        {
            return Ok(array);
        }
        self.evaluate(batch)
    }
}

/// The value of a bound expression without columns.
pub(crate) fn constant(expr: &datafusion_expr::Expr) -> SqlResult<ScalarValue> {
    let compiled = Expr::compile(expr, &DFSchema::empty())?;
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema, vec![], &one_row).map_err(from_arrow)?;
    let array = interrupt::folding(|| compiled.evaluate(&batch))?;
    ScalarValue::try_from_array(&array, 0).map_err(from_library)
}

/// The library's physical expression, made exact.
pub(crate) fn compile_physical(
    expr: &datafusion_expr::Expr,
    schema: &DFSchema,
) -> SqlResult<Arc<dyn PhysicalExpr>> {
    let context = PhysicalPlanningContext::default();
    let physical = create_physical_expr(expr, schema, &ExecutionProps::new(), &context)
        .map_err(from_library)?;
    let exact = exact::harden(physical, schema.as_arrow()).map_err(from_library)?;
    ordered::keep(exact, schema.as_arrow()).map_err(from_library)
}

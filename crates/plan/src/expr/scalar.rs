//! Scalar expressions over the columns of a batch.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use ir::Words;
use types::zone::{self, Context};
use types::{SqlError, SqlResult};

use super::evaluate::Evaluate;
use super::words::{as_words, widened};
use crate::limits;

/// Rows of a slow expression that are evaluated at once: a pattern and a text of common length take
/// some microseconds.
const SLOW_ROWS_AT_ONCE: usize = 256;

/// A scalar expression over the columns of a batch.
#[derive(Clone)]
pub struct Expr {
    form: Form,
    ty: DataType,
    text: Arc<str>,
    costs: Costs,
    /// The moment, zone and the like of the statement that it was compiled for.
    context: Context,
}

/// The form of an expression.
#[derive(Clone, Debug)]
pub enum Form {
    /// The column at this position of the batch.
    Column(usize),
    /// A constant.
    Literal(Arc<ScalarValue>),
    /// An expression that the front end evaluates.
    Foreign(Arc<dyn Evaluate>),
}

/// The cost of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// True if each row takes long.
    pub is_slow: bool,
    /// True if values of any size are computed in it.
    pub makes_values: bool,
}

impl PartialEq for Form {
    fn eq(&self, other: &Form) -> bool {
        match (self, other) {
            (Form::Column(one), Form::Column(other)) => one == other,
            (Form::Literal(one), Form::Literal(other)) => one == other,
            (Form::Foreign(one), Form::Foreign(other)) => one.is_same(other.as_ref()),
            _ => false,
        }
    }
}

/// The same computation on the same columns.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.ty == other.ty && self.form == other.form
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// An expression of this form and type, shown as `text` by EXPLAIN, of the statement that is
    /// planned now.
    pub fn new(form: Form, ty: DataType, text: &str, costs: Costs) -> Expr {
        Expr { form, ty, text: text.into(), costs, context: zone::current() }
    }

    /// The column at position `index` of the batch.
    pub fn column(index: usize, name: &str, ty: DataType) -> Expr {
        Expr::new(Form::Column(index), ty, name, Costs::default())
    }

    /// A constant, shown as `text`.
    pub fn literal(value: ScalarValue, text: &str) -> Expr {
        let ty = value.data_type();
        Expr::new(Form::Literal(Arc::new(value)), ty, text, Costs::default())
    }

    /// The same for the statement that runs now.
    pub fn in_context(&self) -> Expr {
        Expr { context: zone::current(), ..self.clone() }
    }

    /// Another form and type of the same expression.
    pub fn with_form(self, form: Form, ty: DataType) -> Expr {
        Expr { form, ty, ..self }
    }

    /// The form.
    pub fn form(&self) -> &Form {
        &self.form
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
        if self.costs.is_slow { SLOW_ROWS_AT_ONCE } else { usize::MAX }
    }

    /// Its cost.
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// True if some rows may take long, or much memory: it is best evaluated for few of them at
    /// once.
    pub fn is_heavy(&self) -> bool {
        self.costs.is_slow || self.costs.makes_values
    }

    /// The moment, zone and the like of its statement.
    pub fn context(&self) -> Context {
        self.context
    }

    /// The position of the column, if the expression is nothing but a column.
    pub fn is_column(&self) -> Option<usize> {
        match self.form {
            Form::Column(at) => Some(at),
            _ => None,
        }
    }

    /// The value, if the expression is nothing but a constant.
    pub fn is_literal(&self) -> Option<&ScalarValue> {
        match &self.form {
            Form::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// True if it may have another value each time it is evaluated, or does something then.
    pub fn is_volatile(&self) -> bool {
        matches!(&self.form, Form::Foreign(evaluator) if evaluator.is_volatile())
    }

    /// The value for each row of `batch` as words of 64 bits, where it is at hand so and fits them.
    pub fn words(&self, batch: &RecordBatch) -> Option<Words> {
        match &self.form {
            Form::Column(at) => match ir::Value::load(batch.columns().get(*at)?).ok()? {
                ir::Value::Words(words) => Some(words),
                ir::Value::Floats(_) | ir::Value::Truths(_) | ir::Value::Texts(_) => None,
            },
            Form::Literal(_) => None,
            Form::Foreign(evaluator) => evaluator.words(batch),
        }
    }

    /// The value for each row of `batch`: an array as long as the batch, of type `data_type()`.
    ///
    /// # Errors
    /// 22003 (a number out of range), 22012 (division by zero), 22P02 (text that is no value of the
    /// type it is cast to), and what the functions used report.
    pub fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        let array = match &self.form {
            Form::Column(at) => widened(batch.columns().get(*at).ok_or_else(missing)?),
            Form::Literal(value) => value.to_array_of_size(batch.num_rows()).map_err(impossible)?,
            Form::Foreign(evaluator) => {
                let context = limits::context().unwrap_or(self.context);
                let _entered = zone::enter(context);
                evaluator.evaluate(batch)?
            }
        };
        match array.data_type() == &self.ty {
            true => Ok(array),
            false => arrow_cast::cast(&array, &self.ty).map_err(crate::error::from_arrow),
        }
    }

    /// The same, with decimals in 64 bits where they are at hand so and fit them: for batches that
    /// are read by expressions alone.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
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

fn missing() -> SqlError {
    SqlError::internal("an expression reads a column that its batch lacks")
}

fn impossible(error: datafusion_common::DataFusionError) -> SqlError {
    SqlError::internal(error.to_string())
}

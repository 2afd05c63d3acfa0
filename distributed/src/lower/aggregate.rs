//! Partial aggregation: each column of the states that others complete is an aggregate of ours.

use std::any::Any;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::{SqlError, SqlResult};
use plan::expr::{AggregateExpr, AggregateKind, Evaluate, Expr, Total, widened};
use plan::{Node, Operator};

use super::expr::{foreign, lowered};
use super::library::OfLibrary;
use super::node as plain;
use crate::fragment::{Aggregate, Function, Partial, Scalar};

/// The node of a partial aggregation, its states of the types that who completes them wants.
///
/// # Errors
/// 0A000 for aggregates that are not computed over values of their type.
pub fn node(input: Node, partial: &Partial) -> SqlResult<Node> {
    let (schema, rows) = (input.schema.clone(), input.rows);
    let group_by = partial.groups.iter().map(|group| lowered(group, &schema));
    let group_by = group_by.collect::<SqlResult<Vec<Expr>>>()?;
    let aggregates = partial.states.iter().map(|state| aggregate(state, &schema));
    let aggregates = aggregates.collect::<SqlResult<Vec<AggregateExpr>>>()?;
    let types = group_by.iter().map(|group| group.data_type().clone());
    let types = types.chain(aggregates.iter().map(AggregateExpr::data_type));
    let named = partial.schema.fields().iter().zip(types);
    let fields = named.map(|(field, ty)| Field::new(field.name(), ty, true));
    let found = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let operator = Operator::Aggregate { input: Box::new(input), group_by, aggregates };
    converted(plain(operator, found, rows), partial)
}

/// The node with its columns in the types that are wanted, if they are others.
fn converted(input: Node, partial: &Partial) -> SqlResult<Node> {
    let pairs = input.schema.fields().iter().zip(partial.schema.fields()).enumerate();
    let exprs: Vec<Expr> = pairs
        .map(|(at, (found, wanted))| {
            let column = Expr::column(at, found.name(), found.data_type().clone());
            match found.data_type() == wanted.data_type() {
                true => column,
                false => {
                    let (ty, text) = (wanted.data_type().clone(), found.name());
                    foreign(Converted { at, ty: ty.clone() }, ty, text)
                }
            }
        })
        .collect();
    if exprs.iter().all(|expr| expr.is_column().is_some()) {
        return Ok(input);
    }
    let (schema, rows) = (partial.schema.clone(), input.rows);
    let operator = Operator::Project { input: Box::new(input), exprs, as_words: false };
    Ok(plain(operator, schema, rows))
}

fn aggregate(state: &Aggregate, input: &Schema) -> SqlResult<AggregateExpr> {
    let text = state.to_string();
    let lower = |scalar: &Scalar| lowered(scalar, input);
    let args: Vec<Expr> = state.arg.iter().map(lower).collect::<SqlResult<_>>()?;
    let filter = state.filter.as_ref().map(lower).transpose()?;
    let (kind, ty) = kind(state, args.first())?;
    let follows_input = false;
    Ok(AggregateExpr { args, filter, kind, follows_input, ty, text: text.into() })
}

/// How a state is computed, and of which type it is then.
fn kind(state: &Aggregate, arg: Option<&Expr>) -> SqlResult<(AggregateKind, DataType)> {
    let arg = match (state.function, arg) {
        (Function::Rows, None) => return Ok((AggregateKind::Rows, DataType::Int64)),
        (_, Some(arg)) => arg.data_type(),
        (_, None) => return Err(SqlError::internal("an aggregate has no argument")),
    };
    let function = OfLibrary::new(state.function, arg)?;
    let ty = function.data_type();
    let total = Total::of(state.function.name(), arg, &ty);
    Ok((AggregateKind::Foreign { function: Arc::new(function), total }, ty))
}

/// A column in another type: counts without a sign, decimals of another precision.
#[derive(Debug)]
struct Converted {
    at: usize,
    ty: DataType,
}

impl Evaluate for Converted {
    fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        let column = widened(batch.column(self.at));
        match (column.data_type(), &self.ty) {
            (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) if from == to => {
                let values = column.as_primitive::<Decimal128Type>().clone();
                Ok(Arc::new(values.with_data_type(self.ty.clone())))
            }
            _ => arrow_cast::cast(&column, &self.ty)
                .map_err(|error| SqlError::internal(error.to_string())),
        }
    }

    fn columns(&self) -> Option<Vec<usize>> {
        Some(vec![self.at])
    }

    fn is_volatile(&self) -> bool {
        false
    }

    fn is_same(&self, other: &dyn Evaluate) -> bool {
        let other = other.as_any().downcast_ref::<Converted>();
        other.is_some_and(|other| self.at == other.at && self.ty == other.ty)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! Literal rows, unions and limits.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion_common::DFSchema;
use datafusion_expr::{EmptyRelation, Expr as Logical, FetchType, Limit, SkipType, Union, Values};
use plan::expr::Expr;
use plan::{Listed, Node, Operator, Place, limits};
use types::{SqlError, SqlResult};

use super::{Built, Physical, built_as, nullable};
use crate::cast::floats::cast_exactly;
use crate::error::{from_arrow, from_library};
use crate::estimate::{ColumnProfile, Profile};
use crate::expr::runtime_parameter::{is_one, number, value};
use crate::expr::scalar;

/// Rows of literals that are put together at once.
const VALUES_AT_ONCE: usize = 1024;

impl Physical<'_> {
    pub(super) fn empty(&self, empty: &EmptyRelation) -> SqlResult<Built> {
        let schema = nullable(empty.schema.as_arrow());
        let rows = usize::from(empty.produce_one_row);
        let columns: Vec<ArrayRef> = schema
            .fields()
            .iter()
            .map(|f| arrow_array::new_null_array(f.data_type(), rows))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
            .map_err(from_arrow)?;
        let profile = literal_profile(rows, schema.fields().len());
        Ok(built_as(
            Operator::Values(batch.into()),
            schema,
            Arc::clone(&empty.schema),
            profile,
            0.0,
        ))
    }

    pub(super) fn values(&self, values: &Values) -> SqlResult<Built> {
        let schema = nullable(values.schema.as_arrow());
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(
            Arc::new(arrow_schema::Schema::empty()),
            vec![],
            &options,
        )
        .map_err(from_arrow)?;
        let mut known = Known::new(&schema);
        let (mut parts, mut places) = (vec![], vec![]);
        for (number, row) in values.values.iter().enumerate() {
            limits::go_on()?;
            let row: Vec<&Logical> = row.iter().map(bare).collect();
            places.extend(parameters(number, &row, &schema)?);
            let row = row.into_iter().map(planned);
            let exprs = row.map(|expr| scalar::compile(&expr, &DFSchema::empty()));
            let exprs = exprs.collect::<SqlResult<Vec<_>>>()?;
            let cell = |(expr, field): (&Expr, &Arc<arrow_schema::Field>)| {
                let value = limits::folding(|| expr.evaluate(&one))?;
                cast_exactly(&value, field.data_type()).map_err(from_library)
            };
            match exprs.iter().zip(schema.fields()).map(cell).collect::<SqlResult<Vec<_>>>() {
                Ok(cells) => known.push(cells)?,
                Err(error) if limits::is_too_large_to_fold(&error) => {
                    parts.extend(known.node()?);
                    parts.push(computed_later(exprs, &schema, &one));
                }
                Err(error) => return Err(error),
            }
        }
        let profile = literal_profile(values.values.len(), schema.fields().len());
        let operator = match parts.is_empty() {
            true => Operator::Values(Listed { rows: known.batch()?, places }),
            false if !places.is_empty() => {
                return Err(SqlError::unsupported("a parameter beside a large value"));
            }
            false => Operator::Union { inputs: parts.into_iter().chain(known.node()?).collect() },
        };
        Ok(built_as(operator, schema, Arc::clone(&values.schema), profile, 0.0))
    }

    pub(super) fn union(&self, union: &Union) -> SqlResult<Built> {
        let types = nullable(union.schema.as_arrow());
        let inputs =
            union.inputs.iter().map(|i| self.build(i)).collect::<SqlResult<Vec<Built>>>()?;
        let rows = inputs.iter().map(|i| i.profile.rows).sum();
        let cost = inputs.iter().map(|i| i.node.cost).sum();
        let column = |i: usize| {
            ColumnProfile::of_domain(inputs.iter().map(|b| b.profile.columns[i].domain).sum())
        };
        let columns = (0..types.fields().len()).map(column).collect();
        let profile = Profile { rows, columns, keys: vec![] };
        let inputs = inputs.into_iter().map(|i| cast_to(i.node, &types)).collect();
        let operator = Operator::Union { inputs };
        Ok(built_as(operator, types, Arc::clone(&union.schema), profile, cost))
    }

    pub(super) fn limit(&self, limit: &Limit) -> SqlResult<Built> {
        let negative = |e| {
            let mut error = from_library(e);
            error.state = types::SqlState("2201W");
            error
        };
        let SkipType::Literal(skip) = limit.get_skip_type().map_err(negative)? else {
            return Err(SqlError::unsupported("OFFSET with an expression"));
        };
        let FetchType::Literal(fetch) = limit.get_fetch_type().map_err(negative)? else {
            return Err(SqlError::unsupported("LIMIT with an expression"));
        };
        let input = self.build(&limit.input)?;
        // It passes the one row that there may be.
        if skip == 0 && fetch != Some(0) && input.node.is_row() {
            return Ok(input);
        }
        let passed = (input.profile.rows - skip as f64).max(0.0);
        let rows = fetch.map_or(passed, |n| passed.min(n as f64));
        let cost = input.node.cost;
        let types = Arc::clone(&input.node.schema);
        let profile = Profile { rows, ..input.profile };
        let operator = Operator::Limit { input: Box::new(input.node), skip, fetch };
        Ok(built_as(operator, types, input.schema, profile, cost))
    }
}

/// The value that a run-time parameter is planned for, in its place.
fn planned(cell: &Logical) -> Cow<'_, Logical> {
    match value(cell).filter(|_| is_one(cell)) {
        Some(value) => Cow::Owned(Logical::Literal(value.clone(), None)),
        None => Cow::Borrowed(cell),
    }
}

/// The cell without the name that it was given.
fn bare(cell: &Logical) -> &Logical {
    match cell {
        Logical::Alias(alias) => bare(&alias.expr),
        cell => cell,
    }
}

/// The places of run-time parameters in a row.
///
/// # Errors
/// 0A000 for one that is of another type than its column.
fn parameters(row: usize, cells: &[&Logical], schema: &SchemaRef) -> SqlResult<Vec<Place>> {
    let numbered = cells.iter().zip(schema.fields()).enumerate();
    let place = |(column, (cell, field)): (usize, (&&Logical, &Arc<arrow_schema::Field>))| {
        let number = number(cell)?;
        let is_it = value(cell).is_some_and(|value| value.data_type() == *field.data_type());
        let other = || SqlError::unsupported("a parameter of another type than its column");
        Some(if is_it { Ok(Place { row, column, number }) } else { Err(other()) })
    };
    numbered.filter_map(place).collect()
}

/// Rows of literals, one after the other, that are put together.
struct Known<'a> {
    schema: &'a SchemaRef,
    chunks: Vec<RecordBatch>,
    rows: Vec<RecordBatch>,
}

impl<'a> Known<'a> {
    fn new(schema: &'a SchemaRef) -> Known<'a> {
        Known { schema, chunks: vec![], rows: vec![] }
    }

    fn push(&mut self, cells: Vec<ArrayRef>) -> SqlResult<()> {
        self.rows.push(RecordBatch::try_new(Arc::clone(self.schema), cells).map_err(from_arrow)?);
        // A row alone takes many times what it takes among others.
        if self.rows.len() == VALUES_AT_ONCE {
            let rows = std::mem::take(&mut self.rows);
            self.chunks.push(self.together(&rows)?);
        }
        Ok(())
    }

    /// All of them, of which none is left behind.
    fn batch(&mut self) -> SqlResult<RecordBatch> {
        let (mut chunks, rows) = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.rows));
        chunks.push(self.together(&rows)?);
        self.together(&chunks)
    }

    /// The same as a node, if there are any.
    fn node(&mut self) -> SqlResult<Option<Node>> {
        let batch = self.batch()?;
        let rows = batch.num_rows();
        Ok((rows > 0).then(|| node(Operator::Values(batch.into()), self.schema, rows)))
    }

    fn together(&self, rows: &[RecordBatch]) -> SqlResult<RecordBatch> {
        arrow_select::concat::concat_batches(self.schema, rows).map_err(from_arrow)
    }
}

/// A row with a value that is too large to be computed before the statement runs.
fn computed_later(exprs: Vec<Expr>, schema: &SchemaRef, one: &RecordBatch) -> Node {
    let exprs = exprs.into_iter().zip(schema.fields());
    let exprs = exprs.map(|(expr, field)| scalar::cast(expr, field.data_type())).collect();
    let input = Box::new(node(Operator::Values(one.clone().into()), &one.schema(), 1));
    node(Operator::Project { input, exprs, as_words: false }, schema, 1)
}

fn node(operator: Operator, schema: &SchemaRef, rows: usize) -> Node {
    Node::new(operator, Arc::clone(schema), rows as f64, 0.0)
}

fn literal_profile(rows: usize, columns: usize) -> Profile {
    let rows = rows as f64;
    Profile { rows, columns: vec![ColumnProfile::of_domain(rows); columns], keys: vec![] }
}

/// The node with its columns as these types.
pub(super) fn cast_to(node: Node, types: &arrow_schema::SchemaRef) -> Node {
    let same = |(a, b): (&Arc<arrow_schema::Field>, &Arc<arrow_schema::Field>)| {
        a.data_type() == b.data_type()
    };
    if node.schema.fields().iter().zip(types.fields()).all(same) {
        return node;
    }
    let column = |i: usize| scalar::cast(super::column_of(&node, i), types.field(i).data_type());
    let exprs: Vec<Expr> = (0..types.fields().len()).map(column).collect();
    let (rows, cost) = (node.rows, node.cost);
    let operator = Operator::Project { input: Box::new(node), exprs, as_words: false };
    Node::new(operator, Arc::clone(types), rows, cost)
}

//! Arrays and series as rows.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_expr::Unnest;
use plan::expr::Expr;
use plan::{Node, Operator, UnnestColumn, Unnested};
use types::{SqlError, SqlResult, zone};

use super::{Built, Physical, built};
use crate::estimate::{ColumnProfile, Profile};
use crate::expr::series;

/// Elements of an array of unknown length.
const ELEMENTS_GUESS: f64 = 10.0;

impl Physical<'_> {
    pub(super) fn unnest(&self, unnest: &Unnest) -> SqlResult<Built> {
        let deep = unnest.list_type_columns.iter().any(|(_, list)| list.depth != 1);
        if deep || !unnest.struct_type_columns.is_empty() {
            return Err(SqlError::unsupported("unnest of more than one dimension"));
        }
        let mut input = self.build(&unnest.input)?;
        let elements = |at: &usize| unnest.list_type_columns.iter().any(|(i, _)| i == at);
        let column = |i: &usize| {
            let gives = match elements(i) {
                true => as_series(&mut input.node, *i).unwrap_or(Unnested::Elements),
                false => Unnested::Value,
            };
            UnnestColumn { input: *i, gives }
        };
        let columns: Vec<UnnestColumn> = unnest.dependency_indices.iter().map(column).collect();
        let rows = input.profile.rows * ELEMENTS_GUESS;
        let cost = input.node.cost + self.costs.output(rows);
        let column = |c: &UnnestColumn| match c.gives {
            Unnested::Value => input.profile.columns[c.input].clone(),
            Unnested::Elements | Unnested::Series { .. } => ColumnProfile::of_domain(rows),
        };
        let profile = Profile { rows, columns: columns.iter().map(column).collect(), keys: vec![] };
        let operator = Operator::Unnest { input: Box::new(input.node), columns };
        Ok(built(operator, unnest.schema.clone(), profile.without_order(), cost))
    }
}

/// Has a projection that computes the array of a series compute its bounds instead, so that the
/// series is made as its values are wanted. `None` where column `at` is no such array.
fn as_series(node: &mut Node, at: usize) -> Option<Unnested> {
    let Operator::Project { exprs, .. } = &mut node.operator else { return None };
    let [start, stop, step] = series::bounds(exprs.get(at)?)?;
    let mut fields = node.schema.fields().to_vec();
    let field =
        |name: &str, expr: &Expr| Arc::new(Field::new(name, expr.data_type().clone(), true));
    fields[at] = field("start", &start);
    fields.extend([field("stop", &stop), field("step", &step)]);
    exprs[at] = start;
    exprs.extend([stop, step]);
    node.schema = Arc::new(Schema::new(fields));
    let (stop, step, context) = (exprs.len() - 2, exprs.len() - 1, zone::current());
    Some(Unnested::Series { stop, step, context })
}

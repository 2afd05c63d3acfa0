//! Arrays as rows.

use datafusion_expr::Unnest;
use types::{SqlError, SqlResult};

use super::{Built, Physical, built};
use crate::estimate::{ColumnProfile, Profile};
use crate::plan::{Operator, UnnestColumn};

/// Elements of an array of unknown length.
const ELEMENTS_GUESS: f64 = 10.0;

impl Physical<'_> {
    pub(super) fn unnest(&self, unnest: &Unnest) -> SqlResult<Built> {
        let deep = unnest.list_type_columns.iter().any(|(_, list)| list.depth != 1);
        if deep || !unnest.struct_type_columns.is_empty() {
            return Err(SqlError::unsupported("unnest of more than one dimension"));
        }
        let input = self.build(&unnest.input)?;
        let elements = |at: &usize| unnest.list_type_columns.iter().any(|(i, _)| i == at);
        let columns = unnest.dependency_indices.iter();
        let columns: Vec<UnnestColumn> =
            columns.map(|i| UnnestColumn { input: *i, elements: elements(i) }).collect();
        let rows = input.profile.rows * ELEMENTS_GUESS;
        let cost = input.node.cost + self.costs.output(rows);
        let column = |c: &UnnestColumn| match c.elements {
            true => ColumnProfile::of_domain(rows),
            false => input.profile.columns[c.input].clone(),
        };
        let profile = Profile { rows, columns: columns.iter().map(column).collect(), keys: vec![] };
        let operator = Operator::Unnest { input: Box::new(input.node), columns };
        Ok(built(operator, unnest.schema.clone(), profile.without_order(), cost))
    }
}

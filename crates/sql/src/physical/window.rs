//! Window functions.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_expr::Window;
use types::SqlResult;

use super::{Built, Physical, built_as};
use crate::estimate::ColumnProfile;
use crate::expr::window::WindowExpr;
use crate::plan::Operator;

impl Physical<'_> {
    pub(super) fn window(&self, window: &Window) -> SqlResult<Built> {
        let input = self.build(&window.input)?;
        let compile = |e| WindowExpr::compile(e, &input.schema);
        let functions = window.window_expr.iter().map(compile).collect::<SqlResult<Vec<_>>>()?;
        let rows = input.profile.rows;
        let cost = input.node.cost + self.costs.sort(rows, rows);
        let mut fields: Vec<Arc<Field>> = input.node.schema.fields().iter().cloned().collect();
        let names = window.schema.fields().iter().skip(fields.len());
        let new = names.zip(&functions);
        let new: Vec<_> =
            new.map(|(f, w)| Arc::new(Field::new(f.name(), w.data_type().clone(), true))).collect();
        fields.extend(new);
        let mut profile = input.profile.without_order();
        profile.columns.extend(vec![ColumnProfile::of_domain(rows); functions.len()]);
        let operator = Operator::Window { input: Box::new(input.node), functions };
        let schema = Arc::clone(&window.schema);
        Ok(built_as(operator, Arc::new(Schema::new(fields)), schema, profile, cost))
    }
}

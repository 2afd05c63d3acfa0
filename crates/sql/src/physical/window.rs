//! Window functions.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_common::DFSchema;
use datafusion_expr::expr::WindowFunctionParams;
use datafusion_expr::{Expr as Logical, Window};
use plan::Operator;
use types::SqlResult;

use super::{Built, Physical, built_as};
use crate::error::from_library;
use crate::estimate::ColumnProfile;
use crate::expr::window;

impl Physical<'_> {
    pub(super) fn window(&self, window: &Window) -> SqlResult<Built> {
        let input = self.build(&window.input)?;
        let width = input.profile.columns.len();
        let mut calls = window.window_expr.clone();
        let input = self.computed(input, "window ", calls.iter_mut().flat_map(parts))?;
        let calls = calls.iter().zip(&window.window_expr);
        let compile = |(call, shown)| window::compile(call, shown, &input.schema);
        let functions = calls.map(compile).collect::<SqlResult<Vec<_>>>()?;
        let rows = input.profile.rows;
        let cost = input.node.cost + self.costs.sort(rows, rows);
        let mut fields: Vec<Arc<Field>> = input.node.schema.fields().iter().cloned().collect();
        let first = fields.len();
        let names = window.schema.fields().iter().skip(width);
        let new = names.zip(&functions);
        let new: Vec<_> =
            new.map(|(f, w)| Arc::new(Field::new(f.name(), w.data_type().clone(), true))).collect();
        fields.extend(new);
        let mut profile = input.profile.without_order();
        profile.columns.extend(vec![ColumnProfile::of_domain(rows); functions.len()]);
        let operator = Operator::Window { input: Box::new(input.node), functions };
        let schema = Arc::clone(&window.schema);
        let types = Arc::new(Schema::new(fields));
        if first == width {
            return Ok(built_as(operator, types, schema, profile, cost));
        }
        let names = DFSchema::try_from(types.as_ref().clone()).map_err(from_library)?;
        let positions: Vec<usize> = (0..width).chain(first..types.fields().len()).collect();
        let all = built_as(operator, types, Arc::new(names), profile, cost);
        Ok(self.select_columns(all, &positions, &schema))
    }
}

/// The expressions of a window function over a row of its input, but for its filter.
fn parts(call: &mut Logical) -> Vec<&mut Logical> {
    let mut bare = call;
    while let Logical::Alias(alias) = bare {
        bare = &mut alias.expr;
    }
    let Logical::WindowFunction(call) = bare else { return vec![] };
    let WindowFunctionParams { args, partition_by, order_by, .. } = &mut call.params;
    let order = order_by.iter_mut().map(|key| &mut key.expr);
    args.iter_mut().chain(partition_by).chain(order).collect()
}

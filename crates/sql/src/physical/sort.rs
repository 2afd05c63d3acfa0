//! Sorting. The first rows by the order of an index are taken from its entries, where that is cheaper
//! than looking at all rows.

use std::sync::Arc;

use datafusion_expr::{Expr, LogicalPlan, Sort};
use plan::Operator;
use plan::expr::SortKey;
use types::SqlResult;

use super::base::{Base, base_of};
use super::{Built, Physical, WantedFirst, built_as, column_position};
use crate::estimate::Profile;
use crate::expr::scalar;

impl Physical<'_> {
    pub(super) fn sort(&self, sort: &Sort) -> SqlResult<Built> {
        let usual = self.sorted(sort)?;
        let Some(first) = wanted_first(sort) else { return Ok(usual) };
        self.first.set(Some(first));
        let ordered = self.sorted(sort)?;
        Ok(if ordered.node.cost < usual.node.cost { ordered } else { usual })
    }

    fn sorted(&self, sort: &Sort) -> SqlResult<Built> {
        let input = self.build(&sort.input)?;
        // Expressions are computed of one row, too: they may fail.
        let is_of_columns = sort.expr.iter().all(|key| matches!(key.expr, Expr::Column(_)));
        if input.node.is_row() && is_of_columns && sort.fetch != Some(0) {
            return Ok(input);
        }
        let (width, names) = (input.profile.columns.len(), Arc::clone(&input.schema));
        let mut order = sort.expr.clone();
        let input = self.computed(input, "sort key ", order.iter_mut().map(|key| &mut key.expr))?;
        let key = |e: &datafusion_expr::SortExpr| {
            let expr = scalar::compile(&e.expr, &input.schema)?;
            Ok(SortKey { expr, descending: !e.asc, nulls_first: e.nulls_first })
        };
        let keys = order.iter().map(key).collect::<SqlResult<Vec<_>>>()?;
        let all = input.profile.rows;
        let rows = sort.fetch.map_or(all, |n| all.min(n as f64));
        let cost = input.node.cost + self.costs.sort(all, rows);
        let types = Arc::clone(&input.node.schema);
        let profile = Profile { rows, ..input.profile }.without_order();
        let operator = Operator::Sort { input: Box::new(input.node), keys, fetch: sort.fetch };
        let sorted = built_as(operator, types, input.schema, profile, cost);
        match sorted.profile.columns.len() == width {
            true => Ok(sorted),
            false => Ok(self.select_columns(sorted, &(0..width).collect::<Vec<_>>(), &names)),
        }
    }
}

/// What the sort wants of its input, where that is a scan whose index may have it in this order.
fn wanted_first(sort: &Sort) -> Option<WantedFirst> {
    let count = sort.fetch?;
    let position = |e: &datafusion_expr::SortExpr| column_position(&e.expr, sort.input.schema());
    let positions = sort.expr.iter().map(position).collect::<Option<Vec<_>>>()?;
    let (base, columns) = columns_of(&sort.input, positions)?;
    if base.def.id.is_system() {
        return None;
    }
    let descending = !sort.expr.first()?.asc;
    let in_order = |(e, &ordinal): (&datafusion_expr::SortExpr, &usize)| {
        // Keys have nulls behind all values.
        let nulls = !base.def.schema.columns[ordinal].nullable || e.nulls_first == descending;
        nulls && e.asc != descending
    };
    let fits = sort.expr.iter().zip(&columns).all(in_order);
    fits.then_some(WantedFirst { columns, descending, count })
}

/// The base table of a plan, and which of its columns are those at these positions; what else the plan
/// computes from a row does not matter.
fn columns_of(plan: &LogicalPlan, positions: Vec<usize>) -> Option<(Base<'_>, Vec<usize>)> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => columns_of(&alias.input, positions),
        LogicalPlan::Projection(projection) => {
            let column = |i: usize| column_position(&projection.expr[i], projection.input.schema());
            let below = positions.into_iter().map(column).collect::<Option<Vec<_>>>()?;
            columns_of(&projection.input, below)
        }
        _ => {
            let base = base_of(plan)?;
            let columns = positions.into_iter().map(|i| base.outputs[i]).collect();
            Some((base, columns))
        }
    }
}

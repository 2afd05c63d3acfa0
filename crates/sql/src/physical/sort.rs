//! Sorting.

use std::sync::Arc;

use datafusion_expr::Sort;
use types::SqlResult;

use super::{Built, Physical, built_as};
use crate::estimate::Profile;
use crate::expr::Expr;
use crate::plan::{Operator, SortKey};

impl Physical<'_> {
    pub(super) fn sort(&self, sort: &Sort) -> SqlResult<Built> {
        let input = self.build(&sort.input)?;
        let key = |e: &datafusion_expr::SortExpr| {
            let expr = Expr::compile(&e.expr, &input.schema)?;
            Ok(SortKey { expr, descending: !e.asc, nulls_first: e.nulls_first })
        };
        let keys = sort.expr.iter().map(key).collect::<SqlResult<Vec<_>>>()?;
        let all = input.profile.rows;
        let rows = sort.fetch.map_or(all, |n| all.min(n as f64));
        let cost = input.node.cost + self.costs.sort(all, rows);
        let types = Arc::clone(&input.node.schema);
        let profile = Profile { rows, ..input.profile }.without_order();
        let operator = Operator::Sort { input: Box::new(input.node), keys, fetch: sort.fetch };
        Ok(built_as(operator, types, input.schema, profile, cost))
    }
}

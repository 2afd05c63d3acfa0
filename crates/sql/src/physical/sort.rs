//! Sorting. The first rows by the order of an index are taken from its entries, where that is cheaper
//! than looking at all rows.

use std::sync::Arc;

use datafusion_expr::Sort;
use types::SqlResult;

use super::base::base_of;
use super::{Built, Physical, WantedFirst, built_as, column_position};
use crate::estimate::Profile;
use crate::expr::Expr;
use crate::plan::{Operator, SortKey};

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

/// What the sort wants of its input, where that is a scan whose index may have it in this order.
fn wanted_first(sort: &Sort) -> Option<WantedFirst> {
    let (count, base) = (sort.fetch?, base_of(&sort.input)?);
    if base.def.id.is_system() {
        return None;
    }
    let descending = !sort.expr.first()?.asc;
    let column = |e: &datafusion_expr::SortExpr| {
        let ordinal = base.outputs[column_position(&e.expr, sort.input.schema())?];
        // Keys have nulls behind all values.
        let nulls = !base.def.schema.columns[ordinal].nullable || e.nulls_first == descending;
        (nulls && e.asc != descending).then_some(ordinal)
    };
    let columns = sort.expr.iter().map(column).collect::<Option<Vec<_>>>()?;
    Some(WantedFirst { columns, descending, count })
}

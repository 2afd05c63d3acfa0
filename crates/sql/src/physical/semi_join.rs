//! Joins with other ways: semi joins driven from their inner side, whose distinct keys are looked
//! up in the outer table; joins with groups of which only those are made that have a partner.

use std::sync::Arc;

use datafusion_common::{JoinType, NullEquality};
use datafusion_expr::{Aggregate, Expr, Join, LogicalPlan, Projection};
use types::SqlResult;

use super::base::base_of;
use super::grouped;
use super::{Built, Physical, column_position};
use crate::error::from_library;

impl Physical<'_> {
    /// A join; a semi join also as an inner join with the distinct keys, and one with groups also
    /// with those of the keys at hand, whichever is cheaper.
    pub(super) fn join_either_way(&self, join: &Join) -> SqlResult<Built> {
        let plain = self.join(join)?;
        let driven = match driven_by_keys(join)? {
            None => grouped::of_keys(join)?,
            driven => driven,
        };
        let Some(driven) = driven else { return Ok(plain) };
        let left = self.alternatives.get();
        if left == 0 {
            return Ok(plain);
        }
        self.alternatives.set(left - 1);
        let driven = self.build(&driven)?;
        if driven.node.cost >= plain.node.cost {
            return Ok(plain);
        }
        // The better way changes the cost, not what is believed of the rows.
        let mut node = driven.node;
        node.rows = plain.profile.rows;
        Ok(Built { node, profile: plain.profile, schema: plain.schema })
    }
}

/// The inner join that gives the rows of a semi join of a base table by an index; `None` where there
/// is no such index or more than equality is asked.
fn driven_by_keys(join: &Join) -> SqlResult<Option<LogicalPlan>> {
    let plain = join.join_type == JoinType::LeftSemi
        && join.filter.is_none()
        && join.null_equality == NullEquality::NullEqualsNothing;
    let Some(base) = base_of(&join.left).filter(|_| plain) else { return Ok(None) };
    let mut joined = Vec::new();
    for (left, right) in &join.on {
        let at = column_position(left, join.left.schema());
        if !matches!(right, Expr::Column(_)) || !matches!(left, Expr::Column(_)) {
            return Ok(None);
        }
        joined.extend(at.map(|i| base.outputs[i]));
    }
    if base.trees(&joined).is_empty() {
        return Ok(None);
    }
    inner_join(join).map(Some)
}

fn inner_join(join: &Join) -> SqlResult<LogicalPlan> {
    let mut keys: Vec<Expr> = vec![];
    for (_, right) in &join.on {
        // One column may be compared with several.
        if !keys.contains(right) {
            keys.push(right.clone());
        }
    }
    let distinct =
        Aggregate::try_new(Arc::clone(&join.right), keys, vec![]).map_err(from_library)?;
    let inner = Join::try_new(
        Arc::clone(&join.left),
        Arc::new(LogicalPlan::Aggregate(distinct)),
        join.on.clone(),
        None,
        JoinType::Inner,
        join.join_constraint,
        join.null_equality,
        false,
    )
    .map_err(from_library)?;
    let columns = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let rows = Projection::try_new(columns, Arc::new(LogicalPlan::Join(inner)));
    Ok(LogicalPlan::Projection(rows.map_err(from_library)?))
}

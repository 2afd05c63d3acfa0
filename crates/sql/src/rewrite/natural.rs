//! `NATURAL` joins as joins with `USING`, for which it is known what `*` means.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, TableFactor,
    TableWithJoins, Value, VisitorMut,
};

use crate::rewrite::relations::{Relations, shared};
use crate::walk::WalkMut;

/// Writes the columns of natural joins out, in all queries inside. Joins of what has columns that are not
/// known stay.
pub(crate) fn write_columns(query: &mut Query, relations: &Relations<'_>) {
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Natural { relations });
}

struct Natural<'a> {
    relations: &'a Relations<'a>,
}

impl VisitorMut for Natural<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter_mut().for_each(|item| self.item(item));
        ControlFlow::Continue(())
    }
}

impl Natural<'_> {
    fn item(&self, item: &mut TableWithJoins) {
        self.inside(&mut item.relation);
        item.joins.iter_mut().for_each(|join| self.inside(&mut join.relation));
        for at in 0..item.joins.len() {
            let (before, rest) = item.joins.split_at_mut(at);
            let Some(join) = rest.first_mut() else { return };
            let Some(constraint) = natural(&mut join.join_operator) else { continue };
            let left = self.relations.joined(&item.relation, before);
            let right = self.relations.columns(&join.relation);
            let (Some(left), Some(right)) = (left, right) else { continue };
            let name = |name: &String| ObjectName::from(vec![Ident::with_quote('"', name)]);
            let names: Vec<ObjectName> = shared(&left, &right).iter().map(name).collect();
            *constraint = match names.is_empty() {
                true => JoinConstraint::On(Expr::value(Value::Boolean(true))),
                false => JoinConstraint::Using(names),
            };
        }
    }

    /// Joins in parentheses.
    fn inside(&self, factor: &mut TableFactor) {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.item(table_with_joins);
        }
    }
}

/// The constraint of a natural join.
fn natural(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
            if matches!(constraint, JoinConstraint::Natural) =>
        {
            Some(constraint)
        }
        _ => None,
    }
}

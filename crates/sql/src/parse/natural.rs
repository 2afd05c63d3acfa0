//! `NATURAL` joins of tables as joins with `USING`, for which it is known what `*` means.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, Query, SetExpr, TableWithJoins, VisitMut,
    VisitorMut,
};

use super::relations::Relations;

/// Writes the columns of natural joins out, in all queries inside. Joins of what is no table stay.
pub(super) fn write_columns(query: &mut Query, relations: &Relations<'_>) {
    // The visit itself never stops.
    let _ = query.visit(&mut Natural { relations });
}

struct Natural<'a> {
    relations: &'a Relations<'a>,
}

impl VisitorMut for Natural<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.from.iter_mut().for_each(|item| self.item(item));
        }
        ControlFlow::Continue(())
    }
}

impl Natural<'_> {
    fn item(&self, item: &mut TableWithJoins) {
        let Some(mut before) = self.relations.columns(&item.relation) else { return };
        for join in &mut item.joins {
            let Some(theirs) = self.relations.columns(&join.relation) else { return };
            let (JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)) = &mut join.join_operator
            else {
                return;
            };
            if matches!(constraint, JoinConstraint::Natural) {
                let shared = before.iter().filter(|name| theirs.contains(name));
                let name = |name: &String| ObjectName::from(vec![Ident::with_quote('"', name)]);
                let shared: Vec<ObjectName> = shared.map(name).collect();
                if shared.is_empty() {
                    return;
                }
                *constraint = JoinConstraint::Using(shared);
            }
            let others: Vec<String> = theirs.into_iter().filter(|n| !before.contains(n)).collect();
            before.extend(others);
        }
    }
}

//! Lateral relations that name columns of what stands before them behind a comma. The library lets them see
//! their own joins only.

use datafusion_sql::sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, Select, TableFactor, TableWithJoins,
};

/// `a, b CROSS JOIN LATERAL c` as `a CROSS JOIN b CROSS JOIN LATERAL c`: the same rows where the joins keep
/// no rows of their right sides alone.
pub(crate) fn join_what_is_before(select: &mut Select) {
    let Some(last) = select.from.iter().skip(1).rposition(sees_others) else { return };
    let rest = select.from.split_off(last + 2);
    let mut items = std::mem::take(&mut select.from).into_iter();
    let Some(mut first) = items.next() else { return };
    for item in items {
        match is_distributive(&item) {
            true => {
                first.joins.push(crossed(item.relation));
                first.joins.extend(item.joins);
            }
            false => first.joins.push(crossed(TableFactor::NestedJoin {
                table_with_joins: Box::new(item),
                alias: None,
            })),
        }
    }
    select.from = vec![first];
    select.from.extend(rest);
}

/// Whether a joined relation may name columns of other items.
fn sees_others(item: &TableWithJoins) -> bool {
    let is_lateral = |join: &Join| match &join.relation {
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::Function { .. } | TableFactor::UNNEST { .. } => true,
        TableFactor::Table { args, .. } => args.is_some(),
        _ => false,
    };
    is_distributive(item) && item.joins.iter().any(is_lateral)
}

fn is_distributive(item: &TableWithJoins) -> bool {
    item.joins.iter().all(|join| match &join.join_operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::CrossJoin(c) => {
            matches!(c, JoinConstraint::On(_) | JoinConstraint::None)
        }
        _ => false,
    })
}

fn crossed(relation: TableFactor) -> Join {
    let join_operator = JoinOperator::CrossJoin(JoinConstraint::None);
    Join { relation, global: false, join_operator }
}

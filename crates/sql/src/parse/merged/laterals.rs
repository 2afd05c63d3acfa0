//! Columns that lateral relations name of those before them. The library looks such a name up in what stands
//! before and in the queries around at once, and finds none where both have it.

use datafusion_sql::sqlparser::ast::{Expr, Ident, Select, TableFactor};

use super::super::relations::Relations;
use super::{Merged, Relation, replace};

/// Writes the relation before each name that a lateral relation has of those before it, unless something
/// nearer has the name, or may have it.
pub(in super::super) fn qualify(select: &mut Select, relations: &Relations<'_>) {
    let mut before: Vec<Relation> = vec![];
    for item in &mut select.from {
        let joined = item.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut item.relation).chain(joined) {
            if sees_others(factor)
                && let Some(columns) = columns_of(&before)
            {
                replace(factor, &columns, relations);
            }
            match Relation::new(factor, relations) {
                Ok(relation) => before.push(relation),
                // Of joins in parentheses it is not known who has which name.
                Err(_) => return,
            }
        }
    }
}

fn sees_others(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::Function { .. } | TableFactor::UNNEST { .. } => true,
        TableFactor::Table { args, .. } => args.is_some(),
        _ => false,
    }
}

/// The columns that one of the relations alone has; `None` where the columns of one are not known.
fn columns_of(before: &[Relation]) -> Option<Vec<Merged>> {
    let mut found: Vec<Merged> = vec![];
    let columns: Option<Vec<&Vec<String>>> =
        before.iter().map(|relation| relation.columns.as_ref()).collect();
    let columns = columns?;
    for (relation, own) in before.iter().zip(&columns) {
        for name in own.iter() {
            if columns.iter().flat_map(|all| all.iter()).filter(|other| *other == name).count() == 1
            {
                let name = Ident::with_quote('"', name);
                let value = Expr::CompoundIdentifier(vec![relation.name.clone(), name.clone()]);
                found.push(Merged { name, value });
            }
        }
    }
    Some(found)
}

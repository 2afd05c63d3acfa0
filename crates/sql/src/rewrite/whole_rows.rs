//! `count(t.*)` over outer joins: it counts the rows that there are, not those that a join filled with
//! nulls. The library takes it for `count(*)`, which is the same where no join does so.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    DuplicateTreatment, ExceptSelectItem, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, JoinOperator, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind as Wild, SetExpr, TableAlias, TableFactor, TableWithJoins,
    VisitorMut, WildcardAdditionalOptions,
};
use types::{SqlError, SqlResult};

use crate::parse::expressions::parsed_query;
use crate::parse::object_name::{identifier, last_name};
use crate::quote::unspelled::unspelled;
use crate::walk::WalkMut;

/// Gives the relations whose rows are counted so a column that is true, and counts that.
///
/// # Errors
/// 0A000 for a count of different rows.
pub(crate) fn count_existing(select: &mut Select) -> SqlResult<()> {
    let mut counted = Counted { depth: 0, relations: vec![], replaces: false, distinct: false };
    // The visit itself never stops.
    let _ = select.walk_mut(&mut counted);
    if counted.distinct {
        return Err(SqlError::unsupported("count(DISTINCT row)"));
    }
    let keeps_all =
        |table: &TableWithJoins| table.joins.iter().all(|j| !is_outer(&j.join_operator));
    if counted.relations.is_empty() || select.from.iter().all(keeps_all) {
        return Ok(());
    }
    let wanted = std::mem::take(&mut counted.relations);
    for table in &mut select.from {
        mark_in(table, &wanted, &mut counted.relations)?;
    }
    hide_marks(select, &counted.relations);
    counted.replaces = true;
    let _ = select.walk_mut(&mut counted);
    Ok(())
}

/// The name of the column.
fn mark(relation: &str) -> Ident {
    Ident::with_quote('"', unspelled(&format!("row of {relation}")))
}

fn is_outer(operator: &JoinOperator) -> bool {
    !matches!(operator, JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_))
}

/// The relations of which a query counts whole rows.
struct Counted {
    /// Queries around the expression at hand.
    depth: usize,
    relations: Vec<String>,
    /// Counts their marks from now on.
    replaces: bool,
    distinct: bool,
}

impl VisitorMut for Counted {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Function(function) = expr
            && let Some((relation, argument, is_distinct)) = counted(function)
        {
            if self.replaces && self.relations.contains(&relation) {
                let parts = vec![Ident::with_quote('"', relation.clone()), mark(&relation)];
                *argument = FunctionArgExpr::Expr(Expr::CompoundIdentifier(parts));
            } else if !self.replaces {
                self.distinct |= is_distinct;
                self.relations.push(relation);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The relation of a call of `count(t.*)`, its argument, and whether it is of different rows.
fn counted(function: &mut Function) -> Option<(String, &mut FunctionArgExpr, bool)> {
    if last_name(&function.name) != "count" {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let [FunctionArg::Unnamed(argument)] = list.args.as_mut_slice() else { return None };
    let FunctionArgExpr::QualifiedWildcard(name) = &*argument else { return None };
    let relation = last_name(name);
    Some((relation, argument, is_distinct))
}

fn mark_in(
    table: &mut TableWithJoins,
    wanted: &[String],
    marked: &mut Vec<String>,
) -> SqlResult<()> {
    mark_factor(&mut table.relation, wanted, marked)?;
    table.joins.iter_mut().try_for_each(|join| mark_factor(&mut join.relation, wanted, marked))
}

/// `t` as `(SELECT *, true FROM t) AS t`.
fn mark_factor(
    factor: &mut TableFactor,
    wanted: &[String],
    marked: &mut Vec<String>,
) -> SqlResult<()> {
    if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
        return mark_in(table_with_joins, wanted, marked);
    }
    let name = match &*factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), lateral: false, .. } => alias.name.clone(),
        TableFactor::Table { name, alias: None, .. } => Ident::with_quote('"', last_name(name)),
        _ => return Ok(()),
    };
    let relation = identifier(&name);
    if !wanted.contains(&relation) {
        return Ok(());
    }
    let mut query = parsed_query("select *, true as x from (select 1) as x")?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    if let Some(SelectItem::ExprWithAlias { alias, .. }) = select.projection.last_mut() {
        *alias = mark(&relation);
    }
    let Some(TableFactor::Derived { alias: Some(alias), .. }) =
        select.from.first().map(|table| &table.relation)
    else {
        return Ok(());
    };
    let alias = Some(TableAlias { name, ..alias.clone() });
    if let Some(table) = select.from.first_mut() {
        std::mem::swap(&mut table.relation, factor);
    }
    *factor =
        TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None };
    marked.push(relation);
    Ok(())
}

/// Leaves the marks out of what `*` stands for.
fn hide_marks(select: &mut Select, marked: &[String]) {
    for item in &mut select.projection {
        let (options, hidden) = match item {
            SelectItem::Wildcard(options) => (options, marked.to_vec()),
            SelectItem::QualifiedWildcard(Wild::ObjectName(name), options) => {
                let relation = last_name(name);
                (options, marked.iter().filter(|name| **name == relation).cloned().collect())
            }
            _ => continue,
        };
        hide(options, &hidden);
    }
}

fn hide(options: &mut WildcardAdditionalOptions, hidden: &[String]) {
    let mut marks: Vec<Ident> = hidden.iter().map(|relation| mark(relation)).collect();
    if let Some(before) = options.opt_except.take() {
        marks.push(before.first_element);
        marks.extend(before.additional_elements);
    }
    let mut marks = marks.into_iter();
    options.opt_except = marks.next().map(|first_element| ExceptSelectItem {
        first_element,
        additional_elements: marks.collect(),
    });
}

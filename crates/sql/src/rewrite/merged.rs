//! Joins with `USING`: a merged column has the value of the side that has a row, and comes first in `*`. The
//! library takes the left side's value and place, so that these joins get conditions instead, and the names
//! of merged columns, and `*`, are written out.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, ExceptSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, TableWithJoins, Value, WildcardAdditionalOptions,
};
use types::{SqlError, SqlResult};

use crate::parse::expressions::{binary, call, parsed_query};
use crate::parse::object_name::identifier;
use crate::rewrite::relations::Relations;
use names::replace;

mod names;

/// Rewrites the query's own selects in place; in its subqueries, no more than the columns of these selects.
pub(crate) fn merge_columns(query: &mut Query, relations: &Relations<'_>) -> SqlResult<()> {
    in_body(&mut query.body, relations)?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    if select.from.iter().any(|table| has_join(table, merges)) {
        order_by_outputs(&mut query.order_by, &select.projection);
    }
    let Some(merged) = merged_in(select, relations)? else { return Ok(()) };
    let named: Vec<String> = select.projection.iter().filter_map(output_name).collect();
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(keys) = &mut order.kind
    {
        for key in keys {
            let output = matches!(&key.expr, Expr::Identifier(i) if named.contains(&identifier(i)));
            if !output {
                replace(&mut key.expr, &merged, relations);
            }
        }
    }
    Ok(())
}

/// `select t.x .. join t using (x) order by x` goes by the output, which the library takes for the merged column.
fn order_by_outputs(order: &mut Option<OrderBy>, outputs: &[SelectItem]) {
    let Some(OrderByKind::Expressions(keys)) = order.as_mut().map(|order| &mut order.kind) else {
        return;
    };
    for key in keys {
        let Expr::Identifier(name) = &key.expr else { continue };
        let Some(at) = outputs.iter().position(|item| is_named(item, &identifier(name))) else {
            continue;
        };
        if !outputs[..at].iter().any(is_wild) {
            key.expr = Expr::Value(Value::Number((at + 1).to_string(), false).into());
        }
    }
}

/// Whether an output has a name that is not that of a merged column by itself.
fn is_named(item: &SelectItem, name: &str) -> bool {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => identifier(alias) == name,
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().is_some_and(|last| identifier(last) == name)
        }
        _ => false,
    }
}

fn is_wild(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

fn in_body(body: &mut SetExpr, relations: &Relations<'_>) -> SqlResult<()> {
    let SetExpr::SetOperation { left, right, .. } = body else { return Ok(()) };
    for side in [left, right] {
        in_body(side, relations)?;
        if let SetExpr::Select(select) = side.as_mut() {
            merged_in(select, relations)?;
        }
    }
    Ok(())
}

/// The merged columns of a select, which it does not name any more; `None` where it has none, or the library
/// knows as well what they are.
fn merged_in(select: &mut Select, relations: &Relations<'_>) -> SqlResult<Option<Vec<Merged>>> {
    select.from.iter_mut().try_for_each(named_as_queries)?;
    let has = |is: fn(&Join) -> bool| select.from.iter().any(|table| has_join(table, is));
    let keeps_right = has(keeps_right_side);
    if !keeps_right && !has(is_merging) {
        return Ok(None);
    }
    let mut rewritten = select.clone();
    match in_select(&mut rewritten, relations) {
        Ok(merged) => {
            *select = rewritten;
            Ok(Some(merged))
        }
        // The library has the left side's values for merged columns, if one is asked for.
        Err(error) if keeps_right && names::may_name_merged(select) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Makes queries of joins in parentheses that have a name, for nobody sees those inside: `(a JOIN b USING (x)) AS j` is
/// `(SELECT * FROM a JOIN b USING (x)) AS j`.
fn named_as_queries(table: &mut TableWithJoins) -> SqlResult<()> {
    let joined = table.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut table.relation).chain(joined) {
        let TableFactor::NestedJoin { table_with_joins, alias } = factor else { continue };
        named_as_queries(table_with_joins)?;
        if alias.is_none() {
            continue;
        }
        let mut query = parsed_query("select * from joined")?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.from = vec![table_with_joins.as_ref().clone()];
        }
        let (subquery, alias) = (Box::new(query), alias.take());
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    }
    Ok(())
}

/// Whether one of the joins of a part of `FROM` is such, in parentheses or not.
fn has_join(table: &TableWithJoins, is: fn(&Join) -> bool) -> bool {
    let has = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_join(table_with_joins, is),
        _ => false,
    };
    has(&table.relation) || table.joins.iter().any(|join| is(join) || has(&join.relation))
}

/// Whether a join merges columns, whatever rows it keeps.
fn merges(join: &Join) -> bool {
    is_merging(join) || keeps_right_side(join)
}

/// Whether a join merges columns, whose values are those of its left side.
fn is_merging(join: &Join) -> bool {
    match &join.join_operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c) => matches!(c, JoinConstraint::Using(_)),
        _ => false,
    }
}

/// Whether a join keeps rows of its right side that have no partner, and merges columns.
fn keeps_right_side(join: &Join) -> bool {
    match &join.join_operator {
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) | JoinOperator::FullOuter(c) => {
            matches!(c, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    }
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(identifier(alias)),
        _ => None,
    }
}

/// A column that joins have made of several.
#[derive(Clone)]
struct Merged {
    name: Ident,
    value: Expr,
}

/// What `*` means over a part of `FROM`, in order.
struct Outputs(Vec<Part>);

enum Part {
    Merged(Box<Merged>),
    Relation(Relation),
}

/// A relation of `FROM`.
struct Relation {
    name: Ident,
    /// Its columns that are merged.
    merged: Vec<Ident>,
    /// All of its columns, where it is known which.
    columns: Option<Vec<String>>,
}

impl Relation {
    fn new(factor: &TableFactor, all: &Relations<'_>) -> SqlResult<Relation> {
        Ok(Relation { name: alias(factor)?, merged: vec![], columns: all.columns(factor) })
    }

    /// The column of this name, no longer one of its own.
    fn take(&mut self, name: &Ident) -> Expr {
        self.merged.push(name.clone());
        Expr::CompoundIdentifier(vec![self.name.clone(), name.clone()])
    }

    fn may_have(&self, name: &Ident) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(&identifier(name)))
    }
}

fn in_select(select: &mut Select, relations: &Relations<'_>) -> SqlResult<Vec<Merged>> {
    let mut all = vec![];
    for table in &mut select.from {
        let outputs = outputs(table, relations, &all)?;
        all.push(outputs);
    }
    let merged = known(&all);
    let mut projection = vec![];
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(_) => projection.extend(all.iter().flat_map(written_out)),
            SelectItem::UnnamedExpr(Expr::Identifier(name)) if find(&merged, &name).is_some() => {
                let expr = Expr::Identifier(name.clone());
                projection.push(SelectItem::ExprWithAlias { expr, alias: name });
            }
            other => projection.push(other),
        }
    }
    select.projection = projection;
    // Conditions of joins see their own sides alone, and are done.
    let from = std::mem::take(&mut select.from);
    replace(select, &merged, relations);
    select.from = from;
    Ok(merged)
}

/// The merged columns that their names alone mean there: no other column has the name.
fn known<'a>(all: impl IntoIterator<Item = &'a Outputs> + Clone) -> Vec<Merged> {
    let parts = || all.clone().into_iter().flat_map(|outputs| &outputs.0);
    let merged: Vec<&Merged> = parts().filter_map(Part::merged).collect();
    let is_only = |one: &&&Merged| {
        let same = merged.iter().filter(|other| identifier(&other.name) == identifier(&one.name));
        same.count() == 1 && !parts().any(|part| part.is_known_to_have(&one.name))
    };
    merged.iter().filter(is_only).map(|merged| (*merged).clone()).collect()
}

fn find<'a>(merged: &'a [Merged], name: &Ident) -> Option<&'a Merged> {
    merged.iter().find(|m| identifier(&m.name) == identifier(name))
}

/// The columns of a relation and its joins, behind others in `FROM`; `USING` becomes `ON`.
fn outputs(
    table: &mut TableWithJoins,
    relations: &Relations<'_>,
    before: &[Outputs],
) -> SqlResult<Outputs> {
    let mut left = of_factor(&mut table.relation, relations, before)?;
    for join in &mut table.joins {
        let seen: Vec<&Outputs> = before.iter().chain([&left]).collect();
        in_lateral(&mut join.relation, &known(seen), relations);
        let right = of_factor(&mut join.relation, relations, before)?;
        let (constraint, keeps) = match &mut join.join_operator {
            JoinOperator::Join(c) | JoinOperator::Inner(c) => (c, Keeps::Left),
            JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (c, Keeps::Left),
            JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (c, Keeps::Right),
            JoinOperator::FullOuter(c) => (c, Keeps::Both),
            JoinOperator::CrossJoin(c) => (c, Keeps::Left),
            _ => return Err(refused()),
        };
        let columns: Vec<Ident> = match constraint {
            JoinConstraint::Using(columns) => {
                columns.iter().map(column).collect::<SqlResult<_>>()?
            }
            JoinConstraint::Natural => return Err(refused()),
            JoinConstraint::On(condition) => {
                replace(condition, &known([&left, &right]), relations);
                vec![]
            }
            JoinConstraint::None => vec![],
        };
        if let Some(condition) = left.join(right, &columns, keeps)? {
            *constraint = JoinConstraint::On(condition);
        }
    }
    Ok(left)
}

/// A lateral query and the arguments of a function see what stands before them.
fn in_lateral(factor: &mut TableFactor, merged: &[Merged], relations: &Relations<'_>) {
    if sees_others(factor) {
        replace(factor, merged, relations);
    }
}

/// The columns of a relation, or of joins in parentheses.
fn of_factor(
    factor: &mut TableFactor,
    relations: &Relations<'_>,
    before: &[Outputs],
) -> SqlResult<Outputs> {
    if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
        return outputs(table_with_joins, relations, before);
    }
    in_lateral(factor, &known(before), relations);
    Ok(Outputs(vec![Part::Relation(Relation::new(factor, relations)?)]))
}

/// Whose rows a join keeps where there is no partner; of an inner join either side will do.
#[derive(Clone, Copy)]
enum Keeps {
    Left,
    Right,
    Both,
}

impl Part {
    fn merged(&self) -> Option<&Merged> {
        match self {
            Part::Merged(merged) => Some(merged),
            Part::Relation(_) => None,
        }
    }

    /// Whether it is a relation that has a column of this name which is not merged.
    fn is_known_to_have(&self, name: &Ident) -> bool {
        let Part::Relation(relation) = self else { return false };
        let has = |columns: &Vec<String>| columns.contains(&identifier(name));
        let is_merged = relation.merged.iter().any(|m| identifier(m) == identifier(name));
        relation.columns.as_ref().is_some_and(has) && !is_merged
    }
}

impl Outputs {
    /// Joins those of the right side, and merges columns; the condition of the join.
    fn join(
        &mut self,
        mut right: Outputs,
        columns: &[Ident],
        keeps: Keeps,
    ) -> SqlResult<Option<Expr>> {
        let (mut condition, mut parts) = (None, vec![]);
        for name in columns {
            let (ours, theirs) = (self.take(name)?, right.take(name)?);
            let equal = binary(ours.clone(), BinaryOperator::Eq, theirs.clone());
            condition = Some(match condition {
                None => equal,
                Some(before) => binary(before, BinaryOperator::And, equal),
            });
            let value = match keeps {
                Keeps::Left => ours,
                Keeps::Right => theirs,
                Keeps::Both => call("coalesce", vec![ours, theirs]),
            };
            parts.push(Part::Merged(Box::new(Merged { name: name.clone(), value })));
        }
        parts.append(&mut self.0);
        parts.append(&mut right.0);
        self.0 = parts;
        Ok(condition)
    }

    /// The column of this name, no longer one of its own.
    fn take(&mut self, name: &Ident) -> SqlResult<Expr> {
        let is_it = |part: &Part| matches!(part, Part::Merged(m) if identifier(&m.name) == identifier(name));
        if let Some(at) = self.0.iter().position(is_it)
            && let Part::Merged(merged) = self.0.remove(at)
        {
            return Ok(merged.value);
        }
        if let [Part::Relation(only)] = self.0.as_mut_slice() {
            return Ok(only.take(name));
        }
        let mut having = self.0.iter_mut().filter_map(|part| match part {
            Part::Relation(relation) => relation.may_have(name).then_some(relation),
            Part::Merged(_) => None,
        });
        match (having.next(), having.next()) {
            (Some(relation), None) => Ok(relation.take(name)),
            _ => Err(refused()),
        }
    }
}

fn refused() -> SqlError {
    SqlError::unsupported("this form of RIGHT or FULL JOIN with merged columns")
        .with_hint("Write the condition with ON.")
}

fn column(name: &ObjectName) -> SqlResult<Ident> {
    name.0.last().and_then(|part| part.as_ident()).cloned().ok_or_else(refused)
}

/// The name that columns of the relation are known by.
fn alias(relation: &TableFactor) -> SqlResult<Ident> {
    let (alias, name) = match relation {
        TableFactor::Table { alias, name, .. } | TableFactor::Function { alias, name, .. } => {
            (alias, name.0.last().and_then(|p| p.as_ident()))
        }
        TableFactor::Derived { alias, .. } | TableFactor::UNNEST { alias, .. } => (alias, None),
        _ => return Err(refused()),
    };
    let named = alias.as_ref().map(|alias| &alias.name).or(name);
    named.cloned().ok_or_else(refused)
}

/// The items that `*` stands for.
fn written_out(outputs: &Outputs) -> Vec<SelectItem> {
    let item = |part: &Part| match part {
        Part::Merged(m) => {
            SelectItem::ExprWithAlias { expr: m.value.clone(), alias: m.name.clone() }
        }
        Part::Relation(relation) => all_of(relation),
    };
    outputs.0.iter().map(item).collect()
}

/// The columns of a relation that are its own.
fn all_of(relation: &Relation) -> SelectItem {
    let name = ObjectName::from(vec![relation.name.clone()]);
    let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
    let mut options = WildcardAdditionalOptions::default();
    if let Some((first, others)) = relation.merged.split_first() {
        options.opt_except = Some(ExceptSelectItem {
            first_element: first.clone(),
            additional_elements: others.to_vec(),
        });
    }
    SelectItem::QualifiedWildcard(kind, options)
}

/// Writes the relation before each name that a lateral relation has of those before it, unless something
/// nearer has the name, or may have it. The library looks such a name up in what stands before and in the queries
/// around at once, and finds none where both have it.
pub(crate) fn qualify(select: &mut Select, relations: &Relations<'_>) {
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

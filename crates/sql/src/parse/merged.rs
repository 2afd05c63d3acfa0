//! Joins with `USING`: a merged column has the value of the side that has a row, and comes first in `*`. The
//! library takes the left side's value and place, so that these joins get conditions instead, and the names
//! of merged columns, and `*`, are written out.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, ExceptSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    TableWithJoins, WildcardAdditionalOptions,
};
use types::{SqlError, SqlResult};

use super::identifier;
use super::relations::Relations;
use super::rewrite::{binary, call};

mod names;

use names::replace;

/// Rewrites the query's own selects in place; in its subqueries, no more than the columns of these selects.
pub(super) fn merge_columns(query: &mut Query, relations: &Relations<'_>) -> SqlResult<()> {
    in_body(&mut query.body, relations)?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
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
    let joins = || select.from.iter().flat_map(|table| &table.joins);
    let merges = |c: &JoinConstraint| matches!(c, JoinConstraint::Using(_));
    if joins().any(keeps_right_side) {
        return in_select(select, relations).map(Some);
    }
    let is_merging = |join: &Join| match &join.join_operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => merges(c),
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => merges(c),
        _ => false,
    };
    if !joins().any(is_merging) {
        return Ok(None);
    }
    let mut rewritten = select.clone();
    let merged = in_select(&mut rewritten, relations).ok();
    if merged.is_some() {
        *select = rewritten;
    }
    Ok(merged)
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

/// What `*` means over a part of `FROM`.
#[derive(Default)]
struct Outputs {
    merged: Vec<Merged>,
    rest: Vec<Relation>,
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
    fn new(factor: &TableFactor, merged: Vec<Ident>, all: &Relations<'_>) -> SqlResult<Relation> {
        Ok(Relation { name: alias(factor)?, merged, columns: all.columns(factor) })
    }

    fn may_have(&self, name: &Ident) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(&identifier(name)))
    }
}

fn in_select(select: &mut Select, relations: &Relations<'_>) -> SqlResult<Vec<Merged>> {
    let mut all = vec![];
    for table in &mut select.from {
        all.push(outputs(table, relations)?);
    }
    let merged: Vec<Merged> = all.iter().flat_map(|part| part.merged.clone()).collect();
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
    replace(select, &merged, relations);
    Ok(merged)
}

fn find<'a>(merged: &'a [Merged], name: &Ident) -> Option<&'a Merged> {
    merged.iter().find(|m| identifier(&m.name) == identifier(name))
}

/// The columns of a relation and its joins; `USING` becomes `ON`.
fn outputs(table: &mut TableWithJoins, relations: &Relations<'_>) -> SqlResult<Outputs> {
    let first = Relation::new(&table.relation, vec![], relations)?;
    let mut left = Outputs { merged: vec![], rest: vec![first] };
    for join in &mut table.joins {
        let right = alias(&join.relation)?;
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
            _ => vec![],
        };
        if let Some(condition) = left.join(&right, &columns, keeps)? {
            *constraint = JoinConstraint::On(condition);
        }
        left.rest.push(Relation::new(&join.relation, columns, relations)?);
    }
    Ok(left)
}

/// Whose rows a join keeps where there is no partner; of an inner join either side will do.
#[derive(Clone, Copy)]
enum Keeps {
    Left,
    Right,
    Both,
}

impl Outputs {
    /// Merges the columns with those of another relation; the condition of the join.
    fn join(&mut self, right: &Ident, columns: &[Ident], keeps: Keeps) -> SqlResult<Option<Expr>> {
        let (mut condition, mut merged) = (None, vec![]);
        for name in columns {
            let theirs = Expr::CompoundIdentifier(vec![right.clone(), name.clone()]);
            let ours = self.take(name)?;
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
            merged.push(Merged { name: name.clone(), value });
        }
        merged.append(&mut self.merged);
        self.merged = merged;
        Ok(condition)
    }

    /// The column of this name, no longer one of its own.
    fn take(&mut self, name: &Ident) -> SqlResult<Expr> {
        let same = |m: &Merged| identifier(&m.name) == identifier(name);
        if let Some(at) = self.merged.iter().position(same) {
            return Ok(self.merged.remove(at).value);
        }
        let mut having = self.rest.iter_mut().filter(|relation| relation.may_have(name));
        let (Some(relation), None) = (having.next(), having.next()) else { return Err(refused()) };
        relation.merged.push(name.clone());
        Ok(Expr::CompoundIdentifier(vec![relation.name.clone(), name.clone()]))
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
        TableFactor::Table { alias, name, .. } => (alias, name.0.last().and_then(|p| p.as_ident())),
        TableFactor::Derived { alias, .. } => (alias, None),
        _ => return Err(refused()),
    };
    let named = alias.as_ref().map(|alias| &alias.name).or(name);
    named.cloned().ok_or_else(refused)
}

/// The items that `*` stands for.
fn written_out(part: &Outputs) -> Vec<SelectItem> {
    let merged = part
        .merged
        .iter()
        .map(|m| SelectItem::ExprWithAlias { expr: m.value.clone(), alias: m.name.clone() });
    let rest = part.rest.iter().map(|relation| {
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
    });
    merged.chain(rest).collect()
}

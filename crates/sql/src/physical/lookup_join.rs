//! Index nested-loop joins.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::{DFSchema, JoinType, TableReference};
use datafusion_expr::utils::conjunction as all_of;
use datafusion_expr::{Expr as Logical, ExprSchemable};
use plan::expr::Expr;
use plan::{LookupJoin, LookupKind, Operator};
use types::SqlResult;

use super::base::{Base, Tree, fetched};
use super::join::{Pair, Sides};
use super::{Built, Physical, built_as, column_position, nullable};
use crate::cast::exact::exactly;
use crate::cost::Probe;
use crate::error::from_library;
use crate::expr::runtime_parameter::{is_one, value};
use crate::expr::scalar;
use crate::quote::unspelled::unspelled;

/// The kind of an index join; `None` where the inner side must not be the looked-up one.
fn kind(sides: &Sides, inner_left: bool) -> Option<LookupKind> {
    if sides.null_equals_null() || sides.join.null_aware {
        return None;
    }
    match (sides.join.join_type, inner_left) {
        (JoinType::Inner, _) => Some(LookupKind::Inner),
        (JoinType::Left, false) | (JoinType::Right, true) => Some(LookupKind::Left),
        (JoinType::LeftSemi, false) | (JoinType::RightSemi, true) => Some(LookupKind::Semi),
        (JoinType::LeftAnti, false) | (JoinType::RightAnti, true) => Some(LookupKind::Anti),
        _ => None,
    }
}

/// An equality with the outer side's expression and the inner table's column.
struct Key<'a> {
    outer: &'a Logical,
    ordinal: usize,
    pair: usize,
}

fn split(pair: &Pair, inner_left: bool) -> (&Logical, &Logical) {
    if inner_left { (&pair.right, &pair.left) } else { (&pair.left, &pair.right) }
}

/// The equalities that a tree of the inner table may use.
fn keys<'a>(sides: &'a Sides, base: &Base, inner_left: bool) -> Vec<Key<'a>> {
    let (inner, outer) =
        if inner_left { (&sides.left, &sides.right) } else { (&sides.right, &sides.left) };
    let numbered = sides.pairs.iter().enumerate();
    let key = |(pair, p): (usize, &'a Pair)| {
        let (o, i) = split(p, inner_left);
        let ordinal = base.outputs[column_position(i, &inner.schema)?];
        let ty = base.def.schema.columns[ordinal].ty.arrow();
        let same = o.get_type(&outer.schema).ok()? == ty;
        same.then_some(Key { outer: o, ordinal, pair })
    };
    numbered.filter_map(key).collect()
}

impl Physical<'_> {
    /// The prices of all index joins with this inner side, with the number of the tree.
    pub(super) fn lookup_costs(
        &self,
        sides: &Sides,
        base: &Base,
        inner_left: bool,
        outer: &Built,
    ) -> Vec<(usize, f64)> {
        if kind(sides, inner_left).is_none() {
            return Vec::new();
        }
        let keys = keys(sides, base, inner_left);
        let joined: Vec<usize> = keys.iter().map(|k| k.ordinal).collect();
        let trees = base.trees(&joined);
        let cost = |tree: &Tree| {
            let columns = self.inner_columns(sides, base, inner_left);
            let fetch = tree.must_fetch(&base.def, &columns).then_some(columns.as_slice());
            let leading = keys.iter().find(|k| Some(&k.ordinal) == tree.prefix.first());
            let at = leading.and_then(|k| column_position(k.outer, &outer.schema));
            let order = at.map_or(0.0, |i| outer.profile.columns[i].order);
            outer.node.cost + self.probe_cost(base, tree, outer.profile.rows, order, fetch)
        };
        trees.iter().map(cost).enumerate().collect()
    }

    /// The price of looking up `keys` keys in a tree, and of fetching these columns of their rows.
    pub(crate) fn probe_cost(
        &self,
        base: &Base,
        tree: &Tree,
        keys: f64,
        order: f64,
        fetch: Option<&[usize]>,
    ) -> f64 {
        let page_bytes = self.costs.0.page_bytes as f64;
        let matches = keys * tree.per_key;
        self.costs.lookup(Probe {
            keys,
            matches,
            tree_rows: base.def.statistics.row_count as f64,
            tree_pages: tree.pages,
            fetched: fetch.map(|columns| fetched(&base.def, columns, page_bytes)),
            order,
            hashed: tree.index.is_hash(),
        })
    }

    /// Table ordinals that the join reads, ascending.
    fn inner_columns(&self, sides: &Sides, base: &Base, inner_left: bool) -> Vec<usize> {
        let inner = if inner_left { &sides.left } else { &sides.right };
        let mut columns: BTreeSet<usize> = base.filter_columns().into_iter().collect();
        match kind(sides, inner_left) {
            Some(LookupKind::Semi | LookupKind::Anti) => {
                let equalities = sides.pairs.iter().map(|p| split(p, inner_left).1);
                for expr in equalities.chain(&sides.join.filter) {
                    let used = expr.column_refs();
                    let at = used.iter().filter_map(|c| inner.schema.maybe_index_of_column(c));
                    columns.extend(at.map(|i| base.outputs[i]));
                }
            }
            _ => columns.extend(&base.outputs),
        }
        columns.into_iter().collect()
    }

    pub(super) fn lookup_join(
        &self,
        sides: Sides,
        base: &Base,
        inner_left: bool,
        tree: usize,
    ) -> SqlResult<Built> {
        let keys = keys(&sides, base, inner_left);
        let joined: Vec<usize> = keys.iter().map(|k| k.ordinal).collect();
        let internal = || types::SqlError::internal("an index join without its index");
        let tree = base.trees(&joined).into_iter().nth(tree).ok_or_else(internal)?;
        let kind = kind(&sides, inner_left).ok_or_else(internal)?;
        let (inner, outer) =
            if inner_left { (&sides.left, &sides.right) } else { (&sides.right, &sides.left) };
        let columns = self.inner_columns(&sides, base, inner_left);
        let fetch = tree.must_fetch(&base.def, &columns);
        let mut used = vec![false; sides.pairs.len()];
        let mut key_exprs = Vec::new();
        for &ordinal in &tree.prefix {
            key_exprs.push(self.key_expr(base, ordinal, &keys, outer, &mut used)?);
        }
        let inner_names = inner_names(base, inner, &columns)?;
        let names = super::joined_names(&outer.schema, &inner_names)?;
        let unused = sides.pairs.iter().zip(&used).filter(|(_, used)| !**used);
        let rest = unused.map(|(p, _)| p.left.clone().eq(p.right.clone()));
        let condition = all_of(rest.chain(sides.join.filter.clone()));
        let filter = condition.map(|c| scalar::compile(&c, &names)).transpose()?;
        let inner_filter =
            match all_of(base.scan.filters.iter().filter(|f| !super::scan::always(f)).cloned()) {
                Some(own) => {
                    let names = super::scan::names(&base.scan.table_name, &base.def, &columns)?;
                    Some(scalar::compile(&own, &names)?)
                }
                None => None,
            };
        let leading = keys.iter().find(|k| Some(&k.ordinal) == tree.prefix.first());
        let at = leading.and_then(|k| column_position(k.outer, &outer.schema));
        let order = at.map_or(0.0, |i| outer.profile.columns[i].order);
        let wanted = fetch.then_some(columns.as_slice());
        let own = self.probe_cost(base, &tree, outer.profile.rows, order, wanted);
        let cost = outer.node.cost + own;
        let output = output(base, &columns, outer.profile.columns.len(), kind, inner_left);
        let types = nullable(&output_types(outer, base, &columns, &output));
        let mut profile = sides.profile.clone();
        forget_inner_order(&mut profile, &sides, inner_left);
        let schema = Arc::clone(&sides.join.schema);
        let outer = if inner_left { sides.right } else { sides.left };
        let operator = Operator::LookupJoin(LookupJoin {
            outer: Box::new(outer.node),
            table: Arc::clone(&base.def),
            index: tree.index,
            keys: key_exprs,
            unique: tree.unique,
            fetch,
            columns,
            inner_filter,
            filter,
            kind,
            output,
        });
        Ok(built_as(operator, types, schema, profile, cost))
    }

    fn key_expr(
        &self,
        base: &Base,
        ordinal: usize,
        keys: &[Key],
        outer: &Built,
        used: &mut [bool],
    ) -> SqlResult<Expr> {
        if let Some(key) = keys.iter().find(|k| k.ordinal == ordinal) {
            used[key.pair] = true;
            return scalar::compile(key.outer, &outer.schema);
        }
        let ty = base.def.schema.columns[ordinal].ty.arrow();
        let constant = base.constants().into_iter().find(|(o, _)| *o == ordinal);
        match constant.map(|(_, constant)| constant) {
            Some(parameter) if is_one(parameter) => scalar::compile(parameter, &DFSchema::empty()),
            constant => match constant.and_then(value).and_then(|v| exactly(v, &ty)) {
                Some(value) => Ok(scalar::literal(value)),
                None => Err(types::SqlError::internal("a key column without a value")),
            },
        }
    }
}

/// The names of the inner columns: as the join knows them, or as the scan does.
fn inner_names(base: &Base, inner: &Built, columns: &[usize]) -> SqlResult<DFSchema> {
    let own = super::scan::names(&base.scan.table_name, &base.def, columns)?;
    let fields = columns.iter().enumerate().map(|(i, ordinal)| {
        let known = base.outputs.iter().position(|o| o == ordinal);
        match known {
            Some(position) => {
                let (qualifier, field) = inner.schema.qualified_field(position);
                (qualifier.cloned(), Arc::clone(field))
            }
            // The join's condition cannot name it; the outer side may have a column of this name.
            None => {
                let (_, field) = own.qualified_field(i);
                (Some(TableReference::bare(unspelled("inner"))), Arc::clone(field))
            }
        }
    });
    DFSchema::new_with_metadata(fields.collect(), Default::default()).map_err(from_library)
}

/// Positions in (outer ++ columns) of the logical join's output.
fn output(
    base: &Base,
    columns: &[usize],
    outer: usize,
    kind: LookupKind,
    inner_left: bool,
) -> Vec<usize> {
    if matches!(kind, LookupKind::Semi | LookupKind::Anti) {
        return (0..outer).collect();
    }
    let at = |o: &usize| outer + columns.iter().position(|c| c == o).unwrap_or(0);
    let inner = base.outputs.iter().map(at);
    if inner_left { inner.chain(0..outer).collect() } else { (0..outer).chain(inner).collect() }
}

fn output_types(
    outer: &Built,
    base: &Base,
    columns: &[usize],
    output: &[usize],
) -> arrow_schema::Schema {
    let inner = base.def.schema.project(columns);
    let all: Vec<_> = outer.node.schema.fields().iter().chain(inner.fields()).cloned().collect();
    arrow_schema::Schema::new(output.iter().map(|&i| Arc::clone(&all[i])).collect::<Vec<_>>())
}

fn forget_inner_order(profile: &mut crate::estimate::Profile, sides: &Sides, inner_left: bool) {
    let left = sides.left.profile.columns.len();
    if profile.columns.len() == left + sides.right.profile.columns.len() {
        for (i, column) in profile.columns.iter_mut().enumerate() {
            if (i < left) == inner_left {
                column.order = 0.0;
            }
        }
    }
}

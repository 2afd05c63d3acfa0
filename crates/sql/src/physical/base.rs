//! Base tables behind logical plans, and which of their trees can answer a key.

use std::sync::Arc;

use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator, TableScan};
use plan::IndexRef;
use plan::catalog::{TableDef, TableStorage};

use crate::analyze::tables::CatalogTable;
use crate::cost::{Fetched, Remote};
use crate::estimate::Profile;
use crate::expr::runtime_parameter::{is_one, value};

/// Rows of a vector of a column table (`docs/format/block.md`).
pub(super) const VECTOR_ROWS: f64 = 1024.0;

/// Pages that one row needs of a long vector of texts, as a rule: of two sectors, each of which may begin in the
/// midst of one.
const PAGES_OF_TEXT: f64 = 3.0;

/// A plan that is nothing but a scan of one table, perhaps renamed and narrowed.
pub(crate) struct Base<'a> {
    /// The table.
    pub def: Arc<TableDef>,
    /// The scan.
    pub scan: &'a TableScan,
    /// The table ordinal of each column of the plan.
    pub outputs: Vec<usize>,
}

/// The base table of a plan.
pub(crate) fn base_of(plan: &LogicalPlan) -> Option<Base<'_>> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let def = Arc::clone(&scan.source.downcast_ref::<CatalogTable>()?.def);
            let outputs = match &scan.projection {
                Some(columns) => columns.clone(),
                None => (0..def.schema.columns.len()).collect(),
            };
            (scan.fetch.is_none()).then_some(Base { def, scan, outputs })
        }
        LogicalPlan::SubqueryAlias(alias) => base_of(&alias.input),
        LogicalPlan::Projection(p) => {
            let base = base_of(&p.input)?;
            let column =
                |e: &Expr| super::column_position(e, p.input.schema()).map(|i| base.outputs[i]);
            let outputs = p.expr.iter().map(column).collect::<Option<Vec<_>>>()?;
            Some(Base { outputs, ..base })
        }
        _ => None,
    }
}

impl Base<'_> {
    /// Table ordinals that the scan's filters use.
    pub fn filter_columns(&self) -> Vec<usize> {
        let refs = self.scan.filters.iter().flat_map(|f| f.column_refs());
        let mut ordinals: Vec<usize> =
            refs.filter_map(|c| self.def.schema.ordinal(&c.name)).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        ordinals
    }

    /// Columns that a filter makes equal to a constant, with the constant. A parameter whose value
    /// comes later is of the column's type.
    pub fn constants(&self) -> Vec<(usize, &Expr)> {
        let equal = |e: &'_ Expr| -> Option<usize> {
            match e {
                Expr::Column(c) => self.def.schema.ordinal(&c.name),
                _ => None,
            }
        };
        let mut found = Vec::new();
        for filter in &self.scan.filters {
            for part in datafusion_expr::utils::split_conjunction(filter) {
                let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = part else {
                    continue;
                };
                let sides = [(left.as_ref(), right.as_ref()), (right.as_ref(), left.as_ref())];
                for (column, constant) in sides {
                    let is_typed = |o: &usize| self.is_of(*o, constant);
                    found.extend(equal(column).filter(is_typed).map(|o| (o, constant)));
                }
            }
        }
        found
    }

    /// True if an expression is a constant with the type of a column, or with another one in which
    /// it is the same.
    fn is_of(&self, ordinal: usize, constant: &Expr) -> bool {
        let ty = self.def.schema.columns[ordinal].ty.arrow();
        value(constant).is_some_and(|value| {
            let is_same = !is_one(constant) || value.data_type() == ty;
            is_same && crate::cast::exact::exactly(value, &ty).is_some()
        })
    }

    /// The trees that can look up rows by equality of the columns in `joined`: at least one leading key
    /// column must be among them.
    pub fn trees(&self, joined: &[usize]) -> Vec<Tree> {
        let constants: Vec<usize> = self.constants().iter().map(|c| c.0).collect();
        let secondary = self.def.indexes.iter().map(|i| IndexRef::Secondary(Arc::clone(i)));
        let trees = std::iter::once(IndexRef::Primary).chain(secondary);
        trees.filter_map(|index| self.tree(index, joined, &constants)).collect()
    }

    fn tree(&self, index: IndexRef, joined: &[usize], constants: &[usize]) -> Option<Tree> {
        let key = index.key_columns(&self.def).to_vec();
        let usable = |c: &&usize| joined.contains(c) || constants.contains(c);
        let prefix: Vec<usize> = key.iter().take_while(usable).copied().collect();
        if !prefix.iter().any(|c| joined.contains(c)) {
            return None;
        }
        let declared = match &index {
            IndexRef::Primary => true,
            IndexRef::Secondary(def) => def.is_always_unique(),
        };
        let unique = declared && prefix.len() == key.len();
        let rows = self.def.statistics.row_count as f64;
        let profile = Profile::of_table(&self.def, &prefix);
        let values: f64 = profile.columns.iter().map(|c| c.domain).product();
        let per_key = if unique { 1.0 } else { rows / values.clamp(1.0, rows.max(1.0)) };
        let pages = self.tree_pages(&index);
        Some(Tree { index, prefix, unique, per_key, pages })
    }

    /// Leaf pages of a tree.
    pub fn tree_pages(&self, index: &IndexRef) -> f64 {
        tree_pages(&self.def, index)
    }
}

/// Leaf pages of a tree of a table.
pub(crate) fn tree_pages(def: &TableDef, index: &IndexRef) -> f64 {
    let statistics = &def.statistics;
    let pages = match index {
        IndexRef::Primary => statistics.leaf_pages,
        IndexRef::Secondary(index) => {
            let place = def.indexes.iter().position(|i| i.id == index.id);
            let known = place.and_then(|i| statistics.index_leaf_pages.get(i)).copied();
            // An entry holds two short keys: some 200 fit a page.
            known.unwrap_or(statistics.row_count / 200)
        }
    };
    (pages as f64).max(1.0)
}

/// Where the wanted columns of a table's rows are, for who has their keys.
pub(crate) fn fetched(def: &TableDef, columns: &[usize], page_bytes: f64) -> Fetched {
    if def.storage == TableStorage::Row {
        let pages = tree_pages(def, &IndexRef::Primary);
        return Fetched { pages, per_row: 1.0, remote: None };
    }
    let rows = (def.statistics.row_count as f64).max(1.0);
    let pages_of = |column: &usize| {
        let bytes = def.statistics.column_bytes.get(*column).copied().unwrap_or_default();
        bytes as f64 / page_bytes
    };
    let pages = columns.iter().map(pages_of).sum::<f64>().max(1.0);
    // What one row needs of a column is its vector, which begins somewhere on a page; of a long one of texts
    // the head and the row's own bytes.
    let vector = |column: &usize| {
        let pages = 1.0 + pages_of(column) * VECTOR_ROWS / rows;
        match def.schema.columns[*column].ty.plain() {
            ty if ty.is_long() => pages.min(PAGES_OF_TEXT),
            _ => pages,
        }
    };
    let per_row = columns.iter().map(vector).sum::<f64>().max(1.0);
    let remote = body_bytes(def).map(|body_bytes| Remote {
        rows,
        vector_rows: VECTOR_ROWS,
        columns: columns.len() as f64,
        bytes: pages * page_bytes,
        body_bytes,
    });
    Fetched { pages, per_row, remote }
}

/// Bytes of all columns of a table whose chunks are objects of a store.
pub(crate) fn body_bytes(def: &TableDef) -> Option<f64> {
    let statistics = &def.statistics;
    statistics.is_remote.then(|| statistics.column_bytes.iter().sum::<u64>() as f64)
}

/// A tree that can look up keys.
pub(crate) struct Tree {
    /// Which one.
    pub index: IndexRef,
    /// Table ordinals of the key's columns that are given.
    pub prefix: Vec<usize>,
    /// A key names at most one row.
    pub unique: bool,
    /// Expected rows of a key.
    pub per_key: f64,
    /// Leaf pages.
    pub pages: f64,
}

impl Tree {
    /// Whether the rows must be fetched from the clustered tree to have all of `columns`.
    pub fn must_fetch(&self, def: &TableDef, columns: &[usize]) -> bool {
        match &self.index {
            IndexRef::Primary => false,
            IndexRef::Secondary(index) => columns.iter().any(|&c| !index.covers(def, c)),
        }
    }
}

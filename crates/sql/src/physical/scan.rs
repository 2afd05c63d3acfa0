//! Access paths: the cheapest way to the rows of one table.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use datafusion_common::{DFSchema, DFSchemaRef, ScalarValue, TableReference};
use datafusion_expr::utils::{conjunction as all_of, split_conjunction};
use datafusion_expr::{Expr as Logical, TableScan};
use types::{SqlError, SqlResult};

use super::base::tree_pages;
use super::ranges::{Demand, Ranges, demands, ranges};
use super::{Built, Physical, built_as};
use crate::bind::{CatalogTable, WorkTable};
use crate::catalog::{IndexDef, TableDef};
use crate::error::from_library;
use crate::estimate::{Named, Profile, conjunction};
use crate::expr::Expr;
use crate::plan::{Access, IndexRef, KeyRange, Operator, Scan};

/// A way to the rows with its price.
struct Path {
    access: Access,
    /// Predicates that need not be tested.
    guaranteed: Vec<usize>,
    cost: f64,
}

/// Everything about one scan that path selection needs.
struct Wanted<'a> {
    def: &'a Arc<TableDef>,
    predicates: Vec<&'a Logical>,
    columns: Vec<usize>,
    names: DFSchema,
    profile: Profile,
}

impl Wanted<'_> {
    /// Whether entries of the index have all columns that are wanted.
    fn is_covered_by(&self, index: &IndexDef) -> bool {
        self.columns.iter().all(|&c| index.covers(self.def, c))
    }
}

impl Physical<'_> {
    /// A scan by its cheapest path.
    pub(super) fn scan(&self, scan: &TableScan) -> SqlResult<Built> {
        if let Some(table) = scan.source.downcast_ref::<WorkTable>() {
            return self.work_table(scan, table);
        }
        let Some(table) = scan.source.downcast_ref::<CatalogTable>() else {
            return Err(SqlError::internal("a scan of an unknown source"));
        };
        let def = &table.def;
        let produced: Vec<usize> = match &scan.projection {
            Some(columns) => columns.clone(),
            None => (0..def.schema.columns.len()).collect(),
        };
        let wanted = wanted(def, scan, &produced)?;
        let path = self.cheapest(&wanted);
        let profile = restricted(&wanted, &produced);
        let output: Vec<usize> = produced.iter().map(|c| position(&wanted.columns, *c)).collect();
        let (columns, filter) = remaining(&wanted, &path, &output)?;
        let output = produced.iter().map(|c| position(&columns, *c)).collect();
        let schema = def.schema.project(&produced);
        let operator = Operator::Scan(Scan {
            table: Arc::clone(def),
            access: path.access,
            columns,
            filter,
            output,
        });
        let names = Arc::clone(&scan.projected_schema);
        let built = built_as(operator, schema, names, profile, path.cost);
        Ok(self.limited(built, scan.fetch))
    }

    fn cheapest(&self, wanted: &Wanted) -> Path {
        let rows = wanted.def.statistics.row_count as f64;
        let pages = tree_pages(wanted.def, &IndexRef::Primary);
        let full = Path {
            access: Access::Full,
            guaranteed: vec![],
            cost: self.costs.full_scan(rows, pages),
        };
        let predicates = wanted.predicates.iter().enumerate();
        let demands: Vec<Demand> =
            predicates.flat_map(|(i, p)| demands(p, i, wanted.def)).collect();
        let secondary = wanted.def.indexes.iter().map(|i| IndexRef::Secondary(Arc::clone(i)));
        let trees = std::iter::once(IndexRef::Primary).chain(secondary);
        let ranges = trees.filter_map(|tree| self.range_path(wanted, tree, &demands));
        let whole = wanted.def.indexes.iter().filter(|i| wanted.is_covered_by(i));
        let paths = ranges.chain(whole.map(|i| self.whole_path(wanted, i)));
        paths.fold(full, |best, path| if path.cost < best.cost { path } else { best })
    }

    /// All entries of an index that has everything: fewer pages than the table.
    fn whole_path(&self, wanted: &Wanted, index: &Arc<IndexDef>) -> Path {
        let index = IndexRef::Secondary(Arc::clone(index));
        let rows = wanted.def.statistics.row_count as f64;
        let cost = self.costs.index_scan(rows, tree_pages(wanted.def, &index));
        let all = KeyRange { prefix: vec![], lower: Bound::Unbounded, upper: Bound::Unbounded };
        Path {
            access: Access::Range { index, ranges: vec![all], fetch: false },
            guaranteed: vec![],
            cost,
        }
    }

    fn range_path(&self, wanted: &Wanted, index: IndexRef, demands: &[Demand]) -> Option<Path> {
        let key = index.key_columns(wanted.def).to_vec();
        let Ranges { ranges, guaranteed, used } = ranges(&key, demands, wanted.def)?;
        let named = Named { schema: &wanted.names, profile: &wanted.profile };
        let shaping = used.iter().collect::<BTreeSet<_>>();
        let share = conjunction(shaping.iter().map(|i| wanted.predicates[**i]), &named);
        let rows = wanted.def.statistics.row_count as f64;
        let clustered = tree_pages(wanted.def, &IndexRef::Primary);
        let pages = tree_pages(wanted.def, &index);
        let mut cost = self.costs.range_scan(ranges.len() as f64, share, rows, pages);
        let fetch = match &index {
            IndexRef::Primary => false,
            IndexRef::Secondary(def) => !wanted.is_covered_by(def),
        };
        if fetch {
            let order = order_of(wanted, key[0]);
            cost += self.costs.fetch(share * rows, rows, clustered, order);
        }
        Some(Path { access: Access::Range { index, ranges, fetch }, guaranteed, cost })
    }
}

/// How far rows in the order of a column come in the order of the clustered tree.
fn order_of(wanted: &Wanted, column: usize) -> f64 {
    let at = wanted.columns.iter().position(|c| *c == column);
    at.map_or(0.0, |i| wanted.profile.columns[i].order)
}

fn wanted<'a>(
    def: &'a Arc<TableDef>,
    scan: &'a TableScan,
    produced: &[usize],
) -> SqlResult<Wanted<'a>> {
    let all = scan.filters.iter().flat_map(split_conjunction);
    let predicates: Vec<&Logical> = all.filter(|p| !always(p)).collect();
    let mut columns: BTreeSet<usize> = produced.iter().copied().collect();
    for predicate in &predicates {
        let used = predicate.column_refs();
        columns.extend(used.iter().filter_map(|c| def.schema.ordinal(&c.name)));
    }
    let columns: Vec<usize> = columns.into_iter().collect();
    let names = names(&scan.table_name, def, &columns)?;
    let profile = Profile::of_table(def, &columns);
    Ok(Wanted { def, predicates, columns, names, profile })
}

/// Whether a predicate is the constant true (a join `ON TRUE` leaves one).
pub(super) fn always(predicate: &Logical) -> bool {
    matches!(predicate, Logical::Literal(ScalarValue::Boolean(Some(true)), _))
}

/// The columns of a table under the name of its scan.
pub(super) fn names(
    table: &TableReference,
    def: &TableDef,
    columns: &[usize],
) -> SqlResult<DFSchema> {
    let schema = def.schema.project(columns);
    DFSchema::try_from_qualified_schema(table.clone(), &schema).map_err(from_library)
}

fn position(columns: &[usize], column: usize) -> usize {
    columns.iter().position(|c| *c == column).unwrap_or(0)
}

/// The columns to read and the filter that is left, once the access path keeps its promises.
fn remaining(
    wanted: &Wanted,
    path: &Path,
    output: &[usize],
) -> SqlResult<(Vec<usize>, Option<Expr>)> {
    let numbered = wanted.predicates.iter().enumerate();
    let left: Vec<Logical> =
        numbered.filter(|(i, _)| !path.guaranteed.contains(i)).map(|(_, p)| (*p).clone()).collect();
    let mut needed: BTreeSet<usize> = output.iter().map(|&i| wanted.columns[i]).collect();
    for predicate in &left {
        let used = predicate.column_refs();
        needed.extend(used.iter().filter_map(|c| wanted.def.schema.ordinal(&c.name)));
    }
    let columns: Vec<usize> = needed.into_iter().collect();
    let qualifier = wanted.names.iter().next().and_then(|(q, _)| q.cloned());
    let names = match qualifier {
        Some(table) => names(&table, wanted.def, &columns)?,
        None => DFSchema::empty(),
    };
    let filter = all_of(left).map(|f| Expr::compile(&f, &names)).transpose()?;
    Ok((columns, filter))
}

/// The profile of the produced columns after all predicates.
fn restricted(wanted: &Wanted, produced: &[usize]) -> Profile {
    let named = Named { schema: &wanted.names, profile: &wanted.profile };
    let share = conjunction(wanted.predicates.iter().copied(), &named);
    let positions: Vec<usize> = produced.iter().map(|c| position(&wanted.columns, *c)).collect();
    let mut profile = wanted.profile.clone();
    for (i, &ordinal) in wanted.columns.iter().enumerate() {
        let name = &wanted.def.schema.columns[ordinal].name;
        let own = wanted.predicates.iter().copied().filter(|p| {
            let used = p.column_refs();
            used.len() == 1 && used.iter().all(|c| c.name == *name)
        });
        profile.columns[i].domain =
            (wanted.profile.columns[i].domain * conjunction(own, &named)).max(1.0);
    }
    let rows = (wanted.profile.rows * share).max(1.0).min(wanted.profile.rows.max(1.0));
    Profile { rows, ..profile.project(positions.as_slice()) }
}

impl Physical<'_> {
    /// At most `fetch` rows.
    fn limited(&self, built: Built, fetch: Option<usize>) -> Built {
        let Some(fetch) = fetch else { return built };
        let rows = built.profile.rows.min(fetch as f64);
        let share = rows / built.profile.rows.max(1.0);
        let cost = built.node.cost * share;
        let types = Arc::clone(&built.node.schema);
        let operator = Operator::Limit { input: Box::new(built.node), skip: 0, fetch: Some(fetch) };
        let schema: DFSchemaRef = built.schema;
        built_as(operator, types, schema, Profile { rows, ..built.profile }, cost)
    }
}

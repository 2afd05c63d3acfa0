//! Access paths: the cheapest way to the rows of one table.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::{DFSchema, DFSchemaRef, ScalarValue, TableReference};
use datafusion_expr::utils::{conjunction as all_of, split_conjunction};
use datafusion_expr::{Expr as Logical, TableScan};
use plan::catalog::{IndexDef, TableDef, TableStorage};
use plan::expr::Expr;
use plan::{Access, First, IndexRef, KeyRange, Operator, Scan};
use types::{SqlError, SqlResult};

use super::base::{VECTOR_ROWS, body_bytes, fetched, tree_pages};
use super::ranges::{Demand, Ranges, demands, equalities, ranges};
use super::restrictions::{restricted_columns, restrictions};
use super::{Built, Physical, WantedFirst, built_as};
use crate::analyze::tables::{CatalogTable, WorkTable};
use crate::cost::{ColumnScan, ColumnSet, Fetched};
use crate::error::from_library;
use crate::estimate::{Named, Profile, conjunction};
use crate::expr::runtime_parameter::Valued;
use crate::expr::scalar;
use crate::physical::shared::SharedQuery;

/// A way to the rows with its price.
pub(super) struct Path {
    pub(super) access: Access,
    /// Predicates that need not be tested.
    guaranteed: Vec<usize>,
    pub(super) first: Option<First>,
    cost: f64,
}

impl Path {
    pub(super) fn cost(&self) -> f64 {
        self.cost
    }
}

/// Everything about one scan that path selection needs.
pub(super) struct Wanted<'a> {
    pub(super) def: &'a Arc<TableDef>,
    pub(super) predicates: Vec<&'a Logical>,
    columns: Vec<usize>,
    pub(super) names: DFSchema,
    pub(super) profile: Profile,
}

impl Wanted<'_> {
    /// Whether rows must be fetched from the clustered tree.
    fn must_fetch(&self, index: &IndexRef) -> bool {
        match index {
            IndexRef::Primary => false,
            IndexRef::Secondary(def) => !self.is_covered_by(def),
        }
    }

    /// What some columns take in the chunks of a column table.
    fn stored(&self, columns: impl Iterator<Item = usize>) -> ColumnSet {
        let mut stored = ColumnSet::default();
        for column in columns {
            let bytes = self.def.statistics.column_bytes.get(column).map_or(0.0, |b| *b as f64);
            stored.count += 1.0;
            stored.bytes += bytes;
            let ty = self.def.schema.columns[column].ty.plain();
            if ty.is_long() {
                stored.text_bytes += bytes;
            }
        }
        stored
    }

    /// Whether nothing but a secondary index is read.
    fn is_only(&self, index: &IndexRef) -> bool {
        matches!(index, IndexRef::Secondary(_)) && !self.must_fetch(index)
    }

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
        if let Some(query) = scan.source.downcast_ref::<SharedQuery>() {
            return self.cte_scan(scan, query);
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
        let mut path = self.cheapest(&wanted);
        if path.first.is_none()
            && let Some(built) = self.by_parts(scan, &wanted, &produced, path.cost)?
        {
            return Ok(self.limited(built, scan.fetch));
        }
        // What an index finds is tested as rows of any table are.
        let (restrictions, tested) = match path.access {
            Access::Full => restrictions(&wanted, &scan.table_name)?,
            Access::Range { .. } => (vec![], vec![]),
        };
        path.guaranteed.extend(tested);
        let mut profile = restricted(&wanted, &produced);
        if let Some(first) = path.first {
            profile.rows = profile.rows.min(first.count as f64);
        }
        let output: Vec<usize> = produced.iter().map(|c| position(&wanted.columns, *c)).collect();
        let (columns, filter) = remaining(&wanted, &path, &output)?;
        if filter.is_none() {
            path.first = path.first.or_else(|| any_first(&wanted, &path, scan.fetch));
        }
        let slot = self.slot(&wanted, &path, !restrictions.is_empty())?;
        let output = produced.iter().map(|c| position(&columns, *c)).collect();
        let schema = def.schema.project(&produced);
        let operator = Operator::Scan(Scan {
            table: Arc::clone(def),
            access: path.access,
            slot,
            columns,
            restrictions,
            filter,
            output,
            first: path.first,
            as_words: false,
        });
        let names = Arc::clone(&scan.projected_schema);
        let built = built_as(operator, schema, names, profile, path.cost);
        Ok(self.limited(built, scan.fetch))
    }

    pub(super) fn cheapest(&self, wanted: &Wanted) -> Path {
        let rows = wanted.def.statistics.row_count as f64;
        let pages = tree_pages(wanted.def, &IndexRef::Primary);
        let cost = match wanted.def.storage {
            TableStorage::Row => self.costs.full_scan(rows, pages),
            TableStorage::Column => self.costs.column_scan(column_scan(wanted)),
        };
        let full = Path { access: Access::Full, guaranteed: vec![], first: None, cost };
        let predicates = wanted.predicates.iter().enumerate();
        let demands: Vec<Demand> =
            predicates.flat_map(|(i, p)| demands(p, i, wanted.def, Valued::default())).collect();
        let secondary = wanted.def.indexes.iter().map(|i| IndexRef::Secondary(Arc::clone(i)));
        let trees = std::iter::once(IndexRef::Primary).chain(secondary);
        if let Some(first) = self.first.take() {
            let ordered = trees.clone().filter(|tree| !tree.is_hash());
            let ordered = ordered.filter_map(|t| self.first_path(wanted, t, &demands, &first));
            if let Some(best) = ordered.min_by(|a, b| a.cost.total_cmp(&b.cost)) {
                return best;
            }
        }
        let ranges = trees.filter_map(|tree| self.range_path(wanted, tree, &demands));
        let ordered = wanted.def.indexes.iter().filter(|i| !i.is_hash());
        let whole = ordered.filter(|i| wanted.is_covered_by(i));
        let paths = ranges.chain(whole.map(|i| self.whole_path(wanted, i)));
        paths.fold(full, |best, path| if path.cost < best.cost { path } else { best })
    }

    fn fetched(&self, wanted: &Wanted) -> Fetched {
        fetched(wanted.def, &wanted.columns, self.costs.0.page_bytes as f64)
    }

    /// All entries of an index that has everything: fewer pages than the table.
    fn whole_path(&self, wanted: &Wanted, index: &Arc<IndexDef>) -> Path {
        let index = IndexRef::Secondary(Arc::clone(index));
        let rows = wanted.def.statistics.row_count as f64;
        let cost = self.costs.index_scan(rows, tree_pages(wanted.def, &index));
        Path {
            access: Access::Range { index, ranges: [KeyRange::all()].into(), fetch: false },
            guaranteed: vec![],
            first: None,
            cost,
        }
    }

    fn range_path(&self, wanted: &Wanted, index: IndexRef, demands: &[Demand]) -> Option<Path> {
        let key = index.key_columns(wanted.def).to_vec();
        let found = match index.is_hash() {
            true => ranges(&key, &equalities(demands), wanted.def)?,
            false => ranges(&key, demands, wanted.def)?,
        };
        let Ranges { ranges, guaranteed, used, .. } = found;
        let named = Named { schema: &wanted.names, profile: &wanted.profile };
        let shaping = used.iter().collect::<BTreeSet<_>>();
        let share = conjunction(shaping.iter().map(|i| wanted.predicates[**i]), &named);
        let rows = wanted.def.statistics.row_count as f64;
        let pages = tree_pages(wanted.def, &index);
        let count = ranges.len() as f64;
        let mut cost = match index.is_hash() {
            true => self.costs.hash_scan(count, share, rows, pages),
            false => self.costs.range_scan(count, share, rows, pages),
        };
        let fetch = wanted.must_fetch(&index);
        cost += self.costs.index_allowed(wanted.is_only(&index));
        if fetch {
            let order = order_of(wanted, key[0]);
            cost += self.costs.fetch(share * rows, rows, self.fetched(wanted), order);
        }
        let access = Access::Range { index, ranges: ranges.into(), fetch };
        Some(Path { access, guaranteed, first: None, cost })
    }

    /// The first rows in the order of a tree, where that is the order wanted and few ranges of it
    /// have exactly the rows.
    fn first_path(
        &self,
        wanted: &Wanted,
        index: IndexRef,
        demands: &[Demand],
        first: &WantedFirst,
    ) -> Option<Path> {
        let key = index.key_columns(wanted.def).to_vec();
        let (ranges, complete) = match ranges(&key, demands, wanted.def) {
            None => (vec![KeyRange::all()], vec![]),
            Some(Ranges { ranges, complete, .. }) => (ranges, complete),
        };
        let exact = (0..wanted.predicates.len()).all(|i| complete.contains(&i));
        let is_in_order = || in_key_order(wanted.def, &key, fixed(&ranges), &first.columns);
        if !exact || ranges.len() > FIRST_RANGES_MAX || !is_in_order() {
            return None;
        }
        let rows = wanted.def.statistics.row_count as f64;
        let named = Named { schema: &wanted.names, profile: &wanted.profile };
        let share = conjunction(wanted.predicates.iter().copied(), &named);
        let entries = first.count as f64 * ranges.len() as f64;
        let entries = entries.min((share * rows).max(1.0));
        let pages = entries * tree_pages(wanted.def, &index) / rows.max(1.0);
        let fetch = wanted.must_fetch(&index);
        let mut cost = self.costs.first_entries(entries, pages);
        cost += self.costs.index_allowed(wanted.is_only(&index));
        if fetch {
            let order = order_of(wanted, key[0]);
            cost += self.costs.fetch_by_one(entries, rows, self.fetched(wanted), order);
        }
        let first = Some(First { count: first.count, backward: first.descending });
        let access = Access::Range { index, ranges: ranges.into(), fetch };
        Some(Path { access, guaranteed: complete, first, cost })
    }
}

/// The first entries of a path of which any rows do, but not all of them: where these are few, they
/// are read one after the other.
fn any_first(wanted: &Wanted, path: &Path, fetch: Option<usize>) -> Option<First> {
    let Access::Range { index, ranges, .. } = &path.access else { return None };
    let is_ordered = !index.is_hash() && ranges.len() <= FIRST_RANGES_MAX;
    let count = fetch.filter(|count| (1..=ANY_FIRST_MAX).contains(count))?;
    let is_more = !path.access.are_rows(wanted.def);
    (is_ordered && is_more).then_some(First { count, backward: false })
}

/// Rows of any kind that are read one after the other, at most.
const ANY_FIRST_MAX: usize = 1_000;

/// Ranges of which the first rows are read, at most: of each as many as are wanted.
const FIRST_RANGES_MAX: usize = 16;

/// How many leading columns of a key have one value in all ranges.
fn fixed(ranges: &[KeyRange]) -> usize {
    let Some((first, others)) = ranges.split_first() else { return 0 };
    let is_fixed =
        |at: &usize| others.iter().all(|other| other.prefix.get(*at) == first.prefix.get(*at));
    (0..first.prefix.len()).take_while(is_fixed).count()
}

/// What a scan of the chunks reads: columns that are restricted first.
fn column_scan(wanted: &Wanted<'_>) -> ColumnScan {
    let (tested, restricting) = restricted_columns(wanted);
    let named = Named { schema: &wanted.names, profile: &wanted.profile };
    let share = conjunction(restricting.iter().map(|i| wanted.predicates[*i]), &named);
    let rows = wanted.def.statistics.row_count as f64;
    let later = wanted.columns.iter().copied().filter(|column| !tested.contains(column));
    ColumnScan {
        rows,
        vector_rows: VECTOR_ROWS,
        left: share * rows,
        later: wanted.stored(later),
        tested: wanted.stored(tested.iter().copied()),
        body_bytes: body_bytes(wanted.def),
    }
}

/// Whether the entries of a tree with this key, whose first `fixed` columns are constant, come in the
/// order of `columns`.
fn in_key_order(def: &TableDef, key: &[usize], fixed: usize, columns: &[usize]) -> bool {
    let rest = def.primary_key.iter().filter(|c| !key.contains(c));
    let whole: Vec<usize> = key.iter().chain(rest).copied().collect();
    let varying: Vec<usize> =
        columns.iter().copied().filter(|c| !whole[..fixed].contains(c)).collect();
    !key.is_empty() && whole[fixed..].starts_with(&varying)
}

/// How far rows in the order of a column come in the order of the clustered tree.
fn order_of(wanted: &Wanted, column: usize) -> f64 {
    let at = wanted.columns.iter().position(|c| *c == column);
    at.map_or(0.0, |i| wanted.profile.columns[i].order)
}

pub(super) fn wanted<'a>(
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
    let filter = all_of(left).map(|f| scalar::compile(&f, &names)).transpose()?;
    Ok((columns, filter))
}

/// The profile of the produced columns after all predicates.
pub(super) fn restricted(wanted: &Wanted, produced: &[usize]) -> Profile {
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
        let Some(fetch) = fetch.filter(|fetch| *fetch == 0 || !built.node.is_row()) else {
            return built;
        };
        let rows = built.profile.rows.min(fetch as f64);
        let share = rows / built.profile.rows.max(1.0);
        let cost = built.node.cost * share;
        let types = Arc::clone(&built.node.schema);
        let operator = Operator::Limit { input: Box::new(built.node), skip: 0, fetch: Some(fetch) };
        let schema: DFSchemaRef = built.schema;
        built_as(operator, types, schema, Profile { rows, ..built.profile }, cost)
    }
}

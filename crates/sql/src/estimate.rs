//! Cardinalities: what is believed about the rows of a plan node.

use std::sync::Arc;

use datafusion_common::{Column, DFSchema};
use plan::catalog::{ColumnStatistics, TableDef};

mod position;
mod selectivity;

pub(crate) use selectivity::{conjunction, selectivity};

/// What is believed about the rows of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    /// Number of rows.
    pub rows: f64,
    /// The columns, as in the node's schema.
    pub columns: Vec<ColumnProfile>,
    /// Sets of columns that were a key of some base table.
    pub keys: Vec<KeyProfile>,
}

/// What is believed about the values of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnProfile {
    /// Distinct values before other columns' predicates thinned the rows: the domain that joins see.
    pub domain: f64,
    /// Share of nulls.
    pub null_fraction: f64,
    /// How far the rows come in the order of this column, 0 to 1.
    pub order: f64,
    /// Statistics of the base column.
    pub statistics: Option<Arc<TableDef>>,
    /// Ordinal in that table.
    pub ordinal: usize,
}

/// Columns that were a key of a base table: jointly they have `domain` values, however many their
/// separate domains would allow (the composite key of TPC-H's partsupp).
#[derive(Clone, Debug)]
pub(crate) struct KeyProfile {
    /// Positions.
    pub columns: Vec<usize>,
    /// Rows of the base table.
    pub domain: f64,
}

impl ColumnProfile {
    /// A computed column of which only the number of values is known.
    pub fn of_domain(domain: f64) -> ColumnProfile {
        ColumnProfile { domain: domain.max(1.0), ..ColumnProfile::default() }
    }

    /// The statistics, if `ANALYZE` made some.
    pub fn known(&self) -> Option<&ColumnStatistics> {
        self.statistics.as_ref()?.statistics.columns.get(self.ordinal)
    }

    /// Distinct values among `rows` rows.
    pub fn distinct(&self, rows: f64) -> f64 {
        crate::cost::distinct_pages(self.domain, rows).clamp(1.0, rows.max(1.0))
    }
}

impl Profile {
    /// All rows of a table, by these columns.
    pub fn of_table(def: &Arc<TableDef>, ordinals: &[usize]) -> Profile {
        let rows = def.statistics.row_count as f64;
        let columns = ordinals.iter().map(|&i| base_column(def, i)).collect();
        let mut profile = Profile { rows, columns, keys: Vec::new() };
        let unique = def.indexes.iter().filter(|i| i.unique).map(|i| &i.columns);
        for key in std::iter::once(&def.primary_key).chain(unique) {
            profile.add_key(key, ordinals, rows);
        }
        profile
    }

    fn add_key(&mut self, key: &[usize], ordinals: &[usize], rows: f64) {
        let position = |k| ordinals.iter().position(|o| o == k);
        let positions: Option<Vec<usize>> = key.iter().map(position).collect();
        if let Some(columns) = positions.filter(|c| !c.is_empty()) {
            self.keys.push(KeyProfile { columns, domain: rows.max(1.0) });
        }
    }

    /// The profile of these columns only.
    pub fn project(&self, positions: &[usize]) -> Profile {
        let mut projected = Profile {
            rows: self.rows,
            columns: positions.iter().map(|&i| self.columns[i].clone()).collect(),
            keys: Vec::new(),
        };
        for key in &self.keys {
            projected.add_key(&key.columns, positions, key.domain);
        }
        projected
    }

    /// The columns and keys of both inputs of a join, with `rows` rows.
    pub fn concat(&self, right: &Profile, rows: f64) -> Profile {
        let shift = self.columns.len();
        let shifted = right.keys.iter().map(|k| KeyProfile {
            columns: k.columns.iter().map(|c| c + shift).collect(),
            domain: k.domain,
        });
        Profile {
            rows,
            columns: self.columns.iter().chain(&right.columns).cloned().collect(),
            keys: self.keys.iter().cloned().chain(shifted).collect(),
        }
    }

    /// Forgets in which order the rows come.
    pub fn without_order(mut self) -> Profile {
        self.columns.iter_mut().for_each(|c| c.order = 0.0);
        self
    }

    /// Groups by columns with these domains.
    pub fn group_count(&self, columns: &[&ColumnProfile]) -> f64 {
        let mut distinct: Vec<f64> = columns.iter().map(|c| c.distinct(self.rows)).collect();
        distinct.sort_by(|a, b| b.total_cmp(a));
        // The column with most values counts fully; each further one less, for columns go together.
        let mut exponent = 1.0;
        let mut groups = 1.0;
        for d in distinct {
            groups *= d.powf(exponent);
            exponent *= 0.8;
        }
        groups.clamp(1.0, self.rows.max(1.0))
    }
}

/// A profile with the names of its columns, to look up what expressions mean.
pub(crate) struct Named<'a> {
    /// The names.
    pub schema: &'a DFSchema,
    /// What is known of them.
    pub profile: &'a Profile,
}

impl Named<'_> {
    /// The profile of a column.
    pub fn column(&self, column: &Column) -> Option<&ColumnProfile> {
        let index = self.schema.maybe_index_of_column(column)?;
        self.profile.columns.get(index)
    }
}

fn base_column(def: &Arc<TableDef>, ordinal: usize) -> ColumnProfile {
    let rows = def.statistics.row_count as f64;
    let unique = def.primary_key == [ordinal]
        || def.indexes.iter().any(|i| i.unique && i.columns == [ordinal]);
    let leads = def.primary_key.first() == Some(&ordinal);
    let (domain, nulls, order) = match def.statistics.columns.get(ordinal) {
        Some(known) => (known.distinct_count, known.null_fraction, known.correlation.abs()),
        None => (guess_domain(def, ordinal), 0.0, 0.0),
    };
    ColumnProfile {
        domain: if unique { rows } else { domain }.max(1.0),
        null_fraction: nulls,
        order: if leads { 1.0 } else { order },
        statistics: Some(Arc::clone(def)),
        ordinal,
    }
}

/// Distinct values of a column that was never analysed.
fn guess_domain(def: &TableDef, ordinal: usize) -> f64 {
    let rows = def.statistics.row_count as f64;
    match def.schema.columns[ordinal].ty {
        types::LogicalType::Bool => 2.0,
        types::LogicalType::Date => rows.min(2500.0),
        _ => (rows / 10.0).max(rows.min(200.0)),
    }
}

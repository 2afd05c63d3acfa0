//! What a plan depends on in the catalog: all that was asked when it was made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plan::catalog::{TableDef, TableId};
use types::SqlResult;

use crate::catalog::function::{Calls, SystemFunction, called_later};
use crate::catalog::view::ViewDef;
use crate::catalog::{Catalog, NextNumber};
use crate::dml::compiled::is_same_table;
use crate::parse::RESULTS_SCHEMA;
use crate::parse::bind::has_moments;
use crate::rewrite::clock;

/// A plan is made anew where a table has this many times the rows that it had, or they have been so many
/// times its rows. Access paths are chosen at each execution, so this is about the order of joins: the factor by
/// which estimates are wrong anyway (PostgreSQL analyses a table anew when a tenth of it has changed).
const GROWTH_MAX: u64 = 4;

/// Fewer rows than these are as good as these: about a page of them.
const ROWS_MIN: u64 = 64;

/// The answers of a catalog.
#[derive(Debug, Default)]
pub struct Depends {
    /// With `None` for names that are no table's.
    tables: Vec<(String, Option<Arc<TableDef>>)>,
    /// The same of those that it reads, with the schemas that it names.
    read: Vec<(Option<String>, String, Option<Arc<TableDef>>)>,
    /// True if names without a schema are not found in `public`.
    hidden: Vec<(String, bool)>,
    /// The same of views.
    views: Vec<(String, Option<Arc<ViewDef>>)>,
    /// What clients know views by.
    oids: Vec<(String, Option<u32>)>,
    /// Names that are no function's of the session.
    functions: Vec<String>,
    /// Rows that parts of the statement have given, by the numbers of the parts.
    given: Vec<(String, Arc<TableDef>)>,
    /// Functions of the session that it calls, of those that may be another value each time.
    calls: Vec<String>,
    /// What may be read.
    reads: Vec<(String, Option<TableId>, Option<String>)>,
}

impl Depends {
    /// True if no table has grown or shrunk too much.
    pub(super) fn has_rows(&self, catalog: &dyn Catalog) -> bool {
        let tables = self.tables.iter().map(|(_, then)| then);
        let read = self.read.iter().map(|(_, _, then)| then);
        tables.chain(read).flatten().all(|then| {
            let now = catalog.row_count(then.id);
            now.is_some_and(|now| are_as_many(now, then.statistics.row_count))
        })
    }

    /// True if it calls functions of the session.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The functions of the session that it calls, if it calls some; none if there is one no more.
    pub(super) fn calls(&self, catalog: &dyn Catalog) -> Option<Option<Arc<Calls>>> {
        if self.calls.is_empty() {
            return Some(None);
        }
        let found = self.calls.iter().map(|name| catalog.system_function(name));
        Some(Some(Arc::new(Calls(found.collect::<Option<_>>()?))))
    }

    /// True if the parts of the statement have given rows of the same columns, and about as many.
    pub(super) fn has_given(&self, catalog: &dyn Catalog) -> bool {
        self.given.iter().all(|(part, then)| {
            catalog.system_table(RESULTS_SCHEMA, part).is_some_and(|now| {
                let counts = (now.statistics.row_count, then.statistics.row_count);
                now.schema == then.schema && are_as_many(counts.0, counts.1)
            })
        })
    }

    /// True if the catalog says the same now, but of rows that parts of the statement give.
    pub fn hold(&self, catalog: &dyn Catalog) -> bool {
        let same = |(name, then): &(String, Option<Arc<TableDef>>)| {
            is_same(catalog.table(name).as_ref(), then.as_ref(), is_unchanged)
        };
        let same_view = |(name, then): &(String, Option<Arc<ViewDef>>)| {
            is_same(catalog.view(name).as_ref(), then.as_ref(), is_same_view)
        };
        let same_read = |(schema, name, then): &(Option<String>, String, Option<Arc<TableDef>>)| {
            let now = catalog.read_table(schema.as_deref(), name);
            is_same(now.as_ref(), then.as_ref(), is_unchanged)
        };
        self.tables.iter().all(same)
            && self.read.iter().all(same_read)
            && self.hidden.iter().all(|(name, then)| catalog.hides_public(name) == *then)
            && self.views.iter().all(same_view)
            && self.oids.iter().all(|(name, then)| catalog.view_oid(name) == *then)
            && self.functions.iter().all(|name| catalog.system_function(name).is_none())
            && self.reads.iter().all(|(name, table, within)| {
                catalog.check_read(name, *table, within.as_deref()).is_ok()
            })
    }
}

/// Whether there was nothing and is nothing, or what there is is the same.
fn is_same<T>(now: Option<&T>, then: Option<&T>, same: impl Fn(&T, &T) -> bool) -> bool {
    match (now, then) {
        (Some(now), Some(then)) => same(now, then),
        (now, then) => now.is_none() && then.is_none(),
    }
}

fn is_same_view(now: &Arc<ViewDef>, then: &Arc<ViewDef>) -> bool {
    Arc::ptr_eq(now, then) || now == then
}

/// Whether a table is planned for as it was then.
fn is_unchanged(now: &Arc<TableDef>, then: &Arc<TableDef>) -> bool {
    is_same_table(now, then)
        && Arc::ptr_eq(&now.statistics.columns, &then.statistics.columns)
        && are_as_many(now.statistics.row_count, then.statistics.row_count)
}

/// True if a plan for so many rows is good for so many others.
fn are_as_many(now: u64, then: u64) -> bool {
    let (least, most) = (now.min(then).max(ROWS_MIN), now.max(then));
    most <= least.saturating_mul(GROWTH_MAX)
}

/// A catalog that notes what it is asked.
pub struct Recorder<'a> {
    inner: &'a dyn Catalog,
    /// `None` since it was asked for something that no plan may be kept for.
    noted: Mutex<Option<Depends>>,
    /// True while what is bound is the query itself, which may call functions of the session.
    binds_query: AtomicBool,
}

impl<'a> Recorder<'a> {
    /// Nothing noted yet of this catalog.
    pub fn new(inner: &'a dyn Catalog) -> Recorder<'a> {
        let noted = Mutex::new(Some(Depends::default()));
        Recorder { inner, noted, binds_query: AtomicBool::new(false) }
    }

    /// From now on the query is bound, and not what is done with its rows.
    pub(super) fn begin_query(&self) {
        self.binds_query.store(true, Ordering::Relaxed);
    }

    /// What was asked, unless a plan may not be kept.
    pub fn depends(self) -> Option<Depends> {
        self.noted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, note: impl FnOnce(&mut Depends)) {
        if let Some(depends) = &mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner) {
            note(depends);
        }
    }

    fn refuse(&self) {
        *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Catalog for Recorder<'_> {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        let found = self.inner.table(name);
        match &found {
            // Those of the system, of files and of the program have numbers of one statement.
            Some(def) if def.id.is_system() => self.refuse(),
            _ => self.note(|depends| depends.tables.push((name.to_owned(), found.clone()))),
        }
        found
    }

    fn read_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        let found = self.inner.read_table(schema, name);
        match &found {
            Some(def) if def.id.is_system() => self.refuse(),
            _ => self.note(|depends| {
                depends.read.push((schema.map(str::to_owned), name.to_owned(), found.clone()));
            }),
        }
        found
    }

    fn hides_public(&self, name: &str) -> bool {
        let hides = self.inner.hides_public(name);
        self.note(|depends| depends.hidden.push((name.to_owned(), hides)));
        hides
    }

    fn database(&self) -> Option<String> {
        self.inner.database()
    }

    fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        let found = self.inner.view(name);
        match &found {
            Some(view) if has_moments(&view.query) => self.refuse(),
            _ => self.note(|depends| depends.views.push((name.to_owned(), found.clone()))),
        }
        found
    }

    fn view_oid(&self, name: &str) -> Option<u32> {
        let found = self.inner.view_oid(name);
        self.note(|depends| depends.oids.push((name.to_owned(), found)));
        found
    }

    fn system_type(&self, table: &TableDef, column: usize) -> Option<u32> {
        if !table.id.is_given() {
            self.refuse();
        }
        self.inner.system_type(table, column)
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.refuse();
        self.inner.tables()
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        let found = self.inner.system_table(schema, name);
        if let Some(given) = found.as_ref().filter(|_| schema == RESULTS_SCHEMA) {
            self.note(|depends| depends.given.push((name.to_owned(), given.clone())));
            return found;
        }
        // The names of the system's relations are the same at all times.
        if found.is_some() || schema != "pg_catalog" {
            self.refuse();
        }
        found
    }

    /// No moment: a plan is for all of them.
    fn now_us(&self) -> Option<i64> {
        None
    }

    fn check_read(
        &self,
        name: &str,
        table: Option<TableId>,
        within: Option<&str>,
    ) -> SqlResult<()> {
        let read = (name.to_owned(), table, within.map(str::to_owned));
        self.note(|depends| depends.reads.push(read));
        self.inner.check_read(name, table, within)
    }

    fn numbers_of(&self, table: &TableDef, ordinal: usize) -> Option<NextNumber> {
        // Where there are none, the table says so.
        let found = self.inner.numbers_of(table, ordinal);
        if found.is_some() {
            self.refuse();
        }
        found
    }

    fn system_function(&self, name: &str) -> Option<SystemFunction> {
        let found = self.inner.system_function(name);
        match &found {
            // Those of the clock are parameters by now, except in what is no query: `RETURNING`, `ON CONFLICT`.
            None if !clock::has_function(name) => {
                self.note(|depends| depends.functions.push(name.to_owned()));
            }
            // Of others a plan for these values has the value, and an index by it.
            Some(function) if function.volatile && self.binds_query.load(Ordering::Relaxed) => {
                self.note(|depends| {
                    if !depends.calls.iter().any(|known| known == name) {
                        depends.calls.push(name.to_owned());
                    }
                });
                return Some(called_later(function));
            }
            _ => self.refuse(),
        }
        found
    }
}

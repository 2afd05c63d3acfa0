//! Generic plans: a statement bound and optimised once for all values of its parameters, and for every
//! moment.
//!
//! The optimised logical plan is kept, with placeholders where values go. An execution puts its values in
//! their places, folds what is constant then, and chooses access paths: bounds of keys and estimates of rows
//! are those of its values. That last step is a tenth of planning.
//!
//! What a plan depends on, and how that is kept true:
//! - *Types of the parameters, their nulls, the zone and the switches of the planner*: whoever keeps plans
//!   keeps one for each of them: a null is a constant of its plan. There is none for values of an
//!   unknown type.
//! - *The catalog*: whatever the binder has asked it is asked again before each use ([`depends`]): tables with
//!   their indexes, constraints and statistics, views with their queries, the right to read them, also of the
//!   owners of views, and which functions there are. Volatile functions of the session are called
//!   by their names when the plan runs. A statement about anything else (system relations, other
//!   functions of the session, files, numbers of columns) has none.
//! - *The moment*: `now()` and its kin are parameters, too, in views as in the statement; where a literal speaks of
//!   it there is no generic plan, for there is no moment while it is made.
//! - *The values*: to the library parameters are opaque, and they stand only where one value is as good as
//!   another ([`admitted`]). The order of joins is that of the values of the first execution. These are planned both
//!   ways, and the plan is kept only where it costs no more than the one for the values and its
//!   making ([`Generic::is_like`]), by the estimates of both, as in PostgreSQL.

pub(crate) mod admitted;
pub(crate) mod depends;
mod made;
mod physical;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use datafusion_expr::LogicalPlan;
use plan::Plan;
use types::{SqlError, SqlResult, zone};

use crate::catalog::Catalog;
use crate::dml::conflict::Conflict;
use crate::dml::expressions::{RowExprs, returning};
use crate::dml::insert::insert_query;
use crate::dml::locked::LockedQuery;
use crate::dml::target::{TargetCatalog, delete_query, update_query};
use crate::error::{from_library, guarded};
use crate::optimize::query::Optimized;
use crate::optimize::{shared, values};
use crate::options::PlannerOptions;
use crate::parse::parameter::Parameter;
use crate::parse::statement::Statement;
use crate::parse::statement::bound::Bound;
use crate::parse::statement::kept::Kept;
use crate::parse::statement::query::Query;
use crate::parse::template::Template;
use crate::physical::shared::SharedQuery;
use crate::planner;
use crate::rewrite::steps;
use depends::{Depends, Recorder};
use physical::PhysicalPlan;

/// By so much a plan for all values may cost more than the one for the values at hand.
const COST_TOLERANCE: f64 = 0.01;

/// Microseconds that planning takes at least, by release builds, and for each node of the plan.
const PLANNING_US: f64 = 100.0;
const PLANNING_US_PER_NODE: f64 = 50.0;

/// Physical plans that are kept of a statement, for other numbers of rows or other shares of a
/// table: each is about as large as the logical one.
const KEPT_MAX: usize = 2;

/// Attempts to keep one.
const ATTEMPTS_MAX: u32 = 8;

/// What is done with the rows that the query of an `INSERT`, an `UPDATE` or a `DELETE` finds.
pub struct RowChange {
    /// The columns that are assigned.
    pub ordinals: Vec<usize>,
    /// What an `INSERT` does about rows that are there already.
    pub conflict: Option<Conflict>,
    /// What comes back.
    pub returning: Option<RowExprs>,
}

/// A statement that is planned for all values.
pub struct Generic {
    /// Its parameters are where they were.
    statement: Statement,
    query: Optimized,
    names: Option<Vec<String>>,
    change: Option<RowChange>,
    /// The tables whose rows it locks, if it does.
    locked: Option<Arc<LockedQuery>>,
    depends: Depends,
    /// The definitions by which that was found to be so the last time.
    held: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    parameter_count: usize,
    /// True if its query asks for the moment, which parameters behind the others are.
    asks_moment: bool,
    physical: Mutex<PhysicalPlans>,
}

/// Physical plans that are good for many values.
#[derive(Default)]
struct PhysicalPlans {
    kept: Vec<Arc<PhysicalPlan>>,
    attempts: u32,
}

impl Bound {
    /// Its generic plan.
    pub fn generic(&self) -> Option<&Generic> {
        self.generic.as_ref()?.get()
    }
}

impl fmt::Debug for Generic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generic").field("statement", &self.statement).finish_non_exhaustive()
    }
}

impl Generic {
    /// Plans a statement for all values of the types that these have; `None` where each execution needs a
    /// plan of its own.
    ///
    /// # Errors
    /// What parsing and planning say: the plan for these values alone says whether they are right.
    pub fn of(
        template: &Template,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
        options: &PlannerOptions,
    ) -> SqlResult<Option<Generic>> {
        let Some(statement) = template.generic(parameters)? else { return Ok(None) };
        if catalog.now_us().is_none() {
            return Ok(None);
        }
        let _no_moment = zone::enter(zone::Context { now_us: None, ..zone::current() });
        let (parameter_count, recorder) = (template.parameter_count(), Recorder::new(catalog));
        let values = values::all(parameters, parameter_count, catalog.now_us())?;
        let Some(Parts { query, target, change, locked }) = parts(&statement, &recorder)? else {
            return Ok(None);
        };
        let seen = target.as_ref().map_or(&recorder as &dyn Catalog, |target| target);
        recorder.begin_query();
        let mut ast = Arc::unwrap_or_clone(query.ast);
        let names = steps::rewrite_with(&mut ast, seen, Some(parameter_count + 1))?;
        let query = crate::optimize::query::generic(ast, seen, options, values)?;
        let is_good = admitted::is_for_all_values(&query).map_err(from_library)?;
        let Some(depends) = recorder.depends().filter(|_| is_good) else { return Ok(None) };
        let physical = Mutex::default();
        let asks_moment =
            admitted::has_parameters_beyond(&query, parameter_count).map_err(from_library)?;
        Ok(Some(Generic {
            statement,
            query,
            names,
            change,
            locked,
            depends,
            held: Mutex::default(),
            parameter_count,
            asks_moment,
            physical,
        }))
    }

    /// The change of the rows that its query finds, if it changes them.
    pub fn change(&self) -> Option<&RowChange> {
        self.change.as_ref()
    }

    /// The tables whose rows its query locks, if it does: its plan is that of
    /// [`LockedQuery::query`] for the rows that are looked at first.
    pub fn locked(&self) -> Option<&Arc<LockedQuery>> {
        self.locked.as_ref()
    }

    /// The columns of its rows, if a physical plan is kept: they are the same for all values.
    pub fn schema(&self) -> Option<SchemaRef> {
        let physical = self.physical.lock().unwrap_or_else(PoisonError::into_inner);
        physical.kept.first().map(|kept| kept.schema())
    }

    /// Whether all that it depends on is as it was.
    pub fn holds(&self, catalog: &dyn Catalog) -> bool {
        self.depends.has_given(catalog) && self.holds_before_parts(catalog)
    }

    /// The same while parts of the statement have given no rows yet.
    pub fn holds_before_parts(&self, catalog: &dyn Catalog) -> bool {
        let held = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held().clone();
        if known.is_some_and(|known| catalog.is_defined_by(&*known)) {
            return self.depends.has_rows(catalog);
        }
        let holds = self.depends.hold(catalog);
        if holds {
            *held() = catalog.definitions();
        }
        holds
    }

    /// The statement with values, to be run by this plan; `text` is where they were taken from, if they were.
    pub fn statement(
        self: &Arc<Self>,
        template: &Template,
        values: &[Parameter],
        text: Option<Arc<str>>,
    ) -> Statement {
        let (template, parameters) = (template.clone(), values.to_vec());
        let mut statement = self.statement.clone();
        statement.set_bound(Bound {
            template,
            parameters,
            text,
            generic: Some(Kept::new(Arc::clone(self))),
        });
        statement
    }

    /// The plan for these values, at the moment of the catalog.
    ///
    /// # Errors
    /// Those of values that are none of their types, and of constants that cannot be computed.
    pub fn plan(
        &self,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
        options: &PlannerOptions,
    ) -> SqlResult<Plan> {
        if let Some(plan) = self.kept(parameters, catalog) {
            return Ok(plan);
        }
        let values = self.values(parameters, catalog)?;
        let plan = guarded::guarded(|| self.with_values(&values, options))?;
        self.keep(&values, &plan, options);
        if self.depends.has_calls() {
            // Only a plan that is kept has the functions of its session.
            let none = || SqlError::unsupported("a plan for all values with such functions");
            return self.kept(parameters, catalog).ok_or_else(none);
        }
        Ok(planner::named(plan, self.names.clone(), &self.query.origins))
    }

    /// The values in the places of its parameters, and of those of the clock.
    fn values(&self, given: &[Parameter], catalog: &dyn Catalog) -> SqlResult<Vec<Parameter>> {
        let now_us = catalog.now_us().filter(|_| self.asks_moment);
        values::all(given, self.parameter_count, now_us)
    }

    /// The plan for these values, where one is kept that is good for them: nothing is planned.
    pub fn kept(&self, parameters: &[Parameter], catalog: &dyn Catalog) -> Option<Plan> {
        let kept = self.physical.lock().unwrap_or_else(PoisonError::into_inner).kept.clone();
        if kept.is_empty() {
            return None;
        }
        let values = self.values(parameters, catalog).ok()?;
        let calls = self.depends.calls(catalog)?;
        let mut fitting = kept.iter().filter(|kept| kept.is_for(&values));
        fitting.find_map(|kept| kept.with_values(&values, calls.clone()))
    }

    /// Keeps a physical plan that does what `plan` does, which was made for these values.
    fn keep(&self, values: &[Parameter], plan: &Plan, options: &PlannerOptions) {
        let lock = || self.physical.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().attempts >= ATTEMPTS_MAX || lock().kept.len() >= KEPT_MAX {
            return;
        }
        lock().attempts += 1;
        let kept = || PhysicalPlan::of(self, values, plan, options);
        if let Ok(Some(kept)) = guarded::guarded(kept) {
            lock().kept.push(Arc::new(kept));
        }
    }

    fn with_values(&self, given: &[Parameter], options: &PlannerOptions) -> SqlResult<Plan> {
        let (mut sources, mut nodes) = (vec![], vec![]);
        let valued = |plan: &LogicalPlan, sources: &[Arc<SharedQuery>]| {
            let plan = shared::with_sources(plan.clone(), sources).map_err(from_library)?;
            values::with_values(plan, given)
        };
        for (number, shared) in self.query.shared.iter().enumerate() {
            let query = valued(&shared.plan, &sources)?;
            let (source, node) = shared::planned(&query, number, &shared.name, options)?;
            sources.push(source);
            nodes.push(node);
        }
        crate::physical::plan(&valued(&self.query.plan, &sources)?, nodes, options)
    }

    /// True if these values have a plan that gives the same columns as `plan`, which is for them
    /// alone.
    pub fn has_columns(
        &self,
        plan: &Plan,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
        options: &PlannerOptions,
    ) -> bool {
        self.own(plan, parameters, catalog, options).is_some()
    }

    /// True if these values have a plan that is as good as `plan`, which is for them alone.
    pub fn is_like(
        &self,
        plan: &Plan,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
        options: &PlannerOptions,
    ) -> bool {
        let own = self.own(plan, parameters, catalog, options);
        own.is_some_and(|own| is_as_good(&own, plan))
    }

    /// Its plan for these values, if that has the columns of another one.
    fn own(
        &self,
        plan: &Plan,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
        options: &PlannerOptions,
    ) -> Option<Plan> {
        let own = self.plan(parameters, catalog, options).ok()?;
        (own.root.schema == plan.root.schema).then_some(own)
    }
}

/// True if a plan that is good for many values costs no more than the one for the values at hand,
/// with the making of that.
fn is_as_good(for_all: &Plan, for_one: &Plan) -> bool {
    let planning = PLANNING_US + PLANNING_US_PER_NODE * for_one.node_count as f64;
    for_all.root.cost <= for_one.root.cost * (1.0 + COST_TOLERANCE) + planning
}

/// The query of a statement.
struct Parts<'a> {
    query: Query,
    /// The catalog that it is planned in, if it is about a table that changes.
    target: Option<TargetCatalog<'a>>,
    change: Option<RowChange>,
    locked: Option<Arc<LockedQuery>>,
}

/// The query of a statement, and what is done with its rows; `None` of one that has no plan for all values.
fn parts<'a>(statement: &Statement, catalog: &'a dyn Catalog) -> SqlResult<Option<Parts<'a>>> {
    let parts = match statement {
        Statement::Query(query) if query.row_locks().is_some() => {
            let Some(locked) = LockedQuery::of(query, catalog)? else { return Ok(None) };
            let target = Some(locked.targets(catalog)?);
            let query = locked.query(locked.looked_at_first());
            Parts { query, target, change: None, locked: Some(Arc::new(locked)) }
        }
        Statement::Query(query) => {
            Parts { query: query.clone(), target: None, change: None, locked: None }
        }
        Statement::Insert(insert) => {
            let Some((query, ordinals)) = insert_query(insert, catalog)? else { return Ok(None) };
            let conflict = Conflict::of(insert, catalog)?;
            let change = RowChange { ordinals, conflict, returning: returning(insert, catalog)? };
            Parts { query, target: None, change: Some(change), locked: None }
        }
        Statement::Update(update) => {
            let target = TargetCatalog::new(catalog, &update.table)?;
            let (query, ordinals) = update_query(update, &target)?;
            let returning = returning(update, catalog)?;
            let change = RowChange { ordinals, conflict: None, returning };
            Parts { query, target: Some(target), change: Some(change), locked: None }
        }
        Statement::Delete(delete) => {
            let target = TargetCatalog::new(catalog, &delete.table)?;
            let query = delete_query(delete, &target)?;
            let returning = returning(delete, catalog)?;
            let change = RowChange { ordinals: vec![], conflict: None, returning };
            Parts { query, target: Some(target), change: Some(change), locked: None }
        }
        _ => return Ok(None),
    };
    Ok(Some(parts).filter(|parts| parts.query.row_locks().is_none()))
}

//! Queries of `WITH` whose rows are computed once, however often they are named.
//!
//! As in PostgreSQL these are the queries that are named more than once, those that are volatile, and
//! those that the statement calls `MATERIALIZED`. All others become part of the query that names them.
//! The binder puts one plan wherever the name stands, so that its places are found by identity.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{DataFusionError, ExprSchema, Result};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SubqueryAlias};
use datafusion_sql::sqlparser::ast::{CteAsMaterialized, Query, Visitor};
use plan::Node;
use stdx::{HashMap, HashSet};
use types::SqlResult;

use crate::analyze::tables::WorkTable;
use crate::options::PlannerOptions;
use crate::parse::object_name::identifier;
use crate::parse::set_functions::SERIES;
use crate::physical::BoundScan;
use crate::physical::shared::SharedQuery;
use crate::walk::Walk;
use crate::walk::nodes::{Nodes, erased, erased_ref};

/// The plan of a shared query, and what those see of it that name it.
pub(crate) fn planned(
    query: &LogicalPlan,
    number: usize,
    name: &str,
    options: &PlannerOptions,
) -> SqlResult<(Arc<SharedQuery>, Node)> {
    planned_with(query, number, name, options, &mut vec![])
}

/// The same of a plan with parameters, whose scans with ranges of them are put behind `scans`.
pub(crate) fn planned_with(
    query: &LogicalPlan,
    number: usize,
    name: &str,
    options: &PlannerOptions,
    scans: &mut Vec<BoundScan>,
) -> SqlResult<(Arc<SharedQuery>, Node)> {
    let (source, node) = crate::physical::shared_query(query, number, name, options, scans)?;
    Ok((Arc::new(source), node))
}

/// The plan with these sources in the places of those that it scans, by their numbers.
pub(crate) fn with_sources(plan: LogicalPlan, sources: &[Arc<SharedQuery>]) -> Result<LogicalPlan> {
    if sources.is_empty() {
        return Ok(plan);
    }
    plan.transform_down(erased(&mut |node| match node {
        LogicalPlan::TableScan(mut scan) => {
            let number = scan.source.downcast_ref::<SharedQuery>().map(|shared| shared.number);
            let source = number.and_then(|number| sources.get(number));
            let is_shared = source.is_some();
            if let Some(source) = source {
                scan.source = source.clone();
            }
            let scan = LogicalPlan::TableScan(scan);
            Ok(if is_shared { Transformed::yes(scan) } else { Transformed::no(scan) })
        }
        other => Ok(Transformed::no(other)),
    }))
    .data()
}

/// What a statement says of the queries of its `WITH`, by their names.
#[derive(Default)]
pub(crate) struct Named(HashMap<String, Option<CteAsMaterialized>>);

impl Named {
    pub(crate) fn of(query: &Query) -> Named {
        let mut named = Named::default();
        // The visit itself never stops.
        let _ = query.walk(&mut named);
        named
    }
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let wish = self.0.entry(identifier(&cte.alias.name)).or_default();
            // Of several of one name, one that is to be kept apart decides: that is never wrong.
            if !matches!(wish, Some(CteAsMaterialized::Materialized)) {
                wish.clone_from(&cte.materialized);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Plans a shared query, which is given with its name.
type Finish<'a> = dyn FnMut(LogicalPlan, &str) -> SqlResult<Arc<SharedQuery>> + 'a;

/// Takes the shared queries out of a bound plan. `finish` plans one of them; those that it names come before
/// it.
pub(crate) fn take_out(
    plan: LogicalPlan,
    named: &Named,
    finish: &mut Finish<'_>,
) -> Result<LogicalPlan> {
    let places = places(&plan, named)?;
    Taking { places, sources: HashMap::default(), finish }.without(plan)
}

/// The plan behind a name, by its address.
type Identity = *const LogicalPlan;

/// The plans that are to be shared. Each is held, so that no other plan can get its address.
fn places(plan: &LogicalPlan, named: &Named) -> Result<HashMap<Identity, Arc<LogicalPlan>>> {
    let mut seen: HashMap<Identity, (SubqueryAlias, HashSet<Identity>)> = HashMap::default();
    plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        if let LogicalPlan::SubqueryAlias(alias) = node {
            let (_, from) = seen
                .entry(Arc::as_ptr(&alias.input))
                .or_insert_with(|| (alias.clone(), HashSet::default()));
            // An expression that was copied has the same place as before.
            from.insert(std::ptr::from_ref(node));
        }
        Ok(TreeNodeRecursion::Continue)
    }))?;
    let mut shared = HashMap::default();
    for (identity, (alias, from)) in seen {
        if is_shared(&alias, from.len(), named)? {
            shared.insert(identity, alias.input);
        }
    }
    Ok(shared)
}

fn is_shared(alias: &SubqueryAlias, place_count: usize, named: &Named) -> Result<bool> {
    let wish = named.0.get(alias.alias.table());
    if place_count < 2 && wish.is_none() {
        return Ok(false);
    }
    let is_recursive = matches!(alias.input.as_ref(), LogicalPlan::RecursiveQuery(_));
    let wanted = match wish {
        Some(Some(CteAsMaterialized::Materialized)) => true,
        // The rounds of a recursion are never part of another query.
        Some(Some(CteAsMaterialized::NotMaterialized)) => place_count > 1 && is_recursive,
        _ => place_count > 1,
    };
    let query = alias.input.as_ref();
    Ok((wanted || has(query, is_random)?) && stands_alone(query)?)
}

/// Whether an expression may have another value each time. A series has not: it is volatile so that planning does
/// not compute it.
fn is_random(expr: &Expr) -> bool {
    let is_such = |e: &Expr| match e {
        Expr::ScalarFunction(call) => e.is_volatile_node() && call.name() != SERIES,
        other => other.is_volatile_node(),
    };
    expr.exists(|e| Ok(is_such(e))).unwrap_or(true)
}

/// Whether a query has the same rows wherever in the statement it stands: it names no columns of queries
/// around it, and no rows of a recursion's last round.
fn stands_alone(query: &LogicalPlan) -> Result<bool> {
    let mut open = vec![];
    let mut works = vec![];
    query.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        match node {
            LogicalPlan::TableScan(scan) => {
                works.extend(scan.source.downcast_ref::<WorkTable>().map(|w| w.name.clone()));
            }
            LogicalPlan::RecursiveQuery(recursion) => open.push(recursion.name.clone()),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    }))?;
    Ok(works.iter().all(|work| open.contains(work)) && outer_columns(query)?.is_empty())
}

/// The columns of queries around a plan that it names, itself or in its own queries.
fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Expr>> {
    let mut found = plan.all_out_ref_exprs();
    plan.apply(|node| {
        let own = merge_schema(&node.inputs());
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            expr.apply(|e| {
                let inner = match e {
                    Expr::ScalarSubquery(s) => Some(s),
                    Expr::Exists(exists) => Some(&exists.subquery),
                    Expr::InSubquery(member) => Some(&member.subquery),
                    Expr::SetComparison(set) => Some(&set.subquery),
                    _ => None,
                };
                if let Some(inner) = inner {
                    let outer = outer_columns(&inner.subquery)?.into_iter();
                    found.extend(outer.filter(|e| !is_column_of(e, &own)));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        }))
    })?;
    Ok(found)
}

fn is_column_of(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    match expr {
        Expr::OuterReferenceColumn(_, column) => schema.field_from_column(column).is_ok(),
        _ => false,
    }
}

/// Whether an expression of a plan or of its queries is such.
fn has(plan: &LogicalPlan, is_such: fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            found |= is_such(expr);
            Ok(TreeNodeRecursion::Continue)
        }))
    }))?;
    Ok(found)
}

struct Taking<'a, 'f> {
    places: HashMap<Identity, Arc<LogicalPlan>>,
    /// The shared queries that have been planned.
    sources: HashMap<Identity, Arc<SharedQuery>>,
    finish: &'a mut Finish<'f>,
}

impl Taking<'_, '_> {
    /// The plan with scans of the shared queries in their places.
    fn without(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        plan.transform_down_with_subqueries(erased(&mut |node| match node {
            LogicalPlan::SubqueryAlias(alias)
                if self.places.contains_key(&Arc::as_ptr(&alias.input)) =>
            {
                let scan = self.scan(&alias)?;
                Ok(Transformed::new(scan, true, TreeNodeRecursion::Jump))
            }
            other => Ok(Transformed::no(other)),
        }))
        .data()
    }

    fn scan(&mut self, alias: &SubqueryAlias) -> Result<LogicalPlan> {
        let source = self.source(Arc::as_ptr(&alias.input), alias.alias.table())?;
        let scan = LogicalPlanBuilder::scan(alias.alias.clone(), source, None)?;
        scan.alias(alias.alias.clone())?.build()
    }

    fn source(&mut self, identity: Identity, name: &str) -> Result<Arc<SharedQuery>> {
        if let Some(source) = self.sources.get(&identity) {
            return Ok(Arc::clone(source));
        }
        let query = self.places[&identity].as_ref().clone();
        let query = self.without(query)?;
        let source = (self.finish)(query, name)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.sources.insert(identity, Arc::clone(&source));
        Ok(source)
    }
}

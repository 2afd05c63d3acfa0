//! Logical to physical plans: access paths, join methods, and the rest one to one.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{Expr as Logical, LogicalPlan};
use plan::expr::Expr;
use plan::{Node, Operator, Plan};
use types::{SqlError, SqlResult};

use crate::cost::Costs;
use crate::error::from_library;
use crate::estimate::Profile;
use crate::expr::scalar;
use crate::options::PlannerOptions;
pub(crate) use bound::BoundScan;

pub(crate) mod aggregate;
pub(crate) mod base;
pub(crate) mod bound;
pub(crate) mod computed;
pub(crate) mod grouped;
mod hash_join;
pub(crate) mod join;
pub(crate) mod lookup_join;
pub(crate) mod narrow;
pub(crate) mod parts;
pub(crate) mod ranges;
pub(crate) mod recursion;
pub(crate) mod restrictions;
pub(crate) mod row_bounds;
mod rows;
pub(crate) mod scan;
pub(crate) mod semi_join;
pub(crate) mod shared;
pub(crate) mod sort;
pub(crate) mod unnest;
pub(crate) mod window;

/// A physical node with the names of its columns and the estimates of its rows.
pub(crate) struct Built {
    /// The node; ids are given at the end.
    pub node: Node,
    /// The names.
    pub schema: DFSchemaRef,
    /// The estimates.
    pub profile: Profile,
}

/// Translates logical plans.
pub(crate) struct Physical<'a> {
    /// The cost model.
    pub costs: Costs<'a>,
    /// How many more semi joins may be built both ways: each doubles the work below it.
    alternatives: Cell<u32>,
    /// What the sort above the next scan wants of it.
    first: Cell<Option<WantedFirst>>,
    /// Scans whose ranges follow from parameters.
    bound: RefCell<Vec<BoundScan>>,
}

/// The first rows of a scan by the order of some of its columns, all in one direction.
pub(crate) struct WantedFirst {
    /// Table ordinals, most significant first.
    pub columns: Vec<usize>,
    /// Largest values first.
    pub descending: bool,
    /// How many rows.
    pub count: usize,
}

/// Semi joins of one plan that are built both ways.
const ALTERNATIVES_MAX: u32 = 8;

impl<'a> Physical<'a> {
    /// A translator for these options.
    pub fn new(options: &'a PlannerOptions) -> Physical<'a> {
        Physical {
            costs: Costs(options),
            alternatives: Cell::new(ALTERNATIVES_MAX),
            first: Cell::new(None),
            bound: RefCell::default(),
        }
    }
}

pub(crate) use shared::shared_query;

/// The physical plan of an optimised logical plan, over the rows of queries that are computed once.
pub(crate) fn plan(
    logical: &LogicalPlan,
    shared: Vec<Node>,
    options: &PlannerOptions,
) -> SqlResult<Plan> {
    Ok(bound(logical, shared, options, vec![])?.0)
}

/// The same with the scans whose ranges follow from parameters, by their slots: behind those of the
/// shared queries.
pub(crate) fn bound(
    logical: &LogicalPlan,
    shared: Vec<Node>,
    options: &PlannerOptions,
    scans: Vec<BoundScan>,
) -> SqlResult<(Plan, Vec<BoundScan>)> {
    let physical = Physical { bound: RefCell::new(scans), ..Physical::new(options) };
    let mut root = physical.build(logical)?.node;
    let scans = physical.bound.take();
    shared::attach(&mut root, &mut shared.into_iter().map(Some).collect::<Vec<_>>());
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    recursion::bind_work_tables(&mut root, &mut vec![]);
    Ok((Plan { root: Arc::new(root), node_count, bindings: None, program: None }, scans))
}

/// Gives ids in pre-order.
fn number(node: &mut Node, next: &mut usize) {
    node.id = *next;
    *next += 1;
    node.children_mut().into_iter().for_each(|child| number(child, next));
}

impl Physical<'_> {
    /// Translates one node and all below it.
    pub fn build(&self, plan: &LogicalPlan) -> SqlResult<Built> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.build(&alias.input)?;
                Ok(Built { schema: Arc::clone(&alias.schema), ..input })
            }
            LogicalPlan::Projection(p) => self.project(&p.expr, &p.input, &p.schema),
            LogicalPlan::Filter(filter) => self.filter(&filter.predicate, &filter.input),
            LogicalPlan::Join(join) => self.join_either_way(join),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(datafusion_expr::Distinct::All(input)) => self.distinct(input),
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::EmptyRelation(empty) => self.empty(empty),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::Window(window) => self.window(window),
            LogicalPlan::RecursiveQuery(recursion) => self.recursion(recursion),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            other => {
                let text = other.display().to_string();
                let word = text.split([':', ' ']).next().unwrap_or_default().to_string();
                Err(SqlError::unsupported(format!("the operation {word}")))
            }
        }
    }

    fn filter(&self, predicate: &Logical, input: &LogicalPlan) -> SqlResult<Built> {
        let input = self.build(input)?;
        let compiled = scalar::compile(predicate, &input.schema)?;
        let named = crate::estimate::Named { schema: &input.schema, profile: &input.profile };
        let share = crate::estimate::conjunction(std::iter::once(predicate), &named);
        let rows = (input.profile.rows * share).max(1.0).min(input.profile.rows.max(1.0));
        let cost = input.node.cost + self.costs.output(input.profile.rows);
        let profile = Profile { rows, ..input.profile };
        let operator = Operator::Filter { input: Box::new(input.node), predicate: compiled };
        Ok(built(operator, input.schema, profile, cost))
    }

    fn project(
        &self,
        exprs: &[Logical],
        input: &LogicalPlan,
        schema: &DFSchemaRef,
    ) -> SqlResult<Built> {
        let input = self.build(input)?;
        let columns: Vec<Option<usize>> =
            exprs.iter().map(|e| column_position(e, &input.schema)).collect();
        if let Some(positions) = columns.iter().copied().collect::<Option<Vec<usize>>>() {
            return Ok(self.select_columns(input, &positions, schema));
        }
        let input = self.keep_used(input, exprs.iter());
        let compiled = exprs
            .iter()
            .map(|e| scalar::compile(e, &input.schema))
            .collect::<SqlResult<Vec<_>>>()?;
        let profile = projected(exprs, &input);
        let cost = input.node.cost + self.costs.output(profile.rows);
        let types = with_types(schema, &compiled);
        let operator =
            Operator::Project { input: Box::new(input.node), exprs: compiled, as_words: false };
        Ok(built_as(operator, types, Arc::clone(schema), profile, cost))
    }

    /// These columns of the input: by its own output list where it has one, else by a projection.
    fn select_columns(&self, input: Built, positions: &[usize], schema: &DFSchemaRef) -> Built {
        let profile = input.profile.project(positions);
        if positions.iter().copied().eq(0..input.profile.columns.len()) {
            let names = renamed(&input.node.schema, schema);
            let node = input.node.titled(names);
            return Built { node, schema: Arc::clone(schema), profile };
        }
        match narrow::narrow(input.node, positions) {
            Ok(node) => {
                let names = renamed(&node.schema, schema);
                Built { node: node.titled(names), schema: Arc::clone(schema), profile }
            }
            Err(node) => {
                let exprs: Vec<Expr> = positions.iter().map(|&i| column_of(&node, i)).collect();
                let cost = node.cost + self.costs.output(profile.rows);
                let types = with_types(schema, &exprs);
                let operator = Operator::Project { input: Box::new(*node), exprs, as_words: false };
                built_as(operator, types, Arc::clone(schema), profile, cost)
            }
        }
    }

    /// Drops the columns that none of the expressions uses, where that costs nothing.
    fn keep_used<'e>(&self, input: Built, exprs: impl Iterator<Item = &'e Logical>) -> Built {
        let mut used = vec![false; input.profile.columns.len()];
        for expr in exprs {
            for column in expr.column_refs() {
                if let Some(i) = input.schema.maybe_index_of_column(column) {
                    used[i] = true;
                }
            }
        }
        let positions: Vec<usize> = (0..used.len()).filter(|&i| used[i]).collect();
        if positions.len() == used.len() {
            return input;
        }
        match narrow::narrow(input.node, &positions) {
            Ok(node) => {
                let schema = narrow::names(&input.schema, &positions);
                Built { node, schema, profile: input.profile.project(&positions) }
            }
            Err(node) => Built { node: *node, schema: input.schema, profile: input.profile },
        }
    }
}

/// The position of a plain column, whatever it is renamed to.
fn column_position(expr: &Logical, schema: &DFSchema) -> Option<usize> {
    match expr {
        Logical::Alias(alias) => column_position(&alias.expr, schema),
        Logical::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}

fn column_of(node: &Node, position: usize) -> Expr {
    let field = node.schema.field(position);
    Expr::column(position, field.name(), field.data_type().clone())
}

/// Estimates of computed columns.
fn projected(exprs: &[Logical], input: &Built) -> Profile {
    use crate::estimate::ColumnProfile;
    let rows = input.profile.rows;
    let column = |expr: &Logical| match column_position(expr, &input.schema) {
        Some(i) => input.profile.columns[i].clone(),
        None => {
            let used = expr.column_refs();
            let positions = used.iter().filter_map(|c| input.schema.maybe_index_of_column(c));
            let domain = positions.map(|i| input.profile.columns[i].domain).fold(1.0, f64::max);
            ColumnProfile::of_domain(domain.min(rows.max(1.0)))
        }
    };
    let mut profile = Profile { rows, columns: exprs.iter().map(column).collect(), keys: vec![] };
    let positions: Vec<Option<usize>> =
        exprs.iter().map(|e| column_position(e, &input.schema)).collect();
    for key in &input.profile.keys {
        let place = |k: &usize| positions.iter().position(|p| *p == Some(*k));
        if let Some(columns) = key.columns.iter().map(place).collect::<Option<Vec<_>>>() {
            profile.keys.push(crate::estimate::KeyProfile { columns, domain: key.domain });
        }
    }
    profile
}

/// A node whose types are those of the logical schema.
fn built(operator: Operator, schema: DFSchemaRef, profile: Profile, cost: f64) -> Built {
    let types = nullable(schema.as_arrow());
    built_as(operator, types, schema, profile, cost)
}

fn built_as(
    operator: Operator,
    types: SchemaRef,
    schema: DFSchemaRef,
    profile: Profile,
    cost: f64,
) -> Built {
    let rows = profile.rows;
    Built { node: Node::new(operator, types, rows, cost), schema, profile }
}

/// Above scans any column may become null: the library's opinion is not worth a failed batch.
fn nullable(schema: &Schema) -> SchemaRef {
    let field = |f: &Arc<Field>| Field::new(f.name(), f.data_type().clone(), true);
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The names of `names` with the types of `exprs`.
fn with_types(names: &DFSchema, exprs: &[Expr]) -> SchemaRef {
    let pairs = names.fields().iter().zip(exprs);
    let fields: Vec<Field> =
        pairs.map(|(f, e)| Field::new(f.name(), e.data_type().clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

/// The types of `types` with the names of `names`.
fn renamed(types: &Schema, names: &DFSchema) -> SchemaRef {
    let pairs = types.fields().iter().zip(names.fields().iter());
    let fields: Vec<Field> =
        pairs.map(|(t, n)| Field::new(n.name(), t.data_type().clone(), t.is_nullable())).collect();
    Arc::new(Schema::new(fields))
}

/// The names of two inputs side by side.
fn joined_names(left: &DFSchema, right: &DFSchema) -> SqlResult<DFSchema> {
    left.join(right).map_err(from_library)
}

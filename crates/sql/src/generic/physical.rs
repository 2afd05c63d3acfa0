//! Physical plans that are kept for all values: an execution evaluates what is made of its
//! parameters alone, finds the ranges of scans, and runs the plan as it is.
//!
//! Parameters stay in the logical plan as functions without arguments
//! ([`crate::expr::runtime_parameter`]), so whoever plans sees a constant only where it asks for
//! one that may change. Of these there are two: key ranges, which are found again by the code that
//! has found them first, and keys of look-ups. Numbers of rows are part of what a plan is kept for.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan};
use plan::{Bindings, Node, Parameters, Plan};
use types::{Datum, SqlError, SqlResult, zone};

use super::admitted::{is_made_of_parameters, is_parameter};
use super::made::{Made, evaluated, of_number};
use super::{Generic, is_as_good};
use crate::analyze::typing::elements::is_number;
use crate::cast::exact::exactly;
use crate::catalog::function::Calls;
use crate::error::from_library;
use crate::expr::runtime_parameter::parameter;
use crate::functions::scalar::arrays::list_of;
use crate::logical::run::limited;
use crate::optimize::shared;
use crate::optimize::values::{is_comparison, is_limited_by_parameters, read_by};
use crate::options::PlannerOptions;
use crate::parse::parameter::Parameter;
use crate::physical::BoundScan;
use crate::physical::shared::SharedQuery;
use crate::planner;
use crate::walk::nodes::{Nodes, erased};

/// A plan with parameters that costs more is made for its values: it takes longer than planning,
/// and conditions on constants are tested faster than those on parameters.
const COST_MAX_US: f64 = 10_000.0;

/// Planning takes so much longer for each byte of values: an element of a list becomes an
/// expression, which many look at.
const PLANNING_US_PER_BYTE: f64 = 2.0;

/// A physical plan for all values.
pub(super) struct PhysicalPlan {
    plan: Plan,
    /// Expressions of parameters alone, by the numbers of their run-time parameters.
    made: Vec<Made>,
    scans: Vec<BoundScan>,
    /// Parameters that have to be these, by their numbers: numbers of rows.
    fixed: Vec<(usize, Datum)>,
}

impl PhysicalPlan {
    /// The plan, if there is one that does the same as `own`, which was made for these values.
    pub(super) fn of(
        generic: &Generic,
        given: &[Parameter],
        own: &Plan,
        options: &PlannerOptions,
    ) -> SqlResult<Option<PhysicalPlan>> {
        let bytes = given.iter().map(Parameter::bytes).sum::<usize>() as f64;
        let cost_max = COST_MAX_US + PLANNING_US_PER_BYTE * bytes;
        if generic.parameter_count > 0 && own.root.cost > cost_max {
            return Ok(None);
        }
        let mut making = Making { given, made: vec![], fixed: vec![] };
        let (mut sources, mut nodes, mut scans) = (vec![], vec![], vec![]);
        for (number, shared) in generic.query.shared.iter().enumerate() {
            let Some(query) = making.over(&shared.plan, &sources)? else { return Ok(None) };
            let planned = shared::planned_with(&query, number, &shared.name, options, &mut scans)?;
            sources.push(planned.0);
            nodes.push(planned.1);
        }
        let Some(query) = making.over(&generic.query.plan, &sources)? else { return Ok(None) };
        let (plan, scans) = crate::physical::bound(&query, nodes, options, scans)?;
        if !is_as_good(&plan, own) {
            return Ok(None);
        }
        let mut plan = planner::named(plan, generic.names.clone(), &generic.query.origins);
        plan.program = plan::program(&plan.root, plan.node_count).map(Arc::new);
        // Nobody else has the plan yet.
        Arc::get_mut(&mut plan.root).into_iter().for_each(Node::forget_ranges);
        Ok(Some(PhysicalPlan { plan, made: making.made, scans, fixed: making.fixed }))
    }

    /// The columns of its rows.
    pub(super) fn schema(&self) -> SchemaRef {
        self.plan.root.schema.clone()
    }

    /// True if the numbers of rows are those that it was made for.
    pub(super) fn is_for(&self, given: &[Parameter]) -> bool {
        let is_same = |(number, value): &(usize, Datum)| {
            given.get(*number).is_some_and(|given| given.value == *value)
        };
        self.fixed.iter().all(is_same)
    }

    /// The plan with these values; `None` where they need one of their own.
    pub(super) fn with_values(
        &self,
        given: &[Parameter],
        calls: Option<Arc<Calls>>,
    ) -> Option<Plan> {
        let values = self.made.iter().map(|made| made.value(given)).collect::<Option<Vec<_>>>()?;
        let ranges = self.scans.iter().map(|scan| scan.ranges(&values));
        let ranges = ranges.collect::<Option<Vec<_>>>()?;
        let calls = calls.map(|calls| calls as Arc<dyn Any + Send + Sync>);
        let parameters = Parameters { values: values.into(), context: zone::current(), calls };
        let bindings = Bindings { parameters, ranges };
        let (root, node_count) = (Arc::clone(&self.plan.root), self.plan.node_count);
        let program = self.plan.program.clone();
        Some(Plan { root, node_count, bindings: Some(Arc::new(bindings)), program })
    }
}

/// A logical plan whose parameters become those of run time.
struct Making<'a> {
    given: &'a [Parameter],
    made: Vec<Made>,
    fixed: Vec<(usize, Datum)>,
}

impl Making<'_> {
    /// As [`Making::logical`], of a query over those that are computed once.
    fn over(
        &mut self,
        query: &LogicalPlan,
        sources: &[Arc<SharedQuery>],
    ) -> SqlResult<Option<LogicalPlan>> {
        let query = shared::with_sources(query.clone(), sources).map_err(from_library)?;
        self.logical(query)
    }

    /// The plan with run-time parameters; `None` where a value decides more than they can say.
    fn logical(&mut self, plan: LogicalPlan) -> SqlResult<Option<LogicalPlan>> {
        let is_limited = is_limited_by_parameters(&plan).map_err(from_library)?;
        let mut is_whole = true;
        let placed = plan.transform_up(|node| {
            let preserver = NamePreserver::new(&node);
            let is_limit = matches!(node, LogicalPlan::Limit(_));
            let schema = read_by(&node)?;
            node.map_expressions(erased(&mut |expr: Expr| {
                if !expr.exists(|part| Ok(is_parameter(part)))? {
                    return Ok(Transformed::no(expr));
                }
                let name = preserver.save(&expr);
                let placed = match is_limit {
                    true => self.fixed(expr)?,
                    false => self.placed(expr, &schema)?,
                };
                is_whole &= !placed.exists(|part| Ok(is_parameter(part)))?;
                Ok(Transformed::yes(name.restore(placed)))
            }))
        });
        let placed = placed.data().map_err(from_library)?;
        match (is_whole, is_limited) {
            (false, _) => Ok(None),
            (true, false) => Ok(Some(placed)),
            (true, true) => limited(placed).map(Some),
        }
    }

    /// An expression that is a constant of this execution, and of those with the same parameters.
    fn fixed(&mut self, expr: Expr) -> Result<Expr> {
        expr.apply(|part| {
            if let Expr::Placeholder(placeholder) = part
                && let Some((number, value)) = of_number(&placeholder.id, self.given)
            {
                self.fixed.push((number, value.value.clone()));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(match evaluated(&expr, self.given)? {
            Some(value) => Expr::Literal(value, None),
            None => expr,
        })
    }

    /// An expression with run-time parameters in the places of its largest parts that are made of
    /// parameters alone.
    fn placed(&mut self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        expr.transform_down(|part| {
            let compared = match self.compared(&part, schema)? {
                None => self.compared_with_array(&part, schema)?,
                compared => compared,
            };
            if let Some(compared) = compared {
                return Ok(Transformed::new(compared, true, TreeNodeRecursion::Jump));
            }
            match is_made_of_parameters(&part)? {
                true => self.part(part),
                false => Ok(Transformed::no(part)),
            }
        })
        .data()
    }

    fn part(&mut self, part: Expr) -> Result<Transformed<Expr>> {
        match evaluated(&part, self.given)? {
            Some(value) if !value.is_null() => {
                let placed = self.parameter(part, value, false);
                Ok(Transformed::new(placed, true, TreeNodeRecursion::Jump))
            }
            Some(_) => Err(without_value()),
            // It may have another value for each row.
            None => Ok(Transformed::no(part)),
        }
    }

    /// A column that is compared as a wider type is compared with the value as one of its own.
    fn compared(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return Ok(None) };
        let (column, value, op) = match (widened(left), widened(right), op.swap()) {
            (Some(column), None, _) => (column, right, *op),
            (None, Some(column), Some(op)) => (column, left, op),
            _ => return Ok(None),
        };
        let ty = column.get_type(schema)?;
        if !is_whole_number(&ty) || !is_comparison(op) || !is_made_of_parameters(value)? {
            return Ok(None);
        }
        let found = evaluated(value, self.given)?.and_then(|value| exactly(&value, &ty));
        let Some(found) = found else { return Ok(None) };
        let value = self.parameter(value.as_ref().clone(), found, true);
        let (left, right) = (Box::new(column.clone()), Box::new(value));
        Ok(Some(Expr::BinaryExpr(BinaryExpr { left, op, right })))
    }

    /// A value that is compared with the elements of an array has elements of its type.
    fn compared_with_array(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
        let Expr::ScalarFunction(call) = expr else { return Ok(None) };
        let [value, array] = call.args.as_slice() else { return Ok(None) };
        let is_it = matches!(call.func.name(), "any_eq" | "all_ne");
        if !is_it || is_made_of_parameters(value)? || !is_made_of_parameters(array)? {
            return Ok(None);
        }
        let value = widened(value).unwrap_or(value);
        let ty = value.get_type(schema)?;
        let Some(ScalarValue::List(list)) = evaluated(array, self.given)? else { return Ok(None) };
        let is_alike = list.value_type() == ty || is_number(&list.value_type()) && is_number(&ty);
        let found = is_alike.then(|| exactly(&ScalarValue::List(list), &list_of(&ty))).flatten();
        let Some(found) = found else { return Ok(None) };
        let array = self.parameter(array.clone(), found, true);
        let value = self.placed(value.clone(), schema)?;
        let call = ScalarFunction::new_udf(Arc::clone(&call.func), vec![value, array]);
        Ok(Some(Expr::ScalarFunction(call)))
    }

    fn parameter(&mut self, expr: Expr, value: ScalarValue, is_converted: bool) -> Expr {
        let ty = value.data_type();
        let is_it = |made: &Made| made.is(&expr, &ty, is_converted);
        let number = self.made.iter().position(is_it).unwrap_or(self.made.len());
        if number == self.made.len() {
            self.made.push(Made::new(expr, ty, is_converted, self.given));
        }
        parameter(number, value)
    }
}

/// The column behind a cast from one type of whole numbers to a wider one, or to the same.
fn widened(expr: &Expr) -> Option<&Expr> {
    let Expr::Cast(Cast { expr, field }) = expr else { return None };
    let is_column = matches!(**expr, Expr::Column(_));
    (is_column && *field.data_type() == DataType::Int64).then_some(expr)
}

fn is_whole_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Int16 | DataType::Int32 | DataType::Int64)
}

fn without_value() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::internal("a parameter has no value")))
}

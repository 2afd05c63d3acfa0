//! Scalar subqueries return at most one row: the library would join all of them.
//!
//! Among the outputs, the groups and the aggregates of a query a subquery's rows are counted where its value is used, and not where it
//! is computed: what no row asks for may have as many rows as it likes. Elsewhere the aggregate that
//! gathers them refuses the second, for a value that is compared must be a plain column to the rules
//! that choose joins.

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{Constraint, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Distinct, Expr, LogicalPlan, LogicalPlanBuilder,
    Operator, Signature, TableScan, Volatility,
};
use datafusion_optimizer::AnalyzerRule;
use types::{SqlError, SqlState};

pub(crate) use self::two::{only_value, two_values};
use super::LIBRARY;

mod two;

/// Puts an aggregate that refuses a second row over scalar subqueries that might have one.
#[derive(Debug)]
pub(crate) struct SingleRow;

static SINGLE_VALUE: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
    Arc::new(AggregateUDF::from(SingleValue {
        signature: Signature::any(1, Volatility::Immutable),
    }))
});

impl AnalyzerRule for SingleRow {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let is_output = matches!(
                node,
                LogicalPlan::Projection(_)
                    | LogicalPlan::Aggregate(_)
                    | LogicalPlan::Distinct(Distinct::On(_))
            );
            node.map_expressions(|expr| guarded(expr, is_output))
        })
        .data()
    }

    fn name(&self) -> &str {
        "single_row"
    }
}

/// `single_value(x)`: the aggregate that refuses a second row.
pub(crate) fn single_value() -> Arc<AggregateUDF> {
    Arc::clone(&SINGLE_VALUE)
}

/// An expression with its subqueries guarded, under its own name.
fn guarded(expr: Expr, is_output: bool) -> Result<Transformed<Expr>> {
    // Of several keys none has a name of its own.
    let is_output = is_output && !matches!(expr, Expr::GroupingSet(_));
    let (qualifier, name) = expr.qualified_name();
    let guarded = expr.transform_up(|expr| guard(expr, is_output))?;
    let is_renamed = is_output && guarded.transformed && guarded.data.qualified_name().1 != name;
    if is_renamed {
        return guarded.map_data(|expr| Ok(expr.alias_qualified(qualifier, name)));
    }
    Ok(guarded)
}

fn guard(expr: Expr, is_output: bool) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(mut subquery) = expr else { return Ok(Transformed::no(expr)) };
    if at_most_one(&subquery.subquery) {
        subquery.subquery = Arc::new(or_null(Arc::unwrap_or_clone(subquery.subquery))?);
        return Ok(Transformed::yes(Expr::ScalarSubquery(subquery)));
    }
    if !subquery.outer_ref_columns.is_empty() && !by_key(&subquery.subquery) {
        // Other groups than those asked for may have more rows: no error may come of them. It is
        // unnested by us, with a check of the groups that are asked for.
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let input = Arc::unwrap_or_clone(subquery.subquery);
    let column = input.schema().columns().swap_remove(0);
    let name = column.name.clone();
    let arguments = vec![Expr::Column(column)];
    let function = if is_output { two_values() } else { single_value() };
    let call = AggregateFunction::new_udf(function, arguments, false, None, vec![], None);
    let aggregate = Expr::AggregateFunction(call).alias(name);
    let guarded = LogicalPlanBuilder::from(input).aggregate(Vec::<Expr>::new(), [aggregate])?;
    subquery.subquery = Arc::new(guarded.build()?);
    let value = Expr::ScalarSubquery(subquery);
    Ok(Transformed::yes(if is_output { only_value(value) } else { value }))
}

/// The plan with a column that may be null where it may have no row: the library takes a subquery for never
/// null when its column is.
fn or_null(plan: LogicalPlan) -> Result<LogicalPlan> {
    if exactly_one(&plan) || plan.schema().field(0).is_nullable() {
        return Ok(plan);
    }
    let column = plan.schema().columns().swap_remove(0);
    let name = column.name.clone();
    let function = LIBRARY.scalar("or_null");
    let function =
        function.ok_or_else(|| DataFusionError::Internal("no function or_null".into()))?;
    let value = function.call(vec![Expr::Column(column)]).alias(name);
    LogicalPlanBuilder::from(plan).project([value])?.build()
}

/// Whether a plan has one row whatever the data.
fn exactly_one(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(p) => exactly_one(&p.input),
        LogicalPlan::SubqueryAlias(a) => exactly_one(&a.input),
        LogicalPlan::Sort(s) => s.fetch != Some(0) && exactly_one(&s.input),
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Values(v) => v.values.len() == 1,
        _ => false,
    }
}

/// Whether a plan has at most one row whatever the data.
pub(crate) fn at_most_one(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(p) => at_most_one(&p.input),
        LogicalPlan::SubqueryAlias(a) => at_most_one(&a.input),
        LogicalPlan::Filter(f) => at_most_one(&f.input),
        LogicalPlan::Sort(s) => s.fetch.is_some_and(|n| n <= 1) || at_most_one(&s.input),
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Values(v) => v.values.len() <= 1,
        LogicalPlan::Limit(l) => {
            let one = Expr::Literal(ScalarValue::Int64(Some(1)), None);
            l.fetch.as_deref() == Some(&one) || at_most_one(&l.input)
        }
        _ => false,
    }
}

/// Whether a plan selects from one table by equality of a whole key.
fn by_key(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(p) => by_key(&p.input),
        LogicalPlan::SubqueryAlias(a) => by_key(&a.input),
        LogicalPlan::Filter(f) => match scanned(&f.input) {
            Some(scan) => names_key(&f.predicate, scan),
            None => false,
        },
        _ => false,
    }
}

fn scanned(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::SubqueryAlias(alias) => scanned(&alias.input),
        _ => None,
    }
}

fn names_key(predicate: &Expr, scan: &TableScan) -> bool {
    let mut fixed: Vec<&str> = Vec::new();
    for part in split_conjunction(predicate) {
        let Expr::BinaryExpr(b) = part else { continue };
        if b.op != Operator::Eq {
            continue;
        }
        for (column, value) in [(&b.left, &b.right), (&b.right, &b.left)] {
            if let Expr::Column(c) = column.as_ref()
                && value.column_refs().is_empty()
            {
                fixed.push(&c.name);
            }
        }
    }
    let schema = scan.source.schema();
    let is_fixed = |i: &usize| fixed.contains(&schema.field(*i).name().as_str());
    let Some(constraints) = scan.source.constraints() else { return false };
    constraints.iter().any(|constraint| match constraint {
        Constraint::PrimaryKey(key) | Constraint::Unique(key) => key.iter().all(is_fixed),
    })
}

fn two_rows() -> SqlError {
    let message = "more than one row returned by a subquery used as an expression";
    SqlError::new(SqlState::CARDINALITY_VIOLATION, message)
}

/// `single_value(x)`: x of the only row, null of none, an error of more.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleValue {
    signature: Signature,
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        "single_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let value = ScalarValue::try_new_null(args.return_field.data_type())?;
        Ok(Box::new(Single { value, count: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = Field::new("value", args.return_field.data_type().clone(), true);
        Ok(vec![Arc::new(value), Arc::new(Field::new("count", DataType::Int64, false))])
    }
}

#[derive(Debug)]
struct Single {
    value: ScalarValue,
    count: i64,
}

impl Single {
    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.count > 0 {
            return Err(DataFusionError::External(Box::new(two_rows())));
        }
        self.value = ScalarValue::try_from_array(values, row)?;
        self.count = 1;
        Ok(())
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        (0..values[0].len()).try_for_each(|row| self.add(&values[0], row))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::Int64(Some(self.count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states[0].len() {
            if ScalarValue::try_from_array(&states[1], row)? == ScalarValue::Int64(Some(1)) {
                self.add(&states[0], row)?;
            }
        }
        Ok(())
    }
}

//! Scalar subqueries return at most one row: the library would join all of them.
//!
//! A subquery's rows are counted where its value is used, and not where it is computed: what no row asks
//! for may have as many rows as it likes. Where a column is equal to a subquery, which the rules that
//! choose joins make a key, and in windows the aggregate that gathers the rows refuses the second.

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Constraint, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Distinct, Expr, LogicalPlan, LogicalPlanBuilder,
    Operator, Signature, Subquery, TableScan, Volatility, when,
};
use datafusion_optimizer::AnalyzerRule;
use types::{SqlError, SqlState};

use crate::analyze::existence::exactly_one;
use crate::functions::library::LIBRARY;
use crate::walk::nodes::{Nodes, erased};
use two::{only_value, two_values};

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
        plan.transform_up_with_subqueries(erased(&mut |node| match node {
            LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => {
                node.map_expressions(erased(&mut guarded_output))
            }
            LogicalPlan::Filter(_) | LogicalPlan::Join(_) => {
                node.map_expressions(erased(&mut guarded_condition))
            }
            LogicalPlan::Sort(_) | LogicalPlan::Values(_) => {
                node.map_expressions(erased(&mut |expr: Expr| guarded(expr, Counted::WhereUsed)))
            }
            _ => node.map_expressions(erased(&mut |expr: Expr| guarded(expr, Counted::AtOnce))),
        }))
        .data()
    }

    fn name(&self) -> &str {
        "single_row"
    }
}

/// The argument of an aggregate that gathers the only row of a subquery, refusing a second.
pub(crate) fn only_value_of(call: &Expr) -> Option<&Expr> {
    let Expr::AggregateFunction(call) = call else { return None };
    let is_plain = call.func == *SINGLE_VALUE && call.params.filter.is_none();
    call.params.args.first().filter(|_| is_plain && !call.params.distinct)
}

/// Whether an equality of a column with a subquery: a join may be chosen that has it as its key.
pub(crate) fn is_key(condition: &Expr) -> bool {
    let Expr::BinaryExpr(pair) = condition else { return false };
    pair.op == Operator::Eq
        && matches!(
            (pair.left.as_ref(), pair.right.as_ref()),
            (Expr::Column(_), Expr::ScalarSubquery(_)) | (Expr::ScalarSubquery(_), Expr::Column(_))
        )
}

/// Where more rows of a subquery than one are refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Where its rows are gathered.
    AtOnce,
    /// Where a row asks for the value.
    WhereUsed,
}

impl Counted {
    /// The aggregate that gathers the rows.
    pub(crate) fn aggregate(self) -> Arc<AggregateUDF> {
        match self {
            Counted::AtOnce => Arc::clone(&SINGLE_VALUE),
            Counted::WhereUsed => two_values(),
        }
    }

    /// The value of what it gathers.
    pub(crate) fn value(self, gathered: Expr) -> Expr {
        match self {
            Counted::AtOnce => gathered,
            Counted::WhereUsed => only_value(gathered),
        }
    }
}

/// An output with its subqueries guarded, under its own name.
fn guarded_output(expr: Expr) -> Result<Transformed<Expr>> {
    // Of several keys none has a name of its own.
    if matches!(expr, Expr::GroupingSet(_)) {
        return guarded(expr, Counted::AtOnce);
    }
    let (qualifier, name) = expr.qualified_name();
    let guarded = guarded(expr, Counted::WhereUsed)?;
    if guarded.transformed && guarded.data.qualified_name().1 != name {
        return guarded.map_data(|expr| Ok(expr.alias_qualified(qualifier, name)));
    }
    Ok(guarded)
}

/// Conditions that are joined by AND, with their subqueries guarded.
fn guarded_condition(expr: Expr) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(pair) if pair.op == Operator::And => {
            Expr::BinaryExpr(pair).map_children(guarded_condition)
        }
        key if is_key(&key) => guarded(key, Counted::AtOnce),
        other => guarded(other, Counted::WhereUsed),
    }
}

fn guarded(expr: Expr, counted: Counted) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::AggregateFunction(call) => asked_by_kept_rows(call),
        other => guard(other, counted),
    })
}

/// The aggregate whose arguments ask for the values of subqueries where its filter keeps the row.
fn asked_by_kept_rows(mut call: AggregateFunction) -> Result<Transformed<Expr>> {
    let is_subquery = |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_)));
    let filter = match &call.params.filter {
        Some(filter) if !filter.exists(is_subquery)? && !filter.is_volatile() => {
            filter.as_ref().clone()
        }
        _ => return Ok(Transformed::no(Expr::AggregateFunction(call))),
    };
    let mut asks = false;
    for argument in &mut call.params.args {
        if argument.exists(is_subquery)? {
            *argument = when(filter.clone(), std::mem::take(argument)).end()?;
            asks = true;
        }
    }
    Ok(Transformed::new_transformed(Expr::AggregateFunction(call), asks))
}

fn guard(expr: Expr, counted: Counted) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(mut subquery) = expr else { return Ok(Transformed::no(expr)) };
    if at_most_one(&subquery.subquery) {
        return or_null(subquery);
    }
    let is_correlated = !subquery.outer_ref_columns.is_empty();
    if is_correlated && !by_key(&subquery.subquery) {
        // Other groups than those asked for may have more rows: no error may come of them. It is
        // unnested by us, with a check of the groups that are asked for.
        return or_null(subquery);
    }
    // Of a key there is one row at most, whoever counts.
    let counted = if is_correlated { Counted::AtOnce } else { counted };
    let input = Arc::unwrap_or_clone(subquery.subquery);
    let column = input.schema().columns().swap_remove(0);
    let name = column.name.clone();
    let arguments = vec![Expr::Column(column)];
    let call =
        AggregateFunction::new_udf(counted.aggregate(), arguments, false, None, vec![], None);
    let aggregate = Expr::AggregateFunction(call).alias(name);
    let guarded = LogicalPlanBuilder::from(input).aggregate(Vec::<Expr>::new(), [aggregate])?;
    subquery.subquery = Arc::new(guarded.build()?);
    Ok(Transformed::yes(counted.value(Expr::ScalarSubquery(subquery))))
}

/// The subquery with a column that may be null where it may have no row: the library takes a subquery for
/// never null when its column is.
fn or_null(mut subquery: Subquery) -> Result<Transformed<Expr>> {
    let plan = &subquery.subquery;
    if exactly_one(plan) || stays_nullable(plan, 0) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let column = plan.schema().columns().swap_remove(0);
    let name = column.name.clone();
    let function = LIBRARY.scalar("or_null");
    let function =
        function.ok_or_else(|| DataFusionError::Internal("no function or_null".into()))?;
    let value = function.call(vec![Expr::Column(column)]).alias(name);
    let plan = LogicalPlanBuilder::from(plan.as_ref().clone()).project([value])?.build()?;
    subquery.subquery = Arc::new(plan);
    Ok(Transformed::yes(Expr::ScalarSubquery(subquery)))
}

/// Whether a column may be null, and rules will not find that it never is: what is computed may turn out to be a
/// constant.
fn stays_nullable(plan: &LogicalPlan, column: usize) -> bool {
    let of = |input: &LogicalPlan, expr: &Expr| match expr {
        Expr::Column(column) => {
            let found = input.schema().maybe_index_of_column(column);
            found.is_some_and(|column| stays_nullable(input, column))
        }
        _ => false,
    };
    match plan {
        LogicalPlan::Projection(p) => of(&p.input, &p.expr[column].clone().unalias_nested().data),
        LogicalPlan::SubqueryAlias(a) => stays_nullable(&a.input, column),
        LogicalPlan::Filter(f) => stays_nullable(&f.input, column),
        LogicalPlan::Sort(s) => stays_nullable(&s.input, column),
        LogicalPlan::Limit(l) => stays_nullable(&l.input, column),
        LogicalPlan::Distinct(Distinct::All(input)) => stays_nullable(input, column),
        LogicalPlan::Aggregate(a) if column < a.group_expr.len() => {
            of(&a.input, &a.group_expr[column])
        }
        // `grouping` becomes a constant.
        LogicalPlan::Aggregate(a) if is_grouping(&a.aggr_expr[column - a.group_expr.len()]) => {
            false
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::TableScan(_) | LogicalPlan::Join(_) => {
            plan.schema().field(column).is_nullable()
        }
        _ => false,
    }
}

fn is_grouping(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_grouping(&alias.expr),
        Expr::AggregateFunction(call) => call.func.name() == "grouping",
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

//! Queries within expressions name columns of the queries around them: these have their types before. So has
//! the first query of a recursion, whose types its step is made over.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, DFSchemaRef, DataFusionError, ExprSchema, Result};
use datafusion_expr::logical_plan::TableScanBuilder;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, RecursiveQuery, cast,
};
use types::numeric::{FREE, QUOTIENT};
use types::{SqlError, SqlState};

use crate::analyze::inference::Inference;
use crate::analyze::tables::WorkTable;
use crate::analyze::typing::numbers::scale;
use crate::analyze::typing::{typed_node, unions};
use crate::walk::nodes::{Nodes, erased};

/// The plan with PostgreSQL's types: inputs first, then the queries in expressions, then the node itself.
pub(crate) fn typed_plan(
    plan: LogicalPlan,
    outer: &mut Vec<DFSchemaRef>,
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    let plan = typed_inputs(plan, outer, inference)?;
    outer.push(Arc::new(merge_schema(&plan.inputs())));
    let mut typed = |query| typed_plan(query, outer, inference).map(Transformed::yes);
    let plan = plan.map_subqueries(erased(&mut typed)).data();
    outer.pop();
    typed_node(plan?, outer, inference)
}

fn typed_inputs(
    plan: LogicalPlan,
    outer: &mut Vec<DFSchemaRef>,
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => {
            let typed = |child| typed_plan(child, outer, inference).map(Transformed::yes);
            LogicalPlan::Union(unions::flat(union)).map_children(typed).data()
        }
        LogicalPlan::RecursiveQuery(query) => typed_recursion(query, outer, inference),
        LogicalPlan::Join(mut join) if is_lateral(&join.right) => {
            let left = typed_plan(Arc::unwrap_or_clone(join.left), outer, inference)?;
            outer.push(Arc::clone(left.schema()));
            let right = typed_plan(Arc::unwrap_or_clone(join.right), outer, inference);
            outer.pop();
            (join.left, join.right) = (Arc::new(left), Arc::new(right?));
            Ok(LogicalPlan::Join(join))
        }
        other => {
            let typed = |child| typed_plan(child, outer, inference).map(Transformed::yes);
            other.map_children(typed).data()
        }
    }
}

fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        LogicalPlan::Subquery(_) => true,
        _ => false,
    }
}

/// The expression with outer columns of the types that they have by now.
pub(crate) fn with_types_of(expr: Expr, outer: &[DFSchemaRef]) -> Result<Expr> {
    if outer.is_empty() {
        return Ok(expr);
    }
    expr.transform_up(|e| match e {
        Expr::OuterReferenceColumn(before, column) => {
            let found = outer.iter().rev().find_map(|s| s.field_from_column(&column).ok());
            let field = found.map_or(before, Arc::clone);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })
    .data()
}

/// The recursion with PostgreSQL's types. The step was bound over those of the library.
fn typed_recursion(
    query: RecursiveQuery,
    outer: &mut Vec<DFSchemaRef>,
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    let mut first = typed_plan(Arc::unwrap_or_clone(query.static_term), outer, inference)?;
    let bound = without_casts(Arc::unwrap_or_clone(query.recursive_term))?;
    let mut typed_over = |first: &LogicalPlan| {
        typed_plan(over(bound.clone(), &query.name, first.schema())?, outer, inference)
    };
    let mut step = typed_over(&first)?;
    check_kinds(&query.name, &first, &step)?;
    // A column that has more digits may give more to others.
    while let Some(columns) = with_more_digits(&step, &first) {
        first = with_any_scale(first, &columns)?;
        step = typed_over(&first)?;
    }
    RecursiveQuery::try_new(query.name, Arc::new(first), Arc::new(step), query.is_distinct)
        .map(LogicalPlan::RecursiveQuery)
}

/// The step without the casts by which the library gives its numbers the types that it has for those of
/// the first query. Casts that were written have names.
fn without_casts(step: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = step else { return Ok(step) };
    let columns = projection
        .expr
        .into_iter()
        .map(|expr| without_cast(expr, projection.input.schema()).map(|expr| expr.data));
    Projection::try_new(columns.collect::<Result<Vec<_>>>()?, projection.input)
        .map(LogicalPlan::Projection)
}

fn without_cast(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Alias(alias) => Expr::Alias(alias).map_children(|expr| without_cast(expr, schema)),
        Expr::Cast(cast)
            if cast.field.name().is_empty()
                && is_same_kind(cast.field.data_type(), &cast.expr.get_type(schema)?) =>
        {
            Ok(Transformed::yes(*cast.expr))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether both are numbers, or both are moments.
fn is_same_kind(a: &DataType, b: &DataType) -> bool {
    let is_moment = |ty: &DataType| matches!(ty, DataType::Date32 | DataType::Timestamp(..));
    (a.is_numeric() && b.is_numeric()) || (is_moment(a) && is_moment(b))
}

/// 42804 for values of a step that those of the first query cannot be.
fn check_kinds(name: &str, first: &LogicalPlan, step: &LogicalPlan) -> Result<()> {
    let types = first.schema().fields().iter().zip(step.schema().fields()).zip(1..);
    let is_guessed = has_guessed_types(step)?;
    for ((first, step), number) in types {
        let (first, step) = (first.data_type(), step.data_type());
        if is_guessed && first.is_integer() && step.is_integer()
            || rank(step) <= rank(first)
            || rank(first) == 0
            || !is_same_kind(first, step)
        {
            continue;
        }
        let [first, step] = [first, step].map(crate::render::type_name);
        let message = format!(
            "recursive query \"{name}\" column {number} has type {first} in non-recursive term \
             but type {step} overall"
        );
        let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message)
            .with_hint("Cast the output of the non-recursive term to the correct type.");
        return Err(DataFusionError::External(Box::new(error)));
    }
    Ok(())
}

/// Whether whole numbers may have a wider type here than PostgreSQL has for them: those of subqueries.
fn has_guessed_types(step: &LogicalPlan) -> Result<bool> {
    let is_guessed = |expr: &Expr| Ok(matches!(expr, Expr::ScalarSubquery(_)));
    step.exists(|node| {
        let mut guessed = false;
        for expr in node.expressions() {
            guessed |= expr.exists(is_guessed)?;
        }
        Ok(guessed)
    })
}

/// Numbers of a higher kind have values that those of a lower one have not, and so have moments.
fn rank(ty: &DataType) -> u8 {
    match ty {
        DataType::Int16 | DataType::Date32 => 1,
        DataType::Int32 | DataType::Timestamp(_, None) => 2,
        DataType::Int64 | DataType::Timestamp(_, Some(_)) => 3,
        ty if ty.is_decimal() => 4,
        DataType::Float32 => 5,
        DataType::Float64 => 6,
        _ => 0,
    }
}

/// The columns of which the step gives numerics with more digits after the point than it takes, if there are
/// any; not those that have room for all there may be.
fn with_more_digits(step: &LogicalPlan, first: &LogicalPlan) -> Option<Vec<bool>> {
    let types = step.schema().fields().iter().zip(first.schema().fields());
    let columns = types.map(|(step, first)| {
        let (step, first) = (step.data_type(), first.data_type());
        let is_free = [QUOTIENT, FREE].contains(first);
        step.is_decimal() && first.is_decimal() && !is_free && scale(step) > scale(first)
    });
    let columns: Vec<bool> = columns.collect();
    columns.contains(&true).then_some(columns)
}

/// The query with room for the digits of every round in the numerics of these columns.
fn with_any_scale(first: LogicalPlan, wider: &[bool]) -> Result<LogicalPlan> {
    let schema = Arc::clone(first.schema());
    let columns = schema.iter().zip(wider).map(|((qualifier, field), is_wider)| {
        let column = Expr::Column((qualifier, field).into());
        match is_wider {
            true => cast(column, FREE).alias_qualified(qualifier.cloned(), field.name()),
            false => column,
        }
    });
    LogicalPlanBuilder::from(first).project(columns.collect::<Vec<_>>())?.build()
}

/// The step over a work table whose columns have the types of the first query.
fn over(step: LogicalPlan, name: &str, first: &DFSchema) -> Result<LogicalPlan> {
    let replaced = step.transform_up_with_subqueries(erased(&mut |node| match node {
        LogicalPlan::TableScan(scan) => match scan.source.downcast_ref::<WorkTable>() {
            Some(table) if table.name == name => {
                let schema = with_types_of_first(&table.schema, first);
                let table = WorkTable { name: name.to_owned(), schema };
                let scan = TableScanBuilder::new(scan.table_name, Arc::new(table))
                    .with_projection(scan.projection)
                    .with_filters(scan.filters)
                    .with_fetch(scan.fetch)
                    .build()?;
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            _ => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
        },
        other => Ok(Transformed::no(other)),
    }));
    replaced.data()
}

/// The columns with the types, and what is noted of them, of others.
fn with_types_of_first(columns: &SchemaRef, typed: &DFSchema) -> SchemaRef {
    let fields = columns.fields().iter().zip(typed.fields()).map(|(column, typed)| {
        Arc::new(typed.as_ref().clone().with_name(column.name()).with_nullable(true))
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

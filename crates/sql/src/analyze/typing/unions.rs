//! The types of set operations: those of PostgreSQL's `select_common_type`. A literal in quotes takes the
//! type that the other queries have in its column.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, JoinType, NullEquality, Result};
use datafusion_expr::logical_plan::{Distinct, Join};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Union, cast};
use types::{SqlError, SqlState, oid};

use crate::analyze::told::told_oid;
use crate::analyze::typing::blanks::without;
use crate::analyze::typing::numbers::common_number;
use crate::analyze::typing::{read, unknown};

/// The union of the rows of `VALUES` as one list, in which a null says nothing beside a null either. Unions that were
/// written as such settle their types two by two; one whose columns are all named like those of `VALUES` is taken
/// for them, which lets it have more than PostgreSQL does.
pub(crate) fn flat(mut union: Union) -> Union {
    let mut names = union.schema.fields().iter().map(|field| field.name()).zip(1..);
    if !names.all(|(name, number)| *name == format!("column{number}")) {
        return union;
    }
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in union.inputs {
        match Arc::unwrap_or_clone(input) {
            LogicalPlan::Union(inner) => inputs.extend(flat(inner).inputs),
            other => inputs.push(Arc::new(other)),
        }
    }
    union.inputs = inputs;
    union
}

/// The union over inputs of the same types.
pub(crate) fn typed_union(union: Union) -> Result<LogicalPlan> {
    let column_count = union.schema.fields().len();
    let mut inputs: Vec<LogicalPlan> = union.inputs.into_iter().map(Arc::unwrap_or_clone).collect();
    let same_width = |input: &LogicalPlan| input.schema().fields().len() == column_count;
    if inputs.iter().all(same_width) {
        settle(&mut inputs, "UNION")?;
        inputs =
            inputs.into_iter().map(|input| named(input, &union.schema)).collect::<Result<_>>()?;
    }
    let inputs = inputs.into_iter().map(Arc::new).collect();
    Ok(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?))
}

/// The input under the names of the union: where it is the only one that has rows, the library goes by these.
fn named(input: LogicalPlan, union: &DFSchema) -> Result<LogicalPlan> {
    let outputs = union.columns();
    let columns = input.schema().columns();
    let is_same = columns.iter().zip(&outputs).all(|(column, output)| column.name == output.name);
    let has_doubles = (1..outputs.len()).any(|at| outputs[..at].contains(&outputs[at]));
    if is_same || has_doubles {
        return Ok(input);
    }
    let renamed = columns
        .into_iter()
        .zip(outputs)
        .map(|(column, output)| Expr::Column(column).alias_qualified(output.relation, output.name));
    let renamed: Vec<Expr> = renamed.collect();
    LogicalPlanBuilder::from(input).project(renamed)?.build()
}

/// A join, and one that stands for `INTERSECT` or `EXCEPT` over inputs of the same types.
pub(crate) fn typed_join(mut join: Join) -> Result<LogicalPlan> {
    let operation = match (join.join_type, join.null_equality) {
        (JoinType::LeftSemi, NullEquality::NullEqualsNull) => "INTERSECT",
        (JoinType::LeftAnti, NullEquality::NullEqualsNull) => "EXCEPT",
        _ => return LogicalPlan::Join(join).recompute_schema(),
    };
    let column_count = join.left.schema().fields().len();
    if join.right.schema().fields().len() != column_count {
        return LogicalPlan::Join(join).recompute_schema();
    }
    // Of equal rows one is left, on the left.
    let left = Arc::unwrap_or_clone(join.left);
    let (left, is_distinct) = match left {
        LogicalPlan::Distinct(Distinct::All(rows)) => (Arc::unwrap_or_clone(rows), true),
        other => (other, false),
    };
    let mut inputs = [left, Arc::unwrap_or_clone(join.right)];
    settle(&mut inputs, operation)?;
    let [left, right] = inputs.map(Arc::new);
    join.left = match is_distinct {
        true => Arc::new(LogicalPlan::Distinct(Distinct::All(left))),
        false => left,
    };
    join.right = right;
    LogicalPlan::Join(join).recompute_schema()
}

/// Gives the columns of all inputs of an operation their common types.
fn settle(inputs: &mut [LogicalPlan], operation: &str) -> Result<()> {
    let column_count = inputs.first().map_or(0, |input| input.schema().fields().len());
    let types = (0..column_count).map(|at| common_type(inputs, at, operation));
    let types = types.collect::<Result<Vec<_>>>()?;
    let are_char: Vec<bool> = (0..column_count).map(|at| is_char(inputs, at)).collect();
    for input in inputs {
        *input = with_types(std::mem::take(input), &types)?;
        *input = without_blanks(std::mem::take(input), &are_char)?;
    }
    Ok(())
}

/// True if the first query that has a type for a column has `char(n)`, which the texts of the
/// others become.
fn is_char(inputs: &[LogicalPlan], at: usize) -> bool {
    let first = inputs.iter().find(|input| literal(input, at).is_none());
    first.is_some_and(|input| told_oid(input.schema().field(at)) == oid::BPCHAR)
}

/// Takes the blanks from the ends of texts in these columns.
fn without_blanks(input: LogicalPlan, are_char: &[bool]) -> Result<LogicalPlan> {
    let loses = |at: usize| {
        let field = input.schema().field(at);
        let is_text = field.data_type().is_string() && told_oid(field) != oid::BPCHAR;
        are_char[at] && is_text && literal(&input, at).is_none()
    };
    if !(0..are_char.len()).any(loses) {
        return Ok(input);
    }
    let outputs = input.schema().iter().enumerate().map(|(at, (qualifier, field))| {
        let column = Expr::Column((qualifier, field).into());
        match loses(at) {
            true => Ok(without(column)?.alias_qualified(qualifier.cloned(), field.name())),
            false => Ok(column),
        }
    });
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(input).project(outputs)?.build()
}

/// The type of a column; `None` where it stays what it is.
fn common_type(inputs: &[LogicalPlan], at: usize, operation: &str) -> Result<Option<DataType>> {
    let is_open = |input: &&LogicalPlan| {
        literal(input, at).is_some() || input.schema().field(at).data_type() == &DataType::Null
    };
    let known = inputs.iter().filter(|input| !is_open(input));
    let known: Vec<&DataType> = known.map(|input| input.schema().field(at).data_type()).collect();
    let Some(first) = known.first() else { return Ok(Some(DataType::Utf8View)) };
    if known.iter().all(|ty| ty == first) {
        return Ok((known.len() < inputs.len()).then(|| (*first).clone()));
    }
    let mut common = (*first).clone();
    for ty in &known[1..] {
        if is_other_kind(&common, ty) {
            let [left, right] = [&common, *ty].map(crate::render::type_name);
            let message = format!("{operation} types {left} and {right} cannot be matched");
            let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message);
            return Err(DataFusionError::External(Box::new(error)));
        }
        if matches!((&common, *ty), (DataType::Date32, DataType::Timestamp(..)))
            || matches!(
                (&common, *ty),
                (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(_)))
            )
        {
            common = (*ty).clone();
        }
    }
    match common {
        DataType::Timestamp(..) => Ok(Some(common)),
        _ => Ok(common_number(&known)),
    }
}

/// Whether no value can be of both types.
fn is_other_kind(a: &DataType, b: &DataType) -> bool {
    match (kind(a), kind(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

/// PostgreSQL's category of a type; `None` of those that the library matches.
fn kind(ty: &DataType) -> Option<char> {
    Some(match ty {
        ty if ty.is_unsigned_integer() => return None,
        ty if ty.is_numeric() => 'N',
        ty if ty.is_string() => 'S',
        DataType::Boolean => 'B',
        DataType::Date32 | DataType::Timestamp(..) => 'D',
        DataType::Time64(_) => 't',
        DataType::Interval(_) => 'T',
        _ => return None,
    })
}

/// The literal in quotes that a query has for a column.
fn literal(input: &LogicalPlan, at: usize) -> Option<&str> {
    match input {
        LogicalPlan::Projection(projection) => unknown(projection.expr.get(at)?),
        LogicalPlan::SubqueryAlias(alias) => literal(&alias.input, at),
        _ => None,
    }
}

fn with_types(input: LogicalPlan, types: &[Option<DataType>]) -> Result<LogicalPlan> {
    let changes = |at: usize| match &types[at] {
        Some(ty) => input.schema().field(at).data_type() != ty,
        None => false,
    };
    if !(0..types.len()).any(changes) {
        return Ok(input);
    }
    let columns = input.schema().columns();
    let mut exprs = Vec::with_capacity(types.len());
    for (at, column) in columns.into_iter().enumerate() {
        let (qualifier, field) = input.schema().qualified_field(at);
        let own = match &input {
            LogicalPlan::Projection(projection) => projection.expr[at].clone(),
            _ => Expr::Column(column),
        };
        exprs.push(match types[at].as_ref().filter(|_| changes(at)) {
            Some(ty) => {
                let typed = match literal(&input, at).filter(|_| !ty.is_string()) {
                    Some(text) => read(text, ty)?,
                    None => cast(own.unalias(), ty.clone()),
                };
                typed.alias_qualified(qualifier.cloned(), field.name())
            }
            None => own,
        });
    }
    match input {
        LogicalPlan::Projection(projection) => {
            Ok(LogicalPlan::Projection(Projection::try_new(exprs, projection.input)?))
        }
        other => LogicalPlanBuilder::from(other).project(exprs)?.build(),
    }
}

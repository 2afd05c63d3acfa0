//! Queries and tables without columns, which have one that stands for none. It is known by a note at its
//! field, which it has from what it is made of, whatever it is called.

use std::collections::BTreeMap;

use arrow_schema::Field;
use datafusion_common::metadata::FieldMetadata;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{NullEquality, Result, ScalarValue};
use datafusion_expr::{Distinct, Expr, JoinType, LogicalPlan, LogicalPlanBuilder};
use types::described::Origin;
use types::{SqlError, SqlResult, SqlState};

use crate::error::from_library;
use crate::walk::nodes::erased_ref;

const NOTE: &str = "stands for no columns";

/// What a column that stands for none is made of.
pub(crate) fn stand_in() -> Expr {
    let note = BTreeMap::from([(NOTE.to_owned(), String::new())]);
    Expr::Literal(ScalarValue::Boolean(Some(true)), Some(FieldMetadata::new(note)))
}

/// Whether a column stands for none.
pub(crate) fn is_stand_in(field: &Field) -> bool {
    field.metadata().contains_key(NOTE)
}

/// The plan without the columns that stand for none.
pub(crate) fn without_stand_ins(
    plan: LogicalPlan,
    origins: Vec<Origin>,
) -> Result<(LogicalPlan, Vec<Origin>)> {
    if !plan.schema().fields().iter().any(|field| is_stand_in(field)) {
        return Ok((plan, origins));
    }
    let outputs = plan.schema().iter().zip(&origins).filter(|((_, field), _)| !is_stand_in(field));
    let outputs = outputs.map(|(named, origin)| (Expr::Column(named.into()), *origin));
    let (outputs, origins): (Vec<_>, Vec<_>) = outputs.unzip();
    Ok((LogicalPlanBuilder::from(plan).project(outputs)?.build()?, origins))
}

/// Refuses `SELECT DISTINCT *` of what has no columns, and set operations of which only some queries have
/// none.
///
/// # Errors
/// 42601
pub(crate) fn check(plan: &LogicalPlan) -> SqlResult<()> {
    let (mut sides, mut refused) = (vec![], None);
    let visited = plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        refused = refused.take().or_else(|| refusal(node, &mut sides));
        Ok(match refused {
            None => TreeNodeRecursion::Continue,
            Some(_) => TreeNodeRecursion::Stop,
        })
    }));
    visited.map_err(from_library)?;
    refused.map_or(Ok(()), |message| Err(SqlError::new(SqlState::SYNTAX_ERROR, message)))
}

/// What is wrong with a node; `sides` are queries of an `INTERSECT` or `EXCEPT`, of which each row is
/// taken once, too.
fn refusal(node: &LogicalPlan, sides: &mut Vec<*const LogicalPlan>) -> Option<String> {
    let is_bare = |input: &LogicalPlan| input.schema().fields().iter().all(|f| is_stand_in(f));
    let differ =
        |word: &str| Some(format!("each {word} query must have the same number of columns"));
    match node {
        LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull => {
            sides.push(std::ptr::from_ref(join.left.as_ref()));
            let word = match join.join_type {
                JoinType::LeftSemi => "INTERSECT",
                JoinType::LeftAnti => "EXCEPT",
                _ => return None,
            };
            if is_bare(&join.left) == is_bare(&join.right) { None } else { differ(word) }
        }
        LogicalPlan::Union(union) => {
            let bare = union.inputs.iter().filter(|input| is_bare(input)).count();
            if bare == 0 || bare == union.inputs.len() { None } else { differ("UNION") }
        }
        LogicalPlan::Distinct(Distinct::All(input))
            if !matches!(input.as_ref(), LogicalPlan::Union(_))
                && !sides.contains(&std::ptr::from_ref(node))
                && is_bare(input) =>
        {
            Some("SELECT DISTINCT must have at least one column".to_owned())
        }
        _ => None,
    }
}

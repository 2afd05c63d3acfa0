//! Column selection pushed into operators that have an output list of their own.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_common::{DFSchema, DFSchemaRef};
use plan::{Node, Operator};

/// The node producing only the columns at `positions`, in that order; the node as it was, where it
/// has no output list.
pub(super) fn narrow(mut node: Node, positions: &[usize]) -> Result<Node, Box<Node>> {
    let output = match &mut node.operator {
        Operator::Scan(scan) => &mut scan.output,
        Operator::LookupJoin(join) => &mut join.output,
        Operator::HashJoin(join) => &mut join.output,
        Operator::NestedLoopJoin(join) => &mut join.output,
        Operator::CteScan(scan) => &mut scan.columns,
        // Columns alone have no effects that would be lost.
        Operator::Project { exprs, .. } if exprs.iter().all(|e| e.is_column().is_some()) => {
            *exprs = positions.iter().map(|&p| exprs[p].clone()).collect();
            node.schema = select(&node.schema, positions);
            return Ok(node);
        }
        _ => return Err(Box::new(node)),
    };
    *output = positions.iter().map(|&p| output[p]).collect();
    node.schema = select(&node.schema, positions);
    Ok(node)
}

fn select(schema: &SchemaRef, positions: &[usize]) -> SchemaRef {
    let fields: Vec<_> = positions.iter().map(|&p| schema.field(p).clone()).collect();
    Arc::new(arrow_schema::Schema::new(fields))
}

/// The names of the columns at `positions`.
pub(super) fn names(schema: &DFSchema, positions: &[usize]) -> DFSchemaRef {
    let fields = positions.iter().map(|&p| {
        let (qualifier, field) = schema.qualified_field(p);
        (qualifier.cloned(), Arc::clone(field))
    });
    // A part of a valid schema is valid: the names stay distinct.
    let part = DFSchema::new_with_metadata(fields.collect(), Default::default());
    Arc::new(part.unwrap_or_else(|_| DFSchema::empty()))
}

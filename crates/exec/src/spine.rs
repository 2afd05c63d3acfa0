//! Pipelines as a plan has them.

use plan::{Node, Operator};

/// The streaming nodes from `node` down, lowest first, and the node that yields their rows.
pub(crate) fn spine(node: &Node) -> (Vec<&Node>, &Node) {
    let mut spine = Vec::new();
    let mut at = node;
    loop {
        let next = match &at.operator {
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Unnest { input, .. } => input,
            Operator::Limit { input, fetch: None, .. } => input,
            Operator::LookupJoin(join) => &join.outer,
            Operator::HashJoin(join) => &join.probe,
            Operator::NestedLoopJoin(join) => &join.left,
            _ => break,
        };
        spine.push(at);
        at = next;
    }
    spine.reverse();
    (spine, at)
}

//! Joins of which rows come though none goes in.

use plan::{HashJoinKind, Node, Operator};

/// Whether rows of what a join needs come out of it though none goes in.
pub(crate) fn owes_rows(node: &Node) -> bool {
    use HashJoinKind as K;
    match &node.operator {
        Operator::HashJoin(join) => !matches!(
            join.kind,
            K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark
        ),
        // In the names of kinds left is "build".
        Operator::NestedLoopJoin(join) => !matches!(
            join.kind,
            K::Inner | K::BuildOuter | K::BuildSemi | K::BuildAnti | K::BuildMark
        ),
        _ => false,
    }
}

//! Hash joins and nested-loop joins.

use std::sync::Arc;

use datafusion_common::JoinType;
use plan::{HashJoin, HashJoinKind, NestedLoopJoin, Operator};
use types::SqlResult;

use super::join::Sides;
use super::{Built, Physical, built_as, nullable};
use crate::expr::scalar;

/// The kind of a join seen from its build side.
fn kind(join_type: JoinType, build_left: bool) -> HashJoinKind {
    use HashJoinKind as K;
    match (join_type, build_left) {
        (JoinType::Inner, _) => K::Inner,
        (JoinType::Full, _) => K::FullOuter,
        (JoinType::Left, true) | (JoinType::Right, false) => K::BuildOuter,
        (JoinType::Left, false) | (JoinType::Right, true) => K::ProbeOuter,
        (JoinType::LeftSemi, true) | (JoinType::RightSemi, false) => K::BuildSemi,
        (JoinType::LeftSemi, false) | (JoinType::RightSemi, true) => K::ProbeSemi,
        (JoinType::LeftAnti, true) | (JoinType::RightAnti, false) => K::BuildAnti,
        (JoinType::LeftAnti, false) | (JoinType::RightAnti, true) => K::ProbeAnti,
        (JoinType::LeftMark, true) | (JoinType::RightMark, false) => K::BuildMark,
        (JoinType::LeftMark, false) | (JoinType::RightMark, true) => K::ProbeMark,
    }
}

/// Columns of a side of a join.
#[derive(Clone, Copy)]
struct Width {
    /// Those that the logical join knows.
    own: usize,
    /// The same and the keys that were computed behind them.
    all: usize,
}

impl Width {
    fn of(side: &Built) -> Width {
        let own = side.node.schema.fields().len();
        Width { own, all: own }
    }
}

/// Positions in (first ++ second ++ mark) of the logical join's output, where `first_left` says that
/// the first side is the left input.
fn output(join_type: JoinType, left: Width, right: Width, first_left: bool) -> Vec<usize> {
    let (left_at, right_at) = if first_left { (0, left.all) } else { (right.all, 0) };
    let lefts = left_at..left_at + left.own;
    let rights = right_at..right_at + right.own;
    let mark = left.all + right.all;
    match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => lefts.collect(),
        JoinType::RightSemi | JoinType::RightAnti => rights.collect(),
        JoinType::LeftMark => lefts.chain([mark]).collect(),
        JoinType::RightMark => rights.chain([mark]).collect(),
        _ => lefts.chain(rights).collect(),
    }
}

impl Physical<'_> {
    /// The price of a hash join with its inputs.
    pub(super) fn hash_cost(&self, sides: &Sides, build_left: bool) -> f64 {
        let (l, r) = (&sides.left, &sides.right);
        let (build, probe) = if build_left { (l, r) } else { (r, l) };
        let own = self.costs.hash_join(build.profile.rows, probe.profile.rows, sides.profile.rows);
        l.node.cost + r.node.cost + own
    }

    pub(super) fn hash_join(&self, mut sides: Sides, build_left: bool) -> SqlResult<Built> {
        let cost = self.hash_cost(&sides, build_left);
        let types = nullable(&types_of(&sides));
        let profile = streamed(&sides, build_left);
        let (mut left, mut right) = (Width::of(&sides.left), Width::of(&sides.right));
        let keys = sides.pairs.iter_mut().map(|pair| &mut pair.left);
        sides.left = self.computed(sides.left, "left key ", keys)?;
        let keys = sides.pairs.iter_mut().map(|pair| &mut pair.right);
        sides.right = self.computed(sides.right, "right key ", keys)?;
        left.all = sides.left.node.schema.fields().len();
        right.all = sides.right.node.schema.fields().len();
        let keys = |left: bool| {
            let side = if left { &sides.left } else { &sides.right };
            let expr = |p: &super::join::Pair| if left { p.left.clone() } else { p.right.clone() };
            let compiled = sides.pairs.iter().map(|p| scalar::compile(&expr(p), &side.schema));
            compiled.collect::<SqlResult<Vec<_>>>()
        };
        let (build_keys, probe_keys) = (keys(build_left)?, keys(!build_left)?);
        let filter = match build_left {
            true => sides.filter_over(&sides.left, &sides.right)?,
            false => sides.filter_over(&sides.right, &sides.left)?,
        };
        let join_type = sides.join.join_type;
        let null_equals_null = sides.null_equals_null();
        let schema = Arc::clone(&sides.join.schema);
        let (build, probe) = match build_left {
            true => (sides.left, sides.right),
            false => (sides.right, sides.left),
        };
        let operator = Operator::HashJoin(HashJoin {
            build: Box::new(build.node),
            probe: Box::new(probe.node),
            build_keys,
            probe_keys,
            filter,
            kind: kind(join_type, build_left),
            null_equals_null,
            null_aware: sides.join.null_aware,
            output: output(join_type, left, right, build_left),
        });
        Ok(built_as(operator, types, schema, profile, cost))
    }

    pub(super) fn nested_loop_join(&self, sides: Sides) -> SqlResult<Built> {
        let (l, r) = (sides.left.profile.rows, sides.right.profile.rows);
        // The right side is materialised, so an inner join puts the smaller input there.
        let swap = sides.join.join_type == JoinType::Inner && l < r;
        let equalities = sides.pairs.iter().map(|p| p.left.clone().eq(p.right.clone()));
        let condition = equalities.chain(sides.join.filter.clone());
        let condition = datafusion_expr::utils::conjunction(condition);
        let (first, second) =
            if swap { (&sides.right, &sides.left) } else { (&sides.left, &sides.right) };
        let names = super::joined_names(&first.schema, &second.schema)?;
        let filter = condition.map(|c| scalar::compile(&c, &names)).transpose()?;
        let own = self.costs.nested_loop(l, r, sides.profile.rows);
        let cost = sides.left.node.cost + sides.right.node.cost + own;
        let join_type = sides.join.join_type;
        let widths = (Width::of(&sides.left), Width::of(&sides.right));
        let types = nullable(&types_of(&sides));
        let schema = Arc::clone(&sides.join.schema);
        let profile = streamed(&sides, swap);
        let (left, right) =
            if swap { (sides.right, sides.left) } else { (sides.left, sides.right) };
        let operator = Operator::NestedLoopJoin(NestedLoopJoin {
            left: Box::new(left.node),
            right: Box::new(right.node),
            filter,
            kind: kind(join_type, !swap),
            output: output(join_type, widths.0, widths.1, !swap),
        });
        Ok(built_as(operator, types, schema, profile, cost))
    }
}

/// The types of the logical output, as the inputs really have them.
fn types_of(sides: &Sides) -> arrow_schema::Schema {
    let (left, right) = (sides.left.node.schema.fields(), sides.right.node.schema.fields());
    let mut fields: Vec<arrow_schema::FieldRef> = match sides.join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left.to_vec(),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right.to_vec(),
        _ => left.iter().chain(right.iter()).cloned().collect(),
    };
    if matches!(sides.join.join_type, JoinType::LeftMark | JoinType::RightMark) {
        fields.extend(sides.join.schema.fields().last().cloned());
    }
    arrow_schema::Schema::new(fields)
}

/// The result's profile: only the streaming side keeps its order.
fn streamed(sides: &Sides, right_streams: bool) -> crate::estimate::Profile {
    let mut profile = sides.profile.clone();
    let left = sides.left.profile.columns.len();
    if sides.join.join_type == JoinType::Inner {
        for (i, column) in profile.columns.iter_mut().enumerate() {
            if (i < left) == right_streams {
                column.order = 0.0;
            }
        }
    }
    profile
}

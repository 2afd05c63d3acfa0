//! Join methods: every join is priced as index nested-loop, hash and nested-loop join.

use datafusion_common::{JoinType, NullEquality};
use datafusion_expr::{Expr as Logical, ExprSchemable, Join};
use plan::expr::Expr;
use types::{SqlError, SqlResult};

use super::base::{Base, base_of};
use super::{Built, Physical, column_position, joined_names};
use crate::error::from_library;
use crate::estimate::{Named, Profile, conjunction};
use crate::expr::scalar;

/// One side of an equality of a join.
pub(super) struct Pair {
    /// Over the left input.
    pub left: Logical,
    /// Over the right input.
    pub right: Logical,
}

/// A join whose inputs are built.
pub(super) struct Sides<'a> {
    /// The logical join.
    pub join: &'a Join,
    /// The equalities.
    pub pairs: Vec<Pair>,
    /// Left input.
    pub left: Built,
    /// Right input.
    pub right: Built,
    /// Estimates of the result.
    pub profile: Profile,
}

/// A method with its price.
enum Method {
    Hash { build_left: bool },
    Lookup { inner_left: bool, tree: usize },
    NestedLoop,
}

impl Physical<'_> {
    pub(super) fn join(&self, join: &Join) -> SqlResult<Built> {
        let left = self.build(&join.left)?;
        let right = self.build(&join.right)?;
        let pairs = pairs(join, &left, &right)?;
        let profile = estimate(join, &pairs, &left, &right)?;
        let sides = Sides { join, pairs, left, right, profile };
        let (left_base, right_base) = (base_of(&join.left), base_of(&join.right));
        match self.cheapest_method(&sides, left_base.as_ref(), right_base.as_ref()) {
            Method::Hash { build_left } => self.hash_join(sides, build_left),
            Method::NestedLoop => self.nested_loop_join(sides),
            Method::Lookup { inner_left, tree } => {
                let base = if inner_left { left_base } else { right_base };
                match base {
                    Some(base) => self.lookup_join(sides, &base, inner_left, tree),
                    None => Err(SqlError::internal("an index join without a table")),
                }
            }
        }
    }

    fn cheapest_method(
        &self,
        sides: &Sides,
        left_base: Option<&Base>,
        right_base: Option<&Base>,
    ) -> Method {
        let mut best = (Method::NestedLoop, f64::INFINITY);
        let mut offer = |method, cost: f64| {
            if cost < best.1 {
                best = (method, cost);
            }
        };
        let (l, r) = (&sides.left, &sides.right);
        if sides.pairs.is_empty() {
            return Method::NestedLoop;
        }
        for build_left in [false, true] {
            offer(Method::Hash { build_left }, self.hash_cost(sides, build_left));
        }
        let inner_sides = [(true, left_base, r), (false, right_base, l)];
        for (inner_left, base, outer) in inner_sides {
            let Some(base) = base else { continue };
            for (tree, cost) in self.lookup_costs(sides, base, inner_left, outer) {
                offer(Method::Lookup { inner_left, tree }, cost);
            }
        }
        best.0
    }
}

/// The equalities, compared as one type.
fn pairs(join: &Join, left: &Built, right: &Built) -> SqlResult<Vec<Pair>> {
    let pair = |(l, r): &(Logical, Logical)| {
        let lt = l.get_type(&left.schema).map_err(from_library)?;
        let rt = r.get_type(&right.schema).map_err(from_library)?;
        let right = match lt == rt {
            true => r.clone(),
            false => datafusion_expr::cast(r.clone(), lt),
        };
        Ok(Pair { left: l.clone(), right })
    };
    join.on.iter().map(pair).collect()
}

/// Rows and columns of the result.
fn estimate(join: &Join, pairs: &[Pair], left: &Built, right: &Built) -> SqlResult<Profile> {
    let (l, r) = (left.profile.rows, right.profile.rows);
    let both = left.profile.concat(&right.profile, 1.0);
    let rest = match &join.filter {
        Some(filter) => {
            let schema = joined_names(&left.schema, &right.schema)?;
            let named = Named { schema: &schema, profile: &both };
            conjunction(std::iter::once(filter), &named)
        }
        None => 1.0,
    };
    let inner = (l * r * equal_share(pairs, left, right) * rest).max(1.0);
    let semi = |outer: &Built, inner: &Built, flip: bool| {
        let share = partner_share(pairs, outer, inner, flip);
        if join.filter.is_some() { share * 0.8 } else { share }
    };
    let rows = match join.join_type {
        JoinType::Inner => inner,
        JoinType::Left => inner.max(l),
        JoinType::Right => inner.max(r),
        JoinType::Full => inner.max(l).max(r),
        JoinType::LeftSemi => l * semi(left, right, false),
        JoinType::LeftAnti => l * (1.0 - semi(left, right, false)).max(0.02),
        JoinType::RightSemi => r * semi(right, left, true),
        JoinType::RightAnti => r * (1.0 - semi(right, left, true)).max(0.02),
        JoinType::LeftMark => l,
        JoinType::RightMark => r,
    };
    let rows = rows.max(1.0);
    Ok(match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => Profile { rows, ..left.profile.clone() },
        JoinType::RightSemi | JoinType::RightAnti => Profile { rows, ..right.profile.clone() },
        JoinType::LeftMark | JoinType::RightMark => {
            let marked = if join.join_type == JoinType::LeftMark { left } else { right };
            let mut profile = Profile { rows, ..marked.profile.clone() };
            profile.columns.push(crate::estimate::ColumnProfile::of_domain(2.0));
            profile
        }
        _ => left.profile.concat(&right.profile, rows),
    })
}

/// The share of all pairs of rows for which the equalities hold.
fn equal_share(pairs: &[Pair], left: &Built, right: &Built) -> f64 {
    let place = |e: &Logical, side: &Built| column_position(e, &side.schema);
    let left_at: Vec<Option<usize>> = pairs.iter().map(|p| place(&p.left, left)).collect();
    let right_at: Vec<Option<usize>> = pairs.iter().map(|p| place(&p.right, right)).collect();
    let mut used = vec![false; pairs.len()];
    let mut share = 1.0;
    // A join on a whole key of one side finds one partner for each row of the other side.
    for (side, at) in [(left, &left_at), (right, &right_at)] {
        for key in side.profile.keys.iter().filter(|k| k.columns.len() > 1) {
            let of_key = |c: &usize| at.iter().position(|p| p == &Some(*c));
            let found: Option<Vec<usize>> = key.columns.iter().map(of_key).collect();
            if let Some(found) = found.filter(|f| f.iter().all(|&i| !used[i])) {
                found.iter().for_each(|&i| used[i] = true);
                share /= key.domain.max(1.0);
            }
        }
    }
    for (i, pair) in pairs.iter().enumerate().filter(|(i, _)| !used[*i]) {
        let l =
            left_at[i].map_or_else(|| domain(&pair.left, left), |c| left.profile.columns[c].domain);
        let r = right_at[i]
            .map_or_else(|| domain(&pair.right, right), |c| right.profile.columns[c].domain);
        share /= l.max(r).max(1.0);
    }
    share
}

/// Distinct values of an expression that is no plain column.
fn domain(expr: &Logical, side: &Built) -> f64 {
    let columns = expr.column_refs();
    let known = columns.iter().filter_map(|c| side.schema.maybe_index_of_column(c));
    known.map(|i| side.profile.columns[i].domain).fold(1.0, f64::max)
}

/// The share of the outer rows that have a partner.
fn partner_share(pairs: &[Pair], outer: &Built, inner: &Built, flip: bool) -> f64 {
    let share = |pair: &Pair| {
        let (o, i) = if flip { (&pair.right, &pair.left) } else { (&pair.left, &pair.right) };
        let values = domain(o, outer).max(1.0);
        let at = column_position(i, &inner.schema);
        let distinct = at
            .map_or(inner.profile.rows, |c| inner.profile.columns[c].distinct(inner.profile.rows));
        (distinct / values).min(1.0)
    };
    pairs.iter().map(share).fold(1.0, f64::min)
}

impl Sides<'_> {
    /// Whether two nulls are equal.
    pub fn null_equals_null(&self) -> bool {
        self.join.null_equality == NullEquality::NullEqualsNull
    }

    /// The condition beyond the equalities.
    pub fn filter_over(&self, first: &Built, second: &Built) -> SqlResult<Option<Expr>> {
        let Some(filter) = &self.join.filter else { return Ok(None) };
        let schema = joined_names(&first.schema, &second.schema)?;
        scalar::compile(filter, &schema).map(Some)
    }
}

//! The join graph: relations, classes of equal expressions, and all other predicates of one tree of
//! inner, semi and anti joins.

use std::sync::Arc;

use datafusion_common::{DFSchema, JoinType, NullEquality, ScalarValue};
use datafusion_expr::utils::split_conjunction_owned;
use datafusion_expr::{Expr, ExprSchemable, Join, LogicalPlan};
use types::SqlResult;

use crate::error::from_library;
use crate::estimate::{KeyProfile, Named, Profile, selectivity};

/// A set of relations, one bit each.
pub(crate) type Set = u64;

/// Most relations of one graph; larger trees are cut.
pub(crate) const RELATIONS_MAX: usize = 60;

/// A leaf of the tree.
pub(crate) struct Relation {
    /// The plan below.
    pub plan: Arc<LogicalPlan>,
    /// Estimates.
    pub profile: Profile,
    /// Cost to produce its rows.
    pub cost: f64,
    /// For the inner side of a semi or anti join: how it is joined.
    pub partner: Option<Partner>,
}

/// A relation that only tests the rows of others.
pub(crate) struct Partner {
    /// `LeftSemi` or `LeftAnti`.
    pub kind: JoinType,
    /// Relations that its condition needs.
    pub needs: Set,
    /// Keys: outer, inner.
    pub on: Vec<(Expr, Expr)>,
    /// The rest of the condition.
    pub filter: Option<Expr>,
    /// `NOT IN`.
    pub null_aware: bool,
    /// Share of the outer rows that pass.
    pub share: f64,
}

/// An expression of a class.
pub(crate) struct Member {
    /// The relation whose columns it uses.
    pub relation: usize,
    /// Over that relation.
    pub expr: Expr,
    /// Distinct values.
    pub domain: f64,
}

/// A predicate that is no equality of two relations.
pub(crate) struct Predicate {
    /// The relations whose columns it uses.
    pub relations: Set,
    /// Boolean.
    pub expr: Expr,
    /// Share of the pairs that pass.
    pub share: f64,
}

/// The graph.
#[derive(Default)]
pub(crate) struct Graph {
    /// The leaves.
    pub relations: Vec<Relation>,
    /// Expressions that are all equal to each other.
    pub classes: Vec<Vec<Member>>,
    /// Other predicates.
    pub predicates: Vec<Predicate>,
    /// Joint domains: `(relation, classes of the key's columns, factor)`.
    pub composite: Vec<(usize, Vec<usize>, f64)>,
}

/// Whether a join can take part in a graph.
pub(crate) fn joins_freely(join: &Join) -> bool {
    let kind = matches!(join.join_type, JoinType::Inner | JoinType::LeftSemi | JoinType::LeftAnti);
    kind && join.null_equality == NullEquality::NullEqualsNothing
}

impl Graph {
    /// Adds an equality of two expressions over rows of `schema`.
    pub fn add_equality(&mut self, left: Expr, right: Expr, schema: &DFSchema) -> SqlResult<()> {
        let (a, b) = (self.owner(&left), self.owner(&right));
        let same_type = left.get_type(schema).map_err(from_library)?
            == right.get_type(schema).map_err(from_library)?;
        match (a, b) {
            (Some(a), Some(b)) if a != b && same_type => self.unite((a, left), (b, right)),
            _ => self.add_predicate(left.eq(right), schema),
        }
        Ok(())
    }

    /// Adds any condition over rows of `schema`.
    pub fn add_condition(&mut self, condition: Expr, schema: &DFSchema) -> SqlResult<()> {
        for part in split_conjunction_owned(condition) {
            match part {
                Expr::BinaryExpr(b) if b.op == datafusion_expr::Operator::Eq => {
                    self.add_equality(*b.left, *b.right, schema)?;
                }
                Expr::Literal(ScalarValue::Boolean(Some(true)), _) => {}
                other => self.add_predicate(other, schema),
            }
        }
        Ok(())
    }

    fn add_predicate(&mut self, expr: Expr, schema: &DFSchema) {
        let joined = self.relations.iter().filter(|r| r.partner.is_none());
        let profile = joined.fold(Profile::default(), |p, r| p.concat(&r.profile, 1.0));
        let named = Named { schema, profile: &profile };
        let share = selectivity(&expr, &named);
        let relations = match self.users(&expr) {
            // A condition on no relation holds for all rows or none: it is tested at the top.
            0 => (1 << self.relations.len()) - 1,
            some => some,
        };
        self.predicates.push(Predicate { relations, expr, share });
    }

    /// The relations whose columns an expression uses.
    pub fn users(&self, expr: &Expr) -> Set {
        let mut set = 0;
        for column in expr.column_refs() {
            let found = self
                .relations
                .iter()
                .position(|r| r.partner.is_none() && r.plan.schema().has_column(column));
            set |= found.map_or(0, |i| 1 << i);
        }
        set
    }

    /// The only relation that an expression uses.
    fn owner(&self, expr: &Expr) -> Option<usize> {
        let set = self.users(expr);
        (set.count_ones() == 1).then(|| set.trailing_zeros() as usize)
    }

    fn unite(&mut self, a: (usize, Expr), b: (usize, Expr)) {
        let first = self.class_of(a);
        let second = self.class_of(b);
        if first != second {
            let moved = std::mem::take(&mut self.classes[second]);
            self.classes[first].extend(moved);
        }
    }

    fn class_of(&mut self, (relation, expr): (usize, Expr)) -> usize {
        let known = |c: &Vec<Member>| c.iter().any(|m| m.relation == relation && m.expr == expr);
        if let Some(class) = self.classes.iter().position(known) {
            return class;
        }
        let domain = self.relations[relation].domain(&expr);
        self.classes.push(vec![Member { relation, expr, domain }]);
        self.classes.len() - 1
    }

    /// Where a class has several expressions of one relation, their equality is a condition on it alone:
    /// joins compare one of them only. To be called when all equalities are known.
    pub fn equate_members(&mut self) {
        for class in &self.classes {
            for (at, member) in class.iter().enumerate() {
                let same = |m: &&Member| m.relation == member.relation;
                let Some(first) = class[..at].iter().find(same) else { continue };
                self.predicates.push(Predicate {
                    relations: 1 << member.relation,
                    expr: first.expr.clone().eq(member.expr.clone()),
                    share: 1.0 / first.domain.max(member.domain).max(1.0),
                });
            }
        }
    }

    /// Finds the composite keys whose columns are all joined with one other relation.
    pub fn find_composite_keys(&mut self) {
        self.classes.retain(|c| !c.is_empty());
        for relation in 0..self.relations.len() {
            if self.relations[relation].partner.is_some() {
                continue;
            }
            for key in &self.relations[relation].profile.keys {
                if let Some(found) = self.composite_of(relation, key) {
                    self.composite.push(found);
                    break;
                }
            }
        }
    }

    fn composite_of(&self, relation: usize, key: &KeyProfile) -> Option<(usize, Vec<usize>, f64)> {
        if key.columns.len() < 2 {
            return None;
        }
        let schema = self.relations[relation].plan.schema();
        let class_of = |&position: &usize| {
            let column = Expr::Column(schema.columns()[position].clone());
            self.classes
                .iter()
                .position(|c| c.iter().any(|m| m.relation == relation && m.expr == column))
        };
        let classes: Option<Vec<usize>> = key.columns.iter().map(class_of).collect();
        let domains =
            key.columns.iter().map(|&c| self.relations[relation].profile.columns[c].domain);
        let factor = domains.product::<f64>() / key.domain;
        (factor > 1.0).then_some((relation, classes?, factor))
    }

    /// Estimated rows of the join of a set.
    pub fn rows(&self, set: Set) -> f64 {
        let mut rows = 1.0;
        for (i, relation) in self.relations.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
            debug_assert!(i < RELATIONS_MAX);
            rows *= match &relation.partner {
                Some(partner) => partner.share,
                None => relation.profile.rows.max(1e-3),
            };
        }
        for class in &self.classes {
            rows *= class_share(class, set);
        }
        for predicate in self.predicates.iter().filter(|p| p.relations & !set == 0) {
            rows *= predicate.share;
        }
        rows *= self.composite_factor(set);
        rows.max(1e-3)
    }

    fn composite_factor(&self, set: Set) -> f64 {
        let inside = |relation: usize| set >> relation & 1 == 1;
        let joined_to = |other: usize, classes: &[usize]| {
            classes.iter().all(|&c| self.classes[c].iter().any(|m| m.relation == other))
        };
        let mut factor = 1.0;
        for (relation, classes, each) in self.composite.iter().filter(|c| inside(c.0)) {
            let partner =
                |other: usize| other != *relation && inside(other) && joined_to(other, classes);
            // Of two relations that are keyed alike, only one brings the factor.
            let counted = self.composite.iter().any(|c| c.0 < *relation && partner(c.0));
            if (0..self.relations.len()).any(partner) && !counted {
                factor *= each;
            }
        }
        factor
    }
}

/// Rows with all members equal: each member beyond the one with the smallest domain keeps one in its
/// domain's size.
fn class_share(class: &[Member], set: Set) -> f64 {
    let mut domains: Vec<f64> = Vec::new();
    let mut seen: Set = 0;
    for member in class.iter().filter(|m| set >> m.relation & 1 == 1) {
        if seen >> member.relation & 1 == 0 {
            seen |= 1 << member.relation;
            domains.push(member.domain.max(1.0));
        }
    }
    domains.sort_by(f64::total_cmp);
    domains.iter().skip(1).map(|d| 1.0 / d).product()
}

impl Relation {
    /// Distinct values of an expression over this relation.
    pub fn domain(&self, expr: &Expr) -> f64 {
        let named = Named { schema: self.plan.schema(), profile: &self.profile };
        let rows = self.profile.rows;
        match expr {
            Expr::Column(column) => named.column(column).map_or(rows, |c| c.domain),
            Expr::Cast(cast) => self.domain(&cast.expr),
            other => {
                let columns = other.column_refs();
                let domains = columns.iter().filter_map(|c| named.column(c)).map(|c| c.domain);
                domains.fold(1.0, f64::max)
            }
        }
    }
}

/// The share of outer rows that have a partner (for `LeftAnti`: that have none).
pub(crate) fn semi_share(join: &Join, outer: &Graph, inner: &Profile) -> f64 {
    let named = Named { schema: join.right.schema(), profile: inner };
    let mut found = 1.0f64;
    for (left, right) in &join.on {
        let owner = outer.owner(left);
        let domain = owner.map_or(inner.rows, |r| outer.relations[r].domain(left));
        let distinct = match right {
            Expr::Column(column) => {
                named.column(column).map_or(inner.rows, |c| c.distinct(inner.rows))
            }
            _ => inner.rows,
        };
        found = found.min(distinct / domain.max(1.0));
    }
    if join.filter.is_some() && !join.on.is_empty() {
        // Some partner of several usually passes the rest of the condition.
        found *= 0.8;
    }
    let found = found.clamp(0.0, 1.0);
    let share = if join.join_type == JoinType::LeftAnti { 1.0 - found } else { found };
    let floor = if join.join_type == JoinType::LeftAnti { 0.02 } else { 0.0 };
    share.max(floor)
}

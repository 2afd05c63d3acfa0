//! Join order: dynamic programming over connected sets of relations, bushy trees included
//! (Moerkotte and Neumann 2006 give the theory), greedy for large joins.
//!
//! Semi and anti joins take part: their inner side is a relation that may only be joined as such, once
//! the relations it tests are there. So a selective `IN` runs as early as it pays.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, JoinConstraint, JoinType, NullEquality};
use datafusion_expr::utils::conjunction as all_of;
use datafusion_expr::{Expr, Filter, Join, LogicalPlan, Projection};
use types::SqlResult;

use crate::error::from_library;
use crate::optimize::join_graph::{
    Graph, Member, Partner, RELATIONS_MAX, Relation, Set, joins_freely, semi_share,
};
use crate::options::PlannerOptions;
use crate::physical::Physical;
use crate::physical::base::{Tree, base_of};
use crate::walk::nodes::Nodes;

#[cfg(test)]
mod tests;

/// Largest join whose order is searched exhaustively: 3^12 splits are half a million.
const EXHAUSTIVE_MAX: usize = 12;

/// Orders all joins of a plan.
pub(crate) fn reorder(plan: LogicalPlan, options: &PlannerOptions) -> SqlResult<LogicalPlan> {
    let physical = Physical::new(options);
    Orderer { physical: &physical }.visit(plan)
}

struct Orderer<'a> {
    physical: &'a Physical<'a>,
}

/// The parts of one tree of joins.
#[derive(Default)]
struct Pieces {
    leaves: Vec<Arc<LogicalPlan>>,
    equalities: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
    partners: Vec<Join>,
}

impl Orderer<'_> {
    fn visit(&self, plan: LogicalPlan) -> SqlResult<LogicalPlan> {
        match plan {
            LogicalPlan::Join(join) if joins_freely(&join) && count(&join) <= RELATIONS_MAX => {
                self.order(join)
            }
            other => {
                let mut failed = None;
                let mapped = other.map_children(|child| {
                    let kept = child.clone();
                    Ok(Transformed::yes(self.visit(child).unwrap_or_else(|error| {
                        failed = Some(error);
                        kept
                    })))
                });
                match failed {
                    Some(error) => Err(error),
                    None => mapped.map(|t| t.data).map_err(from_library),
                }
            }
        }
    }

    fn order(&self, join: Join) -> SqlResult<LogicalPlan> {
        let columns = join.schema.columns();
        let mut pieces = Pieces::default();
        self.flatten(LogicalPlan::Join(join), &mut pieces)?;
        let graph = self.graph(pieces)?;
        let tree = Search { graph: &graph, physical: self.physical }.best();
        let (plan, _) = rebuild(&tree, &graph)?;
        if plan.schema().columns() == columns {
            return Ok(plan);
        }
        let exprs = columns.into_iter().map(Expr::Column).collect();
        let projection = Projection::try_new(exprs, Arc::new(plan)).map_err(from_library)?;
        Ok(LogicalPlan::Projection(projection))
    }

    fn flatten(&self, plan: LogicalPlan, pieces: &mut Pieces) -> SqlResult<()> {
        let LogicalPlan::Join(join) = plan else {
            pieces.leaves.push(Arc::new(self.visit(plan)?));
            return Ok(());
        };
        if !joins_freely(&join) {
            pieces.leaves.push(Arc::new(self.visit(LogicalPlan::Join(join))?));
            return Ok(());
        }
        self.flatten(Arc::unwrap_or_clone(Arc::clone(&join.left)), pieces)?;
        if join.join_type == JoinType::Inner {
            self.flatten(Arc::unwrap_or_clone(join.right), pieces)?;
            pieces.equalities.extend(join.on);
            pieces.conditions.extend(join.filter);
        } else {
            let right = self.visit(Arc::unwrap_or_clone(join.right))?;
            pieces.partners.push(Join { right: Arc::new(right), ..join });
        }
        Ok(())
    }

    fn graph(&self, pieces: Pieces) -> SqlResult<Graph> {
        let mut graph = Graph::default();
        let mut schema = DFSchema::empty();
        for plan in pieces.leaves {
            let built = self.physical.build(&plan)?;
            schema = schema.join(plan.schema()).map_err(from_library)?;
            let (profile, cost) = (built.profile, built.node.cost);
            graph.relations.push(Relation { plan, profile, cost, partner: None });
        }
        for (left, right) in pieces.equalities {
            graph.add_equality(left, right, &schema)?;
        }
        for condition in pieces.conditions {
            graph.add_condition(condition, &schema)?;
        }
        for join in pieces.partners {
            self.add_partner(&mut graph, join)?;
        }
        graph.equate_members();
        graph.find_composite_keys();
        Ok(graph)
    }

    fn add_partner(&self, graph: &mut Graph, join: Join) -> SqlResult<()> {
        let built = self.physical.build(&join.right)?;
        let share = semi_share(&join, graph, &built.profile);
        let sides = join.on.iter().map(|(left, _)| left).chain(&join.filter);
        let needs = sides.fold(0, |set, e| set | graph.users(e));
        let partner = Partner {
            kind: join.join_type,
            // A condition on no relation at all tests every row: it goes to the first.
            needs: if needs == 0 { 1 } else { needs },
            on: join.on,
            filter: join.filter,
            null_aware: join.null_aware,
            share,
        };
        graph.relations.push(Relation {
            plan: join.right,
            profile: built.profile,
            cost: built.node.cost,
            partner: Some(partner),
        });
        Ok(())
    }
}

/// Relations of a tree of joins.
fn count(join: &Join) -> usize {
    let side = |plan: &LogicalPlan| match plan {
        LogicalPlan::Join(inner) if joins_freely(inner) => count(inner),
        _ => 1,
    };
    let right = if join.join_type == JoinType::Inner { side(&join.right) } else { 1 };
    side(&join.left) + right
}

/// A join tree. The left side drives.
#[derive(Clone, Debug)]
enum Shape {
    Leaf(usize),
    Join(Arc<Shape>, Arc<Shape>),
}

/// The best known way to join a set.
#[derive(Clone)]
struct Entry {
    shape: Arc<Shape>,
    rows: f64,
    cost: f64,
    /// The relation whose order the rows follow.
    driver: usize,
}

struct Search<'a> {
    graph: &'a Graph,
    physical: &'a Physical<'a>,
}

impl Search<'_> {
    fn best(&self) -> Shape {
        let n = self.graph.relations.len();
        let entry = if n <= EXHAUSTIVE_MAX { self.exhaustive() } else { self.greedy() };
        entry.shape.as_ref().clone()
    }

    fn leaf(&self, i: usize) -> Entry {
        let relation = &self.graph.relations[i];
        let (rows, cost) = (relation.profile.rows.max(1.0), relation.cost);
        Entry { shape: Arc::new(Shape::Leaf(i)), rows, cost, driver: i }
    }

    fn exhaustive(&self) -> Entry {
        let n = self.graph.relations.len();
        let all: Set = (1 << n) - 1;
        let mut best: HashMap<Set, Entry> = (0..n).map(|i| (1 << i, self.leaf(i))).collect();
        for set in 1..=all {
            if set.count_ones() < 2 || !self.complete(set) {
                continue;
            }
            for connected in [true, false] {
                self.splits(set, connected, &mut best);
                if best.contains_key(&set) {
                    break;
                }
            }
        }
        best.remove(&all).unwrap_or_else(|| self.greedy())
    }

    fn splits(&self, set: Set, connected: bool, best: &mut HashMap<Set, Entry>) {
        let rows = self.graph.rows(set);
        let mut left = (set - 1) & set;
        while left != 0 {
            let right = set & !left;
            if let (Some(l), Some(r)) = (best.get(&left), best.get(&right))
                && self.joinable(left, right)
                && self.connected(left, right) == connected
            {
                let entry = self.join((left, l), (right, r), rows);
                let better = best.get(&set).is_none_or(|known| entry.cost < known.cost);
                if better {
                    best.insert(set, entry);
                }
            }
            left = (left - 1) & set;
        }
    }

    /// Joins, step by step, the pair of trees whose join is cheapest.
    fn greedy(&self) -> Entry {
        let n = self.graph.relations.len();
        let mut parts: Vec<(Set, Entry)> = (0..n).map(|i| (1 << i, self.leaf(i))).collect();
        while parts.len() > 1 {
            let mut choice: Option<(usize, usize, Entry, bool)> = None;
            for (i, (ls, l)) in parts.iter().enumerate() {
                for (j, (rs, r)) in parts.iter().enumerate() {
                    if i == j || !self.joinable(*ls, *rs) || !self.complete(ls | rs) {
                        continue;
                    }
                    let connected = self.connected(*ls, *rs);
                    let entry = self.join((*ls, l), (*rs, r), self.graph.rows(ls | rs));
                    let added = |e: &Entry, a: &Entry, b: &Entry| e.cost - a.cost - b.cost + e.rows;
                    let better = choice.as_ref().is_none_or(|(a, b, known, linked)| {
                        let known_added = added(known, &parts[*a].1, &parts[*b].1);
                        (connected && !linked)
                            || (connected == *linked && added(&entry, l, r) < known_added)
                    });
                    if better {
                        choice = Some((i, j, entry, connected));
                    }
                }
            }
            let Some((i, j, entry, _)) = choice else { break };
            let set = parts[i].0 | parts[j].0;
            parts.retain(|(s, _)| s & set == 0);
            parts.push((set, entry));
        }
        parts.swap_remove(0).1
    }

    /// Whether every partner of the set has what it tests within the set.
    fn complete(&self, set: Set) -> bool {
        let partners = self.graph.relations.iter().enumerate();
        partners.filter(|(i, _)| set >> i & 1 == 1).all(|(_, r)| match &r.partner {
            Some(partner) => partner.needs & !set == 0,
            None => true,
        })
    }

    /// Whether the right set may be joined to the left one: a partner only alone, on the right.
    fn joinable(&self, left: Set, right: Set) -> bool {
        let partner = |set: Set| {
            (set.count_ones() == 1)
                .then(|| self.graph.relations[set.trailing_zeros() as usize].partner.as_ref())
                .flatten()
        };
        partner(left).is_none() && partner(right).is_none_or(|p| p.needs & !left == 0)
    }

    fn connected(&self, left: Set, right: Set) -> bool {
        let touches = |set: Set, relation: usize| set >> relation & 1 == 1;
        if self.single_partner(right).is_some() {
            return true;
        }
        self.graph.classes.iter().any(|c| {
            c.iter().any(|m| touches(left, m.relation))
                && c.iter().any(|m| touches(right, m.relation))
        }) || self.graph.predicates.iter().any(|p| {
            p.relations & left != 0
                && p.relations & right != 0
                && p.relations & !(left | right) == 0
        })
    }

    fn single_partner(&self, set: Set) -> Option<&Partner> {
        let relation = set.trailing_zeros() as usize;
        (set.count_ones() == 1).then(|| self.graph.relations[relation].partner.as_ref()).flatten()
    }

    fn join(&self, left: (Set, &Entry), right: (Set, &Entry), rows: f64) -> Entry {
        let (l, r) = (left.1, right.1);
        let costs = &self.physical.costs;
        let hashable = self.single_partner(right.0).is_some_and(|p| !p.on.is_empty())
            || self.shares_class(left.0, right.0);
        let inputs = l.cost + r.cost;
        let mut cost = inputs + costs.nested_loop(l.rows, r.rows, rows);
        let mut driver = l.driver;
        if hashable {
            cost = inputs + costs.hash_join(r.rows, l.rows, rows);
            let other = inputs + costs.hash_join(l.rows, r.rows, rows);
            if other < cost {
                (cost, driver) = (other, r.driver);
            }
            if let Some(lookup) = self.lookup(left, right.0)
                && l.cost + lookup < cost
            {
                (cost, driver) = (l.cost + lookup, l.driver);
            }
        }
        let shape = Arc::new(Shape::Join(Arc::clone(&l.shape), Arc::clone(&r.shape)));
        Entry { shape, rows, cost, driver }
    }

    fn shares_class(&self, left: Set, right: Set) -> bool {
        self.graph.classes.iter().any(|c| {
            c.iter().any(|m| left >> m.relation & 1 == 1)
                && c.iter().any(|m| right >> m.relation & 1 == 1)
        })
    }

    /// The price of an index join with the one relation of `right` as its inner side.
    fn lookup(&self, left: (Set, &Entry), right: Set) -> Option<f64> {
        if right.count_ones() != 1 {
            return None;
        }
        let relation = right.trailing_zeros() as usize;
        let inner = &self.graph.relations[relation];
        let base = base_of(&inner.plan)?;
        let schema = inner.plan.schema();
        let ordinal = |e: &Expr| match e {
            Expr::Column(c) => schema.maybe_index_of_column(c).map(|i| base.outputs[i]),
            _ => None,
        };
        // Table ordinal of a key column, and how far the driving rows come in its order.
        let keys: Vec<(usize, f64)> = match &inner.partner {
            Some(partner) if partner.null_aware => return None,
            Some(partner) => {
                let pairs = partner.on.iter();
                pairs.filter_map(|(o, i)| Some((ordinal(i)?, self.order(o, left.1)))).collect()
            }
            None => {
                let mut keys = Vec::new();
                for class in &self.graph.classes {
                    let mine = class.iter().find(|m| m.relation == relation);
                    let outer = class.iter().filter(|m| left.0 >> m.relation & 1 == 1);
                    let order = outer.map(|m| self.order(&m.expr, left.1)).reduce(f64::max);
                    if let (Some(mine), Some(order)) = (mine, order) {
                        keys.extend(ordinal(&mine.expr).map(|o| (o, order)));
                    }
                }
                keys
            }
        };
        let joined: Vec<usize> = keys.iter().map(|k| k.0).collect();
        let price = |tree: Tree| {
            let leading = keys.iter().find(|k| Some(&k.0) == tree.prefix.first());
            let fetch = inner.partner.is_none() && tree.must_fetch(&base.def, &base.outputs);
            let fetch = fetch.then_some(base.outputs.as_slice());
            let order = leading.map_or(0.0, |k| k.1);
            self.physical.probe_cost(&base, &tree, left.1.rows, order, fetch)
        };
        base.trees(&joined).into_iter().map(price).reduce(f64::min)
    }

    /// How far the rows of an entry come in the order of an expression.
    fn order(&self, expr: &Expr, entry: &Entry) -> f64 {
        let driver = &self.graph.relations[entry.driver];
        let Expr::Column(column) = expr else { return 0.0 };
        let at = driver.plan.schema().maybe_index_of_column(column);
        at.map_or(0.0, |i| driver.profile.columns[i].order)
    }
}

/// The logical plan of a tree.
fn rebuild(shape: &Shape, graph: &Graph) -> SqlResult<(LogicalPlan, Set)> {
    match shape {
        Shape::Leaf(i) => {
            let set = 1 << i;
            let plan = Arc::unwrap_or_clone(Arc::clone(&graph.relations[*i].plan));
            match all_of(due(graph, set, &[])) {
                Some(own) => {
                    let filter = Filter::try_new(own, Arc::new(plan)).map_err(from_library)?;
                    Ok((LogicalPlan::Filter(filter), set))
                }
                None => Ok((plan, set)),
            }
        }
        Shape::Join(left, right) => {
            let (l, left_set) = rebuild(left, graph)?;
            let (r, right_set) = match right.as_ref() {
                Shape::Leaf(i) if graph.relations[*i].partner.is_some() => {
                    let plan = Arc::unwrap_or_clone(Arc::clone(&graph.relations[*i].plan));
                    (plan, 1 << i)
                }
                other => rebuild(other, graph)?,
            };
            let set = left_set | right_set;
            let join = match partner_of(graph, right_set) {
                Some(partner) => test_rows(l, r, partner)?,
                None => {
                    let on = equalities(graph, left_set, right_set);
                    let filter = all_of(due(graph, set, &[left_set, right_set]));
                    inner_join(l, r, on, filter)?
                }
            };
            Ok((LogicalPlan::Join(join), set))
        }
    }
}

fn partner_of(graph: &Graph, set: Set) -> Option<&Partner> {
    let relation = set.trailing_zeros() as usize;
    (set.count_ones() == 1).then(|| graph.relations[relation].partner.as_ref()).flatten()
}

fn test_rows(left: LogicalPlan, right: LogicalPlan, partner: &Partner) -> SqlResult<Join> {
    Join::try_new(
        Arc::new(left),
        Arc::new(right),
        partner.on.clone(),
        partner.filter.clone(),
        partner.kind,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        partner.null_aware,
    )
    .map_err(from_library)
}

fn inner_join(
    left: LogicalPlan,
    right: LogicalPlan,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
) -> SqlResult<Join> {
    Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        filter,
        JoinType::Inner,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )
    .map_err(from_library)
}

/// One equality for each class with members on both sides: of the relation with a composite key, if
/// one is among them, so that the estimates see the whole key joined.
fn equalities(graph: &Graph, left: Set, right: Set) -> Vec<(Expr, Expr)> {
    let keyed = |relation: usize| graph.composite.iter().any(|c| c.0 == relation);
    let member = |class: &[Member], set: Set| {
        let inside = class.iter().filter(|m| set >> m.relation & 1 == 1);
        inside.min_by_key(|m| !keyed(m.relation)).map(|m| m.expr.clone())
    };
    graph.classes.iter().filter_map(|c| Some((member(c, left)?, member(c, right)?))).collect()
}

/// The predicates that can be tested in `set` and in none of its `parts`.
fn due(graph: &Graph, set: Set, parts: &[Set]) -> Vec<Expr> {
    let tested = |p: &Set| parts.iter().any(|part| p & !part == 0);
    let predicates = graph.predicates.iter();
    predicates
        .filter(|p| p.relations & !set == 0 && !tested(&p.relations))
        .map(|p| p.expr.clone())
        .collect()
}

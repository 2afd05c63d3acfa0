//! The exhaustive search against all trees of joins, tried one by one.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_expr::LogicalPlan;

use crate::analyze::query::bind;
use crate::logical::run::Config;
use crate::optimize::join_order::{Entry, Join, Orderer, Pieces, Search, Set, Shape};
use crate::optimize::query::{decorrelated, folded};
use crate::options::PlannerOptions;
use crate::parse::statement::Statement;
use crate::parse::text::parse;
use crate::physical::Physical;
use crate::tests::tpch::Tpch;

/// Two selective ends of a chain whose middle join is large.
const ENDS: &str = "select count(*) from orders, customer, supplier, partsupp
    where o_custkey = c_custkey and c_nationkey = s_nationkey and s_suppkey = ps_suppkey
    and o_orderkey < 100 and ps_partkey = 5";

/// Calls `check` with the search for the joins of a query.
fn search<R>(text: &str, options: &PlannerOptions, check: impl Fn(&Search) -> R) -> R {
    let Some(Statement::Query(query)) = parse(text).unwrap().pop() else { panic!("{text}") };
    let config = Config { aliases: Arc::new(AliasGenerator::new()), values: None };
    let (bound, _) = bind((*query.ast).clone(), &Tpch::new(), 0).unwrap();
    let plan = decorrelated(folded(bound).unwrap(), &config).unwrap();
    let physical = Physical::new(options);
    let orderer = Orderer { physical: &physical };
    let mut pieces = Pieces::default();
    orderer.flatten(LogicalPlan::Join(join_of(&plan).expect("a join")), &mut pieces).unwrap();
    let graph = orderer.graph(pieces).unwrap();
    check(&Search { graph: &graph, physical: &physical })
}

fn join_of(plan: &LogicalPlan) -> Option<Join> {
    match plan {
        LogicalPlan::Join(join) => Some(join.clone()),
        other => other.inputs().into_iter().find_map(join_of),
    }
}

/// Every tree over the relations of `set`.
fn trees(search: &Search, set: Set) -> Vec<Entry> {
    if set.count_ones() == 1 {
        return vec![search.leaf(set.trailing_zeros() as usize)];
    }
    let rows = search.graph.rows(set);
    for connected in [true, false] {
        let mut found = vec![];
        let mut left = (set - 1) & set;
        while left != 0 {
            let right = set & !left;
            let allowed = search.joinable(left, right)
                && search.complete(left)
                && search.complete(right) | (right.count_ones() == 1)
                && search.connected(left, right) == connected;
            if allowed {
                for l in trees(search, left) {
                    for r in trees(search, right) {
                        found.push(search.join((left, &l), (right, &r), rows));
                    }
                }
            }
            left = (left - 1) & set;
        }
        if !found.is_empty() {
            return found;
        }
    }
    vec![]
}

fn is_bushy(shape: &Shape) -> bool {
    match shape {
        Shape::Leaf(_) => false,
        Shape::Join(left, right) => {
            let joins = |s: &Shape| matches!(s, Shape::Join(..));
            (joins(left) && joins(right)) || is_bushy(left) || is_bushy(right)
        }
    }
}

#[test]
fn no_tree_is_cheaper_than_the_one_found() {
    let queries = [
        ENDS,
        "select count(*) from customer, orders, lineitem where c_custkey = o_custkey
         and o_orderkey = l_orderkey and c_mktsegment = 'BUILDING' and l_shipdate > '1998-11-01'",
        "select count(*) from part, supplier, lineitem, partsupp, nation
         where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey
         and p_partkey = l_partkey and s_nationkey = n_nationkey and p_size = 15",
        "select count(*) from region, nation, customer, orders where r_regionkey = n_regionkey
         and n_nationkey = c_nationkey and c_custkey = o_custkey and r_name = 'ASIA'
         and o_orderkey in (select l_orderkey from lineitem where l_partkey = 77)",
    ];
    for text in queries {
        for enable_indexnestloop in [true, false] {
            let options = PlannerOptions { enable_indexnestloop, ..PlannerOptions::default() };
            search(text, &options, |search| {
                let all = (1 << search.graph.relations.len()) - 1;
                let costs = trees(search, all).into_iter().map(|e| e.cost);
                let (count, best) = costs.fold((0, f64::MAX), |(n, b), c| (n + 1, b.min(c)));
                let found = search.exhaustive().cost;
                assert!(count > 10, "{text}: {count} trees");
                assert!(found <= best * 1.000_001, "{text}: {found} against {best} of {count}");
                assert!(search.greedy().cost >= found * 0.999_999, "{text}");
            });
        }
    }
}

#[test]
fn bushy_trees_are_found() {
    search(ENDS, &PlannerOptions::default(), |search| assert!(is_bushy(&search.best())));
}

/// `n` joins of a table with itself along its key.
fn chain(n: usize) -> String {
    let tables: Vec<String> = (0..n).map(|i| format!("orders o{i}")).collect();
    let equal = |i: usize| format!("o{}.o_custkey = o{i}.o_orderkey", i - 1);
    let equalities: Vec<String> = (1..n).map(equal).collect();
    format!("select count(*) from {} where {}", tables.join(", "), equalities.join(" and "))
}

#[test]
fn twelve_relations_are_searched_exhaustively_and_more_greedily() {
    let options = PlannerOptions::default();
    search(&chain(12), &options, |search| {
        let best = search.best();
        assert_eq!(format!("{best:?}"), format!("{:?}", search.exhaustive().shape));
    });
    search(&chain(20), &options, |search| {
        let best = search.best();
        assert_eq!(format!("{best:?}"), format!("{:?}", search.greedy().shape));
    });
}

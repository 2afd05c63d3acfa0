//! Physical plans that are kept for all values: which statements have one, and that its ranges are
//! those of each execution.

use std::sync::Arc;

use plan::Plan;
use plan::catalog::TableDef;
use types::{Datum, oid};

use crate::catalog::Catalog;
use crate::explain::explain_text;
use crate::generic::Generic;
use crate::options::PlannerOptions;
use crate::parse::parameter::Parameter;
use crate::parse::template::Template;
use crate::tests::tpch::Tpch;

/// The tables of a statement that has begun.
struct Begun(Tpch);

impl Catalog for Begun {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.0.table(name)
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.0.tables()
    }

    fn now_us(&self) -> Option<i64> {
        Some(0)
    }
}

fn parameters(values: &[i64]) -> Vec<Parameter> {
    values.iter().map(|value| Parameter::of_type(oid::INT8, Datum::Int(*value))).collect()
}

/// The plans of executions with these values, one after the other.
fn plans(text: &str, executions: &[&[i64]]) -> Vec<Plan> {
    let template = Template::all(text).expect("a statement").pop().expect("one");
    let (catalog, options) = (Begun(Tpch::new()), PlannerOptions::default());
    let first = parameters(executions[0]);
    let generic = Generic::of(&template, &first, &catalog, &options).expect("planned");
    let generic = generic.unwrap_or_else(|| panic!("no plan for all values: {text}"));
    let plan = |values: &&[i64]| generic.plan(&parameters(values), &catalog, &options);
    executions.iter().map(|values| plan(values).expect("a plan")).collect()
}

fn shown(plan: &Plan) -> String {
    explain_text(plan, None, false).join("\n")
}

/// The first execution plans, and the others run its plan with their ranges.
fn check_kept(text: &str, executions: &[&[i64]], ranges: &[&str]) {
    let plans = plans(text, executions);
    assert!(plans[0].bindings.is_none(), "{text}");
    for (plan, range) in plans[1..].iter().zip(ranges) {
        assert!(plan.bindings.is_some(), "planned again: {text}\n{}", shown(plan));
        assert!(shown(plan).contains(range), "no {range}: {text}\n{}", shown(plan));
    }
}

#[test]
fn look_ups_ranges_and_joins_by_keys_are_planned_once() {
    check_kept(
        "select o_clerk from orders where o_orderkey = $1",
        &[&[1], &[7], &[-3]],
        &["o_orderkey = 7", "o_orderkey = -3"],
    );
    check_kept(
        "select o_clerk from orders where o_orderkey between $1 and $1 + 4",
        &[&[1], &[7]],
        &["o_orderkey >= 7 AND o_orderkey <= 11"],
    );
    check_kept(
        "select o_clerk from orders where o_orderkey > $1 and o_orderkey > $2 and o_orderkey < $3",
        &[&[1, 2, 9], &[8, 2, 12], &[2, 8, 12]],
        &["o_orderkey > 8 AND o_orderkey < 12", "o_orderkey > 8 AND o_orderkey < 12"],
    );
    check_kept(
        "select o_clerk from orders where o_orderkey in ($1, $2, $3)",
        &[&[1, 2, 3], &[9, 7, 9]],
        &["(o_orderkey = 7) OR (o_orderkey = 9)"],
    );
    check_kept(
        "select c_name from orders join customer on c_custkey = o_custkey where o_orderkey = $1",
        &[&[1], &[7]],
        &["o_orderkey = 7"],
    );
    check_kept(
        "select o_clerk from orders where o_orderkey > $1 order by o_orderkey limit $2",
        &[&[1, 5], &[7, 5]],
        &["o_orderkey > 7"],
    );
}

#[test]
fn what_joins_pass_on_and_queries_that_are_computed_once_are_planned_once() {
    check_kept(
        "select l_quantity, o_clerk from lineitem join orders on o_orderkey = l_orderkey
         where l_orderkey = $1 / 10",
        &[&[10], &[70], &[79]],
        &["o_orderkey = 7", "o_orderkey = 7"],
    );
    check_kept(
        "select o_clerk from orders where o_orderkey between $1 and $1 + 4
         and exists (select 1 from lineitem where l_orderkey = o_orderkey)",
        &[&[1], &[7]],
        &["o_orderkey >= 7 AND o_orderkey <= 11"],
    );
    check_kept(
        "with few as materialized (select o_custkey from orders where o_orderkey = $1)
         select c_name from few join customer on c_custkey = o_custkey where c_custkey > $2",
        &[&[1, 2], &[7, 3]],
        &["o_orderkey = 7"],
    );
}

#[test]
fn values_of_another_kind_have_a_plan_of_their_own() {
    let is_kept = |text: &str, executions: &[&[i64]]| {
        plans(text, executions).last().is_some_and(|plan| plan.bindings.is_some())
    };
    // Another number of rows.
    let limited = "select o_clerk from orders where o_orderkey > $1 order by o_orderkey limit $2";
    assert!(!is_kept(limited, &[&[1, 5], &[7, 6]]));
    // Many more rows.
    let between = "select o_clerk from orders where o_orderkey between $1 and $2";
    assert!(is_kept(between, &[&[1, 5], &[7, 9]]));
    assert!(!is_kept(between, &[&[1, 5], &[7, 5_000_000]]));
    // No value of the column's type, which the key can have.
    let narrow = "select c_name from customer where c_custkey = $1";
    assert!(is_kept(narrow, &[&[1], &[5]]));
    assert!(!is_kept(narrow, &[&[1], &[5_000_000_000]]));
    // A plan that takes long is made for its values.
    let long = "select count(*) from lineitem where l_quantity < $1";
    assert!(!is_kept(long, &[&[1], &[2]]));
}

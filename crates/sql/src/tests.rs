//! Plans of TPC-H, of its selective variants, and errors of binding.

use crate::explain::explain_text;
use crate::options::PlannerOptions;
use crate::parse::{Statement, parse};
use crate::plan::Plan;
use crate::tpch::Tpch;
use types::SqlResult;

fn plan(text: &str) -> SqlResult<Plan> {
    let mut statements = parse(text)?;
    let Some(Statement::Query(query)) = statements.pop() else { panic!("no query: {text}") };
    crate::plan_query(&query, &Tpch::new(), &PlannerOptions::default())
}

fn query(number: usize) -> String {
    let path = format!("{}/../bench/queries/q{number:02}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn show() {
    for n in 1..=22 {
        if std::env::var("Q").is_ok_and(|q| q != n.to_string()) {
            continue;
        }
        println!("---- Q{n}");
        match plan(&query(n)) {
            Ok(plan) => println!("{}", explain_text(&plan, None).join("\n")),
            Err(error) => println!("ERROR {error}"),
        }
    }
}

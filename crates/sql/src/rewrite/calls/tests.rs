//! Calls nested in each other: which are taken, and which are refused before their types are asked for.
#![allow(clippy::disallowed_methods)] // deep texts need the stack of a thread that runs statements

use datafusion_sql::sqlparser::parser::Parser;

use crate::catalog::empty::NoTables;
use crate::parse::dialect::Postgres;
use crate::rewrite::calls::prepare;

/// The stack of a thread that runs statements.
const STACK_BYTES: usize = 8 << 20;

/// So deep the texts of these tests are.
const DEPTH_MAX: usize = 200;

/// The query with its calls prepared; `None` where that is refused.
fn check(expression: &str) -> Option<String> {
    let text = format!("SELECT {expression}");
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(move || prepared(&text)).expect("a thread").join().expect("no panic")
}

fn prepared(text: &str) -> Option<String> {
    let dialect = Postgres::for_length(text.len());
    let parser = Parser::new(&dialect).with_recursion_limit(DEPTH_MAX).try_with_sql(text);
    let mut query = *parser.and_then(|mut parser| parser.parse_query()).expect("it parses");
    prepare(&mut query, &NoTables).ok().map(|()| query.to_string())
}

/// `CASE` in itself or in calls, so deep.
fn cases(depth: usize, call: &str) -> String {
    (0..depth).fold("a".to_owned(), |inner, _| format!("{call}(CASE WHEN b THEN {inner} END)"))
}

#[test]
fn calls_have_their_first_names() {
    assert_eq!(
        check("char_length(char_length(a))").as_deref(),
        Some("SELECT character_length(character_length(a))")
    );
    assert_eq!(check("abs(1)").as_deref(), Some("SELECT abs(1)"));
}

#[test]
fn what_doubles_with_each_level_is_refused() {
    assert!(check(&cases(10, "abs")).is_some());
    assert!(check(&cases(20, "abs")).is_none());
    assert!(check(&cases(40, "")).is_some(), "alone it does not double");
}

#[test]
fn what_is_only_long_is_taken() {
    let many = (0..20_000).map(|i| format!("CASE WHEN b THEN {i} END")).collect::<Vec<_>>();
    assert!(check(&format!("coalesce({})", many.join(", "))).is_some());
    assert!(check(&format!("a IN ({})", many.join(", "))).is_some());
}

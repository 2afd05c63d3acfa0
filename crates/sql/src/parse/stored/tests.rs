//! What views are kept as, and that it is read again as the same.

use super::{printed, read};
use crate::parse::statement::Statement;
use crate::parse::text::parse;

fn check(query: &str, kept: &str) {
    let mut statements = parse(&format!("create view v as {query}")).expect(query);
    let Some(Statement::CreateView(create)) = statements.pop() else { panic!("no view: {query}") };
    assert_eq!(create.view.query, kept);
    assert_eq!(printed(&read(kept).expect(kept)), kept);
}

#[test]
fn locks_of_keys_are_kept_in_their_own_words() {
    check("select a from t for update", "SELECT a FROM t FOR UPDATE");
    check("select a from t for no key update", "SELECT a FROM t FOR NO KEY UPDATE");
    check(
        "select 'ä FOR UPDATE OF [x]' from t, u for key share of t nowait for no key update of u",
        "SELECT 'ä FOR UPDATE OF [x]' FROM t, u FOR KEY SHARE OF t NOWAIT FOR NO KEY UPDATE OF u",
    );
    check(
        "select a from (select a\n from t for key share skip locked) s for update of s",
        "SELECT a FROM (SELECT a FROM t FOR KEY SHARE SKIP LOCKED) s FOR UPDATE OF s",
    );
    check(
        "select a from t for update of \"\u{1}key\"",
        "SELECT a FROM t FOR UPDATE OF \"\u{1}key\"",
    );
}

#[test]
fn lists_of_no_columns_are_kept_as_none() {
    check("select from t", "SELECT FROM t");
    check("select where true", "SELECT WHERE true");
    check("select", "SELECT");
    check("select union all select", "SELECT UNION ALL SELECT");
}

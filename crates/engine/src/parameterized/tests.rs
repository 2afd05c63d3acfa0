//! What is taken out of a text, and what is not.

use super::parameterize;

fn taken_out(text: &str) -> Option<(String, Vec<String>)> {
    let (text, keys) = parameterize(text)?;
    Some((text, keys.into_iter().map(|key| key.text().unwrap_or_default().into_owned()).collect()))
}

#[test]
fn keys_are_taken_out() {
    let expected = |text: &str, keys: &[&str]| {
        Some((text.to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()))
    };
    assert_eq!(
        taken_out("SELECT a FROM t WHERE k = 42;"),
        expected("SELECT a FROM t WHERE k = $1", &["42"])
    );
    assert_eq!(
        taken_out("select a from t where k='it''s' and l = 7 limit 1"),
        expected("select a from t where k=$1 and l = $2 limit 1", &["it's", "7"])
    );
    assert_eq!(
        taken_out("select 'a = 1', \"b = 2\" from t where (k = 3)"),
        expected("select 'a = 1', \"b = 2\" from t where (k = $1)", &["3"])
    );
}

#[test]
fn what_is_not_a_literal_of_its_own_stays() {
    for text in [
        "select a from t where k = 1.5",
        "select a from t where k >= 1",
        "select a from t where k = 1 + 1",
        "select a from t where k = 1::bigint",
        "select a from t where k = -1",
        "select a from t where k = e'x'",
        "select a from t where k = 'x' 'y'",
        "select a from t where k = 99999999999999999999",
        "select a from t where k = 1 -- or not",
        "select a from t where k = 1; select 2",
        "select a from t where k = $1",
        "select a from t where k = 'open",
        "update t set k = 1",
    ] {
        assert_eq!(taken_out(text), None, "{text}");
    }
}

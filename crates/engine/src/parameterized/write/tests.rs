//! What is taken out of the text of a statement that changes rows, and what is not.

use super::parameterize;

fn taken_out(text: &str) -> Option<(String, Vec<String>)> {
    let (text, values) = parameterize(text)?;
    Some((
        text,
        values.into_iter().map(|value| value.text().unwrap_or_default().into_owned()).collect(),
    ))
}

#[test]
fn operands_are_taken_out() {
    let check = |text: &str, without: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(taken_out(text), Some((without.to_owned(), values)), "{text}");
    };
    check("UPDATE t SET v = 5 WHERE k = 42;", "UPDATE t SET v = $1 WHERE k = $2", &["5", "42"]);
    check("update t set v=v + -5 where k=4", "update t set v=v + $1 where k=$2", &["-5", "4"]);
    check("update t set v = v - 5, w = -1", "update t set v = v - $1, w = $2", &["5", "-1"]);
    check("update t set v = v -5 where k = 1", "update t set v = v -$1 where k = $2", &["5", "1"]);
    check("update t set v = 2 * 3 + w", "update t set v = $1 * $2 + w", &["2", "3"]);
    check("delete from t where k = 'it''s'", "delete from t where k = $1", &["it's"]);
    check("delete from t where k in (1,'b')", "delete from t where k in ($1,$2)", &["1", "b"]);
    check(
        "insert into t values (1, -2, 'c')",
        "insert into t values ($1, $2, $3)",
        &["1", "-2", "c"],
    );
    check(
        "insert into t values (1) on conflict (k) do update set v = 2 returning v + 3",
        "insert into t values ($1) on conflict (k) do update set v = 2 returning v + 3",
        &["1"],
    );
}

#[test]
fn what_is_not_an_operand_of_its_own_stays() {
    for text in [
        "select a from t where k = 1",
        "update t set v = 1.5",
        "update t set v = 007",
        "update t set v = 1::bigint",
        "update t set v = 1e3",
        "update t set v = 99999999999999999999",
        "update t set v = date '2020-01-01'",
        "update t set v = e'x'",
        "update t set v = 'x' 'y'",
        "update t set v = 'x' || w",
        "update t set v = w || 'x'",
        "update t set v = w / 2",
        "update t set v = w -> 2",
        "update t set v = w @- 2",
        "delete from t where k > 1",
        "delete from t returning k + 1",
        "insert into t values ($1, 2)",
        "insert into t values (1); select 2",
        "insert into t values (1) -- or not",
        "insert into t values ('open)",
    ] {
        assert_eq!(taken_out(text), None, "{text}");
    }
}

#[test]
fn signs_stay_where_they_are_others() {
    let (without, values) = taken_out("update t set v = - 5").expect("a value");
    assert_eq!(
        (without.as_str(), values.as_slice()),
        ("update t set v = - $1", &["5".to_owned()][..])
    );
}

//! Which literals are found, and what is left of a text without them.

use super::{Lexed, several};

/// The text without its literals, their types, and their values.
fn apart(text: &str) -> Option<(String, Vec<u32>, Vec<String>)> {
    let lexed = Lexed::of(text)?;
    let all = vec![true; lexed.literals.len()];
    let (without, oids) = lexed.parameterized(&all);
    let values = lexed.values(&all)?;
    let values = values.iter().map(|value| value.text().unwrap_or_default().into_owned());
    Some((without, oids, values.collect()))
}

#[track_caller]
fn check(text: &str, without: &str, oids: &[u32], values: &[&str]) {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    assert_eq!(apart(text), Some((without.to_owned(), oids.to_vec(), values)), "{text}");
}

#[test]
fn literals_are_taken_out() {
    check("SELECT a FROM t WHERE k = 42;", "SELECT a FROM t WHERE k = $1", &[23], &["42"]);
    check(
        "select a from t where k='it''s \\' and l >= 2147483648 limit 1",
        "select a from t where k=$1 and l >= $2 limit $3",
        &[0, 20, 23],
        &["it's \\", "2147483648", "1"],
    );
    check(
        "values (-5, - 6, 7 -8, a-9, 1.50)",
        "values ($1, - $2, $3 -$4, a-$5, $6)",
        &[23, 23, 23, 23, 23, 1700],
        &["-5", "6", "7", "8", "9", "1.50"],
    );
    check("select 'a = 1', \"b = 2\" from t3", "select $1, \"b = 2\" from t3", &[0], &["a = 1"]);
    check("select 1 -- or 2\n, /* 3 /* 4 */ 5 */ 6", "select $1  ,   $2", &[23, 23], &["1", "6"]);
    check("select '\u{e4}' \u{e4}1", "select $1 \u{e4}1", &[0], &["\u{e4}"]);
}

#[test]
fn comments_around_a_statement_are_no_part_of_it() {
    check("/* a */ -- b\n select /*c*/1 ; -- d", "select  $1", &[23], &["1"]);
    check("select 1 -- '", "select $1", &[23], &["1"]);
    check("select 1 /* a */; /* b */ ", "select $1", &[23], &["1"]);
}

#[test]
fn words_for_types_belong_to_literals() {
    check(
        "select DATE '2024-01-02', timestamp'2024-01-02 03:04:05', interval '-2 days 1 hour'",
        "select $1, $2, $3",
        &[1082, 1114, 1186],
        &["2024-01-02", "2024-01-02 03:04:05", "-2 days +01:00:00"],
    );
    for text in [
        "select date 'today', date '2024-1-2', timestamp 'infinity', date '12024-01-02'",
        "select interval '1', interval '1 century', interval '10000 days', interval '1 day 2'",
    ] {
        let oids = [0; 4];
        let (without, found, _) = apart(text).expect("a statement");
        assert_eq!(found, oids, "{text}");
        assert!(without.ends_with(" $4"), "{without}");
    }
    let skeleton = |text: &str| Lexed::of(text).expect("a statement").skeleton();
    assert_eq!(skeleton("select date '2024-01-02'"), skeleton("select date  '2025-01-02'"));
    assert_ne!(skeleton("select date '2024-01-02'"), skeleton("select timestamp '2024-01-02'"));
}

#[test]
fn long_lists_are_arrays() {
    let list = |count: usize| vec!["7"; count].join(", ");
    let text = format!("select a from t where k NOT in ({}) and l in (1, 2)", list(17));
    let array = format!("{{{}}}", vec!["7"; 17].join(","));
    let without = "select a from t where k <> all ($1) and l in ($2, $3)";
    let (found, oids, values) = apart(&text).expect("a statement");
    assert_eq!((found.as_str(), oids), (without, vec![1007, 23, 23]));
    assert_eq!(values[0].replace(' ', ""), array);
    let many = format!("select a from t where k in ({})", list(25_000));
    assert_eq!(apart(&many).expect("a statement").1.len(), 25_000);
    let text = format!("select a from t where k = any('{{{}}}'::int[])", list(25_000));
    assert_eq!(apart(&text).expect("a statement").1, Vec::<u32>::new());
}

#[test]
fn statements_are_told_apart() {
    let begin = "begin ";
    let text = "begin ; update t set a = ';' -- ;\n where b = 1; commit;\n";
    let update = " update t set a = ';' -- ;\n where b = 1";
    let starts = [0, begin.len() + 1, begin.len() + update.len() + 2];
    let parts = [begin, update, " commit"];
    assert_eq!(several(text), Some(starts.into_iter().zip(parts).collect()));
    for text in [
        "select 1",
        "select 1;",
        "select 1; -- a",
        "select 1;; select 2",
        "create table t (a int); select 1",
        "select 1; set a = 1",
        "select $$a$$; select 1",
        "",
        ";",
    ] {
        assert_eq!(several(text), None, "{text}");
    }
}

#[test]
fn some_numbers_stay_as_they_are() {
    for text in [
        "select 007, 1e5, 1., .5, 0x1f, 1_000, 1.5e3, a1, t.a1",
        "select 5e0 / 0, 6e0 % 0",
        "select 99999999999999999999, 0.123456789012345678901234567890123456789",
    ] {
        check(text, text, &[], &[]);
    }
}

#[test]
fn the_smallest_numbers_have_the_smallest_types() {
    check(
        "values (-2147483648, -2147483649)",
        "values ($1, $2)",
        &[23, 20],
        &["-2147483648", "-2147483649"],
    );
}

#[test]
fn other_texts_are_not_looked_at() {
    for text in [
        "select $1",
        "select $$a$$",
        "select e'a', 1",
        "select u&'a', 1",
        "select 1; select 2",
        "select 'open",
        "select /* open",
        "select \u{1}",
        "begin",
        "",
    ] {
        assert_eq!(apart(text), None, "{text}");
    }
}

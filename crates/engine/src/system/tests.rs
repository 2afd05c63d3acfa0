//! Names and sizes that need no database.

use super::names::{parse, quote_ident};
use super::relation;

#[test]
fn names_are_quoted_where_they_must_be() {
    for (name, quoted) in
        [("t", "t"), ("T", "\"T\""), ("select", "\"select\""), ("a\"b", "\"a\"\"b\""), ("", "\"\"")]
    {
        assert_eq!(quote_ident(name), quoted);
    }
    assert_eq!(parse("public.\"A b\"").ok(), Some(vec!["public".into(), "A b".into()]));
    assert_eq!(parse(" T ").ok(), Some(vec!["t".into()]));
    for wrong in ["", "a.", "\"a", "a b\"c"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn relations_are_those_of_the_list() {
    let class = relation::find("pg_catalog", "pg_class").expect("there is a pg_class");
    assert_eq!((class.oid, class.columns.len(), class.ordinal("relname")), (1259, 33, Some(1)));
    assert!(relation::find("information_schema", "tables").is_some());
    let mut oids: Vec<i64> = relation::all().map(|r| r.oid).collect();
    oids.sort_unstable();
    oids.dedup();
    assert_eq!(oids.len(), relation::all().count());
}

//! What needs no database.

use crate::relation;

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

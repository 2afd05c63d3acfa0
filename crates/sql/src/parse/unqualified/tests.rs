//! Which names are found.

use crate::parse::template::Template;

/// The names of a statement, and how it writes those that are written otherwise.
fn check(text: &str, expected: &str) {
    let templates = Template::all(text).expect("statements");
    let named =
        templates.iter().flat_map(Template::relations).map(|one| match one.name == one.written {
            true => one.name,
            false => format!("{}={}", one.name, one.written),
        });
    assert_eq!(named.collect::<Vec<_>>().join(" "), expected, "{text}");
}

#[test]
fn relations_without_a_schema_are_named_once() {
    check("select 1", "");
    check("select b, a from b join a using (x), a as c", "a b");
    check("select * from Df, \"Df\", DF", "Df df=DF df=Df");
    check("select x.a from s.t x, public.u", "");
    check(
        "select (select max(a) from t where a = $1) from u where a in (select a from v)",
        "t u v",
    );
    check("insert into t select * from u", "t u");
    check("create table t as select * from u", "t u");
    check("update t set a = u.a from u; delete from t using v", "t u t v");
    check("select 1 union select a from t", "t");
}

#[test]
fn what_a_statement_defines_is_none_of_them() {
    check("with a as (select * from b), c as (select 1) select * from A, c, d", "b d");
    check(
        "select * from 'file.parquet', read_csv('x'), generate_series(1, 2) g",
        "generate_series read_csv",
    );
    check("begin; set work_mem = '1MB'; checkpoint", "");
    check("selct * from t", "");
}

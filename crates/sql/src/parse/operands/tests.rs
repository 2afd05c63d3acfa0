//! Which literals may be parameters.

use crate::parse::template::Template;

/// The text with `?` before each literal that may be one.
fn marked(text: &str) -> String {
    let template = Template::all(text).expect("read").pop().expect("one");
    let places = template.operands().expect("read").expect("one with a plan for all values");
    let (mut marked, mut done) = (String::new(), 0);
    for place in places.literals {
        marked += &text[done..place];
        marked.push('?');
        done = place;
    }
    marked + &text[done..]
}

#[test]
fn operands_may_be_parameters() {
    for text in [
        "select a from t where k = ?42 and ?'x' < b",
        "select a from t where (k, l) > (?1, ?2)",
        "select a from t where k between ?1 and ?'b' and l not in (?1, -?2, ?'c') or m like ?'%a'",
        "select a from t where k = a + ?1 and l <> - ?1.5",
        "select a from t where k = ?12 / ?5 and l between ?3 and ?3 + ?4 and m = (?2)::smallint",
        "select a from t where k = any(array[?1, -?2]::int[])",
        "select a from t where d = ?'2024-01-01'::date and u = cast(?'x' as uuid)",
        "select a from t where e < f + ?'1 day'::interval",
        "select a from t where k = any(?'{1, 2}')\n and l = ?'\u{e4}\u{f6}' and m\n >= ?'it''s'",
        "select a from t order by a limit ?10 offset ?20",
        "select a from t where b in (select b from u where c > ?5 limit 6) limit ?7",
        "select a from t join u on t.k = u.k and u.l > ?5",
        "select a = ?1, case when b > ?'x' then 1 else 2 end from t group by a, 2",
        "select (select max(b) from u where u.k = ?5) from t",
        "select a from (values (?1, ?'a'), (?2, ?'b')) v (a, b)",
        "with w as (select a from t where k = ?3) select a from w where a > ?4",
        "insert into t values (?1, ?'a', default, ?2 + b, lower('x'))",
        "insert into t select a from u where k = ?1",
        "update t set a = ?1, b = b + ?2 from u where t.k = u.k and u.l = ?'x'",
        "delete from t where k = ?1 returning a + 1",
        "select a from t where d >= date ?'2024-01-01' and e < f + interval ?'1 day'",
        "select a from t where d < date ?'2024-01-01' + interval ?'1 year' and l = ?'1'::int",
        "select a from t where k = any(?'{1, 2}'::bigint[]) and l = 'a' || (?7 % ?100 + ?1)",
        "select a from t where b || ?'x' = c and l @> ?'{1}' and m & ?4 <> ?0",
        "select a from t where k = ?10 % ?2 + ?3 and l = - ?1 + ?2 and m = (?1) or n",
        "insert into t values (?1) on conflict (a) do update set a = ?5, b = t.b + ?1 where t.a > ?6",
    ] {
        assert_eq!(marked(&text.replace('?', "")), text);
    }
}

#[test]
fn lists_may_be_arrays() {
    let lists = |text: &str| {
        let template = Template::all(text).expect("read").pop().expect("one");
        template.operands().expect("read").expect("one with a plan for all values").lists.len()
    };
    for text in [
        "select a from t where k in (1, 2)",
        "select a from t where not t.k not in ('a', 'b') or l",
        "select a from t where (k % 7 in (1, 2)) and lower(b) in ('a')",
        "delete from t where case when k::text in ('1') then l end and (k + 1) in (1)",
    ] {
        assert_eq!(lists(text), text.matches(" in (").count(), "{text}");
    }
    for text in [
        "select a from t where b = k in (1, 2)",
        "select a from t where k in (1, 2) = b",
        "select a from t where k in (1, 2) in (true, false)",
        "select a from t where b like k in (1)",
        "select k in (1, 2) from t",
        "select a from t where l || m in ('a') or (case when b then 1 end) + 1 = 2",
        "select sum(case when k in (1) then 1 end) from t order by k in (2)",
    ] {
        assert_eq!(lists(text), 0, "{text}");
    }
}

#[test]
fn other_literals_are_part_of_the_statement() {
    for text in [
        "select 1, a + 1, 'x' from t",
        "select a + 1, count(*) from t group by a + 1, 1 order by 1, a + 2",
        "select distinct on (a + 1) a from t",
        "select a = 1, count(*) from t group by a = 1",
        "select sum(case when a = 5 then 1 end) from t",
        "select a from t where k = 1 / 0 or k = 1 * 2 or k = 1 + 2 + 3 or k = 1073741824 + 1",
        "select a from t where 'a' = 'b' or k = 'a' || 'b' or k = 5 / (0) or k = 1 * 2 + 3",
        "select a from t where k = '1.5'::numeric and l = 'x'::varchar(5)",
        "select a from t where m = '2024-01-01'::timestamp(3) or m = timestamp(3) '2024-01-01'",
        "select a from t where k = 5::smallint + 3::smallint or m = interval '1' day",
        "select a from t where 1 = 1 and k = round(b, 2)",
        "select a || 'x' from t where k = b::bigint and d > date '2020-01-01' - 5",
        "select a from t where d > e - '1 day' and n = m * 1.5 and k = b[1]",
        "select a from t where case when b then 1 else 2 end = c",
        "select a from t group by a having sum(b * 2) > c and coalesce(b + 1, 5) = a",
        "select a from t order by a limit 1 for update skip locked",
        "insert into t values (lower('x')) on conflict (a) do nothing returning a + 5",
    ] {
        assert_eq!(marked(text), text);
    }
}

#[test]
fn other_statements_have_none() {
    for text in ["set a = 1", "create table t (a varchar(10) default 5)", "begin"] {
        let template = Template::all(text).expect("read").pop().expect("one");
        assert_eq!(template.operands().expect("read"), None, "{text}");
    }
}

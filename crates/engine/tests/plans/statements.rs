//! Tables with all types, statements with parameters everywhere, values of all kinds, and what changes plans.

pub const SETUP: &str = "
    create table t (id int primary key, k bigint, s smallint, n numeric(12,3), free numeric, f double precision,
        r real, x text, v varchar(10), c char(6), d date, at timestamp, moment timestamptz, b boolean, u uuid,
        bytes bytea, span interval);
    create table o (id int, part int, owner int, x text, n numeric(10,2), d date, primary key (id, part));
    create index t_k on t (k);
    create index t_x on t (x);
    create index t_d on t (d, n);
    create index o_t on o (owner);
    insert into t select g,
        case when g % 7 = 0 then null else g % 23 - 5 end,
        case when g % 11 = 0 then null else g % 13 end,
        case when g % 9 = 0 then null else (g % 40 - 10) * 0.125 end,
        case when g % 8 = 0 then null else (g % 30 - 7) * 0.01 end,
        case when g % 10 = 0 then null when g % 10 = 1 then '-0'::float8
            when g % 50 = 2 then 'NaN'::float8 else (g % 17 / 4.0)::float8 end,
        case when g % 6 = 0 then null else (g % 19 - 3) / 2.0 end,
        case when g % 5 = 0 then null when g % 5 = 1 then '' else 'x' || g % 12 end,
        case when g % 4 = 0 then null else 'v' || g % 9 end,
        case when g % 3 = 0 then 'ab' when g % 3 = 1 then 'ab' || g % 8 else null end,
        case when g % 13 = 0 then null when g % 61 = 0 then 'infinity' else date '2024-02-20' + g % 30 end,
        case when g % 14 = 0 then null else timestamp '2024-02-28 12:00' + g % 60 * interval '11 hours' end,
        case when g % 15 = 0 then null else timestamptz '2024-03-30 00:00+00' + g % 50 * interval '1 hour' end,
        case when g % 3 = 0 then null else g % 2 = 0 end,
        case when g % 5 = 0 then null
            else ('00000000-0000-0000-0000-0000000000' || lpad((g % 20)::text, 2, '0'))::uuid end,
        case when g % 4 = 0 then null else decode(lpad((g % 16)::text, 4, '0'), 'hex') end,
        case when g % 6 = 0 then null else g % 5 * interval '1 day' + g % 3 * interval '1 month' end
        from generate_series(1, 120) g;
    insert into o select g / 3, g % 3, case when g % 10 = 0 then null else g % 130 end, 'x' || g % 12,
        g % 50 * 0.25, date '2024-02-20' + g % 40 from generate_series(1, 300) g;
    create view seen as select id, x from t;
    create view passed as select id, n, at from t where moment < now() and n is not null;
    create view days (day, many, least) as select d, count(*), min(n) from t group by d;
    analyze";

/// All that statements change.
pub const CONTENTS: &str = "select (select md5(string_agg(t::text, ' ' order by id)) from t),
    (select md5(string_agg(o::text, ' ' order by id, part)) from o)";

/// Values of each type; most executions have some of the first four.
const VALUES: &[(&str, &[&str])] = &[
    ("int", &["3", "7", "40", "-1", "0", "null", "2147483647", "-2147483648", "119"]),
    ("smallint", &["3", "7", "12", "-1", "0", "null", "32767", "-32768"]),
    (
        "bigint",
        &[
            "3",
            "7",
            "12",
            "-1",
            "0",
            "null",
            "9223372036854775807",
            "-9223372036854775808",
            "2147483648",
        ],
    ),
    (
        "numeric",
        &[
            "0.5",
            "1.25",
            "0.02",
            "-0.75",
            "0",
            "null",
            "0.1249999999999999999999999999",
            "99999999999999999999999999999999999",
            "1e-15",
            "3",
            "0.125000",
            "-1000.001",
            "0.01",
        ],
    ),
    (
        "double precision",
        &[
            "0.5",
            "1.25",
            "0",
            "2",
            "'-0'",
            "null",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1e-300",
            "0.1",
        ],
    ),
    ("real", &["0.5", "1.5", "0", "2", "'-0'", "null", "'NaN'", "0.1", "1e30"]),
    (
        "text",
        &[
            "'x3'",
            "'x1'",
            "''",
            "'ab'",
            "'ab  '",
            "null",
            "'%'",
            "'x%'",
            "'_1'",
            "'x1%'",
            "'now'",
            "'\\'",
            "'day'",
            "'3'",
            "'Ä''\"'",
            "'x'",
            "'(x|v)[0-3]'",
        ],
    ),
    (
        "varchar",
        &[
            "'v3'",
            "'v1'",
            "''",
            "'ab'",
            "'ab  '",
            "null",
            "'v%'",
            "'a long text of very many letters'",
        ],
    ),
    ("bpchar", &["'ab'", "'ab1'", "'ab  '", "''", "null", "' '", "'ab1   '"]),
    (
        "date",
        &[
            "'2024-02-29'",
            "'2024-03-05'",
            "'2024-02-20'",
            "'2024-03-31'",
            "null",
            "'infinity'",
            "'-infinity'",
            "'0001-01-01'",
            "'today'",
            "'4714-11-24 BC'",
        ],
    ),
    (
        "timestamp",
        &[
            "'2024-03-01 12:00'",
            "'2024-03-05'",
            "'2024-02-29 23:59:59.999999'",
            "'2024-03-20'",
            "null",
            "'infinity'",
            "'-infinity'",
            "'now'",
            "'0001-01-01'",
        ],
    ),
    (
        "timestamptz",
        &[
            "'2024-03-31 01:30+01'",
            "'2024-03-31 02:30'",
            "'2024-03-30 12:00-05'",
            "'2024-04-01'",
            "null",
            "'infinity'",
            "'-infinity'",
            "'tomorrow'",
        ],
    ),
    ("boolean", &["true", "false", "true", "false", "null"]),
    (
        "uuid",
        &[
            "'00000000-0000-0000-0000-000000000003'",
            "'00000000-0000-0000-0000-000000000012'",
            "'{00000000-0000-0000-0000-000000000007}'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "null",
        ],
    ),
    ("bytea", &["'\\x0003'", "'\\x0012'", "'\\x'", "'\\x00'", "null", "'abc'"]),
    (
        "interval",
        &[
            "'1 day'",
            "'1 month'",
            "'24 hours'",
            "'30 days'",
            "'0'",
            "null",
            "'-1 month'",
            "'100 years'",
            "'1 month -30 days'",
        ],
    ),
    ("int[]", &["'{1,2,3}'", "'{7}'", "'{}'", "'{40,41,42}'", "null", "'{null,3}'"]),
];

/// The values of a type.
pub fn values_of(ty: &str) -> &'static [&'static str] {
    let of_type = VALUES.iter().find(|(name, _)| *name == ty);
    of_type.unwrap_or_else(|| panic!("no values of {ty}")).1
}

/// Types of the parameters, and the statement.
pub const QUERIES: &[(&str, &str)] = &[
    ("int", "select * from t where id = $1 or id = $1 + 1"),
    ("int, int", "select id, x from t where id > $1 and id <= $2"),
    ("int, int", "select id from t where id between $1 and $2 and id <> $1"),
    ("int, int, int", "select id from t where id in ($1, $2, $3)"),
    ("int, int, int, int, int", "select id, k from t where k in ($1, $2, $3, $4, $5)"),
    ("int, int", "select id from t where id not in ($1, $2) and s < 2"),
    ("bigint", "select id, k, s from t where id = $1 or s = $1 or k = $1"),
    ("bigint, smallint", "select count(*), min(k), max(s) from t where k < $1 and s >= $2"),
    ("smallint", "select id from t where k = $1 order by id desc"),
    ("numeric", "select id, n from t where n = $1"),
    ("numeric", "select id, n from t where n > $1 order by n, id"),
    ("numeric", "select id from t where id = $1"),
    ("numeric", "select id from t where k >= $1 and id < 50"),
    ("numeric, numeric", "select id, free from t where free between $1 and $2"),
    ("numeric, numeric", "select id, n from t where n in ($1, $2)"),
    ("numeric", "select id, n * $1, n + $1, n - $1 from t where id < 9"),
    ("numeric", "select id, n / $1 from t where id < 9"),
    ("numeric, int", "select id, round(n * $1, $2), trunc(n, $2) from t where id < 9"),
    ("int", "select id, round(n, $1) from t where id < 9"),
    ("numeric", "select $1, $1 + 1, id from t where id = 3"),
    ("double precision", "select id, f from t where f = $1"),
    ("double precision", "select id, f from t where f >= $1 and id < 60"),
    ("double precision, double precision", "select id from t where f in ($1, $2)"),
    ("double precision", "select id from t where n < $1"),
    ("double precision", "select id, r from t where r = $1 or r > $1 + 5"),
    ("real", "select id, r from t where r = $1"),
    ("real", "select id, f from t where f = $1"),
    ("double precision", "select id, f + $1, id / $1 from t where id in (2, 3)"),
    ("int", "select id, k / $1, k % $1 from t where id in (2, 3, 7)"),
    ("text", "select id, x from t where x = $1"),
    ("text", "select id, x from t where x > $1 and x <> 'x2'"),
    ("text", "select id, x from t where x like $1"),
    ("text", "select id, x from t where x not like $1 and id < 30"),
    ("text", "select id, x from t where x ilike $1 || '%'"),
    ("text", "select id, x from t where x ~ $1"),
    ("text, text", "select id from t where x in ($1, $2) and v is not null"),
    ("text", "select id, c from t where c = $1"),
    ("bpchar", "select id, c from t where c = $1"),
    ("bpchar", "select id, x from t where x = $1 or c > $1"),
    ("varchar", "select id, v from t where v = $1 or x = $1"),
    (
        "text, text",
        "select id, x || $1, coalesce(x, $2), nullif(x, $1), upper($2) from t where id < 12",
    ),
    (
        "text, int, int",
        "select substr(x || 'abcdef', $2, $3), left(x, $2), replace(x, 'x', $1) from t where id < 12",
    ),
    (
        "text, int",
        "select case when x = $1 then 'one' when id > $2 then $1 else 'none' end from t where id < 20",
    ),
    ("text, int", "select case x when $1 then $2 else id end from t where id < 20"),
    ("date", "select id, d from t where d = $1"),
    ("date, date", "select id, d from t where d >= $1 and d < $2 and n > 0"),
    ("date, numeric", "select id, d, n from t where d = $1 and n > $2"),
    ("date", "select id from t where at >= $1 and at < $1 + 3"),
    ("date, interval", "select id, d - $1, d + $2 from t where id < 9"),
    ("timestamp", "select id, d from t where d = $1"),
    ("timestamp", "select id, at from t where at > $1"),
    ("timestamp", "select id from t where moment < $1"),
    (
        "timestamp, interval",
        "select id, at - $1, at + $2 from t where at between $1 - $2 and $1 + $2",
    ),
    ("timestamptz", "select id, moment from t where moment >= $1"),
    ("timestamptz", "select id from t where at < $1 or d > $1"),
    ("timestamptz", "select id, moment::date, moment - $1 from t where moment::date = $1::date"),
    ("interval", "select id, span from t where span = $1"),
    ("interval", "select id, span + $1, span > $1 from t where id < 12"),
    ("interval", "select count(*) from t where moment < now() - $1"),
    ("interval, int", "select id from t where at < current_date + $1 and id < $2"),
    ("text", "select id, date_trunc($1, at) from t where id < 9"),
    ("text", "select id, extract(day from at), date_part($1, at) from t where id < 9"),
    ("text", "select id from t where d > $1::date"),
    ("text", "select id from t where x = $1::varchar(2) or c = $1::char(3)"),
    ("text", "select id from t where id = $1::int"),
    ("text", "select id from t where n < $1::numeric"),
    ("boolean", "select id, b from t where b = $1"),
    ("boolean, int", "select id from t where $1 and id < $2"),
    ("boolean, boolean", "select id from t where (b or $1) and not ($2 and id > 5) and id < 20"),
    ("boolean", "select id, b and $1, b or $1, b is distinct from $1 from t where id < 9"),
    ("int", "select id, s is distinct from $1, s is not distinct from $1 from t where id < 15"),
    ("int", "select id from t where s is not distinct from $1"),
    ("int", "select id, $1 is null, $1 is not null, coalesce($1, s) from t where id < 5"),
    ("uuid", "select id, u from t where u = $1"),
    ("uuid", "select id from t where u > $1 and id < 50"),
    ("bytea", "select id, bytes from t where bytes = $1 or bytes > $1"),
    ("int[]", "select id from t where id = any($1)"),
    ("int[]", "select id from t where id <> all($1) and id < 9"),
    ("int", "select id from t order by id limit $1"),
    ("int, int", "select id from t order by id offset $1 limit $2"),
    ("int", "select id from t order by id fetch first ($1) rows only"),
    (
        "int",
        "select id from t where id < 20 and exists (select 1 from o where o.owner = t.id limit $1)",
    ),
    ("int", "select id from t where id in (select owner from o order by owner limit $1)"),
    (
        "int, int",
        "with w as (select id, k from t order by id limit $1) select a.id, b.k from w a join w b on a.k = b.id where b.id < $2",
    ),
    ("int, text", "select t.id, o.n from t join o on o.owner = t.id where t.id < $1 and o.x > $2"),
    (
        "int, date",
        "select count(*), sum(o.n) from t join o on o.owner = t.id and o.d < $2 where t.k = $1",
    ),
    (
        "int, int",
        "select t.id, o.id from t left join o on o.owner = t.id and o.part = $1 where t.id < $2",
    ),
    (
        "int, int",
        "select t.id, o.id from t left join o on o.owner = t.id where o.part = $1 and t.id < $2",
    ),
    ("int, int", "select a.id, b.id from t a join t b on a.k = b.k where a.id = $1 and b.id < $2"),
    ("int, int", "select a.id, b.id from t a, t b where a.id = $1 and b.id = $2 and a.id = b.id"),
    ("int", "select a.id from t a, o b where a.id = b.owner and a.id = $1 and b.owner = $1"),
    (
        "numeric, int",
        "select id from t where exists (select 1 from o where o.owner = t.id and o.n > $1) and id < $2",
    ),
    (
        "int, numeric",
        "select id from t where id not in (select owner from o where owner is not null and n > $2) and id < $1",
    ),
    (
        "int",
        "select id, (select max(n) from o where o.owner = t.id and o.part <> $1) from t where id < 30",
    ),
    ("int, int", "select k, count(*), sum(s + $1) from t group by k having count(*) > $2"),
    ("int", "select k + $1, count(*) from t group by k + $1"),
    ("int", "select id, k + $1 as moved from t where id < 20 order by k + $1, id"),
    ("int", "select distinct k + $1, s < $1 from t"),
    ("text", "select string_agg(x, $1 order by id) from t where id < 9"),
    ("int", "select count($1), sum($1), max($1) from t where id < 9"),
    ("int", "select count(*) filter (where s > $1), sum(n) filter (where id < $1) from t"),
    ("double precision", "select percentile_cont($1) within group (order by id) from t"),
    (
        "int, int",
        "select id, lag(k, $1) over (order by id), sum(s + $2) over (order by id) from t where id < 9",
    ),
    ("int, int", "select id from t where id < $1 union select owner from o where part = $2"),
    ("int, bigint", "select id from t where id < $1 union all select $2"),
    ("int, int", "select id from t where id < $1 except select id from t where s = $2"),
    ("int, int", "select * from (values ($1, 1), (2, $2)) v (a, b)"),
    ("int, int", "select g from generate_series($1, $2) g where $1 > -2 and $2 < 1000"),
    (
        "int, text",
        "with w as (select id, x from t where id < $1) select a.id from w a join w b on a.x = b.x where b.x > $2",
    ),
    ("int, int", "select id from (select id, s from t where s > $1 limit 1000) q where id < $2"),
    ("int", "select id from t where s > $1 and $1 > 5"),
    ("int", "select id from t where s > $1 and s < 0 and id < 100"),
    ("int, int", "select id from t where ($1 = 3 and id < 5) or ($2 = 7 and id > 115) or id = $1"),
    ("int", "select id from t where id < 10 and not (s > $1 or k is null)"),
    ("text", "select id from t where 'x1' like $1 and id < 4"),
    ("text, date", "select $1, $2, $2 + 1, $1 || 'z', length($1)"),
    (
        "int, int",
        "select greatest($1, $2, s), least($1, s), abs($1), mod(k, $2) from t where id < 9",
    ),
    ("int", "select * from seen where id < $1"),
    ("int", "select id, n from passed where id < $1"),
    ("date, int", "select day, many, least from days where day >= $1 and many > $2"),
    (
        "int, numeric",
        "select s.x, p.n, p.at from seen s join passed p on p.id = s.id where s.id < $1 and p.n > $2",
    ),
    ("text", "select count(*) from pg_class where relname > $1 and relname in ('t', 'o')"),
    ("int", "select current_user, id from t where id = $1"),
    ("int", "select id from t where id < $1 and d < ('to' || 'day')::date and d < date 'tomorrow'"),
    ("", "select count(*), min(n), max(x) from t where d < current_date"),
    ("int", "select id, k from t where id = $1 for update"),
];

/// Statements that change rows: what they return, and what they leave.
pub const CHANGES: &[(&str, &str)] = &[
    ("int, int", "update t set s = s + $1 where k = $2"),
    (
        "numeric, int",
        "update t set n = n * $1, free = free + $1 where id < $2 and s > 3 returning id, n, free",
    ),
    ("numeric, text", "update t set n = $1, x = $2 where s between 3 and 5 and k > 0"),
    ("text, text", "update t set c = $1, v = left($2, 10) where x > 'x4' and id < 60"),
    (
        "date, interval",
        "update t set d = $1, at = at + $2, moment = now() where s = 2 returning id, d, at",
    ),
    (
        "int, numeric",
        "update o set n = o.n + t.n, d = current_date from t where t.id = o.owner and t.k = $1 and o.n < $2",
    ),
    ("int", "update t set k = default, s = $1 where id + 0 = 7 returning id, k, s"),
    ("int, int", "update t set s = $1 where id between 5 and $2 returning id, s > $1"),
    ("int, text", "delete from t where s < $1 and x > $2 returning id, x"),
    ("int, numeric", "delete from o using t where t.id = o.owner and t.s = $1 and o.n > $2"),
    ("date", "delete from t where d < $1 or d is null and at > $1"),
    ("int, int", "update t set free = free + $1 where id in (select id from seen where id < $2)"),
    (
        "numeric",
        "delete from o using passed p where p.id = o.id and p.n > $1 returning o.id, o.part",
    ),
    (
        "int, int",
        "insert into o (id, part, n) select id, s, $1 from t where k = $2 and s is not null",
    ),
    (
        "int, numeric",
        "insert into o (id, part, n) select id, 1, n from t where k = $1 and n > $2
         on conflict do nothing returning id, n",
    ),
    (
        "int, text",
        "insert into o (id, part, x, n, d) select id, 0, x, n, current_date from passed join seen using (id)
         where id < $1 and x > $2 on conflict do nothing",
    ),
];

/// What changes plans, or what they depend on.
pub const TURNS: &[&str] = &[
    "create index if not exists t_s on t (s)",
    "drop index if exists t_s",
    "drop index if exists t_k",
    "create index if not exists t_k on t (k)",
    "drop index if exists t_n; create index t_n on t (n, s)",
    "drop index if exists t_f; create index t_f on t (f)",
    "drop index if exists t_at; create index t_at on t (at); create index if not exists t_moment on t (moment)",
    "drop index if exists t_u; create index t_u on t (u); create index if not exists t_c on t (c)",
    "create index if not exists t_h on t using hash (x)",
    "drop index if exists t_h",
    "analyze",
    "analyze t",
    "alter table t add column if not exists note text default 'none'",
    "alter table t drop column if exists note",
    "alter table t drop column if exists note; alter table t add column note int",
    "alter table o alter column n type numeric(12,4)",
    "alter table o alter column n type numeric(10,2)",
    "alter table o alter column x type varchar(20)",
    "alter table o alter column x type text",
    "alter table t alter column k set default 5",
    "alter table t alter column k drop default",
    "insert into o (id, part, owner, x, n, d)
        select g, 7, g % 100, 'x' || g % 3, g * 0.01, '2024-03-01' from generate_series(1000, 2500) g
        on conflict do nothing",
    "delete from o where part = 7",
    "set timezone = 'Europe/Berlin'",
    "set timezone = 'America/New_York'",
    "reset timezone",
    "set enable_seqscan = off",
    "set enable_hashjoin = off",
    "set enable_indexscan = off",
    "reset enable_seqscan; reset enable_hashjoin; reset enable_indexscan",
    "create or replace view seen as select id, x from t where id > 30",
    "create or replace view seen as select id, x from t where id < 30",
    "drop view passed; create view passed as select id, n, at from t where moment < now() and n > 0",
    "drop view passed; create view passed as select n, at, id from t where moment is not null",
    "alter table o rename to gone; create table o as select * from gone where id < 70; drop table gone",
    "create temporary table if not exists other (id int)",
    "begin; alter table t drop column bytes; rollback",
    "discard plans",
];

/// What leaves columns at other places, and tables without statistics by which anything could be told to have
/// changed. A plan that is kept in spite of it reads other columns. By turns, so that each moves something.
pub const MOVES: [&str; 2] = [
    "alter table t drop column k; alter table t add column k bigint; update t set k = id % 23 - 5;
    create index if not exists t_k on t (k);
    alter table o drop column owner; alter table o add column owner int; update o set owner = id * 3 % 130;
    create index if not exists o_t on o (owner)",
    "alter table t drop column s; alter table t add column s smallint; update t set s = id % 13;
    alter table o drop column x; alter table o add column x text; update o set x = 'x' || id % 12",
];

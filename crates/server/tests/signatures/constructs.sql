-- A statement a line.
select $1
select $1, $2
select $1 as x
select $1 from sig
select distinct $1 from sig
select $1::integer
select cast($1 as date)
select $1::text, $1
select $1, $1::text
select $1::numeric
select $1::numeric(10,2)
select $1::int4[]
select $1::timestamptz
select $1 is null
select $1 is not null
select $1 is null or i4 = $1 from sig
select i4 from sig where $1 is null or i4 = $2
select i4 from sig where i4 = $2
select i4 from sig where $1
select i4 from sig where not $1
select i4 from sig where b and $1
select i4 from sig where $1 or b
select $1 is true
select $1 is not false
select $1 is unknown
select i4 from sig where i4 = $1
select i4 from sig where $1 = i4
select i4 from sig where i4 <> $1
select i4 from sig where i2 < $1
select i4 from sig where i8 >= $1
select i4 from sig where t = $1
select i4 from sig where vc = $1
select i4 from sig where bc = $1
select i4 from sig where d = $1
select i4 from sig where ts > $1
select i4 from sig where tz > $1
select i4 from sig where n > $1
select i4 from sig where u = $1
select i4 from sig where f4 = $1
select i4 from sig where y = $1
select i4 from sig where o = $1
select i4 from sig where ai = $1
select i4 from sig where at = $1
select i4 from sig where iv > $1
select i4 from sig where i4 in ($1)
select i4 from sig where i4 in ($1, $2)
select i4 from sig where i4 in ($1, 5)
select i4 from sig where i2 in ($1, 5)
select i4 from sig where i4 in (1, i2, $1)
select i4 from sig where i4 not in ($1, $2)
select i4 from sig where $1 in (1, 2)
select i4 from sig where $1 in (i4, i8)
select i4 from sig where t in ($1, $2)
select i4 from sig where i4 between $1 and $2
select i4 from sig where $1 between i4 and i8
select i4 from sig where d between $1 and $2
select i4 from sig where i4 not between $1 and 5
select i4 from sig where t like $1
select i4 from sig where $1 like t
select i4 from sig where t ilike $1
select i4 from sig where t not like $1
select i4 from sig where t similar to $1
select i4 from sig where t ~ $1
select i4 from sig where t ~* $1
select i4 from sig where i4 = any($1)
select i4 from sig where t = any($1)
select i4 from sig where i4 <> all($1)
select i4 from sig where d = any($1)
select i4 from sig where $1 = any(ai)
select i4 from sig where $1 = any(at)
select i4 from sig where i4 = any(array[$1, $2])
select i4 from sig where i4 = any(array[$1, i8])
select i4 from sig where (i4, t) = ($1, $2)
select i4 from sig where (i4, t) in (($1, $2), ($3, $4))
select i4 from sig where i4 is distinct from $1
select i4 from sig where t is not distinct from $1
select i4 from sig where i4 = (select $1)
select i4 from sig where i4 in (select i4 from sig where t = $1)
select i4 from sig where $1 in (select i4 from sig)
select i4 from sig where $1 = any (select i8 from sig)
select i4 from sig where exists (select 1 from other where id = $1 and m > $2)
select i4 from sig where i4 = (select max(id) from other where name = $1)
select (select name from other where id = $1)
select i4 from sig where i4 = coalesce($1, i4)
select i4 from sig where t = coalesce($1, t)
select i4 from sig where i4 = coalesce($1, 5)
select coalesce(i4, $1) from sig
select coalesce($1, i4) from sig
select coalesce($1, $2)
select coalesce($1, i4, i8) from sig
select coalesce($1, 'a')
select greatest(i4, $1) from sig
select least($1, n) from sig
select greatest($1, $2)
select nullif(i4, $1) from sig
select nullif($1, i4) from sig
select nullif($1, 'a')
select nullif($1, $2)
select case when $1 then 1 else 2 end
select case when i4 = $1 then $2 else t end from sig
select case when b then $1 else i4 end from sig
select case when b then i4 else $1 end from sig
select case when b then $1 end from sig
select case when b then $1 else $2 end from sig
select case i4 when $1 then 'a' end from sig
select case i4 when $1 then $2 when $3 then $4 else 5 end from sig
select case when b then $1 when not b then n else 1 end from sig
select array[i4, $1] from sig
select array[$1, $2]
select array[$1]::int[]
select array[$1::int, $2]
select ai[$1] from sig
select ai[$1:$2] from sig
select at[$1] from sig
select ai || $1 from sig
select $1 || ai from sig
select t || $1 from sig
select $1 || t from sig
select i4 || $1 from sig
select $1 || $2
select at || $1 from sig
select i4 from sig limit $1
select i4 from sig limit $1 offset $2
select i4 from sig offset $1
select i4 from sig order by i4 limit $2 offset $1
select i4 from sig fetch first $1 rows only
select i4 from sig offset $1 rows fetch next $2 rows only
select i4 from sig order by i4 fetch first row only
select i4 from sig where t = $1 fetch next ($2) rows only
select i4 from sig where i4 = $1 for update
select i4 from sig where i4 = $1 for no key update
select i4 from sig where i4 = $1 for key share
select i4 from sig where i4 = $1 for share of sig nowait
select i4 from sig where i4 = $1 for no key update of sig skip locked
values ($1)
values ($1, $2)
values (1, 'a'), ($1, $2)
values ($1, $2), (1, 'a')
values (1.5), ($1)
values (1::int8), ($1)
values (date '2020-01-01'), ($1)
values ($1), ($2)
select * from (values (1, $1), ($2, 'x')) v(a, b)
select * from (values (1, $1), ($2, 2)) v(a, b) where a = $3
select 1 union select $1
select $1 union select 1
select $1 union all select $2
select i8 from sig union all select $1
select $1 union select n from sig
select t from sig union select $1 union select $2
select i4 from sig except select $1
select i4 from sig intersect select $1
select 1 union select 2 union select $1
insert into other values ($1, $2, $3, $4, $5)
insert into other (id, name) values ($1, $2)
insert into other (name, id) values ($1, $2), ($3, $4)
insert into other (id) values ($1 + 1)
insert into other (id, name) values ($1, upper($2))
insert into other (id, m) values ($1, $2 * 1.5)
insert into other (id, name) values ($1, $2) returning id, name
insert into other (id, name) values ($1, $2) returning id + $3
insert into other (id, name) values (1, 'a') returning $1
insert into other (id, name) values ($1, $2) on conflict (id) do nothing
insert into other (id, name) values ($1, $2) on conflict (id) do update set name = $3
insert into other (id, name) values ($1, $2) on conflict (id) do update set name = excluded.name || $3
insert into other (id, m) values ($1, $2) on conflict (id) do update set m = other.m + $3 where other.id > $4
insert into other (id) select $1
insert into other (id, name) select $1, $2
insert into other (id, name) select i4, $1 from sig where i8 = $2
insert into other (id, small) select $1, $2 from sig
insert into other (id) select $1 union select i4 from sig
insert into other (id, m) values ($1, default)
insert into other (id, name) select id + $1, name from other where name like $2
update other set name = $1 where id = $2
update other set m = m + $1 where id = $2
update other set m = $1 * m, small = small + $2
update other set name = coalesce($1, name) where id = $2
update other set name = $1, made = $2 where id = $3 returning id, made
update other set name = upper($1)
update other set name = case when id = $1 then $2 else name end
update other set (name, m) = ($1, $2) where id = $3
update other set made = now() - $1
update other set name = t from sig where sig.i4 = other.id and t = $1
update other set small = $1 where small = $2
update other set name = (select t from sig where i4 = $1)
update other set made = default where id = $1
delete from other where id = $1
delete from other where name = $1 and m > $2 returning id
delete from other using sig where sig.i4 = other.id and sig.t = $1
delete from other where made < now() - $1
with q as (select $1) select * from q
with q as (select i4 from sig where t = $1) select * from q where i4 = $2
with q as (select $1::int as x) select x + $2 from q
with recursive r as (select 1 as n union all select n + 1 from r where n < $1) select n from r
with recursive r(n) as (select $1::int union all select n + $2 from r where n < $3) select n from r
select x from (select $1 as x) q
select x || 'a' from (select $1 as x) q
select x + $2 from (select coalesce(i4, $1) as x from sig) q
select s.i4 from sig s join other o on o.id = s.i4 and o.name = $1
select s.i4 from sig s join other o on $1 where s.t = $2
select s.i4 from sig s left join other o on o.id = $1
select s.i4, v from sig s, lateral (select name || $1 as v from other where id = s.i4) q
select t, count(*) from sig group by t having count(*) > $1
select t, sum(i4) from sig group by t having sum(i4) > $1
select t, avg(n) from sig group by t having avg(n) > $1
select t, $1 from sig group by t
select t, max(i4 + $1) from sig group by t
select count(*) filter (where i4 > $1) from sig
select sum(i4 * $1) from sig
select string_agg(t, $1) from sig
select string_agg(t, $1 order by i4) from sig
select array_agg(i4 + $1) from sig
select count($1)
select sum($1)
select max($1)
select lag(i4, $1) over (order by i4) from sig
select lag(i4, $1, $2) over (order by i4) from sig
select lag(t, 1, $1) over (order by i4) from sig
select lead(n, $1, $2) over (order by i4) from sig
select ntile($1) over (order by i4) from sig
select nth_value(t, $1) over (order by i4) from sig
select first_value(i4 + $1) over (order by i4) from sig
select sum(i4) over (partition by t order by d + $1::int) from sig
select generate_series(1, $1)
select generate_series($1, 10)
select generate_series($1::int, $2)
select * from generate_series(1, $1)
select * from generate_series(1, $1, $2)
select * from generate_series($1::int, $2) g where g > $3
select * from generate_series(date '2020-01-01', $1, interval '1 day')
select * from generate_series(ts, ts, $1) g, sig
select * from generate_series(1::bigint, $1)
select * from unnest($1::int[])
select unnest($1::text[])
select * from unnest(array[1, $1])
select left(t, $1) from sig
select substr(t, $1) from sig
select substr(t, $1, $2) from sig
select substring(t from $1) from sig
select substring(t from $1 for $2) from sig
select substring($1 from 2 for 3)
select position($1 in t) from sig
select trim($1)
select trim(both $1 from t) from sig
select overlay(t placing $1 from 2) from sig
select repeat(t, $1) from sig
select lpad(t, $1) from sig
select lpad(t, $1, $2) from sig
select round(n, $1) from sig
select round($1)
select round($1, 2)
select trunc(n, $1) from sig
select mod(i4, $1) from sig
select mod(i8, $1) from sig
select power(f8, $1) from sig
select power($1, 2)
select sqrt($1)
select abs($1)
select abs($1) + i4 from sig
select ceil($1), floor($1)
select div(n, $1) from sig
select i4 + $1 from sig
select i2 + $1 from sig
select $1 + i8 from sig
select n * $1 from sig
select f8 / $1 from sig
select f4 / $1 from sig
select i4 % $1 from sig
select i4 ^ $1 from sig
select i4 & $1 from sig
select i4 << $1 from sig
select i4 + 1.5 * $1 from sig
select $1 + 1
select $1 + 1.5
select 1 + $1
select $1 + $2
select $1 = $2
select $1 < $2
select $1 * $2
select - $1
select i4 + $1 + $2 from sig
select (i4 + $1) * $2 from sig
select d + $1 from sig
select d - $1 from sig
select $1 - d from sig
select ts + $1 from sig
select ts - $1 from sig
select tz + $1 from sig
select tz - $1 from sig
select $1 - tz from sig
select tm + $1 from sig
select iv + $1 from sig
select iv - $1 from sig
select iv * $1 from sig
select iv / $1 from sig
select $1 * iv from sig
select interval '1 day' * $1
select $1 * interval '1 day'
select now() + $1 * interval '1 day'
select now() - $1
select now() - interval '1 day' * $1
select tz at time zone $1 from sig
select ts at time zone $1 from sig
select date_trunc($1, ts) from sig
select date_trunc('day', $1)
select date_part('year', ts), date_part($1, ts) from sig
select extract(year from ts + $1) from sig
select extract(epoch from $1::timestamptz)
select age(ts, $1) from sig
select to_timestamp($1)
select to_char(ts, $1) from sig
select to_char($1::timestamptz, 'YYYY')
select to_char(n, $1) from sig
select to_date($1, $2)
select make_date($1, $2, $3)
select make_date(2020, $1, 1)
select make_interval(days => $1)
select make_timestamp($1, 1, 1, 0, 0, $2)
select to_hex($1)
select chr($1), ascii($2)
select md5($1)
select md5(y), sha256($1) from sig
select encode($1, 'hex')
select encode(y, $1) from sig
select decode($1, $2)
select length($1)
select length(y), octet_length($1) from sig
select upper($1), lower($2)
select initcap($1)
select concat(t, $1) from sig
select concat_ws($1, t, t) from sig
select format($1, t) from sig
select replace(t, $1, $2) from sig
select translate(t, $1, $2) from sig
select split_part(t, $1, $2) from sig
select regexp_replace(t, $1, $2) from sig
select regexp_replace(t, $1, $2, $3) from sig
select starts_with(t, $1) from sig
select strpos(t, $1) from sig
select reverse($1)
select quote_ident($1), quote_literal($2)
select string_to_array(t, $1) from sig
select array_to_string(ai, $1) from sig
select array_append(ai, $1) from sig
select array_prepend($1, ai) from sig
select array_cat(ai, $1) from sig
select array_remove(ai, $1) from sig
select array_position(ai, $1) from sig
select array_length(ai, $1) from sig
select array_append($1, $2)
select cardinality($1)
select pg_typeof($1)
select pg_sleep($1)
select pg_sleep(0)
select pg_terminate_backend($1)
select pg_cancel_backend($1)
select pg_advisory_lock($1)
select pg_try_advisory_lock($1)
select pg_advisory_unlock($1)
select pg_backend_pid()
select current_setting($1)
select set_config($1, $2, $3)
select current_user, session_user, current_schema, current_database()
select nextval($1)
select has_table_privilege($1, 'select')
select obj_description($1, 'pg_class')
select format_type($1, $2)
select to_regclass($1) is null
select random() < $1
select gcd(i4, $1), lcm(i4, $2) from sig
select width_bucket(f8, $1, $2, $3) from sig
select bit_length($1)
select round(n * $1, 2) from sig
select coalesce(sum(i4), $1) from sig
select coalesce(max(d), $1) from sig
select upper(coalesce(t, $1)) from sig
select left(upper(t), length(t) - $1) from sig
select substr(t, i4 + $1) from sig
select abs(i4 - $1) from sig
select case when abs(i4 - $1) > $2 then $3 else t end from sig
select min(i4) + $1 from sig
select row_number() over (order by i4) + $1 from sig
select i4 from sig order by $1
select i4 from sig order by i4 + $1
select count(*) from sig group by i4 + $1
select i4 as x from sig where i4 + $1 > $2 order by x limit $3
select relname from pg_class where relname = $1
select oid from pg_type where typname = $1 and oid > $2
select attname from pg_attribute where attrelid = $1 and attnum > $2
select table_name from information_schema.tables where table_schema = $1
explain select i4 from sig where i4 = $1
declare c cursor for select i4 from sig where i4 = $1
select null
select null, 1
select 'a', 1, 1.5, null::int
select array[null]
select * from nosuch where a = $1
select nosuch from sig where i4 = $1
select nosuch(i4, $1) from sig
select i4 from sig where nosuch = $1
select s.nosuch from sig s
select i4 + t from sig
select upper(i4, t) from sig
insert into nosuch values ($1)
insert into other (nosuch) values ($1)
insert into other values ($1, $2, $3, $4, $5, $6)
insert into other (id, name) values ($1)
update other set nosuch = $1
update nosuch set a = $1
delete from other where nosuch = $1
delete from nosuch where a = $1
select i4 from sig group by t
select sum(i4) from sig where sum(i4) > $1
select i4, t from sig union select $1
select d + t from sig

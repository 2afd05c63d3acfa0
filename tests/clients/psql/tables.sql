-- Statements and their tags, as a user types them.
\set QUIET off
create table t (id serial primary key, a int, b text default 'b');
insert into t (a) values (1), (2), (3) returning id, a, b;
insert into t select 10 + g, g, 'x' from generate_series(1, 5) g;
update t set a = a * 2 where id > 10 returning id, a;
delete from t where id = 1;
insert into t (id, a) values (2, 50) on conflict (id) do update set a = excluded.a + t.a returning *;
insert into t (id, a) values (2, 50) on conflict do nothing;
alter table t add column c date;
alter table t drop column b;
alter table t rename column a to aa;
create index t_aa on t (aa);
create unique index on t (c);
analyze t;
truncate t;
select * from t;
create table u as select 1 as x, 'y' as y;
select * from u;
create view v as select x + 1 as x1 from u;
select * from v;
drop view v;
drop table u, t;
begin;
select 1;
commit;
start transaction isolation level read committed, read only;
rollback;
set statement_timeout = '5s';
show statement_timeout;
reset statement_timeout;
prepare p as select 1;
execute p;
deallocate p;
discard all;
\set QUIET on

-- Errors, their codes and places; blocks.
\set VERBOSITY default
selec 1;
select 1 +;
select nothing;
select * from nowhere;
select 1 / 0;
select 'x'::int;
select foo(1);
select 1 where 'a';
select a, count(*) from (values (1)) v(a);
select 1 union select 'x', 2;
insert into nowhere values (1);
create table e (id int primary key, n int not null, t varchar(3));
create table e (id int);
insert into e values (1, 1, 'abc');
insert into e values (1, 1, 'abc');
insert into e values (2, null, 'abc');
insert into e values (3, 1, 'abcd');
insert into e values (4, 99999999999, 'a');
insert into e (wrong) values (1);
insert into e values (1, 2, 'c', 4);
update e set wrong = 1;
delete from e where wrong = 1;
\echo :ERROR :SQLSTATE :LAST_ERROR_MESSAGE
select 1;
\echo :ERROR :SQLSTATE :ROW_COUNT
begin;
select 1;
select 1 / 0;
select 2;
commit;
begin;
savepoint s;
select 1 / 0;
rollback to savepoint s;
select 3;
end;
rollback;
\set ON_ERROR_ROLLBACK on
begin;
select 1 / 0;
select 4;
commit;
\set ON_ERROR_ROLLBACK off
\set VERBOSITY sqlstate
select 1 / 0;
\set VERBOSITY terse
select nothing;
\set VERBOSITY default
drop table if exists not_there;
create table if not exists e (id int);
drop table e;
drop table e;

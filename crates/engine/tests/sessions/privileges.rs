//! The privilege matrix: every kind of statement, tried by the owner of what it touches, by a role
//! that was granted what it needs, by one that was granted nothing, and by a superuser.

use crate::privileges_support::{Database, check};
use engine::{STATEMENT_KINDS, statement_kind};

/// What each of the four may do: `y` it works, `n` it is refused with 42501.
/// The order: owner, granted, none, superuser.
///
/// The schema for each attempt is made anew: `own` owns the table `t` (with the index `t_i`) and the
/// view `v` over the superuser's table `hidden`, which it may read; `granted` was granted the privileges in
/// the second column; `nobody` nothing.
const MATRIX: &[(&str, &str, &str)] = &[
    ("select * from t", "grant select on t to granted", "yyny"),
    ("select count(*) from t x join t y using (a)", "grant select on t to granted", "yyny"),
    ("select 1 where exists (select 1 from t)", "grant select on t to granted", "yyny"),
    ("with w as (select * from t) select * from w", "grant select on t to granted", "yyny"),
    ("select * from t", "grant insert, update, delete on t to granted", "ynny"),
    ("select * from t", "grant pg_read_all_data to granted", "yyny"),
    ("select * from t", "grant own to granted", "yyny"),
    ("select * from t", "grant all on all tables in schema public to granted", "yyny"),
    ("select * from t", "grant select on t to public", "yyyy"),
    ("select * from t", "grant select on t to granted; revoke all on t from granted", "ynny"),
    ("select * from v", "grant select on v to granted", "yyny"),
    ("select * from v", "grant select on hidden to granted", "ynny"),
    ("select * from v", "revoke all on hidden from own; grant select on v to granted", "nnnn"),
    ("select * from hidden", "grant select on v to granted", "ynny"),
    ("select rolname from pg_authid", "grant pg_read_all_data to granted", "nnny"),
    ("select rolname from pg_roles", "", "yyyy"),
    ("select 1", "", "yyyy"),
    ("explain select * from t", "grant select on t to granted", "yyny"),
    ("explain analyze select * from t", "grant select on t to granted", "yyny"),
    ("create sequence n", "grant create on schema public to granted", "nyny"),
    ("create sequence n owned by t.a", "grant create on schema public to granted", "nnny"),
    ("alter sequence s restart", "grant all on sequence s to granted", "ynny"),
    ("alter sequence s owned by hidden.a", "grant all on sequence s to granted", "nnny"),
    ("alter sequence s rename to n", "grant create on schema public to own", "ynny"),
    ("alter sequence s rename to n", "", "nnny"),
    ("alter sequence t_a_seq restart", "grant all on t to granted", "ynny"),
    ("alter sequence s owner to own", "grant own to granted", "yyny"),
    ("drop sequence s", "grant all on sequence s to granted", "ynny"),
    ("select nextval('s')", "grant usage on sequence s to granted", "yyny"),
    ("select nextval('s')", "grant update on s to granted", "yyny"),
    ("select nextval('s')", "grant select on sequence s to granted", "ynny"),
    ("select nextval('s')", "grant all on all sequences in schema public to granted", "yyny"),
    (
        "select nextval('s')",
        "grant usage on sequence s to granted; revoke all on sequence s from granted",
        "ynny",
    ),
    ("select nextval('t_a_seq')", "grant insert on t to granted", "yyny"),
    ("select nextval('t_a_seq')", "grant select, update on t to granted", "ynny"),
    ("select setval('s', 5)", "grant update on sequence s to granted", "yyny"),
    ("select setval('s', 5)", "grant usage on sequence s to granted", "ynny"),
    ("select last_value from s", "grant select on sequence s to granted", "yyny"),
    ("select last_value from s", "grant usage on sequence s to granted", "ynny"),
    ("grant usage on sequence s to other", "grant all on sequence s to granted", "yyny"),
    ("create table n (a int)", "grant create on schema public to granted", "nyny"),
    ("create temporary table n (a int)", "", "yyyy"),
    ("create temporary table n (a int); create index n_i on n (a)", "", "yyyy"),
    ("show data", "grant pg_read_all_settings to granted", "nyny"),
    ("select current_setting('data')", "grant pg_read_all_settings to granted", "nyny"),
    ("show work_mem", "", "yyyy"),
    ("create view n as select 1 as a", "grant create on schema public to granted", "nyny"),
    (
        "create or replace view v as select a from hidden",
        "grant create on schema public to granted",
        "nnny",
    ),
    ("create index n on t (a)", "grant all on t to granted", "nnny"),
    ("drop table t", "grant all on t to granted", "ynny"),
    ("drop view v", "grant all on v to granted", "ynny"),
    ("drop index t_i", "grant all on t to granted", "ynny"),
    ("drop table t", "grant own to granted", "yyny"),
    ("insert into t values (7, 'x')", "grant insert on t to granted", "yyny"),
    ("insert into t values (7, 'x')", "grant select on t to granted", "ynny"),
    ("insert into t values (7, 'x')", "grant pg_write_all_data to granted", "yyny"),
    ("insert into t values (7, 'x') returning a", "grant insert on t to granted", "ynny"),
    ("insert into t values (7, 'x') returning a", "grant insert, select on t to granted", "yyny"),
    (
        "insert into t values (1, 'x') on conflict do nothing",
        "grant insert on t to granted",
        "yyny",
    ),
    (
        "insert into t values (1, 'x') on conflict (a) do nothing",
        "grant insert on t to granted",
        "ynny",
    ),
    (
        "insert into t values (1, 'x') on conflict (a) do update set b = 'y'",
        "grant insert, select on t to granted",
        "ynny",
    ),
    (
        "insert into t values (1, 'x') on conflict (a) do update set b = 'y'",
        "grant insert, select, update on t to granted",
        "yyny",
    ),
    ("insert into t select a, 'x' from hidden", "grant insert on t to granted", "ynny"),
    ("update t set b = 'x'", "grant update on t to granted", "yyny"),
    ("update t set b = 'x'", "grant select, delete, insert on t to granted", "ynny"),
    ("update t set b = b || 'x'", "grant update on t to granted", "ynny"),
    ("update t set b = 'x' where a = 1", "grant update on t to granted", "ynny"),
    ("update t set b = 'x' where a = 1", "grant update, select on t to granted", "yyny"),
    ("update t set b = (select max(a) from hidden)::text", "grant update on t to granted", "ynny"),
    ("delete from t", "grant delete on t to granted", "yyny"),
    ("delete from t", "grant select, update, truncate on t to granted", "ynny"),
    ("delete from t where a = 1", "grant delete on t to granted", "ynny"),
    (
        "delete from t where a in (select a from hidden)",
        "grant delete, select on t to granted",
        "ynny",
    ),
    ("explain delete from t", "grant delete on t to granted", "yyny"),
    ("explain analyze delete from t", "grant select on t to granted", "ynny"),
    (
        "with d as (delete from t returning a) select * from d",
        "grant select on t to granted",
        "ynny",
    ),
    (
        "with d as (delete from t returning a) select * from d",
        "grant select, delete on t to granted",
        "yyny",
    ),
    (
        "with d as (delete from t returning a) select * from d, hidden",
        "grant select, delete on t to granted",
        "ynny",
    ),
    ("set constraints all deferred", "", "yyyy"),
    ("listen a", "", "yyyy"),
    ("notify a, 'b'", "", "yyyy"),
    ("truncate t", "grant truncate on t to granted", "yyny"),
    ("begin; lock table t", "grant truncate on t to granted", "yyny"),
    ("begin; lock t in share mode", "grant select, insert on t to granted", "ynny"),
    ("begin; lock t in access share mode", "grant select on t to granted", "yyny"),
    ("begin; select * from t for update", "grant select on t to granted", "ynny"),
    ("begin; select * from t for update", "grant select, update on t to granted", "yyny"),
    ("begin; select * from t for share", "grant select, delete on t to granted", "ynny"),
    ("begin; select * from t for key share", "grant select, update on t to granted", "yyny"),
    ("begin; select * from h, t for update of t", "grant select on h, t to granted, own", "ynny"),
    ("begin; select * from h x, t for update of x", "grant select on h, t to own", "nnny"),
    ("begin; select * from (select * from t) x for update", "grant select on t to granted", "ynny"),
    ("begin; select * from (select * from t for update) x", "grant select on t to granted", "ynny"),
    ("begin; select * from v for update", "grant select on v to granted", "ynny"),
    ("begin; select * from public.t for update", "grant select on t to granted", "ynny"),
    ("begin; with t as (select 1) select * from t for update", "", "yyyy"),
    ("begin; select * from pg_class for update", "", "nnny"),
    ("begin; select * from information_schema.tables for update", "", "nnny"),
    ("truncate t", "grant delete on t to granted", "ynny"),
    ("alter table t add column c int", "grant all on t to granted", "ynny"),
    ("alter table t add foreign key (a) references h (a)", "grant own to granted", "nnny"),
    (
        "create table n (a int references h)",
        "grant create on schema public to granted, own; grant references on h to granted",
        "nyny",
    ),
    (
        "create table n as select a from hidden",
        "grant create on schema public to granted, own",
        "ynny",
    ),
    ("copy t from '{data}'", "grant insert on t to granted", "nnny"),
    (
        "copy t from '{data}'",
        "grant insert on t to granted; grant pg_read_server_files to granted",
        "nyny",
    ),
    ("copy t to '{data}.out'", "grant select on t to granted", "nnny"),
    (
        "copy t to '{data}.out'",
        "grant select on t to granted; grant pg_write_server_files to granted",
        "nyny",
    ),
    (
        "copy (delete from t returning a) to '{data}.out'",
        "grant select on t to granted; grant pg_write_server_files to granted",
        "nnny",
    ),
    ("analyze t", "", "yyyy"),
    ("vacuum analyze t", "", "yyyy"),
    ("comment on table t is 'x'", "grant all on t to granted", "ynny"),
    ("comment on column t.b is 'x'", "grant all on t to granted", "ynny"),
    ("comment on index t_i is 'x'", "grant all on t to granted", "ynny"),
    ("reorganize table t", "grant all on t to granted", "ynny"),
    ("set execution_mode = serial", "", "yyyy"),
    ("show execution_mode", "", "yyyy"),
    ("reset execution_mode", "", "yyyy"),
    ("check database", "grant pg_checkpoint to granted", "nnny"),
    ("checkpoint", "grant pg_checkpoint to granted", "nyny"),
    ("backup database to '{data}.copy'", "grant pg_write_server_files to granted", "nnny"),
    ("create secret n (type s3, key_id 'a', secret 'b')", "grant own to granted", "nnny"),
    ("drop secret if exists n", "grant pg_write_server_files to granted", "nnny"),
    ("create role n", "alter role granted createrole", "nyny"),
    ("create role n superuser", "alter role granted createrole", "nnny"),
    ("create role n in role pg_read_server_files", "alter role granted createrole", "nnny"),
    ("create role n in role boss", "alter role granted createrole", "nnny"),
    ("alter role nobody nologin", "alter role granted createrole", "nyny"),
    ("alter role current_user password 'x'", "", "yyyy"),
    ("alter role nobody password 'x'", "alter role granted createrole", "nyyy"),
    ("alter role current_user superuser", "alter role granted createrole", "nnny"),
    ("alter role boss password 'x'", "alter role granted createrole", "nnny"),
    ("alter role other rename to another", "alter role granted createrole", "nyny"),
    ("drop role other", "alter role granted createrole", "nyny"),
    ("drop role super", "alter role granted createrole", "nnny"),
    ("grant select on t to other", "grant all on t to granted", "yyny"),
    ("revoke select on t from other", "grant all on t to granted", "yyny"),
    ("grant select on v to other", "grant all on v to granted", "yyny"),
    ("grant select on all tables in schema public to other", "grant all on t to granted", "nnny"),
    ("grant create on schema public to other", "grant create on schema public to granted", "yyyy"),
    ("grant connect on database t to other", "grant connect on database t to granted", "yyyy"),
    ("grant own to other", "grant own to granted with admin option", "nyny"),
    ("grant own to other", "grant own to granted", "nnny"),
    ("grant own to other", "alter role granted createrole", "nyny"),
    ("grant pg_read_server_files to other", "alter role granted createrole", "nnny"),
    ("grant boss to other", "alter role granted createrole", "nnny"),
    ("revoke own from other", "grant own to granted with admin option", "nyny"),
    ("alter table t owner to other", "grant other to granted", "nnny"),
    ("alter table t owner to own", "grant own to granted", "yyny"),
    ("alter view v owner to own", "grant all on v to granted", "ynny"),
    ("set role own", "grant own to granted", "yyny"),
    ("set role boss", "grant own to granted", "nnny"),
    ("set session authorization other", "grant other to granted", "nnny"),
    ("reset role", "", "yyyy"),
    ("prepare p as select * from t", "", "yyyy"),
    ("prepare p as select * from t; execute p", "grant select on t to granted", "yyny"),
    ("prepare p as delete from t; execute p", "grant select on t to granted", "ynny"),
    ("discard all", "", "yyyy"),
];

/// Kinds that need the server's protocol, and no privilege; or that stand behind a `PREPARE` above;
/// or that a database in one file refuses to everybody.
const ELSEWHERE: &[&str] =
    &["TRANSACTION", "DEALLOCATE", "EXECUTE", "CURSOR", "LOCK TABLE", "ALTER DATABASE"];

#[test]
fn members_are_for_superusers() {
    let database = Database::new("members").copy();
    for (role, state) in [("nobody", "42501"), ("own", "42501"), ("boss", "22023")] {
        let mut session = database.session();
        session.log_in(role, 1).expect("logged in");
        let refused = session.execute("alter database add member '/no/such/member'");
        assert_eq!(refused.expect_err("there is one file").state.0, state, "{role}");
    }
}

#[test]
fn each_kind_of_statement_is_allowed_to_whom_the_matrix_says() {
    let database = Database::new("matrix");
    for (statement, granted, expected) in MATRIX {
        check(&database, statement, granted, expected);
    }
}

#[test]
fn the_matrix_lists_every_kind_of_statement() {
    let kinds = MATRIX.iter().map(|(statement, ..)| {
        let parsed = sql::parse(statement).expect(statement);
        statement_kind(&parsed[0])
    });
    let listed: Vec<&str> = kinds.chain(ELSEWHERE.iter().copied()).collect();
    let missing: Vec<_> = STATEMENT_KINDS.iter().filter(|kind| !listed.contains(kind)).collect();
    assert!(missing.is_empty(), "add these kinds of statements to the matrix: {missing:?}");
}

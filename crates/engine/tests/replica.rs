//! A replica shows states that its primary had, whole transactions only, and writes nothing.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{
    ArchiveOptions, Configuration, Database, Options, Origin, Replica, ReplicaOptions, Session,
    SqlError, SqlResult, StatementResult,
};
use runtime::sync::Cancel;
use types::text::format_value;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A primary, and the folder with its files.
struct Primary {
    db: Database,
    folder: Scratch,
}

fn options(archive: Option<&Path>) -> Options {
    let tell = Arc::new(|said: &str| println!("archive: {said}"));
    let archive = archive.map(|folder| ArchiveOptions { folder: folder.to_owned(), tell });
    Options { memory_bytes: 24 << 20, archive, ..pg::options() }
}

/// A primary with some accounts, of which a backup lies beside it.
fn primary(name: &str) -> Primary {
    let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).unwrap();
    let folder = Scratch(folder);
    let archive = folder.0.join("archive");
    let db = Database::create(&folder.0.join("primary"), options(Some(&archive))).unwrap();
    let mut session = db.session();
    session.execute("create table accounts (id int primary key, amount bigint)").unwrap();
    let fill = "insert into accounts select i, 100 from generate_series(1, 50) g(i)";
    session.execute(fill).unwrap();
    db.back_up(&folder.0.join("copy")).unwrap();
    drop(session);
    Primary { db, folder }
}

impl Primary {
    fn replica(&self, options: &Options) -> SqlResult<Replica> {
        let folder = self.folder.0.join("archive");
        let tell = Arc::new(|said: &str| println!("replica: {said}"));
        let ending = Cancel::new();
        let follow = ReplicaOptions { folder, upstream: None, tell, ending };
        Replica::start(&self.folder.0.join("copy"), &follow, options)
    }
}

fn row(session: &mut Session, text: &str) -> String {
    let results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(StatementResult::Rows(rows)) = results.last() else { panic!("{text} gives no rows") };
    let batch = rows.batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    let value =
        |column: &arrow_array::ArrayRef| format_value(column, 0).unwrap_or_else(|| "NULL".into());
    batch.columns().iter().map(value).collect::<Vec<_>>().join("|")
}

/// Waits until a query gives the wanted row. Waiting is all that a test of another task can do.
fn at_last(session: &mut Session, text: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let found = match session.execute(text) {
            Ok(_) => row(session, text),
            Err(error) => error.to_string(),
        };
        if found == wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{text}: {found}, not {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn refused(session: &mut Session, text: &str) -> SqlError {
    let error = session.execute(text).expect_err(text);
    session.execute("rollback").ok();
    error
}

const SUM: &str = "select sum(amount), count(*) from accounts";

#[test]
fn a_replica_shows_what_its_primary_has_committed() {
    let primary = primary("replica-follows");
    let replica = primary.replica(&options(None)).unwrap();
    let (mut writer, mut reader) = (primary.db.session(), replica.database().session());
    assert_eq!(row(&mut reader, SUM), "5000|50");
    writer.execute("insert into accounts values (51, 7)").unwrap();
    at_last(&mut reader, SUM, "5007|51");
    // Definitions and loads come with checkpoints.
    writer
        .execute("create table loaded as select i as a from generate_series(1, 20000) g(i)")
        .unwrap();
    at_last(&mut reader, "select count(*), max(a) from loaded", "20000|20000");
    writer.execute("alter table accounts add column note text default 'none'").unwrap();
    at_last(&mut reader, "select min(note) from accounts", "none");
    writer.execute("create index on loaded (a); create sequence s").unwrap();
    at_last(&mut reader, "select count(*) from pg_class where relname = 's'", "1");
    assert_eq!(row(&mut reader, "select a from loaded where a = 777"), "777");
    writer.execute("drop table loaded").unwrap();
    let gone = "select count(*) from pg_class where relname = 'loaded'";
    at_last(&mut reader, gone, "0");
    writer
        .execute("create table c (a int) with (storage = column); insert into c values (1), (2)")
        .unwrap();
    at_last(&mut reader, "select sum(a) from c", "3");
    // Commits that are put into trees: of columns, of keys by their hashes, of long values.
    writer.execute("delete from c where a = 1; insert into c values (40)").unwrap();
    at_last(&mut reader, "select sum(a), count(*) from c", "42|2");
    writer.execute("create table h (a int, b text); create index on h using hash (a)").unwrap();
    writer.execute("insert into h select i, 'x' from generate_series(1, 100) g(i)").unwrap();
    writer.execute("update h set b = repeat('long', 20000) where a = 50").unwrap();
    writer.execute("delete from h where a = 51").unwrap();
    at_last(&mut reader, "select max(length(b)), count(*) from h where a in (50, 51)", "80000|1");
    writer.execute("select nextval('s'), nextval('s')").unwrap();
    at_last(&mut reader, "select last_value > 1 from pg_sequences where sequencename = 's'", "t");
    writer.execute("create view v as select a from h").unwrap();
    at_last(&mut reader, "select count(*) from v", "99");
    let last = row(&mut writer, "select pg_current_wal_lsn()");
    at_last(&mut reader, "select pg_last_wal_replay_lsn()", &last);
    assert_eq!(row(&mut reader, "select pg_last_wal_receive_lsn()"), last);
    let times = "select pg_last_xact_replay_timestamp() > now() - interval '1 hour'";
    assert_eq!(row(&mut reader, times), "t");
    assert_eq!(row(&mut reader, "select status from pg_stat_wal_receiver"), "streaming");
    drop(reader);
    // It goes on where it was.
    drop(replica);
    writer.execute("delete from accounts where id = 51; checkpoint").unwrap();
    writer.execute("insert into accounts (id, amount) values (52, 1)").unwrap();
    let replica = primary.replica(&options(None)).unwrap();
    let mut reader = replica.database().session();
    at_last(&mut reader, SUM, "5001|51");
}

/// Statements that are refused with 25006, and what follows `cannot execute`, as a hot standby of
/// PostgreSQL 15 has it.
const READ_ONLY: [(&str, &str); 53] = [
    ("insert into t values (1)", "INSERT in a read-only transaction"),
    ("insert into t select 1 where false", "INSERT in a read-only transaction"),
    ("update t set a = 1", "UPDATE in a read-only transaction"),
    ("delete from t", "DELETE in a read-only transaction"),
    ("truncate t", "TRUNCATE TABLE in a read-only transaction"),
    ("create table u (a int)", "CREATE TABLE in a read-only transaction"),
    ("create temp table u (a int)", "CREATE TABLE in a read-only transaction"),
    ("create table u as select 1", "CREATE TABLE AS in a read-only transaction"),
    ("create temp table u as select 1", "CREATE TABLE AS in a read-only transaction"),
    ("create view u as select 1", "CREATE VIEW in a read-only transaction"),
    ("create index on t (a)", "CREATE INDEX in a read-only transaction"),
    ("create sequence u", "CREATE SEQUENCE in a read-only transaction"),
    ("drop table t", "DROP TABLE in a read-only transaction"),
    ("drop sequence s", "DROP SEQUENCE in a read-only transaction"),
    ("drop function if exists nothing()", "DROP FUNCTION in a read-only transaction"),
    ("alter table t add b int", "ALTER TABLE in a read-only transaction"),
    ("alter table t rename to u", "ALTER TABLE in a read-only transaction"),
    ("alter sequence s restart", "ALTER SEQUENCE in a read-only transaction"),
    ("comment on table t is 'x'", "COMMENT in a read-only transaction"),
    ("copy t from '/nowhere'", "COPY during recovery"),
    ("create role r", "CREATE ROLE in a read-only transaction"),
    ("grant select on t to public", "GRANT in a read-only transaction"),
    ("revoke select on t from public", "REVOKE in a read-only transaction"),
    ("select nextval('s')", "nextval() in a read-only transaction"),
    ("select setval('s', 3)", "setval() in a read-only transaction"),
    ("explain analyze select nextval('s')", "nextval() in a read-only transaction"),
    ("select txid_current()", "pg_current_xact_id() during recovery"),
    ("select * from t for update", "SELECT FOR UPDATE in a read-only transaction"),
    ("select * from t for key share", "SELECT FOR KEY SHARE in a read-only transaction"),
    ("select * from (select * from t for share) x", "SELECT FOR SHARE in a read-only transaction"),
    (
        "with c as (select * from t for update) select * from c",
        "SELECT FOR UPDATE in a read-only transaction",
    ),
    (
        "select 1 where exists (select 1 from t for no key update)",
        "SELECT FOR NO KEY UPDATE in a read-only transaction",
    ),
    (
        "begin; declare c cursor for select * from t for update",
        "SELECT FOR UPDATE in a read-only transaction",
    ),
    (
        "copy (select * from t for update) to '/nowhere'",
        "SELECT FOR UPDATE in a read-only transaction",
    ),
    ("explain analyze select * from t for update", "SELECT FOR UPDATE in a read-only transaction"),
    (
        "prepare l as select * from t for update; execute l",
        "SELECT FOR UPDATE in a read-only transaction",
    ),
    ("explain analyze execute l", "SELECT FOR UPDATE in a read-only transaction"),
    ("prepare i as insert into t values (9); execute i", "INSERT in a read-only transaction"),
    (
        "copy (insert into t values (5) returning a) to '/nowhere'",
        "INSERT in a read-only transaction",
    ),
    ("explain analyze insert into t values (1)", "INSERT in a read-only transaction"),
    (
        "with c as (insert into t values (7) returning a) select * from c",
        "SELECT in a read-only transaction",
    ),
    (
        "with c as (delete from t returning a) insert into t select a from c",
        "INSERT in a read-only transaction",
    ),
    ("begin; lock t in share mode", "LOCK TABLE during recovery"),
    ("begin; lock t", "LOCK TABLE during recovery"),
    ("vacuum t", "VACUUM during recovery"),
    ("analyze t", "ANALYZE during recovery"),
    ("listen x", "LISTEN during recovery"),
    ("notify x", "NOTIFY during recovery"),
    ("select pg_notify('x', 'y')", "NOTIFY during recovery"),
    // Of their own: PostgreSQL has none of them, or allows it.
    ("reorganize t", "REORGANIZE during recovery"),
    ("checkpoint", "CHECKPOINT during recovery"),
    ("check database", "CHECK DATABASE during recovery"),
    ("backup database to '/nowhere'", "BACKUP during recovery"),
];

#[test]
fn who_only_reads_is_told_so() {
    let primary = primary("replica-reads");
    let mut writer = primary.db.session();
    writer.execute("create sequence s; create table t (a int)").unwrap();
    let replica = primary.replica(&options(None)).unwrap();
    let mut session = replica.database().session();
    at_last(&mut session, "select count(*) from pg_class where relname = 't'", "1");
    refuse_writes(&mut session);
    refuse_modes(&mut session);
    let shown = [
        ("select pg_is_in_recovery()", "t"),
        ("show transaction_read_only", "on"),
        ("show in_hot_standby", "on"),
        ("begin isolation level repeatable read; select 1", "1"),
        ("show transaction_read_only", "on"),
        ("rollback; select pg_is_wal_replay_paused()", "f"),
        ("begin; lock t in row exclusive mode; select 2", "2"),
        ("rollback; select pg_try_advisory_lock(7)", "t"),
        ("prepare p as select count(*) from t; execute p", "0"),
    ];
    for (text, wanted) in shown {
        assert_eq!(row(&mut session, text), wanted, "{text}");
    }
    let error = refused(&mut session, "select pg_current_wal_lsn()");
    assert_eq!((error.state.0, error.message.as_str()), ("55000", "recovery is in progress"));
    // The primary is what it was.
    assert_eq!(row(&mut writer, "select pg_is_in_recovery()"), "f");
    assert_eq!(refused(&mut writer, "select pg_promote()").state.0, "55000");
    assert!(row(&mut writer, "show in_hot_standby").contains("off"));
}

fn refuse_writes(session: &mut Session) {
    for (text, message) in READ_ONLY {
        let error = refused(session, text);
        let message = format!("cannot execute {message}");
        assert_eq!((error.state.0, error.message), ("25006", message), "{text}");
    }
}

/// Modes that a transaction may not have, and what every session may do.
fn refuse_modes(session: &mut Session) {
    let modes = [
        ("begin read write", "cannot set transaction read-write mode during recovery"),
        (
            "begin; set transaction_read_only = off",
            "cannot set transaction read-write mode during recovery",
        ),
        ("begin isolation level serializable", "cannot use serializable mode in a hot standby"),
        (
            "begin; set transaction isolation level serializable",
            "cannot use serializable mode in a hot standby",
        ),
        (
            "set default_transaction_isolation = serializable; select 1",
            "cannot use serializable mode in a hot standby",
        ),
        (
            "prepare q as select a from t where a = 1; execute q",
            "cannot use serializable mode in a hot standby",
        ),
        ("begin; declare c cursor for select 1", "cannot use serializable mode in a hot standby"),
        ("copy t to '/nowhere'", "cannot use serializable mode in a hot standby"),
    ];
    for (text, message) in modes {
        let error = refused(session, text);
        assert_eq!((error.state.0, error.message.as_str()), ("0A000", message), "{text}");
    }
    session.execute("reset default_transaction_isolation").unwrap();
    for allowed in [
        "explain select * from t for update",
        "explain insert into t values (1)",
        "explain execute l",
        "prepare w as insert into t values (9)",
        "begin; lock t in row share mode; rollback",
        "begin; savepoint a; rollback to a; rollback",
        "unlisten x; unlisten *",
        "select pg_advisory_lock(1)",
        "set role dovetail; reset role; set constraints all deferred",
        "set default_transaction_read_only = off",
        "select * from generate_series(1, 2) g for update",
        "deallocate all; discard plans; discard temp; discard all",
    ] {
        session.execute(allowed).unwrap_or_else(|error| panic!("{allowed}: {error}"));
    }
}

#[test]
fn sums_hold_at_each_moment_while_the_primary_transfers() {
    let primary = primary("replica-sums");
    let replica = primary.replica(&options(None)).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = primary.db.session();
            for round in 0..400u32 {
                let (from, to) = (round * 7 % 50 + 1, round * 13 % 50 + 1);
                let transfer = format!(
                    "begin; update accounts set amount = amount - 3 where id = {from}; \
                     update accounts set amount = amount + 3 where id = {to}; commit"
                );
                writer.execute(&transfer).unwrap();
                if round % 40 == 0 {
                    let load = "create table l as select i from generate_series(1, 3000) g(i)";
                    writer.execute(load).unwrap();
                    writer.execute("drop table l; checkpoint").unwrap();
                }
            }
            over.store(true, Ordering::Release);
        });
        let mut readers = vec![];
        for isolation in ["read committed", "repeatable read"] {
            let (replica, over) = (&replica, &over);
            readers.push(scope.spawn(move || {
                let mut session = replica.database().session();
                let mut states = std::collections::BTreeSet::new();
                while !over.load(Ordering::Acquire) {
                    session.execute(&format!("begin isolation level {isolation}")).unwrap();
                    let first = "select string_agg(amount::text, ',' order by id) from accounts";
                    let seen = row(&mut session, first);
                    assert_eq!(row(&mut session, SUM), "5000|50");
                    if isolation == "repeatable read" {
                        assert_eq!(row(&mut session, first), seen);
                    }
                    session.execute("commit").unwrap();
                    states.insert(seen);
                }
                states.len()
            }));
        }
        for reader in readers {
            assert!(reader.join().unwrap() > 1, "it goes on");
        }
    });
}

#[test]
fn statements_that_see_an_old_state_end_at_last() {
    let primary = primary("replica-conflict");
    let mut configuration = Configuration::default();
    configuration.give("max_standby_streaming_delay", "100ms", Origin::Flag).unwrap();
    let options = Options { configuration: Arc::new(configuration), ..options(None) };
    let replica = primary.replica(&options).unwrap();
    let mut session = replica.database().session();
    session.execute("begin isolation level repeatable read").unwrap();
    assert_eq!(row(&mut session, SUM), "5000|50");
    primary.db.session().execute("drop table accounts").unwrap();
    let mut other = replica.database().session();
    at_last(&mut other, "select count(*) from pg_class where relname = 'accounts'", "0");
    let began = Instant::now();
    let error = loop {
        match session.execute(SUM) {
            Ok(_) => assert!(began.elapsed() < Duration::from_secs(60), "it ends at last"),
            Err(error) => break error,
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let message = "canceling statement due to conflict with recovery";
    assert_eq!((error.state.0, error.message.as_str()), ("40001", message));
    session.execute("rollback").unwrap();
    assert_eq!(refused(&mut session, SUM).state.0, "42P01");
}

#[test]
fn a_replica_becomes_a_database_of_its_own() {
    let primary = primary("replica-promoted");
    let replica = primary.replica(&options(None)).unwrap();
    let mut session = replica.database().session();
    primary.db.session().execute("insert into accounts values (51, 1)").unwrap();
    at_last(&mut session, SUM, "5001|51");
    let copy = primary.folder.0.join("copy");
    let error = Database::open(&copy, options(None)).err().expect("a replica has it");
    assert!(["55006", "55000"].contains(&error.state.0), "{error}");
    assert_eq!(row(&mut session, "select pg_promote()"), "t");
    // A statement that begins now waits for the promotion.
    session.execute("insert into accounts values (52, 2)").ok();
    at_last(&mut session, "select pg_is_in_recovery()", "f");
    assert_eq!(row(&mut session, "show transaction_read_only"), "off");
    session.execute("delete from accounts where id = 52").unwrap();
    session.execute("create table own (a int); insert into own values (1)").unwrap();
    assert_eq!(row(&mut session, "select count(*) from own"), "1");
    drop(session);
    let database = replica.database();
    drop(replica);
    database.close().unwrap();
    let db = Database::open(&copy, options(None)).unwrap();
    assert_eq!(row(&mut db.session(), SUM), "5001|51");
    assert!(db.check().unwrap().problems.is_empty());
    db.close().unwrap();
    // It follows nothing any more.
    let error = primary.replica(&options(None)).err().expect("it is no copy");
    assert_eq!(error.state.0, "55000");
}

#[test]
fn what_follows_is_written_by_nobody_else() {
    let primary = primary("replica-own");
    drop(primary.replica(&options(None)).unwrap());
    let copy = primary.folder.0.join("copy");
    let error = Database::open(&copy, options(None)).err().expect("it follows");
    assert_eq!(error.state.0, "55000");
    engine::promote(&copy, &options(None)).unwrap();
    let error = engine::promote(&copy, &options(None)).expect_err("once is enough");
    assert_eq!(error.state.0, "55000");
    let db = Database::open(&copy, options(None)).unwrap();
    assert_eq!(row(&mut db.session(), SUM), "5000|50");
    db.close().unwrap();
}

#[test]
fn a_request_to_promote_that_nobody_waits_for_is_forgotten() {
    let primary = primary("replica-stale");
    let request = engine::request_path(&primary.folder.0.join("copy"));
    std::fs::write(&request, b"").unwrap();
    let replica = primary.replica(&options(None)).unwrap();
    assert!(!request.exists());
    primary.db.session().execute("insert into accounts values (51, 7)").unwrap();
    let mut session = replica.database().session();
    at_last(&mut session, SUM, "5007|51");
    assert_eq!(row(&mut session, "select pg_is_in_recovery()"), "t");
}

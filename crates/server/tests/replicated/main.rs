//! A replica that follows a server over its port, as clients see both.
#![allow(clippy::disallowed_methods, reason = "clients are outside of the seam")]

mod ends;
mod stranger;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{ArchiveOptions, Database, Options, Replica, ReplicaOptions, SqlResult};
use postgres::config::TargetSessionAttrs;
use postgres::{Client, NoTls};
use runtime::sync::Cancel;
use server::{Address, Server, ServerOptions, Upstream};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A server with its database, which outlives the test: the last handle must not be dropped on a
/// worker.
struct Served {
    address: SocketAddr,
    server: Server,
}

fn listen(db: &Database) -> Served {
    let listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let options = ServerOptions { listen, ..ServerOptions::default() };
    let server = Server::start(db, &options).expect("a server");
    let Address::Tcp(address) = server.addresses()[0] else { panic!("not TCP") };
    Served { address, server }
}

fn options() -> Options {
    Options { memory_bytes: 24 << 20, ..pg::options() }
}

struct Pair {
    primary: Served,
    folder: Folder,
}

impl Pair {
    /// A primary whose roles have passwords.
    fn new(name: &str, is_archived: bool) -> Pair {
        let script = "create table t (a int primary key); insert into t values (1); \
                      create role copies login replication password 'right'; \
                      create role reads login password 'right'; \
                      alter role dovetail password 'right'";
        Pair::with(name, is_archived, script)
    }

    fn with(name: &str, is_archived: bool, script: &str) -> Pair {
        let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).expect("a folder");
        let tell = Arc::new(|said: &str| println!("archive: {said}"));
        let archive = is_archived.then(|| ArchiveOptions { folder: folder.join("archive"), tell });
        let options = Options { archive, ..options() };
        let db = Database::create(&folder.join("primary"), options).expect("a database");
        let mut session = db.session();
        session.execute(script).expect("created");
        drop(session);
        let primary = listen(&db);
        std::mem::forget(db);
        Pair { primary, folder: Folder(folder) }
    }

    fn replica(&self, name: &str, user: &str, password: &str) -> SqlResult<Replica> {
        self.replica_of(self.primary.address.port(), name, user, password)
    }

    fn replica_of(&self, port: u16, name: &str, user: &str, password: &str) -> SqlResult<Replica> {
        let (path, follow) = self.following(port, name, (user, password));
        Replica::start(&path, &follow, &options())
    }

    fn following(
        &self,
        port: u16,
        name: &str,
        (user, password): (&str, &str),
    ) -> (PathBuf, ReplicaOptions) {
        let upstream = Upstream {
            host: "127.0.0.1".to_owned(),
            port,
            user: user.to_owned(),
            password: Some(password.to_owned()),
        };
        let path = self.folder.0.join(name);
        let follow = ReplicaOptions {
            folder: path.with_added_extension("segments"),
            upstream: Some(Arc::new(upstream)),
            tell: Arc::new(|said: &str| println!("replica: {said}")),
            ending: Cancel::new(),
        };
        (path, follow)
    }

    /// Files of the folder, and of the archive's, whose names have that in them.
    fn files(&self, part: &str) -> Vec<String> {
        let folders = [self.folder.0.clone(), self.folder.0.join("archive")];
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
        names.filter_map(Result::ok).filter(|name| name.contains(part)).collect()
    }

    fn primary(&self) -> Client {
        connect(&self.primary)
    }
}

fn connect(served: &Served) -> Client {
    let port = served.address.port();
    let login = format!("host=127.0.0.1 port={port} user=dovetail password=right");
    Client::connect(&login, NoTls).expect("connected")
}

fn text(client: &mut Client, query: &str) -> Result<String, postgres::Error> {
    client.query_one(query, &[]).map(|row| row.get(0))
}

/// Waits until a query gives the wanted text. Waiting is all that a test of another server can do.
fn at_last(client: &mut Client, query: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let found = text(client, query).unwrap_or_else(|error| error.to_string());
        if found == wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{query}: {found}, not {wanted}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_replica_follows_over_the_port_and_takes_over() {
    let pair = Pair::new("replicated", true);
    let replica = pair.replica("copy", "copies", "right").expect("it follows");
    let served = listen(&replica.database());
    let (mut primary, mut client) = (pair.primary(), connect(&served));
    primary.batch_execute("insert into t values (2), (3)").expect("inserted");
    at_last(&mut client, "select sum(a)::text from t", "6");
    let load = "create table l as select i from generate_series(1, 20000) g(i)";
    primary.batch_execute(load).expect("loaded");
    at_last(&mut client, "select count(*)::text from l", "20000");
    // A prepared statement goes on from state to state: a definition makes another one.
    let prepared = client.prepare("select count(*) from t where a < $1").expect("prepared");
    for a in 4..8i32 {
        let define = format!("create table d{a} (a int); insert into t values ({a})");
        primary.batch_execute(&define).expect("defined and inserted");
        let defined = format!("select count(*)::text from pg_class where relname = 'd{a}'");
        at_last(&mut client, &defined, "1");
        at_last(&mut client, "select count(*)::text from t", &a.to_string());
        let seen: i64 = client.query_one(&prepared, &[&100i32]).expect("a row").get(0);
        assert_eq!(seen, i64::from(a));
    }
    at_last(
        &mut primary,
        "select state || ' ' || usename || ' ' || (replay_lsn = pg_current_wal_lsn())::text \
         from pg_stat_replication",
        "streaming copies true",
    );
    let error = client.batch_execute("insert into t values (9)").expect_err("read-only");
    assert_eq!(error.code().map(|code| code.code()), Some("25006"));
    assert_eq!(text(&mut client, "select pg_is_in_recovery()::text").unwrap(), "true");
    let choices = |attrs| {
        let mut config = postgres::Config::new();
        config.user("dovetail").password("right").target_session_attrs(attrs);
        for served in [&served, &pair.primary] {
            config.host("127.0.0.1").port(served.address.port());
        }
        let mut client = config.connect(NoTls).expect("one of them");
        text(&mut client, "show in_hot_standby").expect("shown")
    };
    assert_eq!(choices(TargetSessionAttrs::ReadWrite), "off");
    assert_eq!(choices(TargetSessionAttrs::ReadOnly), "on");
    // It becomes one of its own, and clients that are connected write.
    assert_eq!(text(&mut client, "select pg_promote()::text").unwrap(), "true");
    at_last(&mut client, "select pg_is_in_recovery()::text", "false");
    client.batch_execute("insert into t values (100)").expect("it takes writes");
    assert_eq!(text(&mut client, "select max(a)::text from t").unwrap(), "100");
    assert_eq!(text(&mut primary, "select max(a)::text from t").unwrap(), "7");
    std::mem::forget((replica.database(), client));
    std::mem::forget(replica);
}

#[test]
fn who_may_not_follow_is_told_why() {
    let pair = Pair::new("replicated-refused", true);
    let refused = |replica: SqlResult<Replica>| replica.err().expect("refused").message;
    assert_eq!(
        refused(pair.replica("copy", "reads", "right")),
        "must be superuser or replication role to follow the server"
    );
    let wrong = refused(pair.replica("copy", "copies", "wrong"));
    assert_eq!(wrong, "password authentication failed for user \"copies\"");
    let nobody = refused(pair.replica_of(1, "copy", "copies", "right"));
    assert!(nobody.starts_with("could not connect to 127.0.0.1"), "{nobody}");
    let replica = pair.replica("copy", "copies", "right").expect("it follows");
    let served = listen(&replica.database());
    let port = served.address.port();
    assert_eq!(
        refused(pair.replica_of(port, "chain", "copies", "right")),
        "a replica cannot be followed"
    );
    let plain = Pair::new("replicated-plain", false);
    assert_eq!(
        refused(plain.replica("copy", "copies", "right")),
        "the server is not archived, so it cannot be followed"
    );
    std::mem::forget(replica);
}

#[test]
fn a_replica_that_was_away_goes_on() {
    let pair = Pair::new("replicated-away", true);
    let mut primary = pair.primary();
    drop(pair.replica("copy", "copies", "right").expect("it follows"));
    primary.batch_execute("insert into t select i from generate_series(10, 20) g(i)").unwrap();
    primary.batch_execute("create table l as select 1 as a").unwrap();
    primary.batch_execute("checkpoint").unwrap();
    primary.batch_execute("delete from t where a = 15").unwrap();
    let replica = pair.replica("copy", "copies", "right").expect("it goes on");
    let served = listen(&replica.database());
    let mut client = connect(&served);
    at_last(&mut client, "select count(*)::text from t, l", "11");
    std::mem::forget((replica.database(), client));
    std::mem::forget(replica);
}

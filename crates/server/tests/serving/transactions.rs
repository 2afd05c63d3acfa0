//! Transactions of several statements: blocks, messages of several statements, pipelines. All of what
//! they wrote stays, or nothing does, and nobody else sees a part of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use engine::{Database, Options, RingKind};
use postgres::error::{ErrorPosition, SqlState};
use postgres::{Client, NoTls, SimpleQueryMessage};
use server::{Address, Server, ServerOptions};

struct Served {
    address: SocketAddr,
    folder: PathBuf,
    // The server's tasks hold the database, so it ends with the test's process.
    _server: Server,
}

impl Drop for Served {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn serve(name: &str, ring: RingKind) -> Served {
    serve_with(name, ring, 64 << 20)
}

fn serve_with(name: &str, ring: RingKind, memory_bytes: usize) -> Served {
    let folder = std::env::temp_dir().join(format!("dovetail-tx-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { ring, workers: 2, memory_bytes, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let server = Server::start(&db, &ServerOptions { listen, ..ServerOptions::default() });
    let server = server.expect("a server");
    let Address::Tcp(address) = server.addresses()[0] else { panic!("not TCP") };
    // The last handle must not be dropped on a worker.
    std::mem::forget(db);
    Served { address, folder, _server: server }
}

impl Served {
    fn client(&self) -> Client {
        let text = format!("host=127.0.0.1 port={} user=u dbname=d", self.address.port());
        Client::connect(&text, NoTls).expect("a connection")
    }

    /// A client with `t (a int primary key, b int)`, an index on `b`, and the rows 1 to 3.
    fn filled(&self) -> Client {
        let mut client = self.client();
        run(&mut client, "create table t (a int primary key, b int)").expect("a table");
        run(&mut client, "create index t_b on t (b)").expect("an index");
        run(&mut client, "insert into t values (1, 10), (2, 20), (3, 30)").expect("rows");
        client
    }
}

/// Sends one message; its error's state.
fn run(client: &mut Client, text: &str) -> Result<(), String> {
    let state = |error: postgres::Error| match error.as_db_error() {
        Some(error) => error.code().code().to_owned(),
        None => error.to_string(),
    };
    client.batch_execute(text).map_err(state)
}

fn rows(client: &mut Client, text: &str) -> String {
    let messages = client.simple_query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let values = (0..row.len()).map(|i| row.get(i).unwrap_or("null").to_owned());
            Some(values.collect::<Vec<_>>().join(","))
        }
        _ => None,
    };
    messages.iter().filter_map(row).collect::<Vec<_>>().join(" ")
}

/// What the table holds, by its rows and by its index.
fn check(client: &mut Client, expected: &str) {
    let by_rows = rows(client, "select a, b from t order by a");
    assert_eq!(by_rows, expected);
    let by_index = rows(client, "select a, b from t where b > -1000000 order by a");
    assert_eq!(by_index, expected);
}

fn is_sound(client: &mut Client) {
    assert_eq!(rows(client, "check database"), "");
}

const BEFORE: &str = "1,10 2,20 3,30";

#[test]
fn statements_of_one_message_are_one_transaction() {
    let served = serve("message", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    // Message, state of its error, what is there afterwards.
    let cases = [
        ("insert into t values (4, 40); select 1 / 0", "22012", BEFORE),
        ("delete from t; update t set b = 1; insert into t values (1, 1), (1, 2)", "23505", BEFORE),
        ("truncate t; insert into t values (9, 9); select 1 / 0", "22012", BEFORE),
        (
            "update t set a = a + 10; update t set b = a; select 1 / (b - 13) from t",
            "22012",
            BEFORE,
        ),
        ("begin; delete from t; commit; select 1", "", ""),
        ("insert into t values (1, 10), (2, 20); insert into t values (3, 30)", "", BEFORE),
        ("insert into t values (4, 40); begin; select 1 / 0", "22012", BEFORE),
        ("rollback", "", BEFORE),
        (
            "insert into t values (4, 40); commit; insert into t values (5, 50); select 1 / 0",
            "22012",
            "1,10 2,20 3,30 4,40",
        ),
        ("delete from t where a = 4; rollback; select 1", "", "1,10 2,20 3,30 4,40"),
        ("insert into t values (6, 60); begin; delete from t where a > 3; commit", "", BEFORE),
        ("delete from t; vacuum; select 1", "25001", BEFORE),
        ("select 1; insert into t values (4, 40)", "", "1,10 2,20 3,30 4,40"),
        ("delete from t where a = 4; select 1", "", BEFORE),
        ("delete from t; savepoint s", "25P01", BEFORE),
    ];
    // Statements are found by their own texts from the second time on, at once, or never.
    for mode in ["auto", "auto", "auto", "force_generic_plan", "force_custom_plan"] {
        run(&mut client, &format!("set plan_cache_mode = {mode}")).expect("set");
        for (message, state, after) in cases {
            let ended = run(&mut client, message);
            assert_eq!(ended.err().unwrap_or_default(), state, "{message}");
            check(&mut other, after);
            if state.is_empty() {
                check(&mut client, after);
            }
        }
    }
    is_sound(&mut other);
}

#[test]
fn errors_of_one_message_tell_their_places_in_it() {
    let served = serve("places", RingKind::Auto);
    let (mut client, mut reader) = (served.filled(), served.client());
    // It reads each message as a whole.
    run(&mut reader, "set plan_cache_mode = force_custom_plan").expect("set");
    let place = |client: &mut Client, text: &str| {
        let error = client.batch_execute(text).expect_err(text);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{text}: {error}"));
        let place = match error.position() {
            Some(ErrorPosition::Original(place)) => Some(*place),
            _ => None,
        };
        run(client, "rollback").expect("ended");
        (error.code().code().to_owned(), place)
    };
    for i in 1..6 {
        for text in [
            format!("select {i}; select nothing from t where a = {i}"),
            format!(" /* \u{e4} */ select a from t where a = {i}; select a + {i}, z from t"),
            format!("update t set b = {i} where a = {i};\n delete from none where c = {i}"),
            format!("select a from t where a = {i};\n\n select b, 'x' from u"),
            format!("begin; select a from t where b = 'x{i}'; commit"),
            format!("begin; select a from t where a < {i}; select t.z from t; commit"),
            format!(" select a from t where b = {i} and nothing = 'x'"),
            format!("/* {i} */\n select a from t where b = {i} and nothing = 'x'"),
            format!("  -- a\n update t set nothing = {i} where a = {i}"),
            format!("  /* a */ select a from t where b = 'x{i}' and a = {i}"),
        ] {
            assert_eq!(place(&mut client, &text), place(&mut reader, &text), "{text}");
        }
    }
}

#[test]
fn a_block_keeps_all_or_nothing() {
    for ring in [RingKind::Auto, RingKind::Threads] {
        let served = serve(&format!("block-{ring:?}"), ring);
        let (mut client, mut other) = (served.filled(), served.client());
        let steps = [
            "insert into t values (4, 40)",
            "update t set a = a + 10, b = b + 1 where a > 2",
            "delete from t where a = 1",
            "create table made (x int primary key)",
            "insert into made select generate_series(1, 500)",
            "alter table made add column y text default 'new'",
            "create index made_y on made (y)",
            "create view seen as select count(*) as n from made",
            "drop index t_b",
            "alter table t add column c int default 7",
            "create index t_b on t (b)",
            "comment on table t is 'changed'",
            "analyze t",
        ];
        for end in ["rollback", "commit"] {
            run(&mut client, "begin").expect("begun");
            for step in steps {
                run(&mut client, step).unwrap_or_else(|e| panic!("{step}: {e}"));
                check(&mut other, BEFORE);
            }
            let inside =
                rows(&mut client, "select a, b, c, (select n from seen) from t order by a");
            assert_eq!(inside, "2,20,7,500 13,31,7,500 14,41,7,500");
            run(&mut client, end).expect("ended");
            if end == "rollback" {
                for client in [&mut client, &mut other] {
                    check(client, BEFORE);
                    assert_eq!(run(client, "select * from made").expect_err("gone"), "42P01");
                }
                is_sound(&mut other);
            }
        }
        check(&mut other, "2,20 13,31 14,41");
        assert_eq!(rows(&mut other, "select n from seen"), "500");
        is_sound(&mut other);
    }
}

#[test]
fn a_failed_statement_fails_its_block() {
    let served = serve("failed", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    run(&mut client, "begin").expect("begun");
    run(&mut client, "delete from t where a = 1").expect("deleted");
    let duplicate = run(&mut client, "insert into t values (2, 2)").expect_err("is there");
    assert_eq!(duplicate, "23505");
    assert_eq!(run(&mut client, "select 1").expect_err("failed"), "25P02");
    // What cannot be kept does not keep others from writing.
    run(&mut other, "insert into t values (4, 40)").expect("written");
    assert_eq!(run(&mut client, "delete from t").expect_err("failed"), "25P02");
    run(&mut client, "commit").expect("rolled back");
    check(&mut client, "1,10 2,20 3,30 4,40");
    is_sound(&mut client);
}

#[test]
fn savepoints_keep_and_undo_parts() {
    let served = serve("parts", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    // Statement, state of its error, what the block sees then.
    let steps = [
        ("begin", "", Some(BEFORE)),
        ("savepoint before", "", Some(BEFORE)),
        ("insert into t values (4, 40)", "", Some("1,10 2,20 3,30 4,40")),
        ("savepoint one", "", None),
        ("update t set b = 0", "", Some("1,0 2,0 3,0 4,0")),
        ("savepoint two", "", None),
        ("truncate t", "", Some("")),
        ("insert into t values (7, 70)", "", Some("7,70")),
        ("rollback to two", "", Some("1,0 2,0 3,0 4,0")),
        ("delete from t where a = 2", "", Some("1,0 3,0 4,0")),
        ("insert into t values (3, 3)", "23505", None),
        ("rollback to two", "", Some("1,0 2,0 3,0 4,0")),
        ("release two", "", None),
        ("update t set b = 5 where a = 1", "", Some("1,5 2,0 3,0 4,0")),
        ("rollback to one", "", Some("1,10 2,20 3,30 4,40")),
        ("rollback to two", "3B001", None),
        ("rollback to before", "", Some(BEFORE)),
        ("insert into t values (5, 50)", "", Some("1,10 2,20 3,30 5,50")),
        ("release before", "", None),
        ("commit", "", Some("1,10 2,20 3,30 5,50")),
    ];
    for (statement, state, after) in steps {
        let ended = run(&mut client, statement);
        assert_eq!(ended.err().unwrap_or_default(), state, "{statement}");
        after.into_iter().for_each(|after| check(&mut client, after));
        if statement != "commit" {
            check(&mut other, BEFORE);
        }
    }
    check(&mut other, "1,10 2,20 3,30 5,50");
    is_sound(&mut other);
}

#[test]
fn more_than_is_noted_is_written_anew() {
    let served = serve("anew", RingKind::Auto);
    let (mut client, mut other) = (served.client(), served.client());
    run(&mut client, "create table t (a int primary key, b int, c text)").expect("a table");
    run(&mut client, "create index t_b on t (b)").expect("an index");
    let many = "insert into t select i, i % 10, repeat('x', 4000) from generate_series(0, 599) i";
    run(&mut client, many).expect("rows");
    let sums = "select count(*), sum(b), sum(length(c)) from t";
    let before = rows(&mut other, sums);
    for end in ["rollback", "commit"] {
        run(&mut client, "begin").expect("begun");
        // Each is small enough to be done in place; all together note more than a block may.
        for part in 0..175 {
            let first = part % 25 * 24;
            let last = first + 23;
            let text =
                format!("update t set b = b + 1, c = c || 'y' where a between {first} and {last}");
            run(&mut client, &text).expect("updated");
        }
        assert_eq!(rows(&mut client, sums), "600,6900,2404200");
        assert_eq!(rows(&mut other, sums), before);
        run(&mut client, end).expect("ended");
        if end == "rollback" {
            assert_eq!(rows(&mut client, sums), before);
        }
    }
    assert_eq!(rows(&mut other, sums), "600,6900,2404200");
    is_sound(&mut other);
}

#[test]
fn a_crash_in_a_block_leaves_the_state_before() {
    for ring in [RingKind::Auto, RingKind::Threads] {
        let served = serve_with(&format!("crash-{ring:?}"), ring, 8 << 20);
        let mut client = served.client();
        let table = "create table t (a int primary key, b int, c text); \
                     create index t_b on t (b); \
                     insert into t select i, i, repeat('x', 100) from generate_series(1, 20000) i";
        run(&mut client, table).expect("a table");
        run(&mut client, "begin").expect("begun");
        for part in 0..40 {
            // Rows of many pages, so that changed pages leave the pool before the block ends.
            let text = format!("update t set b = -b, c = 'y' where a % 400 = {part}");
            run(&mut client, &text).expect("updated");
        }
        run(&mut client, "create table u as select * from t where b < 0").expect("created");
        // What a crash leaves is what the file holds now.
        let (file, copy) = (served.folder.join("t.dovetail"), served.folder.join("crashed"));
        std::fs::copy(&file, &copy).expect("copied");
        let db = Database::open(&copy, Options { ring, ..pg::options() }).expect("recovered");
        assert_eq!(db.check().expect("checked").problems, Vec::<String>::new());
        let mut session = db.session();
        let text = "select 1 / (case when count(*) = 20000 and min(b) = 1 and max(c) < 'y' \
                    then 1 else 0 end) from t";
        session.execute(text).expect("the state before");
        session.execute("select * from u").expect_err("never created");
        drop(session);
        db.close().expect("closed");
        run(&mut client, "commit").expect("committed");
        assert_eq!(rows(&mut client, "select count(*) from t where b < 0"), "2000");
        is_sound(&mut client);
    }
}

#[test]
fn cursors_of_a_block_see_what_was_there_when_they_were_made() {
    let served = serve("cursors", RingKind::Auto);
    let mut client = served.filled();
    run(&mut client, "begin; insert into t values (4, 40)").expect("begun");
    run(&mut client, "declare c cursor for select a, b from t where b > 0").expect("declared");
    run(&mut client, "update t set b = b + 1; delete from t where a = 2").expect("changed");
    let mut seen: Vec<String> =
        rows(&mut client, "fetch all from c").split(' ').map(str::to_owned).collect();
    seen.sort();
    assert_eq!(seen.join(" "), "1,10 2,20 3,30 4,40");
    check(&mut client, "1,11 3,31 4,41");
    run(&mut client, "rollback").expect("rolled back");
    check(&mut client, BEFORE);
}

#[test]
fn others_wait_for_a_block_as_long_as_they_like() {
    let served = serve("waits", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    run(&mut client, "begin; insert into t values (4, 40)").expect("begun");
    run(&mut other, "set lock_timeout = '20ms'").expect("set");
    assert_eq!(run(&mut other, "insert into t values (4, 50)").expect_err("too long"), "55P03");
    run(&mut other, "set lock_timeout = 0; set statement_timeout = '20ms'").expect("set");
    assert_eq!(run(&mut other, "insert into t values (4, 50)").expect_err("too long"), "57014");
    run(&mut other, "set statement_timeout = 0").expect("set");
    let token = other.cancel_token();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        token.cancel_query(NoTls).expect("sent");
    });
    assert_eq!(run(&mut other, "insert into t values (4, 50)").expect_err("cancelled"), "57014");
    canceller.join().expect("cancelled");
    check(&mut other, BEFORE);
    // A client that is gone has undone what it did.
    drop(client);
    run(&mut other, "insert into t values (4, 50)").expect("written");
    check(&mut other, "1,10 2,20 3,30 4,50");
    is_sound(&mut other);
}

#[test]
fn a_client_that_idles_in_a_block_is_sent_away() {
    let served = serve("idles", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    run(&mut client, "set idle_in_transaction_session_timeout = '50ms'").expect("set");
    run(&mut client, "begin; insert into t values (4, 40)").expect("begun");
    run(&mut other, "insert into t values (4, 50)").expect("written");
    check(&mut other, "1,10 2,20 3,30 4,50");
    run(&mut client, "commit").expect_err("the connection has ended");
}

#[test]
fn levels_of_isolation_are_chosen_in_time() {
    let served = serve("levels", RingKind::Auto);
    let mut client = served.filled();
    let cases = [
        ("begin isolation level serializable", ""),
        ("rollback", ""),
        ("start transaction isolation level repeatable read, read only", ""),
        ("insert into t values (9, 9)", "25006"),
        ("rollback", ""),
        ("set default_transaction_isolation = 'none'", "22023"),
        ("begin isolation level read uncommitted, read only", ""),
        ("set transaction isolation level repeatable read", ""),
        ("select * from t", ""),
        ("set transaction isolation level serializable", "25001"),
        ("rollback", ""),
        ("begin", ""),
        ("set transaction isolation level read committed, read only", ""),
        ("delete from t", "25006"),
        ("rollback", ""),
    ];
    for (statement, state) in cases {
        let ended = run(&mut client, statement);
        assert_eq!(ended.err().unwrap_or_default(), state, "{statement}");
    }
    run(&mut client, "begin isolation level read uncommitted").expect("begun");
    assert_eq!(rows(&mut client, "show transaction_isolation"), "read uncommitted");
    run(&mut client, "commit").expect("ended");
    assert_eq!(rows(&mut client, "show transaction_isolation"), "read committed");
}

#[test]
fn a_snapshot_holds_for_queries_of_both_protocols_and_cursors() {
    let served = serve("snapshot", RingKind::Auto);
    let (mut client, mut other) = (served.filled(), served.client());
    run(&mut client, "begin isolation level repeatable read").expect("begun");
    run(&mut client, "declare c cursor for select a, b from t order by a").expect("declared");
    run(&mut other, "update t set b = b + 1").expect("written");
    run(&mut other, "insert into t values (7, 70)").expect("written");
    assert_eq!(rows(&mut client, "fetch all from c"), "1,10 2,20 3,30");
    assert_eq!(rows(&mut client, "select a, b from t order by a"), "1,10 2,20 3,30");
    let point = client.prepare("select b from t where a = $1").expect("prepared");
    let found: Vec<i32> =
        client.query(&point, &[&1]).expect("found").iter().map(|row| row.get(0)).collect();
    assert_eq!(found, [10]);
    let range = client.prepare("select count(*) from t where a > $1").expect("prepared");
    assert_eq!(client.query_one(&range, &[&0]).expect("found").get::<_, i64>(0), 3);
    let error = client.batch_execute("update t set b = 0 where a = 1").expect_err("outdated");
    let error = error.as_db_error().expect("of the server");
    assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE);
    assert!(error.hint().is_some(), "{error:?}");
    run(&mut client, "rollback").expect("ended");
    assert_eq!(rows(&mut client, "select a, b from t order by a"), "1,11 2,21 3,31 7,70");
}

/// A client that sends messages as it likes.
struct Raw(TcpStream);

impl Raw {
    fn new(served: &Served) -> Raw {
        let mut raw = Raw(TcpStream::connect(served.address).expect("connected"));
        let body = b"\0\x03\0\0user\0u\0database\0d\0\0";
        let length = (body.len() as u32 + 4).to_be_bytes();
        raw.0.write_all(&[&length[..], body].concat()).expect("sent");
        raw.until_ready();
        raw
    }

    fn send(&mut self, messages: &[(u8, Vec<u8>)]) {
        let frame = |(tag, body): &(u8, Vec<u8>)| {
            let length = (body.len() as u32 + 4).to_be_bytes();
            [&[*tag][..], &length, body].concat()
        };
        let bytes: Vec<u8> = messages.iter().flat_map(frame).collect();
        self.0.write_all(&bytes).expect("sent");
    }

    /// The tags of the answers up to `ReadyForQuery`, and its state.
    fn until_ready(&mut self) -> String {
        let mut tags = String::new();
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).expect("an answer");
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).expect("its body");
            tags.push(char::from(head[0]));
            if head[0] == b'Z' {
                tags.push(char::from(body[0]));
                return tags;
            }
        }
    }

    /// Sends statements in one pipeline.
    fn pipeline(&mut self, statements: &[&str]) -> String {
        let mut messages: Vec<_> = statements.iter().flat_map(|text| run_once(text)).collect();
        messages.push((b'S', vec![]));
        self.send(&messages);
        self.until_ready()
    }
}

/// `Parse`, `Bind` and `Execute`.
fn run_once(text: &str) -> [(u8, Vec<u8>); 3] {
    let parse = [b"\0", text.as_bytes(), b"\0\0\0"].concat();
    [(b'P', parse), (b'B', vec![0; 8]), (b'E', vec![0; 5])]
}

#[test]
fn a_pipeline_is_one_transaction_up_to_its_sync() {
    for ring in [RingKind::Auto, RingKind::Threads] {
        let served = serve(&format!("pipeline-{ring:?}"), ring);
        let (mut client, mut raw) = (served.filled(), Raw::new(&served));
        let all = "1,10 2,20 3,30 4,40 5,50";
        let cases: [(&[&str], &str, &str); 7] = [
            (
                &["insert into t values (4, 4)", "insert into t values (1, 1)", "delete from t"],
                "12C12EZI",
                BEFORE,
            ),
            (&["delete from t", "select 1 / 0"], "12C12EZI", BEFORE),
            (&["delete from t", "select nothing from t"], "12CEZI", BEFORE),
            (&["insert into t values (4, 40)", "insert into t values (5, 50)"], "12C12CZI", all),
            (&["delete from t where a > 3"], "12CZI", BEFORE),
            (&["insert into t values (4, 40)", "begin", "select 1 / 0"], "12C12C12EZE", BEFORE),
            (&["rollback"], "12CZI", BEFORE),
        ];
        for (statements, tags, after) in cases {
            // What Parse already refuses has no answer to its Bind.
            let answered = raw.pipeline(statements);
            let same = answered == tags || answered == tags.replace("CEZ", "C12EZ");
            assert!(same, "{statements:?}: {answered}");
            check(&mut client, after);
        }
        is_sound(&mut client);
    }
}

#[test]
fn a_pipeline_without_its_end_is_undone() {
    let served = serve("endless", RingKind::Auto);
    let (mut client, mut raw) = (served.filled(), Raw::new(&served));
    let two = ["delete from t where a = 1", "insert into t values (9, 90)"];
    let mut messages: Vec<_> = two.iter().flat_map(|text| run_once(text)).collect();
    messages.push((b'H', vec![]));
    raw.send(&messages);
    let mut answers = [0; 5];
    raw.0.read_exact(&mut answers).expect("the first answer");
    drop(raw);
    run(&mut client, "insert into t values (4, 40)").expect("written");
    check(&mut client, "1,10 2,20 3,30 4,40");
    is_sound(&mut client);
}

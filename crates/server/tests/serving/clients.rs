//! The server as a client of the protocol sees it, and as a stranger who does not speak it does.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{Database, Options, RingKind};
use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
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

fn serve(name: &str, ring: RingKind, connection_count_max: usize) -> Served {
    let folder =
        std::env::temp_dir().join(format!("dovetail-clients-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { ring, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let options = ServerOptions { listen, connection_count_max, ..ServerOptions::default() };
    let server = Server::start(&db, &options);
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
}

fn filled(served: &Served) -> Client {
    let mut client = served.client();
    client
        .batch_execute(
            "create table t (a int primary key, b text, n numeric(12,3), f double precision, \
             d date, y boolean);
             insert into t values (1, 'one', 1.5, 0.25, '2020-02-29', true),
                                  (2, null, -2.125, null, null, false)",
        )
        .expect("a table");
    client
}

#[test]
fn values_come_and_go_in_binary_format() {
    for ring in [RingKind::Auto, RingKind::Threads] {
        let served = serve(&format!("binary-{ring:?}"), ring, 10);
        let mut client = filled(&served);
        let statement = client.prepare("select a, b, f, y from t where a = $1").expect("prepared");
        let row = client.query_one(&statement, &[&1i32]).expect("a row");
        assert_eq!(row.get::<_, i32>(0), 1);
        assert_eq!(row.get::<_, Option<&str>>(1), Some("one"));
        assert_eq!(row.get::<_, Option<f64>>(2), Some(0.25));
        assert!(row.get::<_, bool>(3));
        let rows = client.query("select a from t order by a limit $1 offset $2", &[&1i64, &1i64]);
        assert_eq!(rows.expect("the second")[0].get::<_, i32>(0), 2);
        let row = client.query_one(&statement, &[&2i32]).expect("a row");
        assert_eq!(row.get::<_, Option<&str>>(1), None);
        let inserted = client
            .execute("insert into t (a, b, f) values ($1, $2, $3)", &[&3i32, &"it's", &1.5f64])
            .expect("inserted");
        assert_eq!(inserted, 1);
        let text: String =
            client.query_one("select b from t where a = 3", &[]).expect("a row").get(0);
        assert_eq!(text, "it's");
    }
}

#[test]
fn text_results_are_as_postgresql_prints_them() {
    let served = serve("text", RingKind::Auto, 10);
    let mut client = filled(&served);
    let messages = client.simple_query("select * from t order by a; select 1 where false");
    let mut rows = vec![];
    for message in messages.expect("rows") {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push(
                (0..row.len()).map(|i| row.get(i).unwrap_or("-")).collect::<Vec<_>>().join("|"),
            );
        }
    }
    assert_eq!(rows, ["1|one|1.500|0.25|2020-02-29|t", "2|-|-2.125|-|-|f"]);
}

#[test]
fn an_error_has_its_fields_and_leaves_the_connection_usable() {
    let served = serve("errors", RingKind::Auto, 10);
    let mut client = filled(&served);
    let error = client.batch_execute("select * from missing").expect_err("no such table");
    assert_eq!(error.code(), Some(&SqlState::UNDEFINED_TABLE));
    let error = client.query("select a / 0 from t", &[]).expect_err("division by zero");
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    let error = client.prepare("selec 1").map(|_| ()).expect_err("a syntax error");
    let position = error.as_db_error().and_then(|e| e.position().cloned());
    assert_eq!(position, Some(postgres::error::ErrorPosition::Original(1)));
    let error = client.execute("insert into t (a) values (1)", &[]).expect_err("a duplicate");
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    assert_eq!(client.query("select a from t", &[]).expect("rows").len(), 2);
}

#[test]
fn a_block_fails_as_a_whole() {
    let served = serve("blocks", RingKind::Auto, 10);
    let mut client = filled(&served);
    let mut block = client.transaction().expect("begun");
    assert_eq!(block.query("select 1", &[]).expect("a row").len(), 1);
    assert_eq!(block.execute("insert into t (a) values (9)", &[]).expect("a write"), 1);
    let error = block.execute("insert into t (a) values (1)", &[]).expect_err("a duplicate");
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    let error = block.query("select 1", &[]).expect_err("the block has failed");
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    block.rollback().expect("ended");
    assert_eq!(client.query("select a from t", &[]).expect("rows").len(), 2);
}

#[test]
fn a_block_fills_the_tables_that_it_has_emptied() {
    let served = serve("filling", RingKind::Auto, 10);
    let (mut client, mut other) = (filled(&served), served.client());
    other.batch_execute("create table u (a int primary key)").expect("another table");
    let count = |client: &mut Client| -> i64 {
        client.query_one("select count(*) from t", &[]).expect("a row").get(0)
    };
    for commits in [false, true] {
        client.batch_execute("begin; truncate t; insert into t (a) values (7)").expect("writes");
        let mut writer = client.copy_in("copy t (a, b) from stdin").expect("begun");
        for row in 10..5_000 {
            writeln!(writer, "{row}\tname {row}").expect("sent");
        }
        writer.finish().expect("copied");
        let updated = client.execute("update t set b = 'x' where a = 7", &[]).expect("updated");
        assert_eq!((updated, count(&mut client), count(&mut other)), (1, 4_991, 2));
        client.batch_execute(if commits { "commit" } else { "rollback" }).expect("ended");
        let left = if commits { 4_991 } else { 2 };
        assert_eq!((count(&mut client), count(&mut other)), (left, left));
        other.batch_execute("insert into u values (1); delete from u").expect("others write again");
    }
    client.batch_execute("begin; truncate t").expect("writes");
    drop(client);
    // The block of a client that has left does not keep others from writing.
    other.batch_execute("insert into u values (1)").expect("others write again");
    assert_eq!(count(&mut other), 4_991);
}

#[test]
fn a_portal_gives_its_rows_in_parts() {
    let served = serve("portals", RingKind::Auto, 10);
    let mut client = filled(&served);
    let mut block = client.transaction().expect("begun");
    let portal = block.bind("select a from t order by a", &[]).expect("bound");
    let part = |rows: Vec<postgres::Row>| rows.iter().map(|r| r.get(0)).collect::<Vec<i32>>();
    assert_eq!(part(block.query_portal(&portal, 1).expect("a part")), [1]);
    assert_eq!(part(block.query_portal(&portal, 5).expect("the rest")), [2]);
    block.commit().expect("ended");
}

#[test]
fn copy_takes_many_rows_and_its_errors_are_told() {
    let served = serve("copy", RingKind::Auto, 10);
    let mut client = filled(&served);
    let mut writer = client.copy_in("copy t (a, b) from stdin").expect("begun");
    for row in 10..5_000 {
        writeln!(writer, "{row}\tname {row}").expect("sent");
    }
    assert_eq!(writer.finish().expect("copied"), 4_990);
    let mut writer = client.copy_in("copy t (a, b) from stdin").expect("begun");
    writer.write_all(b"6000\tgood\nbad\tnumber\n").expect("sent");
    let error = writer.finish().expect_err("a bad row");
    assert_eq!(error.code(), Some(&SqlState::INVALID_TEXT_REPRESENTATION));
    let count: i64 = client.query_one("select count(*) from t", &[]).expect("a row").get(0);
    assert_eq!(count, 4_992);
}

#[test]
fn a_copy_that_cannot_run_asks_for_no_data() {
    let served = serve("no-copy", RingKind::Auto, 10);
    let mut client = filled(&served);
    for text in ["copy t (missing) from stdin", "copy missing from stdin"] {
        // The simple protocol would send what follows as data.
        client.batch_execute(text).expect_err("no such thing");
        assert_eq!(client.query("select a from t", &[]).expect("rows").len(), 2);
    }
}

#[test]
fn savepoints_lead_out_of_a_failed_block() {
    let served = serve("savepoints", RingKind::Auto, 10);
    let mut client = served.client();
    let mut block = client.transaction().expect("begun");
    let mut inner = block.transaction().expect("a savepoint");
    inner.batch_execute("select 1 / 0").expect_err("division by zero");
    let error = inner.batch_execute("select 1").expect_err("failed");
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    inner.rollback().expect("back at the savepoint");
    assert_eq!(block.query("select 1", &[]).expect("a row").len(), 1);
    let inner = block.savepoint("named").expect("a savepoint");
    inner.commit().expect("released");
    let error = block.batch_execute("release savepoint named").expect_err("gone");
    assert_eq!(error.code(), Some(&SqlState::S_E_INVALID_SPECIFICATION));
    block.rollback().expect("rolled back");
    let error = client.batch_execute("savepoint s").expect_err("no block");
    assert_eq!(error.code(), Some(&SqlState::NO_ACTIVE_SQL_TRANSACTION));
}

#[test]
fn a_cancel_request_ends_a_long_query() {
    let served = serve("cancel", RingKind::Auto, 10);
    let mut client = filled(&served);
    let mut writer = client.copy_in("copy t (a) from stdin").expect("begun");
    (10..4_000).for_each(|row| writeln!(writer, "{row}").expect("sent"));
    writer.finish().expect("copied");
    let token = client.cancel_token();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        token.cancel_query(NoTls).expect("sent");
    });
    let long = "select count(*) from t x, t y, t z where x.a + y.a + z.a < 0";
    let error = client.query(long, &[]).expect_err("cancelled");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    canceller.join().expect("cancelled");
    client.batch_execute("set statement_timeout = '100ms'").expect("set");
    let begun = Instant::now();
    let error = client.query(long, &[]).expect_err("timed out");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    let message = error.as_db_error().map_or("", |e| e.message());
    assert!(message.contains("statement timeout"), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(client.query("select 1", &[]).expect("a row").len(), 1);
}

#[test]
fn a_client_too_many_is_told_so_and_a_place_is_free_again() {
    let served = serve("many", RingKind::Auto, 2);
    let (first, _second) = (served.client(), served.client());
    let text = format!("host=127.0.0.1 port={} user=u", served.address.port());
    let error = Client::connect(&text, NoTls).map(|_| ()).expect_err("one too many");
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    while Client::connect(&text, NoTls).is_err() {
        assert!(Instant::now() < deadline, "the place of a client that left is not free");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn arrays_go_and_come_in_binary_format() {
    let served = serve("arrays", RingKind::Auto, 10);
    let mut client = filled(&served);
    let row = client
        .query_one(
            "select array_agg(a order by a), array['x', null, 'a \"b\"'] from t where a < 3",
            &[],
        )
        .expect("a row");
    assert_eq!(row.get::<_, Vec<i32>>(0), [1, 2]);
    let texts: Vec<Option<&str>> = row.get(1);
    assert_eq!(texts, [Some("x"), None, Some("a \"b\"")]);
    let wanted = vec![1i32, 2, 77];
    let row =
        client.query_one("select count(*) from t where a = any($1)", &[&wanted]).expect("a row");
    assert_eq!(row.get::<_, i64>(0), 2);
    let bytes: Vec<u8> = vec![0, 1, 254, 255];
    let row = client.query_one("select $1::bytea, $2::text[]", &[&bytes, &vec!["p", "q,"]]);
    let row = row.expect("a row");
    assert_eq!(row.get::<_, Vec<u8>>(0), bytes);
    assert_eq!(row.get::<_, Vec<String>>(1), ["p", "q,"]);
}

/// A value as it lies in a message.
#[derive(Debug)]
struct Bytes(Vec<u8>);

impl<'a> FromSql<'a> for Bytes {
    fn from_sql(
        _: &Type,
        raw: &'a [u8],
    ) -> Result<Bytes, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Bytes(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Bytes {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[test]
fn infinite_dates_are_the_extremes_of_their_words() {
    let served = serve("infinite", RingKind::Threads, 10);
    let mut client = served.client();
    let row = client
        .query_one("select date 'infinity', date '-infinity', timestamp '-infinity', timestamptz 'infinity'", &[])
        .expect("a row");
    assert_eq!(row.get::<_, Bytes>(0).0, i32::MAX.to_be_bytes());
    assert_eq!(row.get::<_, Bytes>(1).0, i32::MIN.to_be_bytes());
    assert_eq!(row.get::<_, Bytes>(2).0, i64::MIN.to_be_bytes());
    assert_eq!(row.get::<_, Bytes>(3).0, i64::MAX.to_be_bytes());
    let day = |days: i32| Bytes(days.to_be_bytes().to_vec());
    let moment = |micros: i64| Bytes(micros.to_be_bytes().to_vec());
    let row = client
        .query_one(
            "select ($1::date)::text, ($2::timestamp)::text, ($3::timestamptz)::text, ($4::date)::text",
            &[&day(i32::MIN), &moment(i64::MAX), &moment(i64::MIN), &day(0)],
        )
        .expect("a row");
    let texts: Vec<&str> = (0..4).map(|at| row.get(at)).collect();
    assert_eq!(texts, ["-infinity", "infinity", "-infinity", "2000-01-01"]);
    // What is beyond all moments is not taken for infinity.
    let beyond = client.query_one("select ($1::timestamp)::text", &[&moment(i64::MAX - 1)]);
    let error = beyond.expect_err("no such moment");
    assert_eq!(error.code(), Some(&SqlState::DATETIME_FIELD_OVERFLOW));
}

#[test]
fn rows_without_columns_come_as_such() {
    let served = serve("no-columns", RingKind::Threads, 10);
    let mut client = served.client();
    assert!(client.prepare("select where $1").expect("prepared").columns().is_empty());
    let rows = client.query("select from generate_series(1, $1)", &[&3i32]).expect("rows");
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.is_empty()));
    let messages = client.simple_query("select from generate_series(1, 2)").expect("rows");
    let rows =
        messages.iter().filter(|m| matches!(m, SimpleQueryMessage::Row(row) if row.is_empty()));
    assert_eq!(rows.count(), 2);
    client
        .batch_execute("create table bare (); create view seen as select from bare")
        .expect("made");
    assert_eq!(client.execute("insert into bare default values", &[]).expect("inserted"), 1);
    assert_eq!(client.execute("insert into bare select from bare", &[]).expect("inserted"), 1);
    for text in ["select * from bare", "select from bare", "select * from seen", "table bare"] {
        let prepared = client.prepare(text).expect("prepared");
        assert!(prepared.columns().is_empty(), "{text}");
        let rows = client.query(&prepared, &[]).expect("rows");
        assert!(rows.len() == 2 && rows.iter().all(|row| row.is_empty()), "{text}");
    }
    assert_eq!(client.execute("delete from bare", &[]).expect("deleted"), 2);
}

/// As the column holds none, blanks at the end of a value do not count, whatever they are compared by.
#[test]
fn parameters_of_fixed_length_are_compared_without_their_blanks() {
    let served = serve("blanks", RingKind::Threads, 10);
    let mut client = served.client();
    let table = "create table ch (a char(5) primary key, b int); insert into ch values ('ab', 1), ('cd', 2)";
    client.batch_execute(table).expect("a table");
    let count = |client: &mut Client, condition: &str, value: &str| -> i64 {
        let text = format!("select count(*) from ch where {condition}");
        client.query_one(&text, &[&value]).expect("a row").get(0)
    };
    for (condition, expected) in [
        ("a = $1", 1),
        ("$1 = a", 1),
        ("a <> $1", 1),
        ("a < $1", 0),
        ("a <= $1", 1),
        ("a in ($1)", 1),
    ] {
        assert_eq!(count(&mut client, condition, "ab"), expected, "{condition}");
        assert_eq!(count(&mut client, condition, "ab   "), expected, "{condition} with blanks");
    }
    let changed = client.execute("update ch set b = 3 where a = $1", &[&"cd "]).expect("changed");
    assert_eq!(changed, 1);
    let longer = client.query_one("select length($1::char(5))", &[&"ab  "]).expect("a row");
    assert_eq!(longer.get::<_, i32>(0), 2);
}

/// An array of uuids in the binary format: one dimension, no nulls, elements of the type.
#[derive(Debug)]
struct Uuids(Vec<u128>);

impl ToSql for Uuids {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        for number in [1, 0, Type::UUID.oid() as i32, self.0.len() as i32, 1] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for value in &self.0 {
            out.extend_from_slice(&16i32.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID_ARRAY
    }

    to_sql_checked!();
}

#[test]
fn arrays_of_uuids_are_parameters() {
    let served = serve("uuids", RingKind::Threads, 10);
    let mut client = served.client();
    client.batch_execute("create table ids (a uuid primary key, all_of uuid[])").expect("a table");
    let (one, two) = (Uuids(vec![1 << 96]), Uuids(vec![1 << 96, 7]));
    let insert = "insert into ids values ('00000001-0000-0000-0000-000000000000', $1)";
    client.execute(insert, &[&two]).expect("inserted");
    let texts = "select a::text, all_of::text, ($1::uuid[])::text from ids where a = any($2)";
    let row = client.query_one(texts, &[&one, &two]).expect("a row");
    let texts: [&str; 3] = [row.get(0), row.get(1), row.get(2)];
    let (first, last) =
        ("00000001-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000007");
    assert_eq!(texts, [first, &format!("{{{first},{last}}}"), &format!("{{{first}}}")]);
    let found = client.query_one("select count(*) from ids where all_of = $1", &[&two]);
    assert_eq!(found.expect("a row").get::<_, i64>(0), 1);
    let constant = format!("select '{{{first}}}'::uuid[] = $1");
    assert!(client.query_one(&constant, &[&one]).expect("a row").get::<_, bool>(0));
}

/// Its number is wanted, and its name is what there is.
#[test]
fn relations_in_binary_are_refused_by_name() {
    let served = serve("regclass", RingKind::Threads, 10);
    let mut client = served.client();
    let error = client.query("select 'pg_class'::regclass", &[]).expect_err("binary");
    assert_eq!(error.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
    assert!(error.to_string().contains("db error"), "{error}");
    let by_number = client.query_one("select ($1::regclass)::oid", &[&"pg_class"]).expect("a row");
    assert_eq!(by_number.get::<_, u32>(0), 1259);
    let statement = client
        .prepare_typed("select ($1::regclass)::text", &[Type::REGCLASS])
        .expect("a relation by its number");
    let by_name = client.query_one(&statement, &[&Relation(1259)]).expect("a row");
    assert_eq!(by_name.get::<_, String>(0), "pg_class");
}

/// A relation as its number in four bytes.
#[derive(Debug)]
struct Relation(u32);

impl ToSql for Relation {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::REGCLASS
    }

    to_sql_checked!();
}

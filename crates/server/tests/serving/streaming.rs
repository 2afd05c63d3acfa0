//! Results that stream, cursors, and COPY in both directions, as clients see them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::served::{Served, options};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, SimpleQueryMessage};

/// Far more rows than fit the memory of the test's database.
const MANY: i64 = 3_000_000;

fn many() -> String {
    format!("select a.i * 2000 + b.i, repeat('x', 100) from n a cross join n b limit {MANY}")
}

fn filled(served: &Served) -> Client {
    let mut client = served.connect("user=dovetail").expect("a connection");
    client
        .batch_execute(
            "create table n (i bigint primary key);
             insert into n select i from generate_series(0, 1999) as g (i);
             create table t (a int primary key, b text);
             insert into t select i, 'row ' || i from generate_series(1, 1000) as g (i)",
        )
        .expect("tables");
    client
}

/// No statement runs any more.
fn is_idle(served: &Served) {
    served.eventually(|| {
        let activities = served.db.activities().sessions();
        let running = activities.iter().filter_map(|a| a.statement()).any(|s| s.elapsed.is_none());
        (!running).then_some(())
    });
}

#[test]
fn a_result_of_any_size_streams_and_its_first_row_comes_early() {
    let served = Served::start("stream", options());
    let mut client = filled(&served);
    let started = Instant::now();
    let mut rows = client.query_raw(&many(), Vec::<i32>::new()).expect("rows");
    rows.next().expect("a row").expect("a row");
    let first = started.elapsed();
    let count = 1 + rows.map(|_| Ok(())).count().expect("all rows") as i64;
    let all = started.elapsed();
    assert_eq!(count, MANY);
    assert!(first < all / 4, "the first row came after {first:?}, the last after {all:?}");
}

/// A client that speaks the protocol by hand, so that it can hang up in the middle.
struct Raw(TcpStream);

impl Raw {
    fn connect(served: &Served) -> Raw {
        let mut stream = TcpStream::connect(served.address).expect("a connection");
        let body = b"\0\x03\0\0user\0dovetail\0database\0t\0\0";
        let len = (body.len() as u32 + 4).to_be_bytes();
        stream.write_all(&[len.as_slice(), body].concat()).expect("sent");
        let mut raw = Raw(stream);
        raw.until(b'Z');
        raw
    }

    fn send(&mut self, tag: u8, body: &[u8]) {
        let len = (body.len() as u32 + 4).to_be_bytes();
        self.0.write_all(&[&[tag], len.as_slice(), body].concat()).expect("sent");
    }

    fn message(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).expect("a message");
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; len - 4];
        self.0.read_exact(&mut body).expect("a body");
        (head[0], body)
    }

    /// The tags of the messages up to this one.
    fn until(&mut self, tag: u8) -> String {
        let mut tags = String::new();
        loop {
            let (found, _) = self.message();
            tags.push(char::from(found));
            if found == tag {
                return tags;
            }
        }
    }
}

#[test]
fn a_client_that_hangs_up_ends_its_query() {
    let served = Served::start("hang-up", options());
    drop(filled(&served));
    // One that waits for its first row, and one in the middle of many.
    for query in ["select count(*) from n a, n b, n c where a.i + b.i + c.i < 0", &many()] {
        let mut raw = Raw::connect(&served);
        raw.send(b'Q', format!("{query}\0").as_bytes());
        std::thread::sleep(Duration::from_millis(300));
        drop(raw);
        is_idle(&served);
        served.eventually(|| (served.server.connection_count() == 0).then_some(()));
    }
}

#[test]
fn a_cancel_ends_a_result_in_the_middle() {
    let served = Served::start("cancel", options());
    let mut client = filled(&served);
    let cancel = client.cancel_token();
    let mut rows = client.query_raw(&many(), Vec::<i32>::new()).expect("rows");
    rows.next().expect("a row");
    cancel.cancel_query(postgres::NoTls).expect("cancelled");
    let error = rows.map(|_| Ok(())).count().expect_err("it was cancelled");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    client.query_one("select 1", &[]).expect("it goes on");
}

#[test]
fn an_error_in_the_middle_ends_the_result() {
    let served = Served::start("middle", options());
    drop(filled(&served));
    let mut raw = Raw::connect(&served);
    raw.send(b'Q', b"select 1 / (a - 900) from t order by a\0");
    let tags = raw.until(b'Z');
    assert!(tags.starts_with('T') && tags.ends_with("EZ") && !tags.contains('C'), "{tags}");
    raw.send(b'Q', b"select a from t where a < 3 order by a\0");
    assert_eq!(raw.until(b'Z'), "TDDCZ");
}

#[test]
fn a_sleep_takes_its_time_and_can_be_cancelled() {
    let served = Served::start("sleep", options());
    let mut client = served.connect("user=dovetail").expect("a connection");
    let started = Instant::now();
    client.query_one("select pg_sleep(0.3)::text", &[]).expect("slept");
    assert!(started.elapsed() >= Duration::from_millis(300));
    client.batch_execute("set statement_timeout = 200").expect("set");
    let started = Instant::now();
    let error = client.query_one("select pg_sleep(60)::text", &[]).expect_err("too long");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn portals_give_their_rows_in_parts() {
    let served = Served::start("portals", options());
    let mut client = filled(&served);
    let mut block = client.transaction().expect("a block");
    let portal = block.bind("select a from t order by a", &[]).expect("bound");
    let other = block.bind(&many(), &[]).expect("bound");
    let mut seen = vec![];
    loop {
        let rows = block.query_portal(&portal, 300).expect("rows");
        seen.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
        assert_eq!(block.query_portal(&other, 7).expect("rows").len(), 7);
        // Others run in between.
        assert_eq!(block.query("select 1 from t", &[]).expect("rows").len(), 1000);
        if rows.len() < 300 {
            break;
        }
    }
    assert_eq!(seen, (1..=1000).collect::<Vec<i32>>());
    drop((portal, other));
    block.commit().expect("done");
    is_idle(&served);
}

fn cells(client: &mut Client, text: &str) -> Vec<String> {
    let messages = client.simple_query(text).expect(text);
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

#[test]
fn cursors_go_forward_through_a_result() {
    let served = Served::start("cursors", options());
    let mut client = filled(&served);
    let code = |client: &mut Client, text: &str| {
        let error = client.batch_execute(text).expect_err(text);
        error.code().expect("a code").code().to_owned()
    };
    assert_eq!(code(&mut client, "declare c cursor for select 1"), "25P01");
    assert_eq!(code(&mut client, "fetch c"), "34000");
    client
        .batch_execute("begin; declare c cursor for select a from t order by a")
        .expect("declared");
    assert_eq!(cells(&mut client, "fetch c"), ["1"]);
    assert_eq!(cells(&mut client, "fetch 2 from c"), ["2", "3"]);
    assert_eq!(cells(&mut client, "fetch forward 2 in c"), ["4", "5"]);
    assert_eq!(cells(&mut client, "fetch relative 5 from c"), ["10"]);
    assert_eq!(cells(&mut client, "fetch absolute 20 from c"), ["20"]);
    client.batch_execute("move 70 in c").expect("moved");
    assert_eq!(cells(&mut client, "fetch next from c"), ["91"]);
    assert_eq!(cells(&mut client, "select name from pg_cursors"), ["c"]);
    assert_eq!(cells(&mut client, "fetch all from c").len(), 909);
    assert_eq!(cells(&mut client, "fetch c").len(), 0);
    client.batch_execute("close c; declare d cursor for select a from t").expect("declared");
    assert_eq!(code(&mut client, "declare d cursor for select 1"), "42P03");
    client
        .batch_execute("rollback; begin; declare d cursor for select a from t")
        .expect("declared");
    assert_eq!(code(&mut client, "fetch prior from d"), "55000");
    client.batch_execute("rollback; begin").expect("a block");
    assert_eq!(code(&mut client, "fetch d"), "34000");
    client.batch_execute("rollback").expect("ended");
    client.batch_execute(&format!("begin; declare big cursor for {}", many())).expect("declared");
    assert_eq!(cells(&mut client, "fetch 10 from big").len(), 10);
    client.batch_execute("commit").expect("ended");
    assert_eq!(cells(&mut client, "select count(*) from pg_cursors"), ["0"]);
    is_idle(&served);
}

#[test]
fn prepared_statements_share_their_names() {
    let served = Served::start("names", options());
    let mut client = filled(&served);
    client.batch_execute("prepare p (int) as select b from t where a = $1").expect("prepared");
    assert_eq!(cells(&mut client, "execute p(7)"), ["row 7"]);
    let prepared = client.prepare("select a from t where b = $1").expect("prepared");
    let seen = "select name || ' ' || from_sql from pg_prepared_statements order by from_sql";
    let names = cells(&mut client, seen);
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[1], "p true");
    let name = names[0].split(' ').next().expect("a name");
    assert_eq!(cells(&mut client, &format!("execute {name}('row 9')")), ["9"]);
    client.batch_execute("begin; execute p(1); commit; deallocate p").expect("run");
    let error = client.batch_execute("execute p(1)").expect_err("it is gone");
    assert_eq!(error.code().expect("a code").code(), "26000");
    client.batch_execute("discard all").expect("forgotten");
    assert_eq!(cells(&mut client, "select count(*) from pg_prepared_statements"), ["0"]);
    drop(prepared);
}

#[test]
fn copy_goes_both_ways_in_all_formats() {
    let served = Served::start("copy", options());
    let mut client = filled(&served);
    client.batch_execute("create table u (a int primary key, b text)").expect("a table");
    for format in ["text", "csv", "binary"] {
        let mut data = vec![];
        let text = format!("copy (select * from t order by a) to stdout (format {format})");
        client.copy_out(&text).expect(&text).read_to_end(&mut data).expect("read");
        let text = format!("copy u from stdin (format {format})");
        let mut writer = client.copy_in(&text).expect(&text);
        writer.write_all(&data).expect("sent");
        assert_eq!(writer.finish().expect("copied"), 1000, "{format}");
        let same = "select count(*) from t join u on t.a = u.a and t.b = u.b";
        assert_eq!(cells(&mut client, same), ["1000"], "{format}");
        client.batch_execute("truncate u").expect("emptied");
    }
    let mut raw = Raw::connect(&served);
    raw.send(b'Q', b"copy (select a from t order by a limit 2) to stdout; select 1\0");
    assert_eq!(raw.until(b'Z'), "HddcCTDCZ");
    raw.send(b'Q', b"copy (select 1 / (a - 3) from t order by a) to stdout\0");
    let tags = raw.until(b'Z');
    assert!(tags.starts_with('H') && tags.ends_with("EZ") && !tags.contains('c'), "{tags}");
}

#[test]
fn a_copy_that_its_client_breaks_off_leaves_nothing() {
    let served = Served::start("copy-broken", options());
    let mut client = filled(&served);
    for storage in ["row", "column"] {
        let table = format!("create table u (a int, b text) with (storage = {storage})");
        client.batch_execute(&table).expect("a table");
        // In the middle of a row, with many before it that several tasks parse.
        let sent = |raw: &mut Raw| {
            raw.send(b'Q', b"copy u from stdin\0");
            assert_eq!(raw.until(b'G'), "G");
            for from in (0..100_000).step_by(1000) {
                let row = |row: i32| format!("{row}\trow {row}\n");
                raw.send(b'd', (from..from + 1000).map(row).collect::<String>().as_bytes());
            }
            raw.send(b'd', b"100000");
        };
        let mut raw = Raw::connect(&served);
        sent(&mut raw);
        drop(raw);
        served.eventually(|| (served.server.connection_count() == 1).then_some(()));
        assert_eq!(cells(&mut client, "select count(*) from u"), ["0"], "{storage}");
        let mut raw = Raw::connect(&served);
        sent(&mut raw);
        raw.send(b'f', b"no more\0");
        assert_eq!(raw.until(b'Z'), "EZ");
        assert_eq!(cells(&mut client, "select count(*) from u"), ["0"], "{storage}");
        sent(&mut raw);
        raw.send(b'd', b"\tlast\n\\.\nno row\n");
        raw.send(b'c', b"");
        assert_eq!(raw.until(b'Z'), "CZ");
        assert_eq!(cells(&mut client, "select count(*) from u"), ["100001"], "{storage}");
        client.batch_execute("drop table u").expect("dropped");
    }
}

#[test]
fn to_be_described_takes_no_longer_than_a_statement_may() {
    let served = Served::start("described", options());
    let mut client = served.connect("user=dovetail").expect("a connection");
    client.batch_execute("create table few (id int primary key)").expect("a table");
    // As many joins take far longer to plan.
    let tables: Vec<String> = (0..60).map(|at| format!("few t{at}")).collect();
    let keys: Vec<String> = (1..60).map(|at| format!("t{at}.id = t0.id")).collect();
    let text = format!("select 1 from {} where {}", tables.join(", "), keys.join(" and "));
    client.batch_execute("set statement_timeout = '5ms'").expect("set");
    let error = client.prepare(&text).expect_err("too long");
    let error = error.as_db_error().expect("the server's");
    assert_eq!(error.code(), &SqlState::QUERY_CANCELED);
    assert_eq!(error.message(), "canceling statement due to statement timeout");
    client.batch_execute("set statement_timeout = 0").expect("set");
    client.query_one("select 1", &[]).expect("a row");
}

//! What transactions tell other sessions, and cursors that outlive their transaction.

use std::time::Duration;

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;

use crate::served::{Served, options};

/// Longer than any notification takes.
const LONG: Duration = Duration::from_secs(30);

/// The next notifications of a client that rests: channel, payload and sender.
fn told(client: &mut Client, count: usize) -> Vec<(String, String, i32)> {
    let mut notifications = client.notifications();
    let mut coming = notifications.timeout_iter(LONG);
    let next = |_| {
        let one = coming.next().expect("received").expect("told in time");
        (one.channel().to_owned(), one.payload().to_owned(), one.process_id())
    };
    (0..count).map(next).collect()
}

fn pid(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).expect("a number").get(0)
}

#[test]
fn who_listens_is_told_while_it_rests() {
    let served = Served::start("listen", options());
    let mut listener = served.connect("user=a").expect("connected");
    let mut teller = served.connect("user=b").expect("connected");
    let pid = pid(&mut teller);
    listener.batch_execute("listen news; listen \"Other News\"").expect("listens");
    teller.batch_execute("notify news, 'one'").expect("told");
    teller.execute("select pg_notify('Other News', $1)", &[&"two"]).expect("told");
    teller.batch_execute("notify nobody, 'zero'; notify news").expect("told");
    let expected = [("news", "one"), ("Other News", "two"), ("news", "")];
    let expected = expected.map(|(channel, payload)| (channel.to_owned(), payload.to_owned(), pid));
    assert_eq!(told(&mut listener, 3), expected);
    listener.batch_execute("unlisten news").expect("listens to less");
    teller.batch_execute("notify news, 'three'; notify \"Other News\", 'four'").expect("told");
    assert_eq!(told(&mut listener, 1), [("Other News".to_owned(), "four".to_owned(), pid)]);
}

#[test]
fn a_transaction_tells_when_it_commits_and_what_it_has_kept() {
    let served = Served::start("tells", options());
    let mut listener = served.connect("user=a").expect("connected");
    let mut teller = served.connect("user=b").expect("connected");
    let pid = pid(&mut teller);
    listener
        .batch_execute("begin; listen news; commit; begin; listen more; rollback")
        .expect("listens");
    teller.batch_execute("begin; notify news, 'undone'; rollback").expect("undone");
    teller
        .batch_execute(
            "begin; notify more; notify news, 'a'; savepoint s; notify news, 'b'; \
             rollback to s; notify news, 'c'; notify news, 'a'",
        )
        .expect("in a block");
    teller.batch_execute("notify news, 'x'; select 1 / 0").expect_err("division");
    teller.batch_execute("rollback").expect("rolled back");
    teller
        .batch_execute(
            "begin; notify more; notify news, 'a'; savepoint s; notify news, 'b'; \
             rollback to s; notify news, 'c'; notify news, 'a'; commit",
        )
        .expect("committed");
    teller.batch_execute("notify news, 'y'; select 1 / 0").expect_err("division");
    teller.batch_execute("notify news, 'last'").expect("told");
    let payloads: Vec<String> = told(&mut listener, 3).into_iter().map(|told| told.1).collect();
    assert_eq!(payloads, ["a", "c", "last"]);
    teller.batch_execute("listen news; notify news, 'own'").expect("told");
    assert_eq!(told(&mut teller, 1), [("news".to_owned(), "own".to_owned(), pid)]);
    let state = |error: postgres::Error| error.code().expect("a state").code().to_owned();
    let long = format!("notify news, '{}'", "x".repeat(8000));
    assert_eq!(state(teller.batch_execute(&long).expect_err("too long")), "22023");
    let name = format!("notify {}", "x".repeat(70));
    teller.batch_execute(&name).expect("names are cut");
}

#[test]
fn a_held_cursor_outlives_its_transaction() {
    let served = Served::start("held", options());
    let mut client = served.connect("user=a").expect("connected");
    client
        .batch_execute("create table t as select g as i from generate_series(1, 5000) as s(g)")
        .expect("made");
    client
        .batch_execute(
            "begin; declare c cursor with hold for select i from t order by i; fetch 2 from c",
        )
        .expect("declared");
    client.batch_execute("insert into t values (0); commit").expect("committed");
    client.batch_execute("delete from t where i = 3").expect("deleted");
    let next = |client: &mut Client, text: &str| -> Vec<i32> {
        client.query(text, &[]).expect(text).iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(next(&mut client, "fetch 2 from c"), [3, 4]);
    let shown = client.query_one("select is_holdable from pg_cursors", &[]).expect("shown");
    assert!(shown.get::<_, bool>(0));
    client.batch_execute("begin; rollback").expect("rolled back");
    assert_eq!(next(&mut client, "fetch all from c").len(), 4996);
    client.batch_execute("close c").expect("closed");
    client.batch_execute("fetch 1 from c").expect_err("it is closed");
    client
        .batch_execute("begin; declare d cursor with hold for select 1; rollback")
        .expect("rolled back");
    client.batch_execute("fetch 1 from d").expect_err("it was rolled back");
    client
        .batch_execute("declare e cursor with hold for select 7")
        .expect("a transaction of its own");
    assert_eq!(next(&mut client, "fetch 1 from e"), [7]);
    client.batch_execute("discard all").expect("discarded");
    client.batch_execute("fetch 1 from e").expect_err("it is closed");
}

#[test]
fn a_held_cursor_counts_with_what_it_reads_afterwards() {
    let served = Served::start("held-serializable", options());
    let mut setup = served.connect("user=a").expect("connected");
    setup
        .batch_execute(
            "create table a (id int primary key, v int); create table b (id int primary key, v int); \
             insert into a values (1, 1), (2, 2); insert into b values (1, 1), (2, 2)",
        )
        .expect("made");
    let begin = "begin isolation level serializable";
    for (hold, state) in [("with hold", Some("40001")), ("", None)] {
        let mut first = served.connect("user=a").expect("connected");
        let mut second = served.connect("user=a").expect("connected");
        let cursor = format!("{begin}; declare c cursor {hold} for select sum(v) from a");
        first.batch_execute(&cursor).expect("declared");
        first.batch_execute("update b set v = v + 1 where id = 1").expect("changed");
        // It has read what the first one changes, and changes what that is about to read.
        let other = format!("{begin}; select sum(v) from b; update a set v = v + 1 where id = 1");
        second.batch_execute(&other).expect("changed");
        second.batch_execute("commit").expect("committed");
        let ended = first.batch_execute("commit");
        let found = ended.err().map(|error| error.code().expect("a state").code().to_owned());
        assert_eq!(found.as_deref(), state, "{hold}");
    }
}

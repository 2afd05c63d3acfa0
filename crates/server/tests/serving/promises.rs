//! What sessions are promised: settings of a transaction, warnings, and that a client that is gone
//! leaves no work behind.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::served::{Served, options};
use postgres::{Client, NoTls};

fn lock_timeout(client: &mut Client) -> String {
    client.query_one("show lock_timeout", &[]).expect("shown").get(0)
}

#[test]
fn settings_of_a_transaction_end_with_it() {
    let served = Served::start("local", options());
    let mut client = served.connect("user=x").expect("connected");
    client.batch_execute("set lock_timeout = '5s'").expect("set");
    for end in ["commit", "rollback"] {
        client.batch_execute("begin; set local lock_timeout = '7s'").expect("set");
        assert_eq!(lock_timeout(&mut client), "7s");
        client.batch_execute(end).expect(end);
        assert_eq!(lock_timeout(&mut client), "5s", "{end}");
    }
    client.batch_execute("set local lock_timeout = '9s'").expect("a transaction of its own");
    assert_eq!(lock_timeout(&mut client), "5s");
}

#[test]
fn vacuum_of_another_roles_table_is_a_warning() {
    let served = Served::start("vacuum", options());
    let mut owner = served.connect("user=dovetail").expect("connected");
    owner.batch_execute("create table t (a int); create role guest login").expect("made");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = told.clone();
    let mut guest = postgres::Config::new();
    guest.host("127.0.0.1").port(served.address.port()).user("guest");
    guest.notice_callback(move |notice| {
        theirs.lock().expect("told").push(format!("{} {}", notice.severity(), notice.message()));
    });
    let mut guest = guest.connect(NoTls).expect("connected");
    for statement in ["vacuum t", "analyze t"] {
        guest.batch_execute(statement).expect(statement);
        let told = std::mem::take(&mut *told.lock().expect("told"));
        assert!(
            matches!(told.as_slice(), [one] if one.starts_with("WARNING") && one.contains("\"t\"")),
            "{statement}: {told:?}"
        );
    }
}

/// Greets the server and waits until it is ready.
fn raw_session(served: &Served) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).expect("connected");
    let mut body = 196_608i32.to_be_bytes().to_vec();
    body.extend(b"user\0x\0\0");
    send(&mut stream, None, &body);
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("an answer");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        stream.read_exact(&mut vec![0; length]).expect("an answer");
        if head[0] == b'Z' {
            return stream;
        }
    }
}

fn send(stream: &mut TcpStream, tag: Option<u8>, body: &[u8]) {
    let mut message: Vec<u8> = tag.into_iter().collect();
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    stream.write_all(&message).expect("sent");
}

#[test]
fn who_hangs_up_while_a_query_is_planned_leaves_nothing_behind() {
    let served = Served::start("gone", options());
    let mut other = served.connect("user=x").expect("connected");
    other.batch_execute("create table few (id int primary key)").expect("made");
    let depth = 20;
    let (opening, closing) = ("exists (select 1 from few where ".repeat(depth), ")".repeat(depth));
    let query = format!("select 1 from few where {opening}true{closing}\0");
    let mut gone = raw_session(&served);
    send(&mut gone, Some(b'Q'), query.as_bytes());
    let active = "select count(*) from pg_stat_activity where state = 'active' \
                  and query like 'select 1 from few%'";
    let is_active =
        |other: &mut Client| other.query_one(active, &[]).expect("asked").get::<_, i64>(0);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while is_active(&mut other) == 0 {
        assert!(std::time::Instant::now() < deadline, "it never began");
    }
    drop(gone);
    served.eventually(|| (served.server.connection_count() == 1).then_some(()));
    assert_eq!(is_active(&mut other), 0);
}

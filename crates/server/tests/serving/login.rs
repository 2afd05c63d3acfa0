//! Logging in: passwords, rules, roles that may not, places that are taken.

use crate::served::{Served, options};
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use server::{Rules, ServerOptions};

/// The SQLSTATE and message of a login that fails.
fn refused(served: &Served, login: &str) -> (String, String) {
    let error = served.connect(login).map(|_| ()).expect_err(login);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{login}: {error:?}"));
    assert_eq!(error.severity(), "FATAL");
    (error.code().code().to_owned(), error.message().to_owned())
}

fn with_rules(rules: &str) -> ServerOptions {
    ServerOptions { rules: Some(Rules::parse(rules).expect("rules")), ..options() }
}

fn text(client: &mut Client, query: &str) -> String {
    client.query_one(query, &[]).expect(query).get(0)
}

#[test]
fn in_a_new_database_any_name_is_the_superuser() {
    let served = Served::start("fresh", options());
    let mut client = served.connect("user=whoever").expect("connected");
    assert_eq!(text(&mut client, "select current_user"), "dovetail");
    client.batch_execute("create role ann login").expect("created");
    let (code, message) = refused(&served, "user=whoever");
    assert_eq!((code.as_str(), message.as_str()), ("28000", "role \"whoever\" does not exist"));
    let mut ann = served.connect("user=ann").expect("no password is asked for");
    assert_eq!(text(&mut ann, "select session_user"), "ann");
    let error = ann.batch_execute("create table t (a int)").expect_err("no privilege");
    assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
}

#[test]
fn one_password_has_everybody_asked() {
    let served = Served::start("passwords", options());
    let mut first = served.connect("user=x").expect("connected");
    first
        .batch_execute(
            "alter role dovetail password 'I\u{00AD}X'; create role ann login password 'pëncil';
             create role ben login; create role group_ password 'x'",
        )
        .expect("created");
    served.connect("user=dovetail password=IX").expect("as SASLprep has it");
    let mut ann = served.connect("user=ann password='pëncil'").expect("the right password");
    assert_eq!(text(&mut ann, "select current_user"), "ann");
    let wrong = |user: &str| {
        let (code, message) = refused(&served, &format!("user={user} password=wrong"));
        assert_eq!(code, "28P01");
        message.replace(user, "..")
    };
    // A wrong password, no password at all, no such role: all the same.
    assert_eq!(wrong("ann"), "password authentication failed for user \"..\"");
    assert_eq!(wrong("ann"), wrong("ben"));
    assert_eq!(wrong("ann"), wrong("nobody"));
    assert_eq!(refused(&served, "user=group_ password=x").0, "28000");
    first.batch_execute("alter role ann password null").expect("changed");
    assert_eq!(wrong("ann"), wrong("ben"));
}

#[test]
fn a_client_may_send_a_verifier_instead_of_a_password() {
    let served = Served::start("verifiers", options());
    let mut first = served.connect("user=x").expect("connected");
    let verifier = engine::Verifier::of("secret");
    let text = format!("create role ann login password '{verifier}'");
    first.batch_execute(&text).expect("created");
    served.connect("user=ann password=secret").expect("the password of the verifier");
    assert_eq!(refused(&served, &format!("user=ann password='{verifier}'")).0, "28P01");
    let md5 = "create role ben login password 'md5c9c1b4ba7a8bd4d4e3c1d0f5f0ee2f12'";
    assert!(first.batch_execute(md5).is_err());
}

#[test]
fn rules_decide_who_connects_and_can_change() {
    let served = Served::start(
        "rules",
        with_rules(
            "host all ann 127.0.0.1/32 reject\nhost other all all trust\nhost t ben,dovetail all trust",
        ),
    );
    let mut first = served.connect("user=dovetail").expect("trusted");
    first.batch_execute("create role ann login; create role ben login").expect("created");
    served.connect("user=ben dbname=other").expect("the database goes by its own name");
    let (code, message) = refused(&served, "user=ann");
    let expected = "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"ann\", \
                    database \"t\", no encryption";
    assert_eq!((code.as_str(), message.as_str()), ("28000", expected));
    let (_, message) = refused(&served, "user=carl");
    assert!(message.starts_with("no pg_hba.conf entry for host \"127.0.0.1\", user \"carl\""));
    served
        .server
        .reload(Some(Rules::parse("host all all all scram-sha-256").unwrap()), None)
        .unwrap();
    assert_eq!(refused(&served, "user=ben password=x").0, "28P01");
    assert_eq!(text(&mut first, "select current_user"), "dovetail");
}

#[test]
fn a_server_for_other_machines_asks_them_for_a_proof() {
    let served = Served::start("open", options());
    let listen = vec![server::Address::Tcp("0.0.0.0:0".parse().expect("an address"))];
    let start = |rules: Option<&str>| {
        let rules = rules.map(|text| Rules::parse(text).expect("rules"));
        let options = ServerOptions { listen: listen.clone(), rules, ..options() };
        server::Server::start(&served.db, &options).map(drop)
    };
    assert!(start(Some("host all all all trust")).is_err());
    assert!(start(Some("host all all 10.0.0.0/8 trust")).is_err());
    start(Some("host all all 127.0.0.1 trust\nhost all all all scram-sha-256")).expect("started");
    start(None).expect("passwords are asked for by default");
}

#[test]
fn the_last_places_are_for_superusers() {
    let options = ServerOptions { connection_count_max: 4, reserved_count: 2, ..options() };
    let served = Served::start("places", options);
    let mut first = served.connect("user=x").expect("connected");
    let roles = "create role ann login connection limit 1; create role ben login";
    first.batch_execute(roles).expect("created");
    let ann = served.connect("user=ann").expect("the first of its role");
    let (code, message) = refused(&served, "user=ben");
    assert_eq!(code, "53300");
    assert!(message.starts_with("remaining connection slots are reserved"), "{message}");
    let second = served.connect("user=dovetail").expect("reserved");
    let third = served.connect("user=dovetail").expect("reserved");
    assert_eq!(refused(&served, "user=dovetail").1, "sorry, too many clients already");
    drop((second, third, ann));
    served.eventually(|| served.connect("user=ann").ok()).close().expect("closed");
    drop(first);
}

#[test]
fn a_role_has_as_many_connections_as_its_limit() {
    let served = Served::start("limits", options());
    let mut first = served.connect("user=x").expect("connected");
    first.batch_execute("create role ann login connection limit 1").expect("created");
    let ann = served.connect("user=ann").expect("the first");
    assert_eq!(refused(&served, "user=ann").1, "too many connections for role \"ann\"");
    drop(ann);
    served.eventually(|| served.connect("user=ann").ok());
}

#[test]
fn a_unix_socket_is_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let served = Served::start("unix", options());
    let path = served.folder.join(".s.PGSQL.5432");
    let listen = vec![server::Address::Unix(path.clone())];
    let options = ServerOptions { listen, ..options() };
    let _second = server::Server::start(&served.db, &options).expect("started");
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let text = format!("host={} user=x", served.folder.display());
    let mut client = Client::connect(&text, NoTls).expect("connected");
    assert_eq!(client.query("select 1", &[]).expect("a row").len(), 1);
}

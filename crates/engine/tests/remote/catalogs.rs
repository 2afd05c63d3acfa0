//! Tables of Iceberg by REST catalogs: tokens, warehouses, keys that a catalog hands out, and whom it may name.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::files_support::outcome;
use crate::support::{Question, Scratch, Stand, put_lake, refused, rows};
use engine::{Configuration, Origin, Session};

/// A database that has the store's secret.
fn prepared(stand: &Stand, name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.session().execute(&stand.secret()).expect("a secret");
    scratch
}

/// The metadata of a table whose objects have these names, as a catalog answers it.
fn newest_metadata(stand: &Stand, keys: &[String]) -> String {
    let newest = keys.iter().rev().find(|key| key.ends_with(".metadata.json")).expect("one");
    let newest = newest.clone();
    let bytes = stand.with(move |server| server.object(&newest).expect("there").bytes.to_vec());
    String::from_utf8(bytes).expect("UTF-8")
}

/// What a catalog was asked for a table: the warehouse, and whether keys were wanted.
type Asked = Arc<Mutex<Vec<(Option<String>, bool)>>>;

/// A catalog that has the table `n.t`. Its answers have these texts in front of the metadata, one after the other, and
/// then the last one again and again.
fn serve(stand: &Stand, beside: &[String]) -> Asked {
    let keys = put_lake(stand, "deleted", Some(b"s3://bucket/lake"));
    let newest = keys.iter().rev().find(|key| key.ends_with(".metadata.json")).expect("one");
    let (newest, beside, asked) = (newest.clone(), beside.to_vec(), Asked::default());
    let log = asked.clone();
    stand.with(move |server| {
        let metadata = server.object(&newest).expect("there").bytes.to_vec();
        let metadata = String::from_utf8(metadata).expect("UTF-8");
        let (mut count, mut warehouse) = (0, None);
        let reply = move |question: &Question<'_>| match question.path {
            "/catalog/v1/config" => {
                warehouse = question.query.get("warehouse").cloned();
                Some((200, r#"{"overrides": {"prefix": "p"}}"#.to_owned()))
            }
            "/catalog/v1/p/namespaces/n/tables/t" => {
                let header = question.headers.get("x-iceberg-access-delegation");
                let wants_keys = header.is_some_and(|value| value == "vended-credentials");
                log.lock().expect("a log").push((warehouse.clone(), wants_keys));
                let beside = &beside[count.min(beside.len() - 1)];
                count += 1;
                Some((200, format!("{{{beside}\"metadata\": {metadata}}}")))
            }
            _ => None,
        };
        *server.replies.borrow_mut() = Some(Box::new(reply));
    });
    asked
}

/// Keys with this id, for a store at this endpoint.
fn keys(id: &str, endpoint: &str) -> String {
    format!(
        r#"{{"s3.access-key-id": "{id}", "s3.secret-access-key": "canary-{id}", "s3.session-token":
        "canary", "s3.endpoint": "{endpoint}", "s3.path-style-access": "true"}}"#
    )
}

/// What an answer has in front of the metadata: keys for these prefixes.
fn vended(sets: &[(&str, String)]) -> String {
    let one =
        |(prefix, keys): &(&str, String)| format!(r#"{{"prefix": "{prefix}", "config": {keys}}}"#);
    let sets: Vec<String> = sets.iter().map(one).collect();
    format!(r#""storage-credentials": [{}], "#, sets.join(", "))
}

/// The rows of the table; options are those of the call.
fn query(stand: &Stand, options: &str) -> String {
    format!("select count(*) from iceberg_scan('n.t', catalog => '{}/catalog'{options})", stand.url)
}

/// By whose keys the store was asked since it had answered so many requests.
fn signers(stand: &Stand, since: usize) -> BTreeSet<String> {
    let (log, signers) = stand.with(|server| (server.log(), server.signers()));
    let asked = log.into_iter().zip(signers).skip(since);
    asked.filter(|(line, _)| line.contains(" /bucket/")).map(|(_, id)| id).collect()
}

fn count(stand: &Stand) -> usize {
    stand.with(|server| server.log().len())
}

/// The table is read with these keys, and no others are sent to the store.
#[track_caller]
fn check(stand: &Stand, session: &mut Session, options: &str, expected: &[&str]) {
    let since = count(stand);
    assert_eq!(outcome(session, &query(stand, options)), "9");
    let expected: BTreeSet<String> = expected.iter().map(|id| (*id).to_owned()).collect();
    assert_eq!(signers(stand, since), expected);
}

#[test]
fn files_are_read_with_the_keys_of_the_longest_prefix() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "catalog-keys");
    let mut session = scratch.session();
    let set = |prefix, id| (prefix, keys(id, &stand.url));
    let table = [
        (vended(&[set("s3://bucket/", "outer"), set("s3a://bucket/lake/deleted/", "own")]), "own"),
        (vended(&[set("s3://bucket/lake/deleted", "own"), set("s3://bucket", "outer")]), "own"),
        // Neither the beginning of a name nor another bucket is meant, so the secret counts.
        (vended(&[set("s3://bucket/lake/dele", "near"), set("s3://buck", "near")]), "id"),
        (
            vended(&[set("s3://bucket/lake/deleted/metadata/x", "deep"), set("gs://bucket", "gs")]),
            "id",
        ),
        // The keys of the table, which are for all of its files.
        (format!(r#""config": {}, "#, keys("table", &stand.url)), "table"),
        (vended(&[set("s3", "all")]), "all"),
        // Those of its prefixes go before the ones that are for all.
        (
            format!(
                r#""config": {}, {}"#,
                keys("table", &stand.url),
                vended(&[set("s3", "all"), set("gs", "gs"), set("", "none")])
            ),
            "all",
        ),
        // Where the store is says the secret for the file, if the catalog does not.
        (
            vended(&[(
                "s3://bucket",
                r#"{"s3.access-key-id": "placed", "s3.secret-access-key": "canary"}"#.to_owned(),
            )]),
            "placed",
        ),
        (String::new(), "id"),
    ];
    for (beside, expected) in table {
        let asked = serve(&stand, &[beside]);
        check(&stand, &mut session, ", warehouse => 'a b/c'", &[expected]);
        let once = asked.lock().expect("a log").clone();
        assert_eq!(once, [(Some("a b/c".to_owned()), true)]);
    }
    // A secret for the bucket is meant for it more than keys for everything, and less than those for the table.
    let secret = stand.secret().replace("create", "create or replace");
    session.execute(&secret.replace(')', ", scope 's3://bucket')")).expect("a secret");
    serve(&stand, &[format!(r#""config": {}, "#, keys("table", &stand.url))]);
    check(&stand, &mut session, "", &["id"]);
    let asked = serve(&stand, &[vended(&[set("s3://bucket/lake", "own")])]);
    check(&stand, &mut session, "", &["own"]);
    check(&stand, &mut session, ", vended_credentials => false", &["id"]);
    assert_eq!(asked.lock().expect("a log")[..], [(None, true), (None, false)]);
    let plan = rows(&mut session, &format!("explain analyze {}", query(&stand, "")));
    assert!(plan.contains("n.t") && !plan.contains("canary"), "{plan}");
    for option in ["warehouse => 'x'", "vended_credentials => false"] {
        refused(
            &mut session,
            &format!("select * from iceberg_scan('s3://bucket', {option})"),
            "22023",
        );
    }
}

#[test]
fn keys_that_are_none_are_told_without_showing_them() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "catalog-bad-keys");
    let mut session = scratch.session();
    let whole = |config: &str| format!(r#""config": {config}, "#);
    for (beside, expected) in [
        (whole(r#"{"s3.access-key-id": "canary"}"#), "s3.secret-access-key"),
        (whole(r#"{"s3.secret-access-key": "canary"}"#), "s3.access-key-id"),
        (
            whole(r#"{"s3.access-key-id": "canary", "s3.secret-access-key": {"x": "canary"}}"#),
            "text",
        ),
        (vended(&[("s3://bucket", r#""canary""#.to_owned())]), "object"),
        (r#""storage-credentials": {"prefix": "canary"}, "#.to_owned(), "list"),
    ] {
        serve(&stand, &[beside]);
        let error = refused(&mut session, &query(&stand, ""), "XX001");
        assert!(error.detail.is_some_and(|detail| detail.contains(expected)), "{expected}");
        assert!(error.hint.is_some_and(|hint| hint.contains("vended_credentials => false")));
        check(&stand, &mut session, ", vended_credentials => false", &["id"]);
    }
    // What cannot stand in a request.
    let broken = keys("id\\r\\nx: canary", &stand.url);
    serve(&stand, &[vended(&[("s3", broken)])]);
    refused(&mut session, &query(&stand, ""), "22023");
}

#[test]
fn keys_are_sent_to_no_host_that_nobody_has_named() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "catalog-endpoints");
    let mut session = scratch.session();
    let other = stand.url.replace("127.0.0.1", "localhost");
    let since = count(&stand);
    for endpoint in [
        other.as_str(),
        "http://169.254.169.254",
        "http://127.0.0.1:1",
        "https://user:canary@h2.x",
        "https://s3.x.amazonaws.com.h2.x",
        "https://s3.h2.x/.amazonaws.com",
        "canary",
    ] {
        serve(&stand, &[vended(&[("s3", keys("own", endpoint))])]);
        refused(&mut session, &query(&stand, ""), "42501");
    }
    assert_eq!(signers(&stand, since), BTreeSet::new());
    // One that a secret names for other files.
    let secret = "create secret e (type s3, key_id 'k', secret 'canary', scope 's3://e', endpoint";
    session.execute(&format!("{secret} '{other}')")).expect("a secret");
    serve(&stand, &[vended(&[("s3", keys("own", &other))])]);
    check(&stand, &mut session, "", &["own"]);
    // The list of hosts is for those that catalogs name, too.
    let mut configuration = Configuration::default();
    configuration.give("object_store_hosts", "127.0.0.1", Origin::Flag).expect("a setting");
    let listed =
        Scratch::with("catalog-hosts", |options| options.configuration = configuration.into());
    let mut session = listed.session();
    refused(&mut session, &query(&stand, ""), "42501");
    serve(&stand, &[vended(&[("s3", keys("own", &stand.url))])]);
    check(&stand, &mut session, "", &["own"]);
}

#[test]
fn the_table_is_loaded_again_when_its_keys_have_expired() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "catalog-expired");
    let mut session = scratch.session();
    let set = |id: &str| vended(&[("s3://bucket/lake", keys(id, &stand.url))]);
    stand.with(|server| server.expire("old"));
    let asked = serve(&stand, &[set("old"), set("new")]);
    check(&stand, &mut session, "", &["old", "new"]);
    assert_eq!(asked.lock().expect("a log").len(), 2);
    // Their end has been told, so they are not even tried.
    let over = set("over").replace("\"s3.e", "\"s3.session-token-expires-at-ms\": \"1\", \"s3.e");
    let asked = serve(&stand, &[over, set("new")]);
    check(&stand, &mut session, "", &["new"]);
    assert_eq!(asked.lock().expect("a log").len(), 2);
    // The next ones are no better.
    let asked = serve(&stand, &[set("old")]);
    let error = refused(&mut session, &query(&stand, ""), "58030");
    assert!(error.hint.is_some_and(|hint| hint.contains("run the statement again")));
    assert_eq!(asked.lock().expect("a log").len(), 2, "once more, and not again and again");
    // There are none any more.
    serve(&stand, &[set("old"), String::new()]);
    refused(&mut session, &query(&stand, ""), "28000");
}

/// Who writes the table does not choose whom the server speaks to.
#[test]
fn a_table_on_a_server_names_no_other_server() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-servers");
    let mut session = scratch.session();
    let keys = put_lake(&stand, "deleted", Some(b"http://h2.x/lake"));
    let newest = keys.iter().rev().find(|key| key.ends_with(".metadata.json")).expect("one");
    let query = |options: &str| {
        format!("select count(*) from iceberg_scan('{}/b/{newest}'{options})", stand.url)
    };
    let error = refused(&mut session, &query(""), "42501");
    assert!(error.detail.is_some_and(|detail| detail.contains("another server")));
    // Its own is meant.
    assert_eq!(rows(&mut session, &query(", allow_moved_paths => true")), "9");
    // A catalog names no other one either.
    let key = newest.clone();
    stand.with(move |server| {
        let metadata = server.object(&key).expect("there").bytes.to_vec();
        let metadata = String::from_utf8(metadata).expect("UTF-8");
        server.insert("v1/config", b"{}".to_vec());
        let answer = format!("{{\"metadata\": {metadata}}}");
        server.insert("v1/namespaces/n/tables/t", answer.into_bytes());
    });
    let by_catalog =
        format!("select count(*) from iceberg_scan('n.t', catalog => '{}/c')", stand.url);
    refused(&mut session, &by_catalog, "42501");
    // One for which there is a secret may be asked, and is not there.
    let secret = "create secret h (type http, session_token 'canary', scope 'http://h2.x')";
    session.execute(&format!("{secret}; set statement_timeout = '2s'")).expect("a secret");
    let error = session.execute(&query("")).expect_err("no such host");
    assert_ne!(error.state.0, "42501", "{error:?}");
}

/// The catalog at a URL is asked by a client, which is given a token first.
fn by_a_client(stand: &Stand, session: &mut Session, url: &str, count: &str) {
    let document = br#"{"access_token": "canary-2", "token_type": "bearer", "expires_in": 3600}"#;
    stand.with(|server| server.insert("v1/oauth/tokens", document.to_vec()));
    let client = |more: &str| {
        let scope = format!("scope '{url}', credential 'me:canary:3'");
        format!("create or replace secret c (type http, {scope}{more})")
    };
    for more in ["", ", oauth2_scope 'a b'"] {
        session.execute(&client(more)).expect("a secret");
        assert_eq!(outcome(session, count), "9");
        assert_eq!(outcome(session, count), "9");
    }
    let log = stand.with(|server| server.log());
    let asked = log.iter().filter(|line| line.starts_with("POST ")).count();
    assert_eq!(asked, 2, "a token is good for several statements: {log:?}");
    assert!(stand.with(|server| server.signers().contains(&"canary-2".to_owned())));
    session
        .execute(&client(&format!(", oauth2_server_uri '{}/x/none'", stand.url)))
        .expect("a secret");
    refused(session, count, "28000");
    for options in [
        "type http, scope 'https://h', credential 'canary'",
        "type http, scope 'https://h', session_token 'canary', credential 'me:canary'",
        "type http, scope 'https://h', credential 'me:canary', oauth2_server_uri 'http://h/canary'",
        "type http, scope 'https://h', credential 'canary:'",
        "type http, scope 'https://h', oauth2_scope 'canary'",
        "type s3, credential 'me:canary'",
        "type s3, credential 'me:canary', oauth2_scope 'x'",
    ] {
        refused(session, &format!("create secret d ({options})"), "22023");
    }
}

#[test]
fn a_catalog_says_where_a_table_lies() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-catalog");
    let mut session = scratch.session();
    let keys = put_lake(&stand, "deleted", Some(b"s3://bucket/lake"));
    let metadata = newest_metadata(&stand, &keys);
    stand.with(move |server| {
        let answer = format!("{{\"metadata-location\": \"\", \"metadata\": {metadata}}}");
        let local = answer.replace("s3://bucket/lake", "/lake");
        server.insert("v1/p/namespaces/n\u{1f}m/tables/t", answer.into_bytes());
        server.insert("v1/p/namespaces/n/tables/local", local.into_bytes());
        server.insert("v1/p/namespaces/n/tables/bad", b"{}".to_vec());
        let config = r#"{"defaults": {}, "overrides": {"prefix": "p"}}"#;
        server.insert("v1/config", config.into());
    });
    let url = format!("{}/catalog", stand.url);
    let secret =
        format!("create secret c (type http, session_token 'canary', scope '{}')", stand.url);
    session.execute(&secret).expect("a secret");
    let from = |table: &str| format!("iceberg_scan('{table}', catalog => '{url}')");
    let found = outcome(&mut session, &format!("select id from {} order by id", from("n.m.t")));
    assert_eq!(found, "0;2;4;4;5;6;7;9;20");
    // The same without the catalog.
    let found = outcome(
        &mut session,
        "select id from iceberg_scan('s3://bucket/lake/deleted') order by id",
    );
    assert_eq!(found, "0;2;4;4;5;6;7;9;20");
    assert!(stand.with(|server| server.signers().contains(&"canary".to_owned())));
    let mut check = |table: &str, state: &str| {
        refused(&mut session, &format!("select * from {}", from(table)), state);
    };
    check("n.none", "42P01");
    check("none", "22023");
    check("n.local", "42501");
    check("n.bad", "XX001");
    for (options, state) in [
        ("type http, session_token 'canary'", "22023"),
        ("type http, scope 'https://host'", "22023"),
        ("type http, session_token 'canary', scope 's3://bucket'", "22023"),
        ("type http, session_token 'canary', scope 'https://h', region 'x'", "22023"),
    ] {
        refused(&mut session, &format!("create secret d ({options})"), state);
    }
    by_a_client(&stand, &mut session, &url, &format!("select count(*) from {}", from("n.m.t")));
    refused(&mut session, "select * from iceberg_scan('n.t', catalog => 's3://bucket')", "22023");
    refused(
        &mut session,
        "select * from iceberg_scan('n.t', catalog => 'http://169.254.169.254')",
        "42501",
    );
}

#[test]
fn a_catalog_may_send_on_to_a_place_that_somebody_has_named() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-sent-on");
    let mut session = scratch.session();
    let keys = put_lake(&stand, "deleted", Some(b"s3://bucket/lake"));
    let metadata = newest_metadata(&stand, &keys);
    stand.with(move |server| {
        let answer = format!("{{\"metadata\": {metadata}}}");
        server.insert("v1/namespaces/n/tables/t", answer.into_bytes());
    });
    let sends_on = |uri: &str| {
        let config = format!(r#"{{"overrides": {{"uri": "{uri}"}}}}"#);
        stand.with(move |server| server.insert("v1/config", config.into_bytes()));
    };
    let query =
        format!("select count(*) from iceberg_scan('n.t', catalog => '{}/catalog')", stand.url);
    sends_on(&format!("{}/other/", stand.url));
    assert_eq!(rows(&mut session, &query), "9");
    let log = stand.with(|server| server.log());
    assert!(log.contains(&"GET /other/v1/namespaces/n/tables/t".to_owned()), "{log:?}");
    sends_on(&format!("{}/catalog/", stand.url));
    assert_eq!(rows(&mut session, &query), "9");
    for uri in ["http://h2.x/catalog", "s3://bucket/catalog", "/etc", "canary"] {
        // Nobody has named it, so the one that the statement names is asked on.
        sends_on(uri);
        assert_eq!(rows(&mut session, &query), "9", "{uri}");
    }
    // One for which there is a secret may be asked, and is not there.
    sends_on("http://h2.x/catalog");
    let secret = "create secret h (type http, session_token 'canary', scope 'http://h2.x')";
    session.execute(&format!("{secret}; set statement_timeout = '2s'")).expect("a secret");
    let error = session.execute(&query).expect_err("no such host");
    assert_ne!(error.state.0, "42501", "{error:?}");
}

#[test]
fn memory_for_what_a_catalog_answers_is_counted() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-counted");
    let mut session = scratch.session();
    let query = format!("select * from iceberg_scan('n.t', catalog => '{}/catalog')", stand.url);
    let long = format!("{{}}{}", " ".repeat(20 << 20));
    let config = long.clone();
    stand.with(move |server| server.insert("v1/config", config.into_bytes()));
    refused(&mut session, &query, "53200");
    stand.with(move |server| {
        server.insert("v1/config", b"{}".to_vec());
        server.insert("v1/namespaces/n/tables/t", long.into_bytes());
    });
    refused(&mut session, &query, "53200");
    assert_eq!(scratch.db().governor().growth().0, 0);
}

//! Tables whose objects are encrypted: nothing of them is legible at the store, who has the key reads them, and
//! what was changed or exchanged there is refused.

use crate::support::{Scratch, Stand, each, refused, rows};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SUMS: &str = "select count(*), sum(a), min(canaries), max(canaries) from";
const TABLE: &str = "create table t (a int, canaries text) with (location = 's3://bucket/x/t')";
const FILL: &str =
    "insert into t select i, 'canary ' || md5(i::text) from generate_series(1, 40000) g(i)";

fn secret(stand: &Stand, key: &str) -> String {
    stand.secret().replace("endpoint", &format!("encryption_key '{key}', endpoint"))
}

/// A database with an encrypted table of some rows.
fn filled(stand: &Stand, name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut session = scratch.session();
    for text in [&secret(stand, KEY), TABLE, FILL] {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    scratch
}

/// What the store has.
fn objects(stand: &Stand) -> Vec<(String, Vec<u8>)> {
    stand.with(|server| {
        let object = |key: String| {
            let bytes = server.object(&key).expect("it is there").bytes.to_vec();
            (key, bytes)
        };
        server.keys().into_iter().map(object).collect()
    })
}

fn put(stand: &Stand, key: &str, bytes: &[u8]) {
    let (key, bytes) = (key.to_owned(), bytes.to_vec());
    stand.with(move |server| server.insert(&key, bytes));
}

#[test]
fn nothing_is_legible_at_the_store_and_who_has_the_key_reads_it() {
    let stand = Stand::new();
    let writer = filled(&stand, "sealed");
    let mut session = writer.session();
    each(&mut session, "insert into t values (-1, 'canary'); reorganize table t");
    for (key, bytes) in objects(&stand) {
        assert!(!bytes.starts_with(b"DVLS"), "{key} is a list that is legible");
        // Long enough that chance does not write them.
        for canary in [&b"canary"[..], b"canaries", KEY.as_bytes()] {
            let is_there = bytes.windows(canary.len()).any(|window| window == canary);
            assert!(!is_there, "{key} has {}", String::from_utf8_lossy(canary));
        }
    }
    let expected = rows(&mut session, &format!("{SUMS} t"));
    assert!(expected.starts_with("40001|800019999|canary"), "{expected}");
    let few = "select canaries from t where a = 20000";
    assert_eq!(rows(&mut session, few), rows(&mut session, "select 'canary ' || md5('20000')"));
    writer.check();
    let reader = Scratch::new("sealed-reader");
    let mut other = reader.session();
    // The same key in base 64.
    let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    other.execute(&secret(&stand, base64)).expect("a secret");
    other.execute("create table t with (location = 's3://bucket/x/t')").expect("it is read");
    assert_eq!(rows(&mut other, &format!("{SUMS} t")), expected);
    session.execute("insert into t select a + 100000, canaries from t").expect("more rows");
    assert_eq!(rows(&mut other, "select count(*) from t"), "80002", "readers follow");
}

#[test]
fn without_the_key_or_with_another_one_nothing_is_read() {
    let stand = Stand::new();
    let writer = filled(&stand, "keyless");
    let attach = "create table t with (location = 's3://bucket/x/t')";
    for (secret, state) in
        [(stand.secret(), "28000"), (secret(&stand, &KEY.replace("00", "ff")), "XX001")]
    {
        let reader = Scratch::new(&format!("keyless-{state}"));
        let mut session = reader.session();
        session.execute(&secret).expect("a secret");
        refused(&mut session, attach, state);
    }
    let mut session = writer.session();
    let replace = |secret: String| secret.replace("create secret", "create or replace secret");
    session.execute(&replace(stand.secret())).expect("the key is taken away");
    refused(&mut session, &format!("{SUMS} t"), "28000");
    refused(&mut session, "insert into t select * from t", "28000");
    session.execute(&replace(secret(&stand, KEY))).expect("and given back");
    assert_eq!(rows(&mut session, "select count(*) from t"), "40000");
    for bad in ["short", "zz", &KEY[1..]] {
        let text = replace(secret(&stand, bad));
        refused(&mut session, &text, "22023");
    }
}

#[test]
fn a_table_that_is_not_encrypted_is_not_taken_for_one_that_is() {
    let stand = Stand::new();
    let plain = Scratch::new("plain");
    let mut session = plain.session();
    for text in [&stand.secret(), TABLE, FILL] {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let replace = secret(&stand, KEY).replace("create secret", "create or replace secret");
    session.execute(&replace).expect("a key");
    refused(&mut session, &format!("{SUMS} t"), "55000");
    let reader = Scratch::new("plain-reader");
    let mut other = reader.session();
    other.execute(&secret(&stand, KEY)).expect("a secret");
    refused(&mut other, "create table t with (location = 's3://bucket/x/t')", "55000");
}

#[test]
fn what_was_changed_or_exchanged_is_refused() {
    let stand = Stand::new();
    let scratch = filled(&stand, "exchanged");
    let reader = Scratch::new("exchanged-reader");
    let (mut session, mut other) = (scratch.session(), reader.session());
    other.execute(&secret(&stand, KEY)).expect("a secret");
    other.execute("create table t with (location = 's3://bucket/x/t')").expect("it is read");
    let before = objects(&stand);
    session.execute(FILL).expect("a second chunk and list");
    assert_eq!(rows(&mut other, "select count(*) from t"), "80000");
    let after = objects(&stand);
    let chunks: Vec<&(String, Vec<u8>)> =
        after.iter().filter(|(key, _)| key.contains("chunks/")).collect();
    let query = "select count(*), sum(a), sum(length(canaries)) from t";
    let expected = rows(&mut session, query);
    for (at, (key, bytes)) in chunks.iter().enumerate() {
        let mut changes =
            vec![chunks[(at + 1) % chunks.len()].1.clone(), bytes[..bytes.len() - 1].to_vec()];
        for place in [12, bytes.len() / 2, bytes.len() - 1] {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x10;
            changes.push(flipped);
        }
        for change in changes {
            put(&stand, key, &change);
            let error = session.execute(query).expect_err("it was changed");
            assert!(["XX001", "58030"].contains(&error.state.0), "{error:?}");
        }
        put(&stand, key, bytes);
        assert_eq!(rows(&mut session, query), expected);
    }
    // An older list, and that of another table.
    let list = |objects: &[(String, Vec<u8>)], key: &str| {
        objects.iter().find(|(name, _)| name == key).expect("a list").1.clone()
    };
    let (old, new) = (list(&before, "x/t/list"), list(&after, "x/t/list"));
    put(&stand, "x/t/list", &old);
    refused(&mut other, query, "55000");
    session.execute(&TABLE.replace("table t", "table u").replace("x/t", "x/u")).expect("a table");
    put(&stand, "x/t/list", &list(&objects(&stand), "x/u/list"));
    refused(&mut other, query, "55000");
    let mut flipped = new.clone();
    for place in [4, 10, 30, 60, 70, new.len() - 1] {
        flipped[place] ^= 1;
        put(&stand, "x/t/list", &flipped);
        let error = other.execute(query).expect_err("it was changed");
        assert!(["XX001", "55000"].contains(&error.state.0), "{place}: {error:?}");
        flipped[place] ^= 1;
    }
    put(&stand, "x/t/list", &new);
    assert_eq!(rows(&mut other, query), expected);
}

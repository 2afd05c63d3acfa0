//! Tables whose chunks are objects: what is written is read again, from here and from elsewhere, and
//! what goes wrong with the store is an error of the statement and nothing more.

use crate::support::{Faults, Scratch, Stand, each, refused, rows};
use engine::{Configuration, Origin};

const ROWS: &str = "select i as a, i % 7 as b, 'text ' || i % 1000 as c, i::numeric(12,2) / 4 as d \
                    from generate_series(1, 60000) g(i)";
const SUMS: &str = "select count(*), sum(a), sum(b), min(c), max(c), sum(d) from";

/// A table `t` with a location, and the same rows in `l`.
fn filled(stand: &Stand, name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut session = scratch.session();
    let create = "create table t (a int, b int, c text, d numeric(12,2)) \
                  with (location = 's3://bucket/x/t')";
    let local = "create table l (a int, b int, c text, d numeric(12,2))";
    let fill = format!("insert into l {ROWS}");
    for text in [&stand.secret(), create, local, &fill, "insert into t select * from l order by a"]
    {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    drop(session);
    scratch
}

#[track_caller]
fn same(scratch: &Scratch) {
    let mut session = scratch.session();
    let conditions =
        ["", " where a between 20000 and 20100", " where b = 3 and c like '%99'", " where a < 0"];
    for mode in ["serial", "static", "ooo"] {
        session.execute(&format!("set execution_mode = {mode}")).unwrap();
        for condition in conditions {
            let local = rows(&mut session, &format!("{SUMS} l{condition}"));
            let remote = rows(&mut session, &format!("{SUMS} t{condition}"));
            assert_eq!(local, remote, "{mode}{condition}");
        }
    }
}

#[test]
fn what_is_written_to_a_location_is_read_again() {
    let stand = Stand::new();
    let mut scratch = filled(&stand, "again");
    assert!(!stand.chunks().is_empty(), "chunks are objects");
    same(&scratch);
    scratch.check();
    let mut session = scratch.session();
    let change = "update {} set b = 9 where a % 100 = 1; delete from {} where a % 100 = 2; \
                  insert into {} values (-1, 1, 'x', 1)";
    for table in ["l", "t"] {
        each(&mut session, &change.replace("{}", table));
    }
    drop(session);
    same(&scratch);
    scratch.close();
    scratch.open();
    same(&scratch);
    let before = stand.chunks();
    let mut session = scratch.session();
    each(&mut session, "reorganize table t; analyze t");
    same(&scratch);
    let both = stand.chunks();
    assert!(before.iter().all(|name| both.contains(name)), "nothing is overwritten or removed");
    session.execute("vacuum t").unwrap();
    let after = stand.chunks();
    assert!(!after.is_empty() && before.iter().all(|name| !after.contains(name)), "{after:?}");
    same(&scratch);
    session
        .execute("create table u with (location = 's3://bucket/x/u') as select * from t")
        .unwrap();
    session.execute("alter table u add column e int default 5").unwrap();
    assert_eq!(rows(&mut session, "select sum(e) = 5 * count(*) from u"), "t");
    session.execute("truncate u").unwrap();
    assert_eq!(rows(&mut session, "select count(*) from u"), "0");
    scratch.check();
}

/// A morsel whose rows take several batches holds its memory in between, and there is memory for one only.
#[test]
fn a_scan_comes_to_its_end_with_memory_for_one_morsel() {
    let stand = Stand::new();
    let little = |options: &mut engine::Options| options.memory_bytes = 96 << 20;
    let scratch = Scratch::with("little", little);
    let mut session = scratch.session();
    let texts: Vec<String> = (0..12).map(|n| format!("md5('{n}' || i)")).collect();
    let rows_of = format!("select i, {} from generate_series(1, 100000) g(i)", texts.join(" || "));
    each(&mut session, &stand.secret());
    each(&mut session, "create table t (a int, c text) with (location = 's3://bucket/x/t')");
    each(&mut session, &format!("insert into t {rows_of}"));
    for mode in ["serial", "static", "ooo"] {
        each(&mut session, &format!("set execution_mode = {mode}; set statement_timeout = '60s'"));
        let found = rows(&mut session, "select count(*), sum(a), sum(length(c)) from t");
        assert_eq!(found, "100000|5000050000|38400000", "{mode}");
    }
    // What is downloaded is of the memory of all operators, and given back, also by who does not come to the end.
    let governor = scratch.db().governor();
    let (held, most) = governor.growth();
    assert!(held == 0 && most > 0, "{held} {most}");
    stand.set_faults(Faults { silent: 0.5, ..Faults::default() });
    session.execute("set statement_timeout = '300ms'").unwrap();
    refused(&mut session, "select sum(length(c)) from t", "57014");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while governor.growth().0 > 0 {
        assert!(std::time::Instant::now() < deadline, "{:?} are still held", governor.growth());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// An index is here, the rows that it finds are fetched from the objects.
#[test]
fn an_index_finds_rows_of_objects() {
    let stand = Stand::new();
    let mut scratch = filled(&stand, "indexed");
    let mut session = scratch.session();
    each(&mut session, "create index t_a on t (a); create unique index on t (a, c)");
    each(&mut session, "create index t_b on t (b); analyze t");
    each(&mut session, "insert into t select a + 100000, b, c, d from l order by a");
    each(&mut session, "delete from t where a = 777; update t set b = 9 where a in (778, 100778)");
    each(&mut session, "insert into t values (-1, 1, 'x', 1)");
    let many: Vec<String> = (1..=150).map(|i| (i * 700 + i % 2 * 100_000).to_string()).collect();
    let many = format!("select count(*), sum(a), sum(b) from t where a in ({})", many.join(", "));
    let queries = [
        "select a, b, c, d from t where a in (-1, 5, 777, 778, 100005, 100778) order by a",
        &many,
        "select count(*), sum(a), max(c), sum(d) from t where b in (0, 3, 9)",
        "select count(*), sum(b), min(c), sum(d) from t where a between 990 and 1010",
        "select l.a, t.c from l join t on t.a = l.a where l.a < 4 or l.a = 777 order by 1",
    ];
    for mode in ["serial", "static", "ooo"] {
        each(&mut session, &format!("set execution_mode = {mode}"));
        for query in queries {
            each(&mut session, "set enable_seqscan = off; set enable_hashjoin = off");
            let plan = rows(&mut session, &format!("explain {query}"));
            assert!(
                ["t_a", "t_b"].iter().any(|name| plan.contains(name))
                    && !plan.contains("Column Scan"),
                "{plan}"
            );
            let by_index = rows(&mut session, query);
            each(&mut session, "reset enable_seqscan; reset enable_hashjoin");
            each(&mut session, "set enable_indexscan = off; set enable_indexnestloop = off");
            assert_eq!(by_index, rows(&mut session, query), "{mode}: {query}");
            each(&mut session, "reset enable_indexscan; reset enable_indexnestloop");
        }
    }
    each(&mut session, "reorganize table t; vacuum t; set enable_seqscan = off");
    assert_eq!(rows(&mut session, "select b from t where a = 100778"), "9");
    drop(session);
    scratch.check();
    scratch.close();
    scratch.open();
    scratch.check();
}

#[test]
fn a_reader_keeps_the_objects_of_its_snapshot() {
    let stand = Stand::new();
    let scratch = filled(&stand, "snapshot");
    let (mut reader, mut writer) = (scratch.session(), scratch.session());
    let sums = format!("{SUMS} t");
    reader.execute("begin isolation level repeatable read").unwrap();
    let before = rows(&mut reader, &sums);
    each(&mut writer, "delete from t where b = 1; reorganize table t; vacuum t");
    assert_eq!(rows(&mut reader, &sums), before);
    assert_ne!(rows(&mut writer, &sums), before);
    reader.execute("commit").unwrap();
    let many = stand.chunks().len();
    writer.execute("vacuum t").unwrap();
    assert!(stand.chunks().len() < many, "they go when nobody reads by them");
}

#[test]
fn plans_show_what_was_asked_of_the_store() {
    let stand = Stand::new();
    let scratch = filled(&stand, "plans");
    let mut session = scratch.session();
    let number = |plan: &str, name: &str| -> u64 {
        let behind = plan.split(name).nth(1).unwrap_or_else(|| panic!("{name}: {plan}"));
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let all = rows(&mut session, "explain analyze select count(c), sum(a) from t");
    // A store of our own is in no price list; what a million gets cost there is told by the secret.
    assert!(!all.contains("cost=$"), "{all}");
    let (url, price) = (&stand.url, "request_price '0.5'");
    let secret = "or replace secret s (type s3, key_id 'id', secret 'canary'";
    each(&mut session, &format!("create {secret}, endpoint '{url}', {price})"));
    let paid = rows(&mut session, "explain analyze select count(c), sum(a) from t");
    assert_eq!(number(&paid, "cost=$0."), 500 * number(&paid, "requests="), "{paid}");
    assert_eq!(number(&paid, "Cost: $0."), number(&paid, "cost=$0."), "{paid}");
    for part in [" retries=0 hedges=0 ", "Objects: ", "Waited: ", "Processed: ", " s/GB"] {
        assert!(paid.contains(part), "{part}: {paid}");
    }
    let few = rows(&mut session, "explain analyze select count(c) from t where a = 50000");
    let none = rows(&mut session, "explain analyze select count(c) from t where a < 0");
    assert!(number(&all, "requests=") >= 1, "{all}");
    assert!(number(&all, "ahead=") > 0 && all.contains(" of "), "{all}");
    assert!(number(&few, "received=") < number(&all, "received="), "{few} {all}");
    assert!(!none.contains("requests="), "{none}");
    let json = rows(&mut session, "explain (analyze, format json) select sum(a) from t");
    for name in ["Requests", "Request Bytes", "Request Hedges", "Request Cost"] {
        assert!(json.contains(&format!("\"{name}\"")), "{name}: {json}");
    }
    assert!(json.contains("\"CPU Seconds per GB Received\""), "{json}");
}

#[test]
fn another_database_reads_the_table_and_does_not_write_it() {
    let stand = Stand::new();
    let writer = filled(&stand, "writer");
    let reader = Scratch::new("reader");
    let mut session = reader.session();
    session.execute(&stand.secret()).unwrap();
    session.execute("create table t with (location = 's3://bucket/x/t')").unwrap();
    let expected = rows(&mut writer.session(), &format!("{SUMS} l"));
    assert_eq!(rows(&mut session, &format!("{SUMS} t")), expected);
    // Whoever has the objects as files needs no keys.
    let plain = format!("create table h with (location = '{}/bucket/x/t')", stand.url);
    session.execute(&plain).unwrap();
    assert_eq!(rows(&mut session, &format!("{SUMS} h")), expected);
    for text in [
        "insert into t values (1, 1, 'a', 1)",
        "update t set a = 1",
        "delete from t",
        "truncate t",
        "reorganize table t",
        "alter table t add column z int",
    ] {
        refused(&mut session, text, "25006");
    }
    let taken = "create table v (a int) with (location = 's3://bucket/x/t')";
    refused(&mut session, taken, "42710");
    // The writer goes on; a block of the reader has the state that it found, and the next statement the new one.
    let mut in_block = reader.session();
    in_block.execute("begin").unwrap();
    assert_eq!(rows(&mut in_block, &format!("{SUMS} t")), expected);
    each(&mut writer.session(), "delete from t where b = 1; reorganize table t");
    assert_eq!(rows(&mut in_block, &format!("{SUMS} t")), expected);
    let now = rows(&mut writer.session(), &format!("{SUMS} t"));
    assert_ne!(now, expected);
    for mode in ["serial", "static", "ooo"] {
        session.execute(&format!("set execution_mode = {mode}")).unwrap();
        assert_eq!(rows(&mut session, &format!("{SUMS} t")), now);
        assert_eq!(rows(&mut session, &format!("with c as ({SUMS} h) select * from c")), now);
    }
    in_block.execute("commit").unwrap();
    assert_eq!(rows(&mut in_block, &format!("{SUMS} t")), now);
    each(&mut writer.session(), "alter table t add column e int default 1");
    let error = refused(&mut session, "select count(*) from t", "55000");
    assert!(error.hint.unwrap().contains("Drop it"));
    each(&mut session, "drop table t; create table t with (location = 's3://bucket/x/t')");
    assert_eq!(rows(&mut session, "select sum(e) = count(*) from t"), "t");
    reader.check();
}

#[test]
fn earlier_states_are_read_by_the_lists_that_are_kept() {
    let stand = Stand::new();
    let mut configuration = Configuration::default();
    configuration.give("object_store_snapshots", "3", Origin::Flag).unwrap();
    let mut writer = Scratch::with("kept", |options| options.configuration = configuration.into());
    let mut session = writer.session();
    session.execute(&stand.secret()).unwrap();
    session.execute("create table t (a int, c text) with (location = 's3://bucket/x/t')").unwrap();
    for first in [1, 20_001, 40_001, 60_001] {
        let rows = format!(
            "select i, md5(i::text) from generate_series({first}, {}) g(i)",
            first + 19_999
        );
        session.execute(&format!("insert into t {rows}")).unwrap();
    }
    let kept = |stand: &Stand| -> Vec<u64> {
        let keys = stand.with(|server| server.keys());
        let numbers =
            keys.iter().filter_map(|key| key.strip_prefix("x/t/snapshots/")?.parse().ok());
        numbers.collect()
    };
    assert_eq!(kept(&stand), [1, 2, 3, 4, 5]);
    let reader = Scratch::new("kept-reader");
    let mut other = reader.session();
    other.execute(&stand.secret()).unwrap();
    for sequence in [2, 3, 5] {
        let create =
            format!("create table t{sequence} with (location = 's3://bucket/x/t@{sequence}')");
        other.execute(&create).unwrap();
    }
    let count =
        |session: &mut _, table: &str| rows(session, &format!("select count(*) from {table}"));
    for (table, expected) in [("t2", "20000"), ("t3", "40000"), ("t5", "80000")] {
        assert_eq!(count(&mut other, table), expected);
    }
    // What is reorganized has other chunks; those of lists that are kept stay.
    each(&mut session, "delete from t where a > 79000; reorganize table t; vacuum t");
    assert_eq!(kept(&stand), [4, 5, 6]);
    assert_eq!(count(&mut other, "t5"), "80000");
    refused(&mut other, "insert into t5 values (1, '')", "25006");
    let error =
        refused(&mut other, "create table t1 with (location = 's3://bucket/x/t@3')", "58P01");
    assert!(error.detail.unwrap().contains('6'));
    other.execute("create table t6 with (location = 's3://bucket/x/t@6')").unwrap();
    assert_eq!(count(&mut other, "t6"), "79000");
    drop(session);
    writer.close();
    writer.open();
    let mut session = writer.session();
    assert_eq!(count(&mut session, "t"), "79000");
    // A database that keeps none takes away those that there are.
    session.execute("vacuum t").unwrap();
    assert!(kept(&stand).is_empty());
    assert_eq!(count(&mut session, "t"), "79000");
    refused(&mut other, "select sum(a) from t5", "58P01");
    writer.check();
}

#[test]
fn all_tables_of_a_location_are_opened_at_once() {
    let stand = Stand::new();
    let writer = filled(&stand, "all");
    let mut session = writer.session();
    session
        .execute(
            "create table \"select\" with (location = 's3://bucket/x/select') as select 7 as n",
        )
        .unwrap();
    stand.with(|server| server.insert("x/none/file", b"no list".to_vec()));
    let reader = Scratch::new("all-reader");
    let mut other = reader.session();
    other.execute(&stand.secret()).unwrap();
    assert_eq!(other.attach_all("s3://bucket/x/").unwrap(), ["select", "t"]);
    assert_eq!(rows(&mut other, "select n from \"select\""), "7");
    assert_eq!(rows(&mut other, &format!("{SUMS} t")), rows(&mut session, &format!("{SUMS} l")));
    assert_eq!(other.attach_all("s3://bucket/y").unwrap_err().state.0, "58P01");
}

#[test]
fn a_list_whose_statement_was_lost_is_replaced_and_that_of_another_is_not() {
    let stand = Stand::new();
    let mut scratch = filled(&stand, "lost");
    let before = rows(&mut scratch.session(), &format!("{SUMS} t"));
    scratch.close();
    let kept = std::fs::read(&scratch.path).unwrap();
    scratch.open();
    // The list is put, and then the statement is lost with all that the file had of it.
    scratch.session().execute("insert into t select * from l").unwrap();
    scratch.close();
    std::fs::write(&scratch.path, &kept).unwrap();
    scratch.open();
    let mut session = scratch.session();
    assert_eq!(rows(&mut session, &format!("{SUMS} t")), before);
    session.execute("insert into t select a + 100000, b, c, d from l").unwrap();
    assert_eq!(rows(&mut session, "select count(*), max(a) from t"), "120000|160000");
    drop(session);
    let reader = Scratch::new("lost-reader");
    let mut session = reader.session();
    session.execute(&stand.secret()).unwrap();
    session.execute("create table t with (location = 's3://bucket/x/t')").unwrap();
    assert_eq!(rows(&mut session, "select count(*), max(a) from t"), "120000|160000");
    // Somebody else's list.
    stand.with(|server| {
        let list = server.object("x/t/list").unwrap().bytes.to_vec();
        let mut other = list.clone();
        // The writer's name begins behind magic, version, hash, number and length.
        other[52..60].copy_from_slice(b"somebody");
        let hash = <sha2::Sha256 as sha2::Digest>::digest(&other[40..]);
        other[8..40].copy_from_slice(&hash);
        server.insert("x/t/list", other);
    });
    let mut session = scratch.session();
    refused(&mut session, "insert into t select * from l", "40001");
    assert_eq!(rows(&mut session, "select count(*) from t"), "120000");
    scratch.check();
}

#[test]
fn chunks_are_not_written_in_a_block() {
    let stand = Stand::new();
    let scratch = filled(&stand, "block");
    let mut session = scratch.session();
    let (objects, many) = (stand.chunks().len(), "insert into t select * from l");
    for text in ["truncate t", many, "create table n (a int) with (location = 's3://bucket/n')"] {
        session.execute("begin").unwrap();
        refused(&mut session, text, "25001");
        session.execute("rollback").unwrap();
    }
    assert_eq!(stand.chunks().len(), objects);
    session.execute("begin; insert into t values (0, 0, 'few', 0); commit").unwrap();
    assert_eq!(rows(&mut session, "select count(*) from t"), "60001");
}

#[test]
fn what_the_store_does_wrong_is_an_error_that_names_the_object() {
    let stand = Stand::new();
    let scratch = filled(&stand, "wrong");
    let mut session = scratch.session();
    let name = stand.chunks()[0].clone();
    let shown = format!("s3://bucket/{name}");
    let (first, key) = (name.clone(), name.clone());
    let bytes = stand.with(move |server| server.object(&first).unwrap().bytes.to_vec());
    let change = |stand: &Stand, bytes: Option<Vec<u8>>| {
        let key = key.clone();
        stand.with(move |server| match bytes {
            Some(bytes) => server.insert(&key, bytes),
            None => server.remove(&key),
        });
    };
    change(&stand, None);
    let error = refused(&mut session, "select sum(a) from t", "58P01");
    assert!(error.to_string().contains(&shown), "{error}");
    let mut flipped = bytes.clone();
    flipped[100] ^= 1;
    change(&stand, Some(flipped));
    let error = refused(&mut session, "select sum(a) from t", "XX001");
    assert!(error.to_string().contains(&shown), "{error}");
    change(&stand, Some(bytes[..4096].to_vec()));
    refused(&mut session, "select sum(a), sum(b), max(c), max(d) from t", "XX001");
    change(&stand, Some(bytes));
    same(&scratch);
    // A quarter of all requests goes wrong at once, and is repeated.
    stand.set_faults(Faults { failed: 0.1, busy: 0.1, cut: 0.05, ..Faults::default() });
    same(&scratch);
    session.execute("reorganize table t").unwrap();
    stand.set_faults(Faults::default());
    same(&scratch);
    scratch.check();
}

#[test]
fn a_cancelled_query_ends_while_the_store_is_silent() {
    let stand = Stand::new();
    let scratch = filled(&stand, "silent");
    stand.set_faults(Faults { silent: 1.0, ..Faults::default() });
    let mut session = scratch.session();
    session.execute("set statement_timeout = '100ms'").unwrap();
    refused(&mut session, "select sum(a) from t", "57014");
    refused(&mut session, "reorganize table t", "57014");
    session.execute("set statement_timeout = '2s'").unwrap();
    let many = "select repeat('x', 1000) from generate_series(1, 40000)";
    refused(
        &mut session,
        &format!("copy ({many}) to 's3://bucket/silent.csv' (format csv)"),
        "57014",
    );
    stand.set_faults(Faults::default());
    session.execute("set statement_timeout = 0").unwrap();
    same(&scratch);
}

#[test]
fn locations_need_a_store_a_scope_and_a_privilege() {
    let stand = Stand::new();
    let scratch = filled(&stand, "scope");
    let mut session = scratch.session();
    let create = |location: &str| format!("create table n (a int) with (location = '{location}')");
    refused(&mut session, &create("bucket/x"), "22023");
    refused(&mut session, &create("https://127.0.0.1:1/x"), "0A000");
    refused(&mut session, &create("az://c/x"), "28000");
    let rows_there = "create table n (a int) with (storage = row, location = 's3://bucket/n')";
    refused(&mut session, rows_there, "0A000");
    refused(&mut session, "create table n with (location = 's3://bucket/none')", "58P01");
    for endpoint in ["http://169.254.169.254", "http://[fd00:ec2::254]"] {
        let text = format!(
            "create secret m (type s3, key_id 'a', secret 'canary', endpoint '{endpoint}')"
        );
        refused(&mut session, &text, "42501");
    }
    session.execute("create role nobody").unwrap();
    session.execute("grant create on schema public to nobody; set role nobody").unwrap();
    refused(&mut session, &create("s3://bucket/n"), "42501");
    refused(&mut session, "create secret m (type s3, key_id 'a', secret 'canary')", "42501");
    refused(&mut session, "drop secret s", "42501");
}

#[test]
fn secrets_are_shown_nowhere() {
    let scratch = Scratch::new("secrets");
    let (mut session, mut other) = (scratch.session(), scratch.session());
    let create =
        "create secret s (type s3, key_id 'canary', secret 'canary', session_token 'canary')";
    session.execute(create).unwrap();
    let looks = [
        "select query from pg_stat_activity",
        "select query from pg_stat_statements",
        "select * from pg_settings",
        "select statement from pg_prepared_statements",
    ];
    for look in looks {
        let shown = rows(&mut other, look);
        assert!(!shown.contains("canary"), "{look}: {shown}");
    }
    assert!(rows(&mut other, looks[0]).contains("create secret"), "the statement itself is shown");
    for (text, state) in [
        (create, "42710"),
        ("create secret n (type s3, key_id 'canary')", "22023"),
        (
            "create secret n (type s3, provider credential_chain, key_id 'canary', secret 'canary')",
            "22023",
        ),
        ("create secret n (type azure, provider 'credential_chain')", "22023"),
        ("create secret n (type gcs, key_id 'x', secret 'canary')", "22023"),
        ("create secret n (type s3, provider canary)", "22023"),
        ("create secret n (type s3, key_id canary)", "42601"),
        ("create secret n (type s3, secret 'canary' secret 'canary')", "42601"),
        ("create secret n (type s3, secret 'canary', secret 'canary')", "42601"),
        ("create secret n (type canary, secret 'canary', key_id 'x')", "22023"),
        ("create secret n (type s3, 'canary')", "42601"),
        ("create secret n (type s3, key_id 'x', secret 'canary', request_price '-1')", "22023"),
        ("create secret n (type s3, key_id 'x', secret 'canary', request_price '0.0004')", "22023"),
        ("create secret n (type s3, key_id 'x', secret 'canary', endpoint 'canary')", "22023"),
        ("create secret n (type s3, key_id 'x', secret 'a canary')", "22023"),
        ("create secret n (type s3, key_id 'x', secret 'canary') as x", "42601"),
        ("drop secret n", "42704"),
        ("explain create secret n (type s3, key_id 'canary', secret 'canary')", "0A000"),
    ] {
        if text.contains("endpoint") {
            // The endpoint is no secret.
            assert_eq!(session.execute(text).unwrap_err().state.0, state);
            continue;
        }
        refused(&mut session, text, state);
    }
    session.execute("create or replace secret s (type gcs, session_token 'canary')").unwrap();
    session.execute("create or replace secret s (type gcs, provider credential_chain)").unwrap();
    session.execute("create secret if not exists s (type s3, key_id 'a', secret 'b')").unwrap();
    session
        .execute("begin; drop secret s; rollback; drop secret s; drop secret if exists s")
        .unwrap();
}

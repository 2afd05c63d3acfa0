//! Files in object stores: Parquet and CSV read where they lie and written by `COPY`, and what goes wrong with
//! them.

use std::path::Path;
use std::sync::Arc;

use crate::files_support::{MODES, numbers, outcome, parquet_bytes, parquet_indexed, told};
use crate::support::{Faults, Scratch, Stand, put_lake, refused, rows};
use arrow_array::{ArrayRef, BinaryArray, Int32Array};
use parquet::basic::Compression;

const TABLE: &str = "create table l (a int, b int, c text, d numeric(12,2)); \
     insert into l select i, i % 7, 'text ' || i % 1000, i::numeric(12,2) / 4 \
     from generate_series(1, 20000) g(i)";
const FACTS: &str = "select count(*), sum(a), sum(b), min(c), max(c), sum(d)::numeric(20,2) from";

/// A database that has the table `l`, and the store's secret.
fn prepared(stand: &Stand, name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut session = scratch.session();
    session.execute(&stand.secret()).expect("a secret");
    session.execute(TABLE).expect("a table");
    scratch
}

/// A number behind a word of a plan.
fn figure(plan: &str, name: &str) -> u64 {
    let behind = plan.split(name).nth(1).unwrap_or_else(|| panic!("{name}: {plan}"));
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("{name}: {plan}"))
}

#[test]
fn what_is_copied_to_a_store_is_read_from_there() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files");
    let mut session = scratch.session();
    let expected = rows(&mut session, &format!("{FACTS} l"));
    for (options, end) in
        [("format parquet, row_group_size 3000", "parquet"), ("format csv, header", "csv")]
    {
        for part in 0..3 {
            let copy = format!(
                "copy (select * from l where a % 3 = {part}) to 's3://bucket/d/p={part}/x {part}.{end}' \
                 with ({options})"
            );
            assert!(told(&mut session, &copy).starts_with("COPY 6"), "{copy}");
        }
        let all = format!("copy l to 's3://bucket/d/all.{end}' with ({options})");
        assert_eq!(told(&mut session, &all), "COPY 20000");
        let url = format!("{}/bucket/d/all.{end}", stand.url);
        let from = [
            format!("'s3://bucket/d/all.{end}'"),
            format!("read_{end}('s3://bucket/d/p=*/*.{end}')"),
            format!("read_{end}('s3://bucket/d/*/x ?.{end}')"),
            format!("read_{end}('s3://bucket/**/x*.{end}')"),
            format!(
                "read_{end}(ARRAY['s3://bucket/d/p=0/x 0.{end}', 's3://bucket/d/p=1/*', \
                     's3://bucket/d/p=2/x 2.{end}'])"
            )
            .replace("/*'", &format!("/*.{end}'")),
            format!("'{url}'"),
        ];
        for mode in MODES {
            session.execute(&format!("set execution_mode = {mode}")).expect("set");
            for from in &from {
                assert_eq!(
                    rows(&mut session, &format!("{FACTS} {from}")),
                    expected,
                    "{mode} {from}"
                );
            }
            let hive = format!(
                "select p, count(*), min(a) from read_{end}('s3://bucket/d/p=*/*.{end}') \
                                where p > 0 group by p order by p"
            );
            assert_eq!(rows(&mut session, &hive), "1|6667|1;2|6667|2", "{mode}");
        }
        session.execute("create table back as select * from l where false").expect("made");
        let copy = format!(
            "copy back from 's3://bucket/d/all.{end}' with ({})",
            if end == "csv" { "format csv, header" } else { "format parquet" }
        );
        assert_eq!(told(&mut session, &copy), "COPY 20000");
        assert_eq!(rows(&mut session, &format!("{FACTS} back")), expected);
        session.execute("drop table back").expect("dropped");
    }
}

/// More than the operators of all queries may have in memory: parts leave while the next ones are made.
#[test]
fn an_object_may_be_larger_than_the_memory_and_is_there_whole_or_not_at_all() {
    let stand = Stand::new();
    let scratch = Scratch::with("files-large", |options| options.memory_bytes = 96 << 20);
    let mut session = scratch.session();
    session.execute(&stand.secret()).expect("a secret");
    let rows_of =
        "select i as a, repeat(md5(i::text), 30) as b from generate_series(1, 50000) g(i)";
    let copy = format!("copy ({rows_of}) to 's3://bucket/large.csv' with (format csv, header)");
    assert_eq!(told(&mut session, &copy), "COPY 50000");
    let object = stand.with(|server| server.object("large.csv").map(|object| object.bytes.len()));
    assert!(object.is_some_and(|bytes| bytes > 48_000_000), "{object:?}");
    let facts = "select count(*), sum(a), sum(length(b)) from 's3://bucket/large.csv'";
    assert_eq!(rows(&mut session, facts), "50000|1250025000|48000000");
    let failing = rows_of.replace("select i as a,", "select 1 / (i - 49000) as a,");
    let copy = format!("copy ({failing}) to 's3://bucket/failed.csv' with (format csv)");
    refused(&mut session, &copy, "22012");
    stand.with(|server| {
        assert!(server.object("failed.csv").is_none(), "a part of it is there");
        assert!(server.log().iter().any(|line| line.contains("failed.csv")), "nothing was sent");
    });
    // Nobody waits for the store to forget the parts.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while stand.with(|server| server.upload_count()) > 0 {
        assert!(std::time::Instant::now() < deadline, "parts are left behind");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn plans_show_what_was_asked_of_the_store_for_files() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-plans");
    let mut session = scratch.session();
    let copy = "copy (select * from l order by a) to 's3://bucket/p.parquet' \
                with (format parquet, row_group_size 1000)";
    assert_eq!(told(&mut session, copy), "COPY 20000");
    let explain = |session: &mut _, query: &str| rows(session, &format!("explain analyze {query}"));
    let all = explain(&mut session, "select count(c), sum(d) from 's3://bucket/p.parquet'");
    let few = explain(&mut session, "select count(c) from 's3://bucket/p.parquet' where a = 5000");
    let none = explain(&mut session, "select count(c) from 's3://bucket/p.parquet' where a < 0");
    assert!(figure(&all, "requests=") >= 20, "{all}");
    assert_eq!(figure(&few, "requests="), 1, "{few}");
    assert!(!none.contains("requests="), "{none}");
    session.execute("copy l to 's3://bucket/p.csv' with (format csv, header)").expect("copied");
    let csv = explain(&mut session, "select count(c) from 's3://bucket/p.csv'");
    assert_eq!(figure(&csv, "requests="), 1, "{csv}");
    // The footer comes with one request, whatever it says.
    let before = stand.with(|server| server.log().len());
    rows(&mut session, "select count(c) from 's3://bucket/p.parquet' where a < 0");
    let asked = stand.with(move |server| server.log()[before..].join(" "));
    assert_eq!(asked.matches("p.parquet").count(), 2, "one HEAD and one GET: {asked}");
}

/// Bytes that nothing makes smaller.
fn noise(count: usize) -> ArrayRef {
    let mut state = 1_u64;
    let row = |_| {
        let mut word = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state ^ (state >> 29)).to_le_bytes()
        };
        (0..128).flat_map(|_| word()).collect::<Vec<u8>>()
    };
    Arc::new(BinaryArray::from_iter_values((0..count).map(row)))
}

#[test]
fn a_large_row_group_is_read_in_slices() {
    const ROWS: usize = 30_000;
    let stand = Stand::new();
    let scratch = Scratch::new("files-slices");
    let mut session = scratch.session();
    session.execute(&stand.secret()).expect("a secret");
    let columns = || vec![("n", numbers(0..ROWS as i32)), ("x", noise(ROWS))];
    for (name, group, has_index) in
        [("one", ROWS, true), ("none", ROWS, false), ("many", 3000, true)]
    {
        let bytes = parquet_indexed(columns(), group, Compression::UNCOMPRESSED, has_index);
        stand.with(move |server| server.insert(&format!("{name}.parquet"), bytes));
    }
    let facts = "select count(*), sum(n), sum(length(x)), min(md5(x)), max(md5(x)) from";
    let many = rows(&mut session, &format!("{facts} 's3://bucket/many.parquet'"));
    for mode in MODES {
        session.execute(&format!("set execution_mode = {mode}")).expect("set");
        for name in ["one", "none"] {
            let query = format!("{facts} 's3://bucket/{name}.parquet'");
            assert_eq!(rows(&mut session, &query), many, "{mode} {name}");
        }
    }
    let plan =
        rows(&mut session, "explain analyze select sum(n), max(x) from 's3://bucket/one.parquet'");
    assert!(figure(&plan, "requests=") >= 3, "{plan}");
    // Pages over the bounds of slices are received twice, and no more than an eighth of all.
    let bytes = (ROWS * 1024) as u64;
    let received = figure(&plan, "received=");
    assert!(received >= bytes && received < bytes + bytes / 4, "{received} of {bytes}");
    let none = "explain analyze select sum(n), max(x) from 's3://bucket/none.parquet'";
    let none = rows(&mut session, none);
    assert!(figure(&none, "received=") < bytes + bytes / 8, "{none}");
    let order =
        "select n from 's3://bucket/one.parquet' where n % 1000 = 1 order by n limit 3 offset 27";
    assert_eq!(rows(&mut session, order), "27001;28001;29001");
}

#[test]
fn what_is_wrong_with_an_object_is_an_error_that_names_it() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-wrong");
    let mut session = scratch.session();
    let bytes = parquet_bytes(vec![("a", numbers(0..1000))], 100);
    let cut = bytes[..bytes.len() - 10].to_vec();
    stand.with(move |server| {
        server.insert("whole.parquet", bytes);
        server.insert("cut.parquet", cut);
        server.insert("bad.csv", b"a,b\n1,2\nx,3\n4\n".to_vec());
    });
    for (text, state) in [
        ("select * from 's3://bucket/none.parquet'", "58P01"),
        ("select * from read_csv('s3://bucket/none/*.csv')", "58P01"),
        ("select * from 's3://bucket/cut.parquet'", "22P04"),
        ("select * from 's3:///x.parquet'", "22023"),
        ("select * from 'az://c/x.parquet'", "28000"),
        ("select * from read_csv('https://127.0.0.1:1/*.csv')", "0A000"),
        ("select * from 'https://127.0.0.1:1/x.csv?key=canary.csv'", "22023"),
        ("select * from 'http://169.254.169.254/x.csv'", "42501"),
        ("copy l to 'https://127.0.0.1:1/x.csv' (format csv)", "0A000"),
        ("copy l from 's3://bucket/none.csv' (format csv)", "58P01"),
        ("copy (select a / (a - 15000) from l) to 's3://bucket/half.csv' (format csv)", "22012"),
        (
            "copy (select a / (a - 15000) from l) to 's3://bucket/half.parquet' (format parquet)",
            "22012",
        ),
    ] {
        if text.contains("canary") {
            assert_eq!(session.execute(text).unwrap_err().state.0, state);
            continue;
        }
        refused(&mut session, text, state);
    }
    let kept = stand.with(|server| server.keys());
    assert_eq!(kept, ["bad.csv", "cut.parquet", "whole.parquet"], "what fails leaves nothing");
    session
        .execute(
            "create table t (a int, b int); create table r (line bigint, reason text, data text)",
        )
        .unwrap();
    refused(&mut session, "copy t from 's3://bucket/bad.csv' (format csv, header)", "22P02");
    let copy =
        "copy t from 's3://bucket/bad.csv' (format csv, header, on_error ignore, reject_table r)";
    assert_eq!(told(&mut session, copy), "COPY 1");
    assert_eq!(rows(&mut session, "select * from t; select line from r order by line"), "3;4");
    assert_eq!(rows(&mut session, "select * from t"), "1|2");
    let role = "create role nobody; grant all on l to nobody; set role nobody";
    session.execute(role).unwrap();
    refused(&mut session, "select * from 's3://bucket/whole.parquet'", "42501");
    refused(&mut session, "copy l to 's3://bucket/mine.csv'", "42501");
    refused(&mut session, "copy l from 's3://bucket/bad.csv'", "42501");
}

#[test]
fn an_object_that_is_replaced_meanwhile_gives_no_mixed_rows() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-replaced");
    let mut session = scratch.session();
    let old = parquet_bytes(vec![("a", numbers(0..1000))], 100);
    stand.with(move |server| server.insert("x.parquet", old));
    session.execute("prepare q as select sum(a) from 's3://bucket/x.parquet'").unwrap();
    assert_eq!(rows(&mut session, "execute q"), "499500");
    let new =
        parquet_bytes(vec![("a", Arc::new(Int32Array::from(vec![1; 1000])) as ArrayRef)], 100);
    stand.with(move |server| server.insert("x.parquet", new));
    let found = outcome(&mut session, "select sum(a) from 's3://bucket/x.parquet'");
    assert_eq!(found, "1000");
}

#[test]
fn files_are_read_from_a_store_in_trouble() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-faults");
    let mut session = scratch.session();
    let expected = rows(&mut session, &format!("{FACTS} l"));
    for (name, options) in
        [("f.parquet", "format parquet, row_group_size 1000"), ("f.csv", "format csv, header")]
    {
        session
            .execute(&format!("copy l to 's3://bucket/{name}' with ({options})"))
            .expect("copied");
    }
    stand.set_faults(Faults { failed: 0.1, busy: 0.1, cut: 0.05, ..Faults::default() });
    for name in ["f.parquet", "f.csv"] {
        for mode in MODES {
            session.execute(&format!("set execution_mode = {mode}")).expect("set");
            assert_eq!(rows(&mut session, &format!("{FACTS} 's3://bucket/{name}'")), expected);
        }
    }
    session.execute("copy l to 's3://bucket/again.csv' with (format csv, header)").expect("copied");
    stand.set_faults(Faults::default());
    assert_eq!(rows(&mut session, &format!("{FACTS} 's3://bucket/again.csv'")), expected);
    stand.set_faults(Faults { silent: 1.0, ..Faults::default() });
    session.execute("set statement_timeout = '100ms'").unwrap();
    refused(&mut session, &format!("{FACTS} 's3://bucket/f.parquet'"), "57014");
    refused(&mut session, &format!("{FACTS} read_csv('s3://bucket/*.csv')"), "57014");
}

#[test]
fn tables_of_iceberg_are_read_from_a_store() {
    let stand = Stand::new();
    let scratch = prepared(&stand, "files-iceberg");
    let mut session = scratch.session();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../iceberg/tests/data");
    for entry in std::fs::read_dir(&data).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.path().is_dir() {
            put_lake(&stand, entry.file_name().to_str().expect("UTF-8"), None);
        }
    }
    let queries = data.join("queries.tsv");
    let queries = std::fs::read_to_string(queries).expect("a file");
    for mode in MODES {
        session.execute(&format!("set execution_mode = {mode}; set time zone 'UTC'")).expect("set");
        for line in queries.lines() {
            let (query, expected) = line.split_once('\t').expect("two fields");
            let query = query.replace("'@/", "'s3://bucket/lake/");
            assert_eq!(outcome(&mut session, &query), expected, "{mode} {query}");
        }
    }
    let plan = |session: &mut _, condition: &str| {
        let from = "iceberg_scan('s3://bucket/lake/parted', allow_moved_paths => true)";
        rows(session, &format!("explain analyze select * from {from} where {condition}"))
    };
    let (all, one) = (plan(&mut session, "id >= 0"), plan(&mut session, "id = 4"));
    assert_eq!((figure(&all, " files="), figure(&one, " files=")), (13, 1), "{all} {one}");
    // The end of each file is one request, which has all of a file so small.
    assert!(figure(&all, "requests=") >= 13, "{all}");
    assert!(figure(&one, "requests=") * 8 <= figure(&all, "requests="), "{all} {one}");
}

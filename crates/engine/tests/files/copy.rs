//! `COPY .. TO` against what PostgreSQL writes (`tests/copy/expected.txt`, recorded by
//! `tests/copy/record.py`), and `COPY .. FROM` of what was written.

use std::path::{Path, PathBuf};

use engine::{Database, Options, Session, SqlError, StatementResult};

struct Opened(PathBuf, Database);

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn open(name: &str) -> Opened {
    let folder = std::env::temp_dir().join(format!("dovetail-copy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { memory_bytes: 16 << 20, workers: 2, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    Opened(folder, db)
}

fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/copy").join(name);
    std::fs::read_to_string(path).expect(name)
}

fn told(error: &SqlError) -> String {
    let parts = [error.detail.as_ref(), error.hint.as_ref()].into_iter().flatten();
    let mut text = format!("{}: {}", error.state.0, error.message);
    // What the parser expected is more than PostgreSQL tells.
    for part in parts.filter(|part| !part.starts_with("expected ")) {
        text.push_str(&format!(" | {part}"));
    }
    text
}

/// What a statement writes, or what is wrong with it, as it was recorded.
fn outcome(session: &mut Session, text: &str) -> String {
    let mut out = vec![];
    match session.copy_out(text, &mut out) {
        Ok(_) => format!("< {}", out.escape_ascii()),
        Err(error) => format!("! {}", told(&error)),
    }
}

#[test]
fn copy_to_writes_what_postgres_writes() {
    let opened = open("to");
    for mode in ["serial", "static", "ooo"] {
        let mut session = opened.1.session();
        let fresh = "drop view if exists v; drop table if exists t, one, types, empty, g";
        session.execute(fresh).expect("dropped");
        session.execute(&recorded("setup.sql")).expect("set up");
        session.execute(&format!("set execution_mode = {mode}")).expect("set");
        let expected = recorded("expected.txt");
        let lines: Vec<&str> = expected.lines().collect();
        let mut wrong = vec![];
        for case in lines.chunks(2) {
            let text = case[0].strip_prefix("> ").expect("a statement");
            let found = outcome(&mut session, text);
            if found != case[1] {
                wrong.push(format!("{text}\n  expected {}\n  found    {found}", case[1]));
            }
        }
        assert!(wrong.is_empty(), "{mode}: {} differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn what_was_written_is_read_again() {
    let opened = open("again");
    let mut session = opened.1.session();
    session.execute(&recorded("setup.sql")).expect("set up");
    let forms =
        ["(format binary)", "csv", "(format csv, force_quote *, header)", "(delimiter '|')"];
    for table in ["t", "one", "types"] {
        for form in forms {
            let mut written = vec![];
            session.copy_out(&format!("copy {table} to stdout {form}"), &mut written).expect(form);
            session.execute(&format!("create table again as select * from {table}")).expect("made");
            session.execute("truncate again").expect("emptied");
            let from = form.replace("force_quote *, ", "");
            let text = format!("copy again from stdin {from}");
            session.copy_in(&text, &mut written.as_slice()).expect(&text);
            let mut rewritten = vec![];
            let text = format!("copy again to stdout {form}");
            session.copy_out(&text, &mut rewritten).expect(form);
            let (mut a, mut b) = (written, rewritten);
            if table == "one" {
                // It has no key, so its rows have no order.
                a.sort();
                b.sort();
            }
            assert_eq!(
                a.escape_ascii().to_string(),
                b.escape_ascii().to_string(),
                "{table} {form}"
            );
            session.execute("drop table again").expect("dropped");
        }
    }
}

#[test]
fn files_are_written_and_read() {
    let opened = open("files");
    let mut session = opened.1.session();
    session.execute(&recorded("setup.sql")).expect("set up");
    let path = opened.0.join("t.csv");
    std::fs::write(&path, "what was there before ".repeat(1000)).expect("a file");
    let result = session.execute(&format!("copy t to '{}' csv header", path.display()));
    let result = result.expect("copied").pop();
    assert!(matches!(result, Some(StatementResult::Command { tag }) if tag == "COPY 8"));
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.starts_with("a,b,n,d,y,f\n1,one,1.50,2020-01-31,t,0.5\n2,,,,,\n"), "{text}");
    assert!(!text.contains("before"));
    session
        .execute("create table u (a int, b text, n numeric(8,2), d date, y boolean, f float8)")
        .expect("made");
    session
        .execute(&format!("copy u from '{}' (format csv, header match)", path.display()))
        .expect("read");
    let own = opened.1.path().display().to_string();
    for (statement, expected) in [
        (format!("copy t to '{own}'"), "55006"),
        (format!("copy t to '{}'", opened.0.display()), "42809"),
        (format!("copy t to '{}/no/file'", opened.0.display()), "58P01"),
        (
            format!(
                "copy u (b, a, n, d, y, f) from '{}' (format csv, header match)",
                path.display()
            ),
            "22P04",
        ),
        (format!("copy u (a) from '{}' (format csv, header match)", path.display()), "22P04"),
    ] {
        let error = session.execute(&statement).expect_err(&statement);
        assert_eq!(error.state.0, expected, "{statement}: {error}");
    }
}

#[test]
fn what_is_no_binary_file_is_refused() {
    let opened = open("binary");
    let mut session = opened.1.session();
    session.execute("create table t (a int, b text)").expect("made");
    let head = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let with = |rest: &[u8]| [head.as_slice(), rest].concat();
    let row = b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x01x";
    for (input, expected) in [
        (vec![], "22P04: COPY file signature not recognized"),
        (b"PGCOPY\n\xff\r\n\x01".to_vec(), "22P04: COPY file signature not recognized"),
        (head[..13].to_vec(), "22P04: invalid COPY file header (missing flags)"),
        (head[..17].to_vec(), "22P04: invalid COPY file header (missing length)"),
        (
            b"PGCOPY\n\xff\r\n\0\0\x01\0\0\0\0\0\0".to_vec(),
            "22P04: invalid COPY file header (WITH OIDS)",
        ),
        (
            b"PGCOPY\n\xff\r\n\0\x80\0\0\0\0\0\0\0".to_vec(),
            "22P04: unrecognized critical flags in COPY file header",
        ),
        (
            b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x09abc".to_vec(),
            "22P04: invalid COPY file header (wrong length)",
        ),
        (with(b"\0\x01\0\0\0\0"), "22P04: row field count is 1, expected 2"),
        (with(b"\0\x02\0\0\0\x04\0\0"), "22P04: unexpected EOF in COPY data"),
        (with(b"\0\x02\0\0"), "22P04: unexpected EOF in COPY data"),
        (with(b"\0\x02\xff\xff\xff\xf0"), "22P04: invalid field size"),
        (with(b"\0\x02\x7f\xff\xff\xff"), "22P04: invalid field size"),
        (with(b"\0\x02\0\0\0\x03abc"), "22P03: incorrect binary data format"),
        (with(b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\xff"), "22021: invalid byte sequence"),
        (
            with(&[row.as_slice(), b"\xff\xff?"].concat()),
            "22P04: received copy data after EOF marker",
        ),
    ] {
        let error = session.copy_in("copy t from stdin binary", &mut input.as_slice());
        let error = error.expect_err(expected);
        assert!(told(&error).starts_with(expected), "{expected}: {}", told(&error));
    }
    let input =
        with(&[row.as_slice(), b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff", b"\xff\xff"].concat());
    session.copy_in("copy t from stdin (format binary)", &mut input.as_slice()).expect("copied");
    let mut out = vec![];
    session.copy_out("copy (select * from t order by a) to stdout", &mut out).expect("written");
    assert_eq!(String::from_utf8_lossy(&out), "7\tx\n\\N\t\\N\n");
}

#[test]
fn a_copy_that_nobody_reads_any_more_ends() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let opened = open("full");
    let mut session = opened.1.session();
    let text = "copy (select a.g, b.g from generate_series(1, 5000) as a (g), \
                generate_series(1, 5000) as b (g)) to stdout";
    let error = session.copy_out(text, &mut Full).expect_err("no room");
    assert_eq!(error.state.0, "58030");
    session.execute("select 1").expect("it goes on");
}

/// A file beside a database, with as many rows as come in several batches, and the statement for it.
fn with_file(opened: &Opened, text: &str, options: &str) -> String {
    let path = opened.0.join("data.csv");
    std::fs::write(&path, text).expect("a file");
    format!("copy m from '{}' with (format csv, on_error ignore{options})", path.display())
}

/// The rows of a query, fields by commas, rows by bars.
fn rows(session: &mut Session, query: &str) -> String {
    let mut out = vec![];
    let text = format!("copy ({query}) to stdout with (format csv)");
    session.copy_out(&text, &mut out).expect("rows");
    String::from_utf8(out).expect("text").lines().collect::<Vec<_>>().join("|")
}

fn with_tables(session: &mut Session) {
    let tables = "create table m (id int primary key, x double precision not null, tags int[], \
                  at date default '2020-01-01');
                  create table rejected (seen timestamptz default now(), line bigint, reason text, data text)";
    session.execute(tables).expect("set up");
}

fn told_of(session: &mut Session) -> Vec<String> {
    session.take_notices().into_iter().map(|notice| notice.message.message).collect()
}

#[test]
fn rows_that_cannot_be_read_are_ignored_or_put_into_a_table() {
    let opened = open("rejects");
    let mut session = opened.1.session();
    with_tables(&mut session);
    let text = "1,1.5,{1},2021-01-01\n2,zwei,{2},2021-01-02\n3,3,\"{3,x}\",2021-01-03\n4,,{},2021-01-04\n\
                5,5,\"{5}\"\n6,6,{6},2021-02-30\n7,\"7\n7\",{7},2021-01-07\n8,8,\"{8,8}\",2021-01-08\n";
    let statement = with_file(&opened, text, ", reject_table rejected");
    session.execute(&statement).expect("copied");
    assert_eq!(told_of(&mut session), ["6 rows were put into table \"rejected\""]);
    let kept = rows(&mut session, "select id, x, tags, at from m order by id");
    assert_eq!(kept, "1,1.5,{1},2021-01-01|8,8,\"{8,8}\",2021-01-08");
    let lines = rows(&mut session, "select line from rejected order by line");
    assert_eq!(lines, "2|3|4|5|6|7");
    let reasons = rows(
        &mut session,
        "select reason, data from rejected where line in (2, 4, 5) order by line",
    );
    let expected = [
        "\"invalid input syntax for type double precision: \"\"zwei\"\", column x: \"\"zwei\"\"\",\"2,zwei,{2},2021-01-02\"",
        "\"null value in column \"\"x\"\" violates not-null constraint\",\"4,,{},2021-01-04\"",
        "\"missing data for column \"\"at\"\"\",\"5,5,\"\"{5}\"\"\"",
    ];
    assert_eq!(reasons, expected.join("|"));
    // Where nothing takes them, only values that are none of their types are ignored.
    let few = "11,1,{},2021-01-01\n12,x,{},2021-01-01\n";
    session.execute(&with_file(&opened, few, "")).expect("copied");
    assert_eq!(told_of(&mut session), ["1 row was skipped due to data type incompatibility"]);
    let error = session.execute(&with_file(&opened, text, "")).expect_err("a null");
    let context = error.context().unwrap_or_default();
    assert!(error.state.0 == "23502" && context.starts_with("COPY m, line 4"), "{error:?}");
    assert_eq!(rows(&mut session, "select count(*) from m"), "3", "nothing of it stays");
}

#[test]
fn rejected_rows_stay_within_the_limit_and_the_transaction() {
    let opened = open("reject-limits");
    let mut session = opened.1.session();
    with_tables(&mut session);
    // Batches without any row to keep, and with some.
    let line = |i: i32| match (i / 5000) % 2 == 1 || i % 1000 == 7 {
        true => format!("{i},bad '{i}',{{}},2021-01-01\n"),
        false => format!("{i},{i},{{}},2021-01-01\n"),
    };
    let text: String = (1..20_000).map(line).collect();
    let statement = with_file(&opened, &text, ", reject_table rejected");
    session.execute(&statement).expect("copied");
    let bad = (1..20_000).filter(|i| (i / 5000) % 2 == 1 || i % 1000 == 7).count();
    let count = |session: &mut Session| {
        rows(session, "select (select count(*) from m), (select count(*) from rejected)")
    };
    assert_eq!(count(&mut session), format!("{},{bad}", 19_999 - bad));
    let matching = "select count(*) from rejected where data = line || ',bad ''' || line || ''',{},2021-01-01'";
    assert_eq!(rows(&mut session, matching), bad.to_string());
    // Going back takes the rejected rows along.
    session.execute("truncate m; truncate rejected; begin").expect("empty");
    session.execute(&statement).expect("copied");
    session.execute("rollback").expect("undone");
    assert_eq!(count(&mut session), "0,0");
    let limited = with_file(&opened, &text, ", reject_limit 3, reject_table rejected");
    let error = session.execute(&limited).expect_err("too many");
    let expected = "skipped more than REJECT_LIMIT (3) rows due to data type incompatibility";
    assert_eq!((error.state.0, error.message.as_str()), ("22P02", expected));
    assert_eq!(count(&mut session), "0,0");
    // A key that is there already is no row that cannot be read.
    let twice = with_file(
        &opened,
        "1,1,{},2021-01-01\n1,x,{},2021-01-01\n1,2,{},2021-01-01\n",
        ", reject_table rejected",
    );
    assert_eq!(session.execute(&twice).expect_err("a key twice").state.0, "23505");
    assert_eq!(count(&mut session), "0,0");
}

#[test]
fn options_for_rejected_rows_are_checked() {
    let opened = open("reject-options");
    let mut session = opened.1.session();
    with_tables(&mut session);
    session.execute("create table narrow (line bigint, reason text)").expect("made");
    let mut state = |text: &str| session.execute(text).expect_err(text).state.0;
    assert_eq!(state("copy m from '/x' with (format csv, reject_table rejected)"), "42601");
    assert_eq!(state("copy m from '/x' with (format csv, reject_limit 5)"), "42601");
    assert_eq!(state("copy m from '/x' with (on_error perhaps)"), "22023");
    assert_eq!(state("copy m from '/x' with (on_error ignore, reject_limit 0)"), "22023");
    assert_eq!(state("copy m from '/x' with (format binary, on_error ignore)"), "42601");
    assert_eq!(state("copy m from '/x' with (format parquet, on_error ignore)"), "0A000");
    assert_eq!(state("copy m to '/x' with (on_error ignore)"), "42601");
    assert_eq!(state("copy m from '/x' with (on_error ignore, reject_table nowhere)"), "42P01");
    assert_eq!(state("copy m from '/x' with (on_error ignore, reject_table narrow)"), "42703");
    session
        .execute("create role limited; grant insert on m to limited; set role limited")
        .expect("made");
    let refused =
        session.execute("copy m from stdin with (on_error ignore, reject_table rejected)");
    assert_eq!(refused.expect_err("no right").state.0, "42501");
}

//! `COPY .. TO` against what PostgreSQL writes (`tests/copy/expected.txt`, recorded by
//! `tests/copy/record.py`), and `COPY .. FROM` of what was written.
#![allow(clippy::disallowed_methods)] // tests make folders of their own

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
    let options = Options { memory_bytes: 16 << 20, workers: 2, ..Options::default() };
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

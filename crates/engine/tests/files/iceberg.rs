//! Tables of Iceberg that pyiceberg has written, with what its own scans give (`tests/iceberg/tables.py`), and
//! damaged ones.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::files_support::{MODES, Opened, open, outcome};
use engine::{Database, Options};

const TABLES: [&str; 11] = [
    "types",
    "evolved",
    "parted",
    "first_version",
    "mapped",
    "deleted",
    "deleted_parted",
    "deleted_promoted",
    "upgraded",
    "migrated",
    "parted_early",
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../iceberg/tests/data")
}

/// A copy of a table, which may be changed.
fn copied(opened: &Opened, table: &str) -> PathBuf {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).expect("a folder");
        for entry in std::fs::read_dir(from).expect("a folder") {
            let entry = entry.expect("an entry");
            let to = to.join(entry.file_name());
            match entry.file_type().expect("a type").is_dir() {
                true => copy(&entry.path(), &to),
                false => std::fs::copy(entry.path(), to).map(drop).expect("copied"),
            }
        }
    }
    let to = opened.folder.join(table);
    std::fs::remove_dir_all(&to).ok();
    copy(&data().join(table), &to);
    to
}

/// The files of a kind in a table.
fn files(table: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![table.to_owned()], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if is_wanted(path.to_str().expect("UTF-8")) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn queries_give_what_pyiceberg_gives() {
    let opened = open("iceberg");
    let data = data();
    let lines = std::fs::read_to_string(data.join("queries.tsv")).expect("a file");
    assert!(lines.lines().count() > 30);
    let mut wrong = vec![];
    for mode in MODES {
        let mut session = opened.db.session();
        session.execute(&format!("set execution_mode = {mode}; set time zone 'UTC'")).expect("set");
        for line in lines.lines() {
            let (query, expected) = line.split_once('\t').expect("two fields");
            let query = query.replace('@', data.to_str().expect("UTF-8"));
            let found = outcome(&mut session, &query);
            if found != expected {
                wrong.push(format!("{mode}: {query}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_that_cannot_have_rows_are_left_out() {
    let opened = open("iceberg-pruned");
    let data = data();
    let mut session = opened.db.session();
    let mut wrong = vec![];
    let mut check = |table: &str, condition: &str, expected: &str| {
        let query = format!(
            "explain analyze select * from iceberg_scan('{}/{table}', allow_moved_paths => true) \
             where {condition}",
            data.display()
        );
        let engine::StatementResult::Rows(rows) =
            session.execute(&query).expect(condition).pop().expect("a result")
        else {
            panic!("{query}");
        };
        let text = format!("{:?}", rows.batches);
        let files = text.split_once(" files=").map_or("", |(_, rest)| rest);
        if !files.starts_with(expected) {
            wrong.push(format!("{table} {condition}: {expected}: {text}"));
        }
    };
    // By bounds, and by those of an older type.
    check("evolved", "id > 3000000000", "1 of 2 ");
    check("evolved", "id = 2", "1 of 2 ");
    // By what a file does not have.
    check("evolved", "added = 'new'", "2 of 2 ");
    // By values of partitions, two of the first spec and one of the second.
    check("parted", "kind is null", "3 of 13 ");
    check("parted", "day = date '2025-01-01'", "0 of 13 ");
    check("parted", "kind = 'zz'", "0 of 13 ");
    // By the hash: bounds allow three files for 4, one of which is of its bucket, and four for 7.
    check("parted", "id = 4", "1 of 13 ");
    check("parted", "id in (4, 7)", "4 of 13 ");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_choose_what_is_read() {
    let opened = open("iceberg-options");
    let table = copied(&opened, "evolved");
    let path = table.to_str().expect("UTF-8").to_owned();
    let names = files(&table, |path| path.ends_with(".metadata.json"));
    let name = |at: usize| names[at].to_str().expect("UTF-8").to_owned();
    let mut session = opened.db.session();
    let mut count = |path: &str, options: &str| {
        let query = format!("select count(*) from iceberg_scan('{path}'{options})");
        outcome(&mut session, &query)
    };
    let moved = ", allow_moved_paths => true";
    assert_eq!(count(&path, moved), "7");
    assert_eq!(count(&format!("{path}/"), moved), "7");
    // The first one has no rows, the next one the first four.
    assert_eq!(count(&name(0), moved), "0");
    assert_eq!(count(&name(1), moved), "4");
    assert_eq!(count(&path, ", version => 1, allow_moved_paths => true"), "4");
    let none =
        format!("! 58P01: there is no metadata file of a table of Iceberg in \"{path}/metadata\"");
    assert_eq!(count(&path, ", version => 99"), none);
    assert_eq!(count(&path, ", snapshot_from_id => 7"), "! 22023: there is no snapshot 7");
    assert_eq!(
        count(&path, ", snapshot_from_id => x"),
        "! 22023: snapshot_from_id \"x\" is no number"
    );
    assert_eq!(
        count(&path, ", snapshot_from_timestamp => '2020-01-01'"),
        "! 22023: there was no snapshot at that time"
    );
    assert_eq!(
        count(&path, ", snapshot_from_timestamp => 'x'"),
        "! 22007: invalid input syntax for type timestamp with time zone: \"x\""
    );
    assert_eq!(
        count(&path, ", snapshot_from_timestamp => '2100-01-01', allow_moved_paths => true"),
        "7"
    );
    assert_eq!(
        count(&path, ", colour => red"),
        "! 22023: option \"colour\" of iceberg_scan not recognized"
    );
    assert_eq!(count("*", ""), "! 0A000: iceberg_scan with a pattern of names is not supported");
    // Where it says that it was written there is nothing.
    let elsewhere = std::fs::read_to_string(names.last().expect("some")).expect("a file");
    let elsewhere = elsewhere.replace("file:///tmp/lake", "file:///no/lake");
    let elsewhere = opened.write("elsewhere/metadata/v1.metadata.json", elsewhere.as_bytes());
    let missing = count(&elsewhere, "");
    assert!(missing.starts_with("! 58P01: could not open file \"/no/lake/evolved/"), "{missing}");
}

/// The metadata file that counts of those that a folder has.
#[test]
fn a_hint_says_which_version_counts() {
    let opened = open("iceberg-hints");
    let table = copied(&opened, "evolved");
    let path = table.to_str().expect("UTF-8").to_owned();
    let names = files(&table, |path| path.ends_with(".metadata.json"));
    let mut session = opened.db.session();
    let mut count = |path: &str, options: &str| {
        let query = format!("select count(*) from iceberg_scan('{path}'{options})");
        outcome(&mut session, &query)
    };
    let moved = ", allow_moved_paths => true";
    // The hint counts, and what was written behind it.
    std::fs::copy(&names[0], table.join("metadata/v1.metadata.json")).expect("copied");
    std::fs::write(table.join("metadata/version-hint.text"), "1\n").expect("written");
    assert_eq!(count(&path, moved), "0");
    std::fs::copy(&names[1], table.join("metadata/v2.metadata.json")).expect("copied");
    assert_eq!(count(&path, moved), "4");
    // However many there are.
    for version in 3..100 {
        let name = format!("metadata/v{version}.metadata.json");
        std::fs::copy(&names[if version < 99 { 0 } else { 1 }], table.join(name)).expect("copied");
    }
    assert_eq!(count(&path, moved), "4");
    for version in 3..100 {
        std::fs::remove_file(table.join(format!("metadata/v{version}.metadata.json")))
            .expect("gone");
    }
    // One that cannot be read is not one that there is not.
    let hint = table.join("metadata/version-hint.text");
    std::fs::remove_file(&hint).expect("removed");
    std::os::unix::fs::symlink(&hint, &hint).expect("a link to itself");
    let unreadable = count(&path, moved);
    assert!(unreadable.starts_with("! 58030: could not open file "), "{unreadable}");
    std::fs::remove_file(&hint).expect("removed");
    // A file is no folder of a table.
    let nothing = count(names[0].with_extension("").to_str().expect("UTF-8"), "");
    assert!(nothing.starts_with("! 58P01: there is no metadata file "), "{nothing}");
    let nothing = count(opened.write("plain.txt", b"x").as_str(), "");
    assert!(nothing.starts_with("! 58P01: there is no metadata file "), "{nothing}");
    std::fs::write(table.join("metadata/version-hint.text"), "7").expect("written");
    let expected = format!(
        "! 58P01: no metadata file of the version that \"{path}/metadata/version-hint.text\" names"
    );
    assert_eq!(count(&path, moved), expected);
    // Without it two of one version are one too many.
    std::fs::remove_file(table.join("metadata/version-hint.text")).expect("removed");
    let last = names.last().expect("some");
    let other = last.with_file_name(format!("{:05}-x.metadata.json", names.len() - 1));
    std::fs::copy(last, other).expect("copied");
    let twice = format!("! XX001: there are two metadata files of version {}", names.len() - 1);
    assert_eq!(count(&path, moved), twice);
}

#[test]
fn columns_of_nested_types_are_refused_where_they_are_read() {
    let opened = open("iceberg-nested");
    let mut session = opened.db.session();
    let from = format!("iceberg_scan('{}/types', allow_moved_paths => true)", data().display());
    let refused = outcome(&mut session, &format!("select list from {from}"));
    assert_eq!(refused, "! 0A000: column \"list\" of type list is not supported");
    let refused = outcome(&mut session, &format!("select * from {from}"));
    assert_eq!(refused, "! 0A000: column \"list\" of type list is not supported");
    assert_eq!(outcome(&mut session, &format!("select count(*) from {from}")), "2");
}

/// The files have no such column, and what the partition says of it is of another type than the column.
#[test]
fn values_of_partitions_that_cannot_be_read_are_no_nulls() {
    let opened = open("iceberg-partitions");
    let table = copied(&opened, "migrated");
    for path in files(&table, |path| path.ends_with(".metadata.json")) {
        let text = std::fs::read_to_string(&path).expect("a file");
        let text = text.replace("\"type\":\"date\"", "\"type\":\"string\"");
        std::fs::write(&path, text).expect("written");
    }
    let mut session = opened.db.session();
    let from = format!("iceberg_scan('{}', allow_moved_paths => true)", table.display());
    assert_eq!(outcome(&mut session, &format!("select count(i) from {from}")), "4");
    let error = session.execute(&format!("select day from {from}")).expect_err("no text");
    assert_eq!(error.state.0, "XX001", "{error:?}");
    assert!(error.message.contains("/migrated/data/f"), "{error:?}");
    assert!(error.detail.is_some_and(|detail| detail.contains("\"day\"")));
}

/// Metadata is counted as memory of the query as long as the statement takes.
#[test]
fn metadata_takes_memory_of_the_query() {
    let opened = open("iceberg-memory");
    let path = PathBuf::from(opened.path("small.dovetail"));
    let (memory_bytes, pool_bytes) = (160 << 20, Some(64 << 20));
    let options = Options { memory_bytes, pool_bytes, ..pg::options() };
    let db = Database::create(&path, options).expect("a database");
    let mut session = db.session();
    let table = copied(&opened, "evolved");
    let query = format!(
        "select count(*) from iceberg_scan('{}', allow_moved_paths => true)",
        table.display()
    );
    assert_eq!(outcome(&mut session, &query), "7");
    let (held, most) = growth(&db);
    assert!(held == 0 && most > 10_000, "{held} {most}");
    // What is written to be as long as this takes eight times as much while it is read.
    let newest = files(&table, |path| path.ends_with(".metadata.json")).pop().expect("one");
    let text = std::fs::read_to_string(&newest).expect("a file");
    std::fs::write(&newest, format!("{text}{}", " ".repeat(20 << 20))).expect("written");
    let refused = outcome(&mut session, &query);
    assert!(refused.starts_with("! 53200: "), "{refused}");
    assert_eq!(growth(&db).0, 0);
}

/// Bytes that are held beside what was granted, and the most that were. The last task of a query may give its own
/// back a moment after the query has ended.
fn growth(db: &Database) -> (usize, usize) {
    let until = Instant::now() + Duration::from_secs(30);
    while db.governor().growth().0 > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    db.governor().growth()
}

#[test]
fn who_may_not_read_files_may_not_read_tables() {
    let opened = open("iceberg-roles");
    let mut session = opened.db.session();
    session.execute("create role r; set role r").expect("set");
    let refused = outcome(&mut session, "select * from iceberg_scan('/nowhere')");
    assert!(refused.starts_with("! 42501: "), "{refused}");
}

#[test]
fn a_table_names_no_files_of_another_kind_of_store() {
    let opened = open("iceberg-kinds");
    let table = copied(&opened, "evolved");
    for path in files(&table, |path| path.ends_with(".metadata.json")) {
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, text.replace("file:///tmp/lake", "s3a://lake")).expect("written");
    }
    let mut session = opened.db.session();
    let query = format!("select count(*) from iceberg_scan('{}')", table.display());
    let refused = outcome(&mut session, &query);
    assert!(refused.starts_with("! 42501: the table at "), "{refused}");
    assert!(refused.contains(" names the file \"s3://lake/evolved/metadata/snap-"), "{refused}");
}

/// What changed metadata may be refused with, also because a path leads elsewhere and columns have other names.
const BLAMED: [&str; 13] = [
    "XX001", "58P01", "22P04", "0A000", "22023", "54000", "42501", "42701", "42703", "53200",
    "58030", "42809", "22003",
];

/// What a damaged table may be refused with.
const REFUSALS: [&str; 6] = ["XX001", "58P01", "22P04", "0A000", "22023", "54000"];

/// How a query of a damaged table ends: it is refused with a state that says so, or its rows are as of an undamaged
/// one. Anything else is the test's failure.
fn is_refused(found: &str, right: &str, what: &str) -> bool {
    let state = found.strip_prefix("! ").and_then(|rest| rest.split_once(':')).map(|(s, _)| s);
    let is_refusal = state.is_some_and(|state| REFUSALS.contains(&state));
    assert!(is_refusal || found == right, "{what}: {found}, not {right}");
    is_refusal
}

/// The files of a table that its current snapshot needs, and others that it does not.
struct Parts {
    query: String,
    right: String,
    all: Vec<PathBuf>,
    newest: PathBuf,
}

fn parts(opened: &Opened, session: &mut engine::Session, name: &str) -> Parts {
    let table = copied(opened, name);
    let columns = if name == "types" { "id, s, n" } else { "*" };
    let query = format!(
        "select {columns} from iceberg_scan('{}', allow_moved_paths => true) order by 1",
        table.display()
    );
    let right = outcome(session, &query);
    assert!(!right.starts_with('!'), "{right}");
    let newest = files(&table, |path| path.ends_with(".metadata.json")).pop().expect("one");
    let is_wanted = |path: &Path| path.extension().is_some_and(|end| end != "json");
    let all = files(&table, |path| is_wanted(Path::new(path)) || Path::new(path) == newest);
    Parts { query, right, all, newest }
}

/// The files that the current snapshot has: without any of them there is no answer.
fn needed(opened: &Opened, session: &mut engine::Session, parts: &Parts) -> Vec<PathBuf> {
    let aside = opened.folder.join("aside");
    let mut needed = vec![];
    for path in &parts.all {
        // Without the newest version the one before it is the newest.
        if *path != parts.newest {
            std::fs::rename(path, &aside).expect("moved");
            let found = outcome(session, &parts.query);
            std::fs::rename(&aside, path).expect("moved back");
            if is_refused(&found, &parts.right, &format!("missing {}", path.display())) {
                needed.push(path.clone());
            }
        }
    }
    needed
}

/// Each file is missing, empty, cut off and of another format. Those that count are told by what is missing without
/// them, and none of them may be damaged so and give an answer.
#[test]
fn damaged_tables_are_refused() {
    let opened = open("iceberg-damaged");
    let mut session = opened.db.session();
    for name in TABLES {
        let parts = parts(&opened, &mut session, name);
        let mut all = needed(&opened, &mut session, &parts);
        // Its list, a manifest and a data file at least.
        assert!(all.len() >= 3, "{name}: {all:?}");
        all.push(parts.newest.clone());
        for path in all {
            let bytes = std::fs::read(&path).expect("a file");
            let other = [&b"Obj?"[..], &bytes[4..]].concat();
            for (what, changed) in [
                ("empty", &[][..]),
                ("cut off", &bytes[..bytes.len() / 2]),
                ("another", &other[..]),
            ] {
                std::fs::write(&path, changed).expect("written");
                let found = outcome(&mut session, &parts.query);
                let what = format!("{what} {}", path.display());
                // Of Parquet the mark at the end counts.
                let is_other = path.extension().is_some_and(|end| end == "parquet");
                let may_be_right = is_other && what.starts_with("another");
                assert!(is_refused(&found, &parts.right, &what) || may_be_right, "{what}: {found}");
            }
            std::fs::write(&path, &bytes).expect("written");
        }
    }
}

/// Bits are changed in the midst of files of metadata. The bytes have no checksums, so other names and numbers may
/// come of it, and other rows; what may not come of it is a panic or a state that blames somebody else.
#[test]
fn changed_bits_of_metadata_are_no_defects() {
    const ROUNDS: usize = 16;
    let opened = open("iceberg-bits");
    let mut session = opened.db.session();
    let (mut refused, mut tried, mut draw) = (0, 0, 0x9e37_79b9_7f4a_7c15u64);
    for name in TABLES {
        let parts = parts(&opened, &mut session, name);
        for path in &parts.all {
            if path.extension().is_some_and(|end| end == "parquet") {
                continue;
            }
            let bytes = std::fs::read(path).expect("a file");
            for _ in 0..ROUNDS {
                // A generator of numbers (xorshift, Marsaglia 2003).
                draw ^= draw << 13;
                draw ^= draw >> 7;
                draw ^= draw << 17;
                let (at, bit) = ((draw >> 8) as usize % bytes.len(), draw as u32 % 8);
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                std::fs::write(path, &changed).expect("written");
                let found = outcome(&mut session, &parts.query);
                let state = found.strip_prefix("! ").and_then(|rest| rest.split_once(':'));
                let what = || format!("bit {bit} of byte {at} of {}: {found}", path.display());
                assert!(state.is_none_or(|(s, _)| BLAMED.contains(&s)), "{}", what());
                (refused, tried) = (refused + usize::from(state.is_some()), tried + 1);
            }
            std::fs::write(path, &bytes).expect("written");
        }
    }
    // Many bytes of metadata are marks, names of fields, paths and compressed blocks.
    assert!(refused * 4 > tried, "{refused} of {tried}");
}

//! Known differences from PostgreSQL: `tests/sql/expected_failures.txt`. Whoever mends one
//! of it moves it into a file of those that pass.

use std::path::Path;

use engine::{ExecutionMode, RingKind};
use sqllogictest::{Record, Runner};

use super::{Circumstances, Connection, Failure, Folder, create, same_kinds, same_rows};

/// Begins an entry; its first one prepares the others, and passes.
const ENTRY: &str = "# Entry: ";

#[test]
fn what_is_known_to_fail_fails() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql/expected_failures.txt");
    let text = std::fs::read_to_string(path).expect("the file of expected failures");
    let folder = Folder::new("expected-failures");
    let (mode, ring) = (ExecutionMode::OutOfOrder, RingKind::Threads);
    let circumstances = Circumstances { mode, ring, with: None, page_bytes: None };
    let mut passing = vec![];
    let (prepared, entries) = text.split_once(ENTRY).expect("an entry");
    for (number, entry) in entries.split(ENTRY).enumerate() {
        let (name, records) = entry.split_once('\n').expect("a name in a line of its own");
        let db = create(&folder.0.join(format!("{number}.dovetail")), circumstances).expect("one");
        let open = db.clone();
        let mut runner = Runner::new(move || {
            let connection = Connection { session: open.session(), in_chunks: false };
            async move { Ok::<_, Failure>(connection) }
        });
        runner.with_validator(same_rows);
        runner.with_column_validator(same_kinds);
        for record in parsed(prepared) {
            runner.run(record).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let failed = parsed(records).into_iter().any(|record| runner.run(record).is_err());
        if !failed {
            passing.push(name.to_owned());
        }
        drop(runner);
        db.close().expect("closed");
    }
    assert!(passing.is_empty(), "pass now, and belong into other files:\n{}", passing.join("\n"));
}

fn parsed(text: &str) -> Vec<Record<sqllogictest::DefaultColumnType>> {
    sqllogictest::parse_with_name(text, "expected_failures.txt").expect("records")
}

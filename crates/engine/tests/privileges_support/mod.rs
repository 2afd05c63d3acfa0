//! A database with roles, made once and copied for each attempt.

use std::path::PathBuf;

use engine::{Options, SqlState, statement_kind};

const SETUP: &str = "
    create role own login; create role granted login; create role nobody login;
    create role boss superuser login; create role super superuser; create role other;
    create table t (a int primary key, b text); insert into t values (1, 'one');
    create index t_i on t (b);
    create table hidden (a int); create table h (a int primary key); insert into h values (1); create view v as select a from hidden;
    alter table t owner to own; alter view v owner to own; grant select on hidden to own;";

/// The file that each attempt begins with.
pub struct Database(PathBuf);

impl Drop for Database {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn options() -> Options {
    Options { memory_bytes: 4 << 20, workers: 1, ..Options::default() }
}

impl Database {
    pub fn new(name: &str) -> Database {
        let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(folder.join("copy")).expect("a folder");
        std::fs::write(folder.join("rows"), "7\tseven\n").expect("a file");
        let db = engine::Database::create(&folder.join("t.dovetail"), options()).expect("created");
        db.session().execute(SETUP).expect("set up");
        db.close().expect("closed");
        Database(folder)
    }

    fn copy(&self) -> engine::Database {
        let path = self.0.join("copy/t.dovetail");
        std::fs::copy(self.0.join("t.dovetail"), &path).expect("a copy");
        engine::Database::open(&path, options()).expect("opened")
    }
}

/// Tries a statement as all four, and compares with what the matrix says.
pub fn check(database: &Database, statement: &str, granted: &str, expected: &str) {
    let text = statement.replace("{data}", &database.0.join("rows").display().to_string());
    let kind = statement_kind(&sql::parse(&text).expect(statement)[0]);
    let reads_only = matches!(kind, "SELECT" | "EXPLAIN" | "SET" | "SHOW" | "RESET" | "CHECKPOINT");
    let mut db = None;
    let mut found = String::new();
    for role in ["own", "granted", "nobody", "boss"] {
        let fresh = db.take().filter(|_| reads_only).unwrap_or_else(|| {
            let copy = database.copy();
            copy.session().execute(granted).expect(granted);
            copy
        });
        let mut session = fresh.session();
        session.log_in(role, 1).expect("logged in");
        found.push(match session.execute(&text) {
            Ok(_) => 'y',
            Err(error) if error.state == SqlState::INSUFFICIENT_PRIVILEGE => 'n',
            Err(error) => panic!("{statement} as {role} after {granted}: {error}"),
        });
        drop(session);
        db = Some(fresh);
    }
    assert_eq!(found, expected, "{statement}\nafter {granted}\n(owner, granted, none, superuser)");
}

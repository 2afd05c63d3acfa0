//! `dovetail sql` as whoever runs it sees it: transaction blocks, across statements and files.
#![allow(clippy::disallowed_methods, reason = "a test of a program has files and processes")]

use std::path::PathBuf;
use std::process::Command;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs the shell once for each script, on the same database; what it printed and complained.
fn check(name: &str, scripts: &[(&str, &str, &str)]) {
    let folder = std::env::temp_dir().join(format!("dovetail-sql-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let folder = Folder(folder);
    let (database, file) = (folder.0.join("t.dovetail"), folder.0.join("script.sql"));
    for (script, out, err) in scripts {
        std::fs::write(&file, script).expect("written");
        let mut shell = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        shell.args(["sql", "-A", "-t", "-q", "--memory", "64MB", "-f"]).arg(&file).arg(&database);
        let ran = shell.output().expect("the shell runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let place = format!("dovetail:{}:", file.display());
        let complained = text(ran.stderr).replace(&place, "");
        assert_eq!((text(ran.stdout).as_str(), complained.as_str()), (*out, *err), "{script}");
    }
}

#[test]
fn blocks_end_as_they_are_told() {
    let scripts = [
        (
            "create table t (a int primary key);\n\
             begin; insert into t values (1); savepoint s;\n\
             insert into t values (2);\n\
             rollback to s; insert into t values (3); commit;\n\
             select a from t order by a;",
            "1\n3\n",
            "",
        ),
        (
            "begin;\nbegin;\ndelete from t;\ninsert into t values (1), (1);\nselect 1;\ncommit;\n\
             select count(*) from t;\ncommit;",
            "2\n",
            "2: WARNING:  there is already a transaction in progress\n\
             4: ERROR:  duplicate key value violates unique constraint \"t_pkey\"\n\
             DETAIL:  Key (a)=(1) already exists.\n\
             5: ERROR:  current transaction is aborted, commands ignored until end of transaction \
             block\n\
             8: WARNING:  there is no transaction in progress\n",
        ),
        // The end of the shell is no COMMIT.
        ("begin;\ncopy t from stdin;\n7\n\\.\nselect count(*) from t;", "3\n", ""),
        ("select count(*) from t;", "2\n", ""),
        (
            "declare c cursor for select a from t;\nbegin;\ndeclare c cursor for select a from t;",
            "",
            "1: ERROR:  DECLARE CURSOR can only be used in transaction blocks\n\
             3: ERROR:  DECLARE CURSOR without a server is not supported\n\
             HINT:  Run the query itself, or connect to the server.\n",
        ),
    ];
    check("blocks", &scripts);
}

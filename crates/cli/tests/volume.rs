//! A database over several files as the program shows it: made, listed, changed, refused.
#![allow(clippy::disallowed_methods, reason = "a test of a program has files and processes")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("dovetail-volume-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    /// Runs the program in the folder: its exit code, and what it printed and complained.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut program = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let ran = program.args(arguments).current_dir(&self.0).output().expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (ran.status.code().expect("an exit"), text(ran.stdout), text(ran.stderr))
    }

    /// Runs statements; what they print. They must not fail.
    fn sql(&self, data: &str, members: &[&str], statements: &[&str]) -> String {
        let mut arguments = vec!["sql", data, "-A", "-t", "-q", "--memory", "64MB"];
        members.iter().for_each(|member| arguments.extend(["--member", member]));
        statements.iter().for_each(|statement| arguments.extend(["-c", statement]));
        let (code, out, err) = self.run(&arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{statements:?}");
        out
    }

    /// Paths of the members that `volume list` shows.
    fn members(&self, data: &str) -> Vec<String> {
        let (code, out, err) = self.run(&["volume", "list", "--data", data]);
        assert_eq!(code, 0, "{err}");
        let base = self.0.canonicalize().expect("the folder is there");
        let shown = |line: &str| {
            let path = line.split("  ").nth(1).expect("a path").to_owned();
            let path = Path::new(&path).strip_prefix(&base).map(Path::to_owned);
            path.expect("a path in the folder").display().to_string()
        };
        out.lines().map(shown).collect()
    }

    /// Runs what has to be refused, with these words.
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        let (code, _, err) = self.run(arguments);
        assert_eq!(code, 2, "{arguments:?}: {err}");
        words.iter().for_each(|word| assert!(err.contains(word), "{arguments:?}: {err}"));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

const FILL: &str = "insert into t select n, repeat('x', 500) from generate_series(1, 20000) n";
const ASK: &str = "select count(*), sum(a) from t";
const ROWS: &str = "20000|200010000\n";

#[test]
fn members_are_named_once_and_found_again() {
    let folder = Folder::new("named");
    let members = ["b, with a comma", "c"];
    folder.sql("a", &members, &["create table t (a int, b text)", FILL]);
    for members in [&[][..], &members[..], &["c", "b, with a comma"][..]] {
        assert_eq!(folder.sql("a", members, &[ASK]), ROWS, "{members:?}");
    }
    assert_eq!(folder.members("a"), ["a", "b, with a comma", "c"]);
    folder.refused(&["sql", "a", "--member", "c", "-c", ASK], &["member 2", "was not given"]);
    folder.refused(&["sql", "a", "--member", "c", "--member", "c"], &["the same file", "c"]);
    folder.refused(&["sql", "c", "-c", ASK], &["this is member 3", "HINT:"]);
    let (code, out, err) = folder.run(&["check", "a"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    std::fs::rename(folder.0.join("c"), folder.0.join("d")).expect("renamed");
    folder.refused(&["check", "a"], &["member 3", "missing", "--member"]);
    assert_eq!(folder.sql("a", &["d", "b, with a comma"], &[ASK]), ROWS);
    assert_eq!(folder.sql("a", &[], &[ASK]), ROWS);
    let (code, _, err) = folder.run(&["backup", "a", "copy"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(folder.sql("copy", &[], &[ASK]), ROWS);
}

#[test]
fn members_join_and_leave_by_the_program_and_by_statements() {
    let folder = Folder::new("change");
    folder.sql("a", &[], &["create table t (a int, b text)", FILL]);
    std::fs::write(folder.0.join("text"), "somebody's").expect("written");
    folder.refused(
        &["volume", "add", "--data", "a", "--member", "text"],
        &["is not empty", "--format"],
    );
    let (_, out, _) = folder.run(&["volume", "list", "--data", "a"]);
    assert_eq!(out, "the database lies in one file\n", "nothing has changed");
    let (code, _, err) = folder.run(&["volume", "add", "--data", "a", "--member", "b"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(folder.members("a"), ["a", "b"]);
    let path =
        |name: &str| folder.0.canonicalize().expect("there").join(name).display().to_string();
    let add = format!("alter database add member '{}' with format", path("text"));
    let drop = format!("alter database drop member '{}'", path("b"));
    folder.sql("a", &[], &[&add, "create table u as select * from t", &drop]);
    assert_eq!(folder.members("a"), ["a", "text"]);
    assert_eq!(folder.sql("a", &[], &[ASK, "select count(*) from u"]), format!("{ROWS}20000\n"));
    let (code, _, err) = folder.run(&["volume", "remove", "--data", "a", "--member", "text"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(folder.members("a"), ["a"]);
    assert_eq!(folder.sql("a", &[], &[ASK, "select count(*) from u"]), format!("{ROWS}20000\n"));
    folder.refused(&["volume", "remove", "--data", "a", "--member", "a"], &["can be removed"]);
}

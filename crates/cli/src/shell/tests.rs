//! Whole sessions over a fake database: what is printed, what is complained about, what follows.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::rc::Rc;

use types::{SqlError, SqlResult, SqlState};

use super::backend::{
    Backend, Outcome, Relation, RelationColumn, RelationIndex, Table, TransactionBlock,
};
use super::input::{Line, Lines, Script};
use super::interrupt::Interrupts;
use super::settings::{Mode, Settings};
use super::{Flow, Shell};

/// Answers `select X` with X, knows the table `t` and blocks, and fails at everything else.
struct Fake(TransactionBlock);

const FAKE: Fake = Fake(TransactionBlock::None);

impl Backend for Fake {
    fn execute(&mut self, sql: &str) -> SqlResult<Vec<Outcome>> {
        let text = sql.trim_end_matches(';');
        if let Some(value) = text.strip_prefix("select ") {
            let rows = vec![vec![value.to_string()]];
            return Ok(vec![Outcome::Rows(Table::text(&["v"], rows))]);
        }
        if text == "begin" || text == "rollback" {
            let open = [TransactionBlock::None, TransactionBlock::Open];
            self.0 = open[usize::from(text == "begin")];
            return Ok(vec![Outcome::Command(text.to_uppercase())]);
        }
        if text.starts_with("create") {
            return Ok(vec![Outcome::Command("CREATE TABLE".into())]);
        }
        if self.0 == TransactionBlock::Open {
            self.0 = TransactionBlock::Failed;
        }
        Err(SqlError::new(SqlState::SYNTAX_ERROR, "no such statement")
            .at(1)
            .with_hint("Try again."))
    }

    fn copy_in(&mut self, sql: &str, data: &mut dyn Read) -> SqlResult<Outcome> {
        if sql.contains("broken") {
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, "no table"));
        }
        let mut text = String::new();
        data.read_to_string(&mut text).expect("the fake reads all");
        Ok(Outcome::Command(format!("COPY {} {text:?}", text.lines().count())))
    }

    fn copy_out(&mut self, _sql: &str, data: &mut dyn Write) -> SqlResult<Outcome> {
        data.write_all(b"1\tone\n").expect("written");
        Ok(Outcome::Command("COPY 1".into()))
    }

    fn notices(&mut self) -> Vec<(&'static str, SqlError)> {
        let told = (self.0 == TransactionBlock::Failed).then(|| {
            ("WARNING", SqlError::new(SqlState("01000"), "failed").with_hint("Roll back."))
        });
        told.into_iter().collect()
    }

    fn block(&self) -> TransactionBlock {
        self.0
    }

    fn relations(&self) -> Vec<Relation> {
        let column = |name: &str, ty: &str, nullable| RelationColumn {
            name: name.into(),
            ty: ty.into(),
            nullable,
        };
        vec![Relation {
            name: "t".into(),
            columns: vec![column("a", "integer", false), column("b", "text", true)],
            primary_key: vec!["a".into()],
            indexes: vec![RelationIndex {
                included: vec![],
                name: "t_b".into(),
                columns: vec!["b".into()],
                unique: true,
                primary: false,
                deferral: "",
                method: "btree",
            }],
            row_count: 12,
        }]
    }

    fn canceller(&self) -> Box<dyn Fn() + Send> {
        Box::new(|| {})
    }
}

#[derive(Clone, Default)]
struct Sink(Rc<RefCell<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).expect("text")
    }
}

fn plain() -> Settings {
    Settings { mode: Mode::Unaligned, tuples_only: true, ..Settings::default() }
}

/// Runs a script; what it printed, what it complained, and the flow.
fn run(settings: Settings, script: &str, name: Option<&str>) -> (String, String, Flow) {
    let (out, err) = (Sink::default(), Sink::default());
    let mut shell = Shell::new(
        FAKE,
        settings,
        Interrupts::default(),
        Box::new(out.clone()),
        Box::new(err.clone()),
    );
    let flow = shell.run_lines(&mut Script::new(script.as_bytes()), name);
    (out.text(), err.text(), flow)
}

#[track_caller]
fn check(script: &str, out: &str, err: &str) {
    let (got_out, got_err, flow) = run(plain(), script, None);
    assert_eq!((got_out.as_str(), got_err.as_str(), flow), (out, err, Flow::Next));
}

const ERROR: &str = "ERROR:  no such statement\nLINE 1: bad;\n        ^\nHINT:  Try again.\n";

#[test]
fn a_script_goes_on_after_an_error() {
    check("select 1;\nbad;\ncreate table\nx; select 2", "1\nCREATE TABLE\n2\n", ERROR);
}

#[test]
fn on_error_stop_ends_a_script() {
    let settings = Settings { on_error_stop: true, ..plain() };
    let (out, err, flow) = run(settings, "select 1;\nbad;\nselect 2;", Some("a.sql"));
    assert_eq!((out.as_str(), flow), ("1\n", Flow::Stop));
    assert_eq!(err, format!("dovetail:a.sql:2: {ERROR}"));
}

#[test]
fn a_command_ends_at_its_first_error() {
    let (out, err) = (Sink::default(), Sink::default());
    let (o, e) = (Box::new(out.clone()), Box::new(err.clone()));
    let mut shell = Shell::new(FAKE, plain(), Interrupts::default(), o, e);
    let mut data = Script::new("7\n".as_bytes());
    assert_eq!(shell.run_command("select 1; select 2", &mut data), Flow::Next);
    assert_eq!(shell.run_command("select 3; bad; select 4", &mut data), Flow::Failed);
    assert_eq!(shell.run_command("copy t from stdin", &mut data), Flow::Next);
    assert_eq!(out.text(), "1\n2\n3\nCOPY 1 \"7\\n\"\n");
}

#[test]
fn copy_takes_the_lines_that_follow() {
    let script = "copy t from stdin;\n1;\n\n2\\.\n\\.\nselect 3;";
    check(script, "COPY 3 \"1;\\n\\n2\\\\.\\n\"\n3\n", "");
}

#[test]
fn copy_to_stdout_prints_its_data_and_no_tag() {
    check("copy t to stdout;\nselect 3;", "1\tone\n3\n", "");
}

#[test]
fn data_of_a_failed_copy_are_no_statements() {
    check("copy broken from stdin;\nselect 1;\n\\.\nselect 2;", "2\n", "ERROR:  no table\n");
}

#[test]
fn settings_are_switched() {
    check(
        "\\t\n\\a\nselect 1;",
        "Tuples only is off.\nOutput format is aligned.\n v \n---\n 1\n(1 row)\n\n",
        "",
    );
    check("\\mode json\nselect 1;", "Output format is json.\n[{\"v\":\"1\"}]\n", "");
    check("\\x\nselect 1;", "Expanded display is on.\nv|1\n", "");
    check("\\set QUIET on\ncreate table x;\n\\x off", "", "");
    check("\\mode x", "", "\\mode: allowed modes are aligned, unaligned, csv, json\n");
    check("\\x maybe", "", "unrecognized value \"maybe\" for \"\\x\": Boolean expected\n");
}

#[test]
fn timing_is_shown_when_asked_for() {
    let (out, _, _) = run(plain(), "\\timing on\nselect 1;", None);
    assert!(out.starts_with("Timing is on.\n1\nTime: ") && out.ends_with(" ms\n"), "{out}");
}

#[test]
fn the_catalog_is_described() {
    let described = "Table \"t\"\nColumn|Type|Nullable\na|integer|not null\nb|text|\nIndexes:\n    \"t_pkey\" PRIMARY KEY, btree (a)\n    \"t_b\" UNIQUE, btree (b)\n";
    check("\\t off\n\\d t", &format!("Tuples only is off.\n{described}"), "");
    check("\\dt", "t|table|2|12\n", "");
    check("\\d", "t|table|2|12\n", "");
    check("\\di", "t_b|t|b|unique\nt_pkey|t|a|primary key\n", "");
    check("\\d nope", "", "Did not find any relation named \"nope\".\n");
}

#[test]
fn the_last_error_is_shown_in_full() {
    let (_, err, _) = run(plain(), "bad;\n\\errverbose", None);
    assert_eq!(err, format!("{ERROR}{}", ERROR.replace("ERROR:  ", "ERROR:  42601: ")));
    check("\\errverbose", "There is no previous error.\n", "");
}

#[test]
fn typed_text_is_shown_run_and_forgotten() {
    check(
        "select 1 \\p\n\\g\n\\r\n\\p",
        "select 1\n1\nQuery buffer reset (cleared).\nQuery buffer is empty.\n",
        "",
    );
}

#[test]
fn quit_ends_everything() {
    let (out, _, flow) = run(plain(), "select 1; \\q\nselect 2;", None);
    assert_eq!((out.as_str(), flow), ("1\n", Flow::Quit));
}

#[test]
fn unknown_commands_and_missing_files_are_errors() {
    check("\\bogus", "", "invalid command \\bogus\nTry \\? for help.\n");
    check("\\i /does/not/exist", "", "/does/not/exist: No such file or directory\n");
    let settings = Settings { on_error_stop: true, ..plain() };
    assert_eq!(run(settings, "\\bogus", None).2, Flow::Stop);
}

#[test]
fn scripts_that_are_no_text_end() {
    let (out, err) = (Sink::default(), Sink::default());
    let (o, e) = (Box::new(out.clone()), Box::new(err.clone()));
    let mut shell = Shell::new(FAKE, plain(), Interrupts::default(), o, e);
    let flow = shell.run_lines(&mut Script::new(&b"select 1;\n\xff\n"[..]), None);
    assert_eq!((flow, err.text().as_str()), (Flow::Stop, "line 2 is not valid UTF-8\n"));
}

/// Lines that a person types, who is asked by prompts.
struct Typed {
    script: Script<&'static [u8]>,
    prompts: Vec<String>,
}

impl Lines for Typed {
    fn next_line(&mut self, prompt: &str) -> std::io::Result<Line> {
        self.prompts.push(prompt.to_owned());
        self.script.next_line(prompt)
    }

    fn line_number(&self) -> usize {
        self.script.line_number()
    }
}

#[test]
fn prompts_show_the_transaction_block() {
    let script = Script::new(&b"begin;\nselect 1\n;\nbad;\nrollback;\n"[..]);
    let mut typed = Typed { script, prompts: vec![] };
    let (o, e) = (Box::new(Sink::default()), Box::new(Sink::default()));
    Shell::new(FAKE, plain(), Interrupts::default(), o, e).run_lines(&mut typed, None);
    let marks = ["=", "=*", "-*", "=*", "=!", "="];
    assert_eq!(typed.prompts, marks.map(|mark| format!("dovetail{mark}> ")));
}

#[test]
fn notices_stand_before_what_they_are_about() {
    let warning = "WARNING:  failed\nHINT:  Roll back.\n";
    check("begin;\nbad;\nrollback;", "BEGIN\nROLLBACK\n", &format!("{warning}{ERROR}"));
    let (_, err, _) = run(plain(), "begin;\nbad;", Some("a.sql"));
    assert_eq!(err, format!("dovetail:a.sql:2: {warning}dovetail:a.sql:2: {ERROR}"));
}

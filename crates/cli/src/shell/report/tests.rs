//! The expected texts are what psql 15 prints, except that no source location follows.

use types::{SqlError, SqlState};

use super::super::settings::Verbosity;
use super::error_text;

fn missing_column(position: usize) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_COLUMN, "column \"foo\" does not exist").at(position)
}

#[test]
fn the_place_is_shown() {
    let text = error_text(&missing_column(8), "select foo from t", Verbosity::Default);
    let want =
        "ERROR:  column \"foo\" does not exist\nLINE 1: select foo from t\n               ^\n";
    assert_eq!(text, want);
}

#[test]
fn the_line_of_the_place_is_shown() {
    let at_f = error_text(&missing_column(12), "select 1,\n foo\nfrom t", Verbosity::Default);
    assert!(at_f.ends_with("LINE 2:  foo\n         ^\n"), "{at_f}");
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let statement = format!("select {}, foo", "a".repeat(100));
    let position = statement.find("foo").expect("there") + 1;
    let text = error_text(&missing_column(position), &statement, Verbosity::Default);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("LINE 1: ...aaa") && lines[1].ends_with(", foo"), "{text}");
    assert_eq!(lines[2].len() - 1, lines[1].find("foo").expect("shown"));
    let text = error_text(&missing_column(8), &statement, Verbosity::Default);
    assert!(text.contains("LINE 1: select aaa") && text.contains("aaa...\n"), "{text}");
}

#[test]
fn a_position_outside_of_the_statement_is_not_shown() {
    for position in [0, 10] {
        let text = error_text(&missing_column(position), "select 1", Verbosity::Default);
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn detail_hint_and_verbosity() {
    let error = missing_column(8).with_detail("more").with_hint("do this");
    let text = |verbosity| error_text(&error, "select foo", verbosity);
    assert!(text(Verbosity::Default).ends_with("^\nDETAIL:  more\nHINT:  do this\n"));
    assert!(text(Verbosity::Verbose).starts_with("ERROR:  42703: column"));
    assert_eq!(text(Verbosity::Terse), "ERROR:  column \"foo\" does not exist at character 8\n");
    assert_eq!(text(Verbosity::SqlState), "ERROR:  42703\n");
}

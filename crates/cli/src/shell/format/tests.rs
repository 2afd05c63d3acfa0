//! The expected texts are psql 15's output for the same rows (JSON excepted, which it has not).

use super::super::backend::{Heading, Kind, Table};
use super::super::settings::{Mode, Settings};
use super::{Frame, table_text};

fn sample() -> Table {
    let heading = |name: &str, kind| Heading { name: name.to_string(), kind };
    let row = |cells: [Option<&str>; 4]| cells.map(|cell| cell.map(str::to_string)).to_vec();
    Table {
        columns: vec![
            heading("a", Kind::Number),
            heading("b", Kind::Text),
            heading("c", Kind::Number),
            heading("d", Kind::Boolean),
        ],
        rows: vec![
            row([Some("1"), Some("x"), Some("1.50"), Some("t")]),
            row([Some("3"), Some("two\nlines, \"q\""), Some("-100.25"), None]),
            row([Some("22"), None, None, Some("f")]),
        ],
    }
}

fn one(name: &str, kind: Kind, value: &str) -> Table {
    let columns = vec![Heading { name: name.to_string(), kind }];
    Table { columns, rows: vec![vec![Some(value.to_string())]] }
}

#[track_caller]
fn check(table: &Table, mode: Mode, expanded: bool, tuples_only: bool, want: &[&str]) {
    let settings = Settings { mode, expanded, tuples_only, ..Settings::default() };
    let text = table_text(table, Frame::default(), &settings);
    assert_eq!(text, want.join("\n") + "\n");
}

#[test]
fn aligned() {
    check(
        &sample(),
        Mode::Aligned,
        false,
        false,
        &[
            " a  |     b      |    c    | d ",
            "----+------------+---------+---",
            "  1 | x          |    1.50 | t",
            "  3 | two       +| -100.25 | ",
            "    | lines, \"q\" |         | ",
            " 22 |            |         | f",
            "(3 rows)",
            "",
        ],
    );
}

#[test]
fn aligned_tuples_only() {
    let mut table = sample();
    table.rows.remove(1);
    check(&table, Mode::Aligned, false, true, &["  1 | x | 1.50 | t", " 22 |   |      | f", ""]);
}

#[test]
fn aligned_without_rows_or_columns() {
    let mut empty = one("?column?", Kind::Number, "1");
    empty.rows.clear();
    check(&empty, Mode::Aligned, false, false, &[" ?column? ", "----------", "(0 rows)", ""]);
    let bare = Table { columns: vec![], rows: vec![vec![]] };
    check(&bare, Mode::Aligned, false, false, &["--", "(1 row)", ""]);
}

#[test]
fn aligned_counts_columns_of_the_terminal() {
    check(
        &one("日本", Kind::Number, "2"),
        Mode::Aligned,
        false,
        false,
        &[" 日本 ", "------", "    2", "(1 row)", ""],
    );
}

#[test]
fn expanded() {
    check(
        &sample(),
        Mode::Aligned,
        true,
        false,
        &[
            "-[ RECORD 1 ]-",
            "a | 1",
            "b | x",
            "c | 1.50",
            "d | t",
            "-[ RECORD 2 ]-",
            "a | 3",
            "b | two       +",
            "  | lines, \"q\"",
            "c | -100.25",
            "d | ",
            "-[ RECORD 3 ]-",
            "a | 22",
            "b | ",
            "c | ",
            "d | f",
            "",
        ],
    );
    check(
        &one("averylongcolumnname", Kind::Number, "1"),
        Mode::Aligned,
        true,
        false,
        &["-[ RECORD 1 ]-------+--", "averylongcolumnname | 1", ""],
    );
    check(
        &one("a", Kind::Number, "1"),
        Mode::Aligned,
        true,
        false,
        &["-[ RECORD 1 ]", "a | 1", ""],
    );
}

#[test]
fn expanded_tuples_only() {
    let mut table = sample();
    table.rows.remove(1);
    check(
        &table,
        Mode::Aligned,
        true,
        true,
        &["a | 1", "b | x", "c | 1.50", "d | t", "--+-----", "a | 22", "b | ", "c | ", "d | f", ""],
    );
}

#[test]
fn unaligned() {
    let lines = ["a|b|c|d", "1|x|1.50|t", "3|two", "lines, \"q\"|-100.25|", "22|||f", "(3 rows)"];
    check(&sample(), Mode::Unaligned, false, false, &lines);
    check(&sample(), Mode::Unaligned, false, true, &lines[1..5]);
    let mut table = sample();
    table.rows.remove(1);
    check(
        &table,
        Mode::Unaligned,
        true,
        false,
        &["a|1", "b|x", "c|1.50", "d|t", "", "a|22", "b|", "c|", "d|f"],
    );
}

#[test]
fn csv() {
    let lines = ["a,b,c,d", "1,x,1.50,t", "3,\"two", "lines, \"\"q\"\"\",-100.25,", "22,,,f"];
    check(&sample(), Mode::Csv, false, false, &lines);
    check(&sample(), Mode::Csv, false, true, &lines[1..]);
    check(&one("x", Kind::Text, "\\."), Mode::Csv, true, false, &["x,\"\\.\""]);
}

#[test]
fn json_keeps_digits_and_types() {
    check(
        &sample(),
        Mode::Json,
        false,
        false,
        &[
            "[{\"a\":1,\"b\":\"x\",\"c\":1.50,\"d\":true},",
            "{\"a\":3,\"b\":\"two\\nlines, \\\"q\\\"\",\"c\":-100.25,\"d\":null},",
            "{\"a\":22,\"b\":null,\"c\":null,\"d\":false}]",
        ],
    );
    check(&one("n", Kind::Number, "NaN"), Mode::Json, false, false, &["[{\"n\":\"NaN\"}]"]);
    check(&Table::default(), Mode::Json, false, false, &["[]"]);
}

#[test]
fn titles_and_footers_frame_a_table() {
    let footers = ["Indexes:".to_string(), "    \"t_pkey\"".to_string()];
    let frame = Frame { title: Some("Table \"t\""), footers: Some(&footers) };
    let text = table_text(&one("a column name", Kind::Text, "x"), frame, &Settings::default());
    let want = "   Table \"t\"\n a column name \n---------------\n x\nIndexes:\n    \"t_pkey\"\n\n";
    assert_eq!(text, want);
}

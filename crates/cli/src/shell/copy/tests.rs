//! What `\copy` makes of its arguments.

use super::{FileCopy, file_copy, is_copy_to_stdout};

#[test]
fn a_file_becomes_an_end_of_the_shell() {
    let of = |statement: &str, is_from, path: Option<&str>| {
        Some(FileCopy { statement: statement.into(), is_from, path: path.map(str::to_owned) })
    };
    for (arguments, expected) in [
        ("t from f.csv csv", of("copy t from stdin  csv", true, Some("f.csv"))),
        ("t (a, b) to 'a b.txt'", of("copy t (a, b) to stdout", false, Some("a b.txt"))),
        ("(select a from t) to f;", of("copy (select a from t) to stdout", false, Some("f"))),
        ("(select ' to ') TO f", of("copy (select ' to ') to stdout", false, Some("f"))),
        ("\"from\" from stdin", of("copy \"from\" from stdin", true, None)),
        ("t", None),
        ("t to", None),
    ] {
        assert_eq!(file_copy(arguments), expected, "{arguments}");
    }
}

#[test]
fn data_go_to_the_output_when_the_statement_says_so() {
    for (statement, expected) in [
        ("copy t to stdout", true),
        ("COPY (select 1 from t) TO STDOUT csv;", true),
        ("copy t to 'stdout'", false),
        ("copy t from stdin", false),
        ("copying t to stdout", false),
        ("select 1", false),
    ] {
        assert_eq!(is_copy_to_stdout(statement), expected, "{statement}");
    }
}

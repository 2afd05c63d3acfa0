//! Where statements end, and where they do not.

use super::{Piece, Scanner, is_copy_from_stdin};

/// Pieces of the lines, then what is left.
#[track_caller]
fn check(lines: &[&str], want: &[&str], left: &str) {
    let mut scanner = Scanner::default();
    let pieces: Vec<String> = lines
        .iter()
        .flat_map(|line| scanner.push_line(line))
        .map(|piece| match piece {
            Piece::Statement(text) => text,
            Piece::Meta(text) => format!("\\{text}"),
        })
        .collect();
    assert_eq!(pieces, want);
    assert_eq!(scanner.take().unwrap_or_default(), left);
}

#[test]
fn statements_end_at_semicolons() {
    check(&["select 1; select", "  2 ;", ";; -- end"], &["select 1;", "select\n  2 ;"], "-- end");
}

#[test]
fn quotes_comments_and_parentheses_hide_semicolons() {
    check(
        &["select ';', \";\" -- ;", "/* ; /* ; */ ; */;"],
        &["select ';', \";\" -- ;\n/* ; /* ; */ ; */;"],
        "",
    );
    check(&["select 'it''s;';"], &["select 'it''s;';"], "");
    check(&["select (1;", "2);"], &["select (1;\n2);"], "");
    check(&["select $$;$x$;$$, $a$;$$;$a$;"], &["select $$;$x$;$$, $a$;$$;$a$;"], "");
    check(&["select E'\\';', e'\\\\';"], &["select E'\\';', e'\\\\';"], "");
    check(&["select '\\';"], &["select '\\';"], "");
}

#[test]
fn parameters_and_names_are_no_dollar_quotes() {
    check(&["select $1, a$b$c;"], &["select $1, a$b$c;"], "");
}

#[test]
fn backslash_commands_take_the_rest_of_the_line() {
    check(&["select 1 \\g out; x"], &["\\g out; x"], "select 1");
    check(&["  \\dt  "], &["\\dt"], "");
    check(&["select '\\d';"], &["select '\\d';"], "");
}

#[test]
fn prompts_say_what_is_open() {
    let mut scanner = Scanner::default();
    let mut after = |line: &str| {
        scanner.push_line(line);
        scanner.prompt()
    };
    let prompts =
        ["select", "(", "'", "'", ")", "\"", "\"", "/*", "*/", "$$", "$$", ";"].map(&mut after);
    assert_eq!(prompts, ['-', '(', '\'', '(', '-', '"', '-', '*', '-', '$', '-', '=']);
}

#[test]
fn copy_from_stdin_is_recognised() {
    assert!(is_copy_from_stdin("COPY t (a, b)\nFROM stdin;"));
    assert!(is_copy_from_stdin("copy t from stdin with (format csv);"));
    assert!(!is_copy_from_stdin("copy t from 'stdin';"));
    assert!(!is_copy_from_stdin("select 1 from stdin;"));
}

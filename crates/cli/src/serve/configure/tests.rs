//! File, environment and flags, and which wins.

use clap::{Args, FromArgMatches};

use super::*;

fn flags(arguments: &[&str]) -> Flags {
    let command = Flags::augment_args(clap::Command::new("serve"));
    let matches = command.try_get_matches_from([&["serve"], arguments].concat());
    Flags::from_arg_matches(&matches.expect("flags")).expect("flags")
}

/// What a setting is by file, environment and flags; or the error and its hint.
fn check(name: &str, file: &str, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut configuration = Configuration::default();
    let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
    let taken = take_file(&mut configuration, Path::new("f.toml"), file).and_then(|()| {
        for (variable, value) in environment {
            take_variable(&mut configuration, &variable, &value)?;
        }
        for (name, value) in &flags(arguments).0 {
            configuration.give(name, value, Origin::Flag)?;
        }
        Ok(())
    });
    match taken {
        Ok(()) => configuration.list(name).join("|"),
        Err(error) => format!("{} {}", error.message, error.hint.unwrap_or_default()),
    }
}

#[test]
fn the_later_source_wins() {
    let file = "# where\nhba = \"file\"\n";
    let variable = [("DOVETAIL_HBA", "variable")];
    assert_eq!(check("hba", file, &[], &[]), "file");
    assert_eq!(check("hba", file, &variable, &[]), "variable");
    assert_eq!(check("hba", file, &variable, &["--hba", "flag"]), "flag");
}

#[test]
fn lists_are_arrays_or_repeated_flags() {
    assert_eq!(check("listen", "listen = [\"::1\", \"127.0.0.1:1\"]", &[], &[]), "::1|127.0.0.1:1");
    assert_eq!(check("listen", "", &[("DOVETAIL_LISTEN", "a, b")], &[]), "a|b");
    assert_eq!(check("listen", "", &[], &["--listen", "a", "--listen", "b"]), "a|b");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        (
            "\nlissten = \"x\"",
            "unrecognized configuration parameter \"lissten\" in file \"f.toml\" line 2 \
             Perhaps you meant \"listen\".",
        ),
        (
            "max_connections = \"many\"",
            "invalid value for parameter \"max_connections\": \"many\" in file \"f.toml\" line 1 ",
        ),
        (
            "[server]\nlisten = \"x\"",
            "a setting is a text, a number, true, false or an array of texts in file \"f.toml\" line 1 ",
        ),
        (
            "server_version = \"16\"",
            "parameter \"server_version\" cannot be changed in file \"f.toml\" line 1 ",
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(check("listen", file, &[], &[]), expected);
    }
    assert!(
        check("listen", "a\nb", &[], &[]).starts_with("syntax error in file \"f.toml\" line 1")
    );
    let variable = check("listen", "", &[("DOVETAIL_LISSEN", "x")], &[]);
    assert_eq!(
        variable,
        "unrecognized configuration parameter \"lissen\" in the environment variable \
         DOVETAIL_LISSEN Perhaps you meant \"listen\"."
    );
    assert_eq!(check("hba", "", &[("DOVETAIL_PORT_5432_TCP", "tcp://10.0.0.1:5432")], &[]), "");
}

#[test]
fn switches_take_a_value_or_none() {
    let http = |arguments: &[&str]| flags(arguments).0;
    assert_eq!(http(&["--http"]), [("http", "on".to_owned())]);
    assert_eq!(http(&["--http=off"]), [("http", "off".to_owned())]);
    assert_eq!(
        http(&["--log-min-duration-statement", "-1"]),
        [("log_min_duration_statement", "-1".to_owned())]
    );
}

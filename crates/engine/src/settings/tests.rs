//! Values of settings, where they come from, and what a reload changes.

use super::*;
use crate::settings::configuration::Change;

/// What a setting shows after it was set so, or the error and its hint.
fn check(name: &str, value: &str) -> String {
    let mut settings = Settings::default();
    match settings.set(name, value) {
        Ok(()) => settings.show(name).expect("a setting"),
        Err(error) => {
            let hint = error.hint.map_or(String::new(), |hint| format!(" | {hint}"));
            format!("{} {}{hint}", error.state.0, error.message)
        }
    }
}

#[test]
fn values_are_read_and_shown_as_postgresql_does() {
    let cases = [
        ("statement_timeout", "1500", "1500ms"),
        ("statement_timeout", "90s", "90s"),
        ("statement_timeout", "2min", "2min"),
        ("statement_timeout", "1.5s", "1500ms"),
        ("statement_timeout", "0", "0"),
        (
            "statement_timeout",
            "-1",
            "22023 -1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647)",
        ),
        (
            "statement_timeout",
            "3 parsecs",
            "22023 invalid value for parameter \"statement_timeout\": \"3 parsecs\" | Valid units for \
             this parameter are \"ms\", \"s\", \"min\", \"h\", and \"d\".",
        ),
        ("work_mem", "4096", "4MB"),
        ("work_mem", "64kB", "64kB"),
        ("work_mem", "1.5 MiB", "1536kB"),
        ("work_mem", "0", "0"),
        (
            "work_mem",
            "1kB",
            "22023 1 kB is outside the valid range for parameter \"work_mem\" (64 .. 9223372036854775807)",
        ),
        ("enable_seqscan", "OF", "off"),
        ("enable_seqscan", "t", "on"),
        ("enable_seqscan", "o", "22023 parameter \"enable_seqscan\" requires a Boolean value"),
        ("execution_mode", "SERIAL", "serial"),
        (
            "execution_mode",
            "sideways",
            "22023 invalid value for parameter \"execution_mode\": \"sideways\" | Available values: \
             serial, static, ooo.",
        ),
        ("max_tasks", "x", "22023 invalid value for parameter \"max_tasks\": \"x\""),
        ("client_encoding", "'utf-8'", "UTF8"),
        (
            "client_encoding",
            "latin1",
            "22023 invalid value for parameter \"client_encoding\": \"latin1\" | Dovetail has only UTF8.",
        ),
        ("datestyle", "ISO, DMY", "ISO, MDY"),
        ("server_version", "9", "55P02 parameter \"server_version\" cannot be changed"),
        (
            "max_connections",
            "9",
            "55P02 parameter \"max_connections\" cannot be changed without restarting the server",
        ),
        (
            "statment_timeout",
            "9",
            "42704 unrecognized configuration parameter \"statment_timeout\" | Perhaps you meant \
             \"statement_timeout\".",
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(check(name, value), expected, "{name} = {value}");
    }
}

#[test]
fn a_choice_with_on_and_off_takes_any_boolean() {
    for (value, expected) in [("0", "off"), ("TRUE", "on"), ("yes", "on"), ("Force", "force")] {
        assert_eq!(check("jit", value), expected, "{value}");
    }
    let refused = check("jit", "always");
    assert!(refused.ends_with("| Available values: off, on, force."), "{refused}");
}

fn given(pairs: &[(&str, &str, Origin)]) -> Configuration {
    let mut configuration = Configuration::default();
    for (name, value, origin) in pairs {
        configuration.give(name, value, origin.clone()).expect("a value");
    }
    configuration
}

#[test]
fn the_stronger_origin_wins_and_reset_goes_back_to_it() {
    let file = || Origin::File("f.toml".into(), 1);
    let configuration = Arc::new(given(&[
        ("statement_timeout", "1s", Origin::Flag),
        ("statement_timeout", "2s", file()),
        ("lock_timeout", "3s", file()),
        ("lock_timeout", "4s", Origin::Environment),
    ]));
    let mut settings = Settings::of(&configuration);
    assert_eq!(settings.show("statement_timeout").as_deref(), Ok("1s"));
    assert_eq!(settings.lock_timeout_ms, 4_000);
    settings.set("lock_timeout", "5s").expect("a value");
    settings.set_at_start("statement_timeout", "7s").expect("a value");
    settings.set("statement_timeout", "6s").expect("a value");
    settings.reset("all").expect("reset");
    assert_eq!(settings.lock_timeout_ms, 4_000);
    assert_eq!(settings.statement_timeout_ms, 7_000);
}

#[test]
fn sessions_follow_a_reload_where_they_set_nothing() {
    let old = Arc::new(given(&[("max_connections", "5", Origin::Flag)]));
    let mut settings = Settings::of(&old);
    settings.set("lock_timeout", "1s").expect("a value");
    let new = given(&[
        ("max_connections", "6", Origin::Flag),
        ("lock_timeout", "2s", Origin::Flag),
        ("statement_timeout", "2s", Origin::Flag),
    ]);
    let (new, changes) = old.reloaded(&new);
    let change =
        |name, value: &str, needs_restart| Change { name, value: value.to_owned(), needs_restart };
    let expected = [
        change("max_connections", "6", true),
        change("lock_timeout", "2s", false),
        change("statement_timeout", "2s", false),
    ];
    assert_eq!(changes, expected);
    settings.follow(&Arc::new(new));
    assert_eq!(settings.show("max_connections").as_deref(), Ok("5"));
    assert!(settings.waits_for_restart(Setting::find("max_connections").expect("a setting")));
    assert_eq!((settings.lock_timeout_ms, settings.statement_timeout_ms), (1_000, 2_000));
    settings.reset("lock_timeout").expect("reset");
    assert_eq!(settings.lock_timeout_ms, 2_000);
}

#[test]
fn definitions_are_sound() {
    for setting in Setting::all() {
        let default = setting.default().plain();
        assert!(setting.description.ends_with('.'), "{}", setting.name);
        assert!(setting.parse(&default).is_ok(), "{} = {default}", setting.name);
        let alike = Setting::all().filter(|s| s.name.eq_ignore_ascii_case(setting.name)).count();
        assert_eq!(alike, 1, "{}", setting.name);
    }
}

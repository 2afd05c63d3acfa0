//! The documentation of the settings, made from their definitions.

use super::setting::{Context, Kind, Setting, Unset};

const HEAD: &str = "# Settings

Made from the definitions in `crates/engine/src/settings` by \
`UPDATE_DOCS=1 cargo test --workspace --test reference`.

## Where a value comes from

Of two that give a setting a value, the later wins:

1. the configuration file: `dovetail serve --config FILE`, in TOML: `statement_timeout = \"30s\"`;
2. the environment: `DOVETAIL_STATEMENT_TIMEOUT=30s`;
3. a flag: `--statement-timeout 30s`;
4. the client when it connects: a parameter of the start-up message, or `PGOPTIONS=\"-c statement_timeout=30s\"`;
5. `SET statement_timeout = '30s'`, for the rest of the session; `RESET` goes back.

An unknown name is an error that names the nearest one.
Variables that Kubernetes sets for a service (`DOVETAIL_SERVICE_..`, `DOVETAIL_PORT..`) are passed over.

A time without a unit counts what the column *value* names; units are `ms`, `s`, `min`, `h` and `d`.
A size may have the units `B`, `kB`, `MB`, `GB` and `TB`, powers of 1024.
A list is an array in TOML, a flag that is repeated, or texts with commas between them.

## When it holds

| changed by | what it means |
|---|---|
| restart | only the start of the server reads it |
| SIGHUP | the server reads its configuration file anew; its log says what has changed and what waits for a restart |
| `SET` | each session for itself; SIGHUP changes it for sessions that have not set it |

`SHOW ALL` and `pg_settings` show all of them, `pg_settings.source` where a value comes from and \
`pending_restart` what waits for a restart.
";

/// `docs/settings.md`.
pub fn settings_markdown() -> String {
    let mut text = HEAD.to_owned();
    let mut categories: Vec<&str> = vec![];
    for setting in Setting::all() {
        if !categories.contains(&setting.category) {
            categories.push(setting.category);
        }
    }
    for category in categories {
        text += &format!("\n## {category}\n\n| name | value | default | changed by | what |\n");
        text += "|---|---|---|---|---|\n";
        Setting::all().filter(|s| s.category == category).for_each(|s| text += &row(s));
    }
    text
}

fn row(setting: &Setting) -> String {
    let value = match setting.kind {
        Kind::Bool => "`on`, `off`".to_owned(),
        Kind::Integer { min, max } if min == max => format!("{min}"),
        Kind::Integer { min, max } => format!("{min} to {max}"),
        Kind::Time { unit, .. } => format!("time ({unit})"),
        Kind::Size { unit, .. } => format!("size ({unit})"),
        Kind::Choice(choices) => {
            let quoted: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            quoted.join(", ")
        }
        Kind::Text | Kind::Zone => "text".to_owned(),
        Kind::Device => "`auto`, `probe`, figures".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::List => "list".to_owned(),
    };
    let default = match setting.unset {
        Unset::Cores => "one for each core".to_owned(),
        Unset::Is("") => "none".to_owned(),
        Unset::Is(text) => format!("`{text}`"),
    };
    let changed = match setting.context {
        Context::Internal => "nothing",
        Context::Start => "restart",
        Context::Reload => "SIGHUP",
        Context::Session => "`SET`",
    };
    let (name, about) = (setting.name, setting.description);
    format!("| `{name}` | {value} | {default} | {changed} | {about} |\n")
}

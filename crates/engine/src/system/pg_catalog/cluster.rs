//! Schemas, databases, settings, functions.

use sql::SystemValue;
use types::SqlResult;

use crate::settings::SETTINGS;
use crate::system::objects::{DATABASE, NAMESPACES, OWNER, PUBLIC};
use crate::system::rows::Rows;
use crate::system::{View, builtin, functions};

/// `pg_encoding`'s number of UTF-8.
const UTF8: i64 = 6;
/// The default tablespace.
const TABLESPACE: i64 = 1663;

pub(super) fn pg_namespace(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let public = &view.snapshot.access.schema;
    for (oid, name) in NAMESPACES {
        let (owner, acl) = match oid {
            PUBLIC => (i64::from(public.owner), view.acl_items(public)),
            _ => (OWNER, SystemValue::Null),
        };
        rows.push([
            ("oid", oid.into()),
            ("nspname", name.into()),
            ("nspowner", owner.into()),
            ("nspacl", acl),
        ]);
    }
    Ok(())
}

pub(super) fn pg_database(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let acl = &view.snapshot.access.database;
    rows.push([
        ("oid", DATABASE.into()),
        ("datname", view.session.database.as_str().into()),
        ("datdba", i64::from(acl.owner).into()),
        ("datacl", view.acl_items(acl)),
        ("encoding", UTF8.into()),
        ("datlocprovider", "c".into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", TABLESPACE.into()),
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
    ]);
    Ok(())
}

pub(super) fn pg_settings(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for setting in SETTINGS {
        let value = view.settings.show(setting.name)?;
        let default = crate::settings::Settings::default().show(setting.name)?;
        push_setting(rows, setting.name, setting.description, ("user", &value, &default));
    }
    for (name, value, description) in functions::PRESETS {
        push_setting(rows, name, description, ("internal", value, value));
    }
    Ok(())
}

fn push_setting(
    rows: &mut Rows,
    name: &str,
    about: &str,
    (context, value, default): (&str, &str, &str),
) {
    let kind = match value {
        "on" | "off" => "bool",
        v if v.parse::<i64>().is_ok() => "integer",
        _ => "string",
    };
    rows.push([
        ("name", name.into()),
        ("setting", value.into()),
        ("category", "Dovetail".into()),
        ("short_desc", about.into()),
        ("context", context.into()),
        ("vartype", kind.into()),
        ("source", if value == default { "default" } else { "session" }.into()),
        ("boot_val", default.into()),
        ("reset_val", default.into()),
        ("pending_restart", false.into()),
    ]);
}

/// PostgreSQL's functions, as far as the engine has one of that name.
pub(super) fn pg_proc(_view: &View, rows: &mut Rows) -> SqlResult<()> {
    let name = rows.relation.ordinal("proname").unwrap_or_default();
    for row in builtin::rows(rows.relation) {
        let known = row[name].text().is_some_and(|n| sql::has_function(n) || functions::exists(n));
        if known {
            rows.push_row(row);
        }
    }
    Ok(())
}

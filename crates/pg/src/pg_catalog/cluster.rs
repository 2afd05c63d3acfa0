//! Schemas, databases, settings, functions.

use engine::{Kind, Origin, Setting};
use plan::catalog::TableStorage;
use sql::SystemValue;
use types::SqlResult;

use crate::objects::{DATABASE, NAMESPACES, OWNER, PUBLIC};
use crate::rows::Rows;
use crate::view::View;
use crate::{builtin, functions};

/// `pg_encoding`'s number of UTF-8.
const UTF8: i64 = 6;
/// The access method of column tables: below what PostgreSQL gives to users, and above its own.
pub(super) const COLUMN_METHOD: i64 = 9_101;
/// The default tablespace.
const TABLESPACE: i64 = 1663;

pub(super) fn pg_namespace(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let public = view.public_schema();
    for (oid, name) in NAMESPACES {
        let (owner, acl) = match oid {
            PUBLIC => (i64::from(public.owner), view.items(&public)),
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
    let acl = &view.access().database;
    rows.push([
        ("oid", DATABASE.into()),
        ("datname", view.database().into()),
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

/// PostgreSQL's access methods that are here, and that of tables which are kept by columns.
pub(super) fn pg_am(_view: &View, rows: &mut Rows) -> SqlResult<()> {
    builtin::rows(rows.relation).into_iter().for_each(|row| rows.push_row(row));
    rows.push([
        ("oid", COLUMN_METHOD.into()),
        ("amname", TableStorage::Column.access_method().into()),
        ("amtype", "t".into()),
    ]);
    Ok(())
}

pub(super) fn pg_settings(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for setting in Setting::sorted().into_iter().filter(|setting| view.examine(setting).is_ok()) {
        push_setting(view, rows, setting);
    }
    Ok(())
}

fn push_setting(view: &View, rows: &mut Rows, setting: &'static Setting) {
    let settings = &view.settings();
    let (vartype, unit, min, max, choices) = described(setting.kind);
    let origin = settings.origin(setting);
    // As in PostgreSQL, where the file is concerns those who may read all settings only.
    let place = match &origin {
        Origin::File(path, line) if view.access().is_superuser(view.role()) => {
            (path.display().to_string().into(), (*line as i64).into())
        }
        _ => (SystemValue::Null, SystemValue::Null),
    };
    let optional = |text: Option<String>| text.map_or(SystemValue::Null, SystemValue::from);
    rows.push([
        ("name", setting.name.into()),
        ("setting", settings.plain(setting).into()),
        ("unit", optional(unit.map(str::to_owned))),
        ("category", setting.category.into()),
        ("short_desc", setting.description.into()),
        ("context", setting.context.name().into()),
        ("vartype", vartype.into()),
        ("source", origin.name().into()),
        ("min_val", optional(min.map(|min| min.to_string()))),
        ("max_val", optional(max.map(|max| max.to_string()))),
        ("enumvals", choices),
        ("boot_val", setting.default().plain().into()),
        ("reset_val", settings.reset_value(setting).plain().into()),
        ("sourcefile", place.0),
        ("sourceline", place.1),
        ("pending_restart", settings.waits_for_restart(setting).into()),
    ]);
}

/// Type, unit, least and largest value, and choices of a kind.
fn described(
    kind: Kind,
) -> (&'static str, Option<&'static str>, Option<i64>, Option<i64>, SystemValue) {
    let none = SystemValue::Null;
    match kind {
        Kind::Bool => ("bool", None, None, None, none),
        Kind::Integer { min, max } => ("integer", None, Some(min), Some(max), none),
        Kind::Time { unit, min, max } => ("integer", Some(unit), Some(min), Some(max), none),
        Kind::Size { unit, min, zero } => {
            let min = if zero { 0 } else { min };
            ("integer", Some(unit), Some(min), Some(i64::MAX), none)
        }
        Kind::Choice(choices) => {
            let choices = choices.iter().map(|choice| SystemValue::from(*choice)).collect();
            ("enum", None, None, None, SystemValue::List(choices))
        }
        Kind::Text | Kind::Zone | Kind::Device | Kind::Path | Kind::List => {
            ("string", None, None, None, none)
        }
    }
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

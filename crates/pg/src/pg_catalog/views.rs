//! The views of `pg_catalog` for people, and statistics.

use types::SqlResult;

use crate::objects::{DATABASE, OWNER, Object, indexes, table_oid};
use crate::relation;
use crate::rows::Rows;
use crate::view::View;

pub(super) fn pg_tables(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        let owner = view.owner(&Object::Table(table));
        let names = ["public", &table.name, view.role_name(owner)];
        push_table(rows, names, !indexes(table).is_empty());
    }
    for system in relation::all().filter(|r| r.kind == "r") {
        push_table(rows, [system.schema, system.name, view.role_name(OWNER)], false);
    }
    Ok(())
}

fn push_table(rows: &mut Rows, [schema, name, owner]: [&str; 3], has_indexes: bool) {
    rows.push([
        ("schemaname", schema.into()),
        ("tablename", name.into()),
        ("tableowner", owner.into()),
        ("hasindexes", has_indexes.into()),
        ("hasrules", false.into()),
        ("hastriggers", false.into()),
        ("rowsecurity", false.into()),
    ]);
}

pub(super) fn pg_views(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (_, def) in view.user_views() {
        rows.push([
            ("schemaname", "public".into()),
            ("viewname", def.name.as_str().into()),
            ("viewowner", view.user().into()),
            ("definition", view.view_text(def, false).into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_indexes(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        for index in indexes(table) {
            rows.push([
                ("schemaname", "public".into()),
                ("tablename", table.name.as_str().into()),
                ("indexname", index.name.as_str().into()),
                ("indexdef", index.definition(table, true).into()),
            ]);
        }
    }
    Ok(())
}

/// What is known of tables; what is not counted is null, where PostgreSQL has a counter.
pub(super) fn pg_stat_tables(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        rows.push([
            ("relid", table_oid(table).into()),
            ("schemaname", "public".into()),
            ("relname", table.name.as_str().into()),
            ("n_live_tup", (view.counts(table).row_count as i64).into()),
            ("n_dead_tup", 0.into()),
        ]);
    }
    Ok(())
}

pub(super) fn pg_stat_indexes(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for table in view.tables() {
        for index in indexes(table) {
            rows.push([
                ("relid", table_oid(table).into()),
                ("indexrelid", index.oid.into()),
                ("schemaname", "public".into()),
                ("relname", table.name.as_str().into()),
                ("indexrelname", index.name.as_str().into()),
            ]);
        }
    }
    Ok(())
}

pub(super) fn pg_stat_database(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let totals = &view.activities().totals.transactions;
    let count = |count: u64| (count as i64).into();
    rows.push([
        ("datid", DATABASE.into()),
        ("datname", view.database().into()),
        ("numbackends", (view.activities().sessions().len() as i64).into()),
        ("xact_commit", count(totals.commits())),
        ("xact_rollback", count(totals.rollbacks())),
        ("conflicts", count(totals.conflicts())),
        ("deadlocks", count(totals.deadlocks())),
    ]);
    Ok(())
}

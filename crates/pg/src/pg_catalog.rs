//! The relations of `pg_catalog`.

mod activity;
mod classes;
mod cluster;
pub(crate) mod comments;
mod dependencies;
mod replication;
mod roles;
mod sequences;
mod statistics;
mod views;

use types::SqlResult;

use crate::builtin;
use crate::rows::Rows;
use crate::view::View;

type Fill = fn(&View, &mut Rows) -> SqlResult<()>;

/// The relations that depend on the database or the session.
const FILLED: &[(&str, Fill)] = &[
    ("pg_class", classes::pg_class),
    ("pg_attribute", classes::pg_attribute),
    ("pg_index", classes::pg_index),
    ("pg_constraint", classes::pg_constraint),
    ("pg_attrdef", classes::pg_attrdef),
    ("pg_sequence", sequences::pg_sequence),
    ("pg_sequences", sequences::pg_sequences),
    ("pg_am", cluster::pg_am),
    ("pg_depend", dependencies::pg_depend),
    ("pg_rewrite", dependencies::pg_rewrite),
    ("pg_type", classes::pg_type),
    ("pg_description", comments::pg_description),
    ("pg_shdescription", comments::pg_shdescription),
    ("pg_namespace", cluster::pg_namespace),
    ("pg_database", cluster::pg_database),
    ("pg_auth_members", roles::pg_auth_members),
    ("pg_authid", roles::roles),
    ("pg_group", roles::pg_group),
    ("pg_roles", roles::roles),
    ("pg_user", roles::pg_user),
    ("pg_shadow", roles::pg_user),
    ("pg_settings", cluster::pg_settings),
    ("pg_proc", cluster::pg_proc),
    ("pg_tables", views::pg_tables),
    ("pg_views", views::pg_views),
    ("pg_indexes", views::pg_indexes),
    ("pg_stat_user_tables", views::pg_stat_tables),
    ("pg_stat_all_tables", views::pg_stat_tables),
    ("pg_stat_user_indexes", views::pg_stat_indexes),
    ("pg_stat_all_indexes", views::pg_stat_indexes),
    ("pg_stat_database", views::pg_stat_database),
    ("pg_stat_activity", activity::pg_stat_activity),
    ("pg_stat_statements", statistics::pg_stat_statements),
    ("pg_stat_statements_info", statistics::pg_stat_statements_info),
    ("pg_locks", activity::pg_locks),
    ("pg_stat_replication", replication::pg_stat_replication),
    ("pg_stat_wal_receiver", replication::pg_stat_wal_receiver),
    ("pg_cursors", activity::pg_cursors),
    ("pg_prepared_statements", activity::pg_prepared_statements),
    ("dovetail_queries", activity::dovetail_queries),
    ("dovetail_tasks", activity::dovetail_tasks),
    ("dovetail_io", activity::dovetail_io),
    ("dovetail_portions", activity::dovetail_portions),
];

/// Whether a relation ever has rows.
pub(crate) fn has_rows(name: &str) -> bool {
    builtin::has(name) || FILLED.iter().any(|(n, _)| *n == name)
}

/// Makes the rows.
pub(crate) fn fill(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let name = rows.relation.name;
    match FILLED.iter().find(|(n, _)| *n == name) {
        Some((_, fill)) => fill(view, rows),
        None => {
            builtin::rows(rows.relation).into_iter().for_each(|row| rows.push_row(row));
            Ok(())
        }
    }
}

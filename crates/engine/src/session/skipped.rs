//! What a statement skips because it is there, or is not.

use sql::parse::{Alteration, DropObject, RelationName, Statement};
use types::{SqlError, SqlState};

use crate::catalog::snapshot::Snapshot;
use crate::notice::Notice;

/// What a statement leaves undone because of its `IF EXISTS` or `IF NOT EXISTS`.
pub(crate) fn skipped(snapshot: &Snapshot, statement: &Statement) -> Vec<Notice> {
    let there = |name: &str| {
        let message = format!("relation \"{name}\" already exists, skipping");
        let message = SqlError::new(SqlState::DUPLICATE_TABLE, message);
        vec![Notice { severity: "NOTICE", message }]
    };
    match statement {
        Statement::CreateTable(c) if c.if_not_exists && snapshot.has_relation(&c.name) => {
            there(&c.name)
        }
        Statement::CreateIndex(c) if c.if_not_exists => match &c.name {
            Some(name) if snapshot.has_relation(name) => there(name),
            _ => vec![],
        },
        Statement::CreateSequence(c) if c.if_not_exists && snapshot.has_relation(&c.name) => {
            there(&c.name)
        }
        Statement::AlterSequence(a) if a.if_exists && !snapshot.has_relation(&a.name) => {
            let message = format!("relation \"{}\" does not exist, skipping", a.name);
            vec![Notice::information(message)]
        }
        Statement::Drop(drop) if drop.if_exists => {
            let kind = match drop.object {
                DropObject::Table => "table",
                DropObject::Index => "index",
                DropObject::View => "view",
                DropObject::Sequence => "sequence",
            };
            let missing = |name: &&RelationName| !snapshot.has_relation(name);
            let notice = |name: &RelationName| {
                Notice::information(format!("{kind} \"{name}\" does not exist, skipping"))
            };
            drop.names.iter().filter(missing).map(notice).collect()
        }
        Statement::AlterTable(alter) => match snapshot.table(&alter.table) {
            Err(_) if alter.if_exists => {
                let name = &alter.table;
                let message = format!("relation \"{name}\" does not exist, skipping");
                vec![Notice::information(message)]
            }
            Err(_) => vec![],
            Ok(entry) => {
                let has = |name: &str| entry.def.schema.ordinal(name).is_some();
                let notice = |a: &Alteration| skipped_column(a, &alter.table, &has);
                alter.alterations.iter().filter_map(notice).collect()
            }
        },
        _ => vec![],
    }
}

pub(crate) fn skipped_column(
    alteration: &Alteration,
    table: &str,
    has: &dyn Fn(&str) -> bool,
) -> Option<Notice> {
    match alteration {
        Alteration::AddColumn { column, if_not_exists: true } if has(&column.column.name) => {
            let name = &column.column.name;
            let message =
                format!("column \"{name}\" of relation \"{table}\" already exists, skipping");
            let message = SqlError::new(SqlState::DUPLICATE_COLUMN, message);
            Some(Notice { severity: "NOTICE", message })
        }
        Alteration::DropColumn { name, if_exists: true, .. } if !has(name) => {
            Some(Notice::information(format!(
                "column \"{name}\" of relation \"{table}\" does not exist, skipping"
            )))
        }
        _ => None,
    }
}

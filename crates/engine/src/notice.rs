//! What a statement tells its client besides the result.

use sql::parse::{Alteration, DropObject, Statement};
use types::{SqlError, SqlState};

use crate::catalog::snapshot::Snapshot;

/// A message that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE` or `WARNING`.
    pub severity: &'static str,
    /// What it says.
    pub message: SqlError,
}

impl Notice {
    /// Something that went as asked, but perhaps not as meant.
    pub fn information(message: impl Into<String>) -> Notice {
        Notice { severity: "NOTICE", message: SqlError::new(SqlState("00000"), message) }
    }

    /// Something that was not done.
    pub fn warning(message: impl Into<String>) -> Notice {
        Notice::warning_of(SqlState("01000"), message)
    }

    /// A warning of a kind of its own.
    pub fn warning_of(state: SqlState, message: impl Into<String>) -> Notice {
        Notice { severity: "WARNING", message: SqlError::new(state, message) }
    }

    /// Whether a client is told that wants nothing less severe than `least`.
    pub(crate) fn reaches(&self, least: &str) -> bool {
        match least.to_ascii_lowercase().as_str() {
            "error" | "fatal" | "panic" => false,
            "warning" => self.severity == "WARNING",
            _ => true,
        }
    }
}

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
        Statement::CreateIndex(c) if c.if_not_exists && snapshot.has_relation(&c.name) => {
            there(&c.name)
        }
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
            let missing = |name: &&String| !snapshot.has_relation(name);
            let notice = |name: &String| {
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

fn skipped_column(
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

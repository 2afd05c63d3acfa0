//! Names that relations cannot have: those of the system catalog, which every lookup finds first. A
//! relation of such a name could be made and not be found, or be taken for the catalog's own.

use sql::parse::{Alteration, SequenceChange, Statement};
use types::{SqlError, SqlResult, SqlState};

use crate::system::schemas::{SystemSchemas, is_system_relation};

/// 42939 for a statement that gives a relation a name of the system catalog.
pub(crate) fn check(system: &dyn SystemSchemas, statement: &Statement) -> SqlResult<()> {
    match given(statement) {
        Some(name) if is_system_relation(system, name) => {
            let message = format!("unacceptable relation name \"{name}\"");
            Err(SqlError::new(SqlState("42939"), message)
                .with_detail(
                    "The system catalog has a relation of this name, which is found first.",
                )
                .with_hint("Use another name."))
        }
        _ => Ok(()),
    }
}

/// The name that a statement gives.
fn given(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::CreateTable(create) => Some(&create.name),
        Statement::CreateView(create) => Some(&create.view.name),
        Statement::CreateIndex(create) => create.name.as_deref(),
        Statement::Rename(rename) => Some(&rename.new),
        Statement::CreateSequence(create) => Some(&create.name),
        Statement::AlterSequence(alter) => match &alter.change {
            SequenceChange::Rename(name) => Some(name),
            SequenceChange::Options(_) => None,
        },
        Statement::AlterTable(alter) => alter.alterations.iter().find_map(|a| match a {
            Alteration::Rename { new } | Alteration::RenameIndex { new, .. } => Some(new.as_str()),
            _ => None,
        }),
        _ => None,
    }
}

//! `ALTER .. RENAME TO`, of whatever kind the relation is, and statements about kinds of objects
//! that there are none of.

use runtime::sync::Cancel;
use sql::parse::{
    AlterSequence, AlterTable, Alteration, Nominal, RelationName, RenameRelation, Renamed,
    SequenceChange, Statement,
};
use types::{SqlError, SqlResult, SqlState};

use super::client::Client;
use super::state::Session;
use crate::catalog::snapshot::Snapshot;
use crate::comments::kept::table_of_index;
use crate::notice::Notice;
use crate::result::{StatementResult, tag};

impl Session {
    /// Gives a relation another name.
    ///
    /// # Errors
    /// 42P01 for one that is not there, 42809 for one of another kind, and those of the change.
    pub(super) async fn rename(
        &mut self,
        rename: RenameRelation,
        client: Client,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        let answer = rename_tag(rename.kind);
        let statement = renaming(&self.db.newest(), rename)?;
        let done = match statement {
            Statement::Rename(view) => Box::pin(self.write(Statement::Rename(view))).await,
            other => Box::pin(self.dispatch(other, client, cancel)).await,
        };
        done.map(|_| tag(answer))
    }

    /// Tells what a statement does not find.
    ///
    /// # Errors
    /// 42P01 and 42704 unless it says that this is none.
    pub(super) fn nominal(&mut self, nominal: Nominal) -> SqlResult<StatementResult> {
        let notice = |message| Notice { severity: "NOTICE", message };
        self.notices.extend(nominal.notices.into_iter().map(notice));
        if let Some(of) = nominal.of {
            let missing = match self.db.newest().has_relation(&of.relation) {
                true => of.missing,
                false => not_there(&of.relation),
            };
            if !of.if_exists {
                return Err(missing);
            }
            self.notices.push(Notice::information(format!("{}, skipping", missing.message)));
        }
        Ok(tag(&nominal.tag))
    }
}

/// The tag of a statement that renames such an object.
pub(super) fn rename_tag(kind: Renamed) -> &'static str {
    match kind {
        Renamed::Table => "ALTER TABLE",
        Renamed::View => "ALTER VIEW",
        Renamed::Index => "ALTER INDEX",
    }
}

fn not_there(name: &RelationName) -> SqlError {
    let message = format!("relation \"{}\" does not exist", name.whole());
    SqlError::new(SqlState::UNDEFINED_TABLE, message)
}

/// The statement that renames a relation of its kind; of a view it is the same.
fn renaming(snapshot: &Snapshot, rename: RenameRelation) -> SqlResult<Statement> {
    let RenameRelation { kind, relation, if_exists, new } = &rename;
    let wrong = |wanted: &str| {
        let message = format!("\"{relation}\" is not {wanted}");
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
    };
    let altered = |table: RelationName, change| {
        let (if_exists, alterations) = (*if_exists, vec![change]);
        Statement::AlterTable(AlterTable { table, if_exists, alterations })
    };
    if snapshot.views.contains_key(&relation.name) {
        return Ok(Statement::Rename(rename));
    }
    if let Some(table) = table_of_index(snapshot, relation) {
        let table = RelationName { name: table.to_owned(), ..relation.clone() };
        let change = Alteration::RenameIndex { old: relation.name.clone(), new: new.clone() };
        return match kind {
            Renamed::View => wrong("a view"),
            Renamed::Table | Renamed::Index => Ok(altered(table, change)),
        };
    }
    if snapshot.has_sequence(relation) {
        let change = SequenceChange::Rename(new.clone());
        let (name, if_exists) = (relation.clone(), *if_exists);
        return match kind {
            Renamed::View => wrong("a view"),
            Renamed::Index => wrong("an index"),
            Renamed::Table => {
                Ok(Statement::AlterSequence(AlterSequence { name, if_exists, change }))
            }
        };
    }
    match kind {
        Renamed::View if snapshot.tables.contains_key(relation) => wrong("a view"),
        _ => Ok(altered(relation.clone(), Alteration::Rename { new: new.clone() })),
    }
}

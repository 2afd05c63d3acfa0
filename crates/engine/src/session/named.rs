//! The relations that a statement names to change them: in which schema they are, and that they are
//! there.
//!
//! Names in the catalog have no schema. A temporary table stands in front of the one of `public`
//! there, so a statement that says `public.t` sees a catalog in which the temporary `t` is left
//! aside.

use std::collections::BTreeSet;

use sql::catalog::missing::other_database;
use sql::parse::{DropObject, RelationName, RoleStatement, Statement};
use types::{SqlError, SqlResult, SqlState};

use super::renamed::rename_tag;
use super::state::Session;
use crate::catalog::snapshot::Snapshot;
use crate::notice::Notice;
use crate::result::{StatementResult, tag};

impl Session {
    /// Sees to it that what follows means the relations that a statement names; what a statement
    /// does that skips all of them.
    ///
    /// # Errors
    /// 42P01 and 3F000 for what is not there; 0A000 for a name with another database.
    pub(super) fn find_named(
        &mut self,
        statement: &mut Statement,
    ) -> SqlResult<Option<StatementResult>> {
        self.mean(statement);
        if let Some(made) = statement.makes() {
            self.check_made(made)?;
        }
        let relations = statement.relations();
        if relations.iter().all(|relation| relation.schema.is_none())
            && self.settings.finds_public()
        {
            return Ok(None);
        }
        let snapshot = self.db.newest();
        let missing = |relation: &RelationName| self.missing(&snapshot, statement, relation);
        let found: Vec<_> = relations.into_iter().map(|r| (r.clone(), missing(r))).collect();
        let skips = skips(statement);
        for (_, found) in &found {
            match found {
                Some(error) if !skips || !is_absence(error) => {
                    return Err(error.clone());
                }
                Some(error) => {
                    let message = format!("{}, skipping", error.message);
                    self.notices.push(Notice::information(message));
                }
                None => {}
            }
        }
        let left: Vec<_> = found.into_iter().filter(|(_, error)| error.is_none()).collect();
        let is_skipped = skips && left.is_empty();
        if let Statement::Drop(drop) = statement {
            drop.names = left.into_iter().map(|(name, _)| name).collect();
        }
        Ok(is_skipped.then(|| tag(skipped_tag(statement))))
    }

    /// Leaves those temporary tables aside that are not meant by the names of a statement.
    pub(super) fn mean(&self, statement: &Statement) {
        let of_public = |relation: &&RelationName| relation.schema.as_deref() == Some("public");
        // New objects that are no temporary tables are made in `public`.
        let named = statement.relations().into_iter().filter(of_public).chain(statement.makes());
        let names: BTreeSet<String> = named.map(|relation| relation.name.clone()).collect();
        self.mean_names(!names.is_empty(), names);
    }

    /// Leaves those temporary tables aside, if any, that hide what these names mean in `public`.
    pub(crate) fn mean_names(&self, are_public: bool, names: BTreeSet<String>) {
        // Objects hidden by them are seen with all temporary tables.
        self.db.leave_aside(BTreeSet::new());
        if !are_public {
            return;
        }
        let snapshot = self.db.newest();
        let hides = |name: &String| Some(snapshot.temporary_of(name)?.def.name.clone());
        self.db.leave_aside(names.iter().filter_map(hides).collect());
    }

    /// True if the names of a statement mean what they mean to everybody.
    pub(super) fn means_by_name(&self, statement: &Statement) -> bool {
        let is_plain = |relation: &&RelationName| {
            let database = relation.database.as_ref();
            match relation.schema.as_deref() {
                None => self.settings.finds_public(),
                Some("public") if database.is_none_or(|name| *name == self.info.database) => {
                    self.db.newest().temporary_of(relation).is_none()
                }
                Some(_) => false,
            }
        };
        statement.relations().iter().all(is_plain)
    }

    fn check_made(&self, made: &RelationName) -> SqlResult<()> {
        self.check_database(made)?;
        match made.schema.as_deref() {
            None if !self.settings.finds_public() => {
                let message = "no schema has been selected to create in";
                Err(SqlError::new(SqlState("3F000"), message))
            }
            None | Some("public") => Ok(()),
            Some(schema) if is_of_system(schema) => {
                let message = format!("permission denied to create \"{}\"", made.whole());
                Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                    .with_detail("System catalog modifications are currently disallowed."))
            }
            Some(schema) => Err(no_schema(schema)),
        }
    }

    fn check_database(&self, relation: &RelationName) -> SqlResult<()> {
        match relation.database.as_ref().is_none_or(|name| *name == self.info.database) {
            true => Ok(()),
            false => Err(other_database(&relation.whole())),
        }
    }

    /// Why a relation is not there, as far as its schema says.
    fn missing(
        &self,
        snapshot: &Snapshot,
        statement: &Statement,
        relation: &RelationName,
    ) -> Option<SqlError> {
        if let Err(error) = self.check_database(relation) {
            return Some(error);
        }
        let is_temporary = || snapshot.temporary_of(relation).is_some();
        let is_there = match relation.schema.as_deref() {
            None => self.settings.finds_public() || is_temporary(),
            Some("public") => true,
            Some(sql::parse::TEMPORARY_SCHEMA) => is_temporary(),
            Some(schema) if is_of_system(schema) => {
                let message =
                    format!("permission denied: \"{}\" is a system catalog", relation.name);
                return Some(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            // A statement that changes rows looks for a relation, the others for its schema first.
            Some(_) if statement.changes_rows() => false,
            Some(schema) => return Some(no_schema(schema)),
        };
        (!is_there).then(|| not_there(statement, &relation.whole()))
    }
}

fn is_absence(error: &SqlError) -> bool {
    let states = [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_OBJECT, SqlState("3F000")];
    states.contains(&error.state)
}

fn skipped_tag(statement: &Statement) -> &str {
    match statement {
        Statement::Drop(drop) => match drop.object {
            DropObject::Table => "DROP TABLE",
            DropObject::Index => "DROP INDEX",
            DropObject::View => "DROP VIEW",
            DropObject::Sequence => "DROP SEQUENCE",
        },
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::Rename(rename) => rename_tag(rename.kind),
        Statement::Nominal(nominal) => &nominal.tag,
        _ => "ALTER TABLE",
    }
}

fn is_of_system(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema")
}

fn no_schema(schema: &str) -> SqlError {
    SqlError::new(SqlState("3F000"), format!("schema \"{schema}\" does not exist"))
}

fn not_there(statement: &Statement, name: &str) -> SqlError {
    let kind = match statement {
        Statement::Drop(drop) => match drop.object {
            DropObject::Table => "table",
            DropObject::Index => "index",
            DropObject::View => "view",
            DropObject::Sequence => "sequence",
        },
        _ => "relation",
    };
    let state = match kind {
        "index" => SqlState::UNDEFINED_OBJECT,
        _ => SqlState::UNDEFINED_TABLE,
    };
    SqlError::new(state, format!("{kind} \"{name}\" does not exist"))
}

/// True if a statement skips what is not there.
fn skips(statement: &Statement) -> bool {
    match statement {
        Statement::Drop(drop) => drop.if_exists,
        Statement::AlterTable(alter) => alter.if_exists,
        Statement::AlterSequence(alter) => alter.if_exists,
        Statement::Rename(rename) => rename.if_exists,
        Statement::Nominal(nominal) => nominal.of.as_ref().is_some_and(|of| of.if_exists),
        Statement::Role(RoleStatement::Owner { if_exists, .. }) => *if_exists,
        _ => false,
    }
}

//! What a statement that changes definitions keeps from others: the tables that it touches, and those that
//! refer to them or to which they refer, from who changes their rows. What nobody else has it need not keep.
//! Some statements keep out everybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use plan::catalog::TableId;
use sql::parse::{AlterTable, Alteration, Drop, DropObject, RelationName, Statement};
use storage::TreeId;
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::{DEADLOCK, LockWait, WriteRight};
use txn::waiting::let_others;
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::{Numbered, Snapshot};
use crate::writing::Writing;

/// What a statement changes, besides what it makes.
struct Touched<'a> {
    tables: Vec<&'a str>,
    sequences: Vec<&'a str>,
    indexes: Vec<&'a str>,
    /// Tables that have columns before others that go: their sequences have other places then.
    moved: Option<&'a str>,
}

impl<'a> Touched<'a> {
    /// What a statement touches; `None` for one that has to write alone, whatever that is.
    fn by(statement: &'a Statement) -> Option<Touched<'a>> {
        let mut touched =
            Touched { tables: vec![], sequences: vec![], indexes: vec![], moved: None };
        match statement {
            Statement::CreateTable(create) if create.location.is_none() => {
                touched.tables = create.referenced_tables();
                touched.tables.retain(|name| *name != create.name.as_str());
            }
            // Of a view; of others it has become a statement that says what is renamed.
            Statement::CreateView(_)
            | Statement::CreateSequence(_)
            | Statement::Comment(_)
            | Statement::Rename(_) => {}
            Statement::CreateIndex(index) => touched.tables.push(&index.table),
            Statement::AlterTable(alter) => {
                touched.tables = alter.referenced_tables();
                touched.tables.push(&alter.table);
                touched.moved = drops_columns(alter).then_some(alter.table.as_str());
            }
            Statement::AlterSequence(alter) => touched.sequences.push(&alter.name),
            // With `CASCADE` it goes on from table to table.
            Statement::Truncate(truncate) if !truncate.cascade => {
                touched.add_tables(&truncate.tables);
            }
            // Statistics are made of a sample, beside whatever happens to the rows.
            Statement::Analyze { .. } => {}
            Statement::Vacuum(vacuum) => touched.add_tables(&vacuum.tables),
            Statement::Reorganize { table } => touched.tables.push(table),
            Statement::Drop(drop) => touched.add_dropped(drop),
            _ => return None,
        }
        Some(touched)
    }

    fn add_dropped(&mut self, drop: &'a Drop) {
        let names = match drop.object {
            DropObject::Table => &mut self.tables,
            DropObject::Index => &mut self.indexes,
            DropObject::Sequence => &mut self.sequences,
            DropObject::View => return,
        };
        names.extend(drop.names.iter().map(|name| name.as_str()));
    }

    /// The tables, and those of the indexes.
    fn tables_of(&self, snapshot: &Snapshot) -> Vec<TableId> {
        let tables = self.tables.iter().filter_map(|name| snapshot.tables.get(name));
        let of_indexes = self.indexes.iter().filter_map(|name| snapshot.index(name));
        tables.chain(of_indexes.map(|(entry, _)| entry)).map(|entry| entry.def.id).collect()
    }

    fn add_tables(&mut self, names: &'a [RelationName]) {
        self.tables.extend(names.iter().map(|name| name.as_str()));
    }
}

fn drops_columns(alter: &AlterTable) -> bool {
    alter.alterations.iter().any(|change| matches!(change, Alteration::DropColumn { .. }))
}

/// How often one that has locked nothing else tries to lock its tables, and lets others go first.
const KEEP_ATTEMPTS: u32 = 8;

/// What a statement keeps from others.
struct Kept {
    /// What it touches.
    tables: Vec<TableId>,
    /// The trees of these tables, and of those around them.
    trees: Vec<TreeId>,
}

impl Session {
    /// What a statement that changes definitions works with. It waits until no other one changes them, and
    /// no other one has changed rows of the tables that it touches; some wait until no other one writes.
    ///
    /// # Errors
    /// As [`crate::database::Database::writer`].
    pub(crate) async fn writing_definitions(
        &self,
        statement: &Statement,
    ) -> SqlResult<Writing<'_>> {
        let touched = Touched::by(statement);
        self.check_pending(statement, touched.as_ref()).await?;
        let kept = || touched.as_ref().and_then(|touched| self.kept(touched));
        if kept().is_none() {
            return self.writing_alone().await;
        }
        let wait = self.lock_wait();
        loop {
            let right = self.db.definer(&wait).await?;
            // Nobody else changes definitions from now on; those for which it has waited may have.
            let Some(kept) = kept() else {
                drop(right);
                return self.writing_alone().await;
            };
            match self.keep(kept, right.as_ref(), &wait).await {
                // Who stands in its way waits for its right: a statement by itself can give that back.
                Err(error) if right.is_some() && error.state == DEADLOCK => drop(right),
                kept => return kept.map(|()| Writing::new(self, wait, right)),
            }
            let_others(&wait.cancel).await?;
        }
    }

    /// Refuses to change definitions of tables that break a deferred constraint: what is noted of it is read
    /// by the definitions that were there. What has no such rows any more does not stand in the way. To check a
    /// database is refused as well, for such rows are no damage.
    ///
    /// # Errors
    /// 55006; 40P01, 55P03, 57014.
    async fn check_pending(
        &self,
        statement: &Statement,
        touched: Option<&Touched<'_>>,
    ) -> SqlResult<()> {
        let snapshot = self.db.newest();
        let tables: Vec<TableId> = touched.iter().flat_map(|t| t.tables_of(&snapshot)).collect();
        let checks = matches!(statement, Statement::CheckDatabase);
        let is_all = touched.is_none() && (checks || matches!(statement, Statement::Truncate(_)));
        let checked = self.check_doubts(&|doubt| is_all || tables.contains(&doubt.table)).await;
        checked.map_err(|error| match error.state {
            SqlState::UNIQUE_VIOLATION | SqlState::FOREIGN_KEY_VIOLATION => {
                let message = match checks {
                    true => "cannot check a database with pending checks of deferred constraints",
                    false => {
                        "cannot change a table that has pending checks of deferred constraints"
                    }
                };
                SqlError::new(SqlState::OBJECT_IN_USE, message).with_detail(error.message)
            }
            _ => error,
        })
    }

    /// Locks tables. What stands in a circle with others lets them go first, if it has nothing else.
    ///
    /// # Errors
    /// As [`WriteRight::lock`]; 40P01 when that does not end the circle: others wait for its right.
    async fn keep(&self, kept: Kept, right: Option<&WriteRight>, wait: &LockWait) -> SqlResult<()> {
        let right = match (right, self.db.block()) {
            (Some(right), _) => right.clone(),
            (None, Some(block)) => block.right()?,
            (None, None) => return Ok(()),
        };
        let is_free = right.count_locked() == 0;
        let whole = |tree: &TreeId| (LockKey::of_table(*tree), LockMode::Update);
        for attempt in 1.. {
            match right.lock(kept.trees.iter().map(whole).collect(), wait).await {
                Err(error) if is_free && error.state == DEADLOCK && attempt < KEEP_ATTEMPTS => {
                    right.let_go();
                }
                locked => {
                    locked.inspect_err(|_| {
                        if is_free {
                            right.let_go()
                        }
                    })?;
                    break;
                }
            }
            let_others(&wait.cancel).await?;
        }
        if let Some(block) = self.db.block() {
            block.note_kept(&kept.tables);
        }
        Ok(())
    }

    /// What a statement has to keep from others that touches this; `None` is everything. What is not there,
    /// nobody has.
    fn kept(&self, touched: &Touched<'_>) -> Option<Kept> {
        let snapshot = self.db.newest();
        let mut sequences = touched.sequences.iter();
        if !sequences.all(|name| self.has_sequence_alone(&snapshot, name)) {
            return None;
        }
        let moved = touched.moved.and_then(|name| snapshot.tables.get(name));
        let has_numbers = |entry: &Arc<TableEntry>| Numbered::of_table(&entry.def).next().is_some();
        if moved.is_some_and(|entry| !self.has_made(entry) && has_numbers(entry)) {
            return None;
        }
        let tables = touched.tables.iter().filter_map(|name| snapshot.tables.get(name));
        let of_indexes = touched.indexes.iter().filter_map(|name| snapshot.index(name));
        let tables: Vec<_> = tables.chain(of_indexes.map(|(entry, _)| entry)).collect();
        let around = tables.iter().flat_map(|entry| snapshot.around(entry));
        let mut kept: BTreeMap<_, _> = around.map(|entry| (entry.tree_id, entry)).collect();
        kept.retain(|_, entry| !self.has_made(entry));
        if kept.values().any(|entry| entry.lies_elsewhere()) {
            return None;
        }
        let tables = tables.iter().map(|entry| entry.def.id).collect();
        Some(Kept { tables, trees: kept.into_keys().collect() })
    }

    fn has_made(&self, entry: &TableEntry) -> bool {
        self.db.block().is_some_and(|block| block.has_made(entry.def.id.0))
    }

    fn has_sequence_alone(&self, snapshot: &Snapshot, name: &str) -> bool {
        match (snapshot.sequences.get(name), snapshot.numbered_column(name)) {
            (Some(def), _) => self.db.block().is_some_and(|block| block.has_made(def.id)),
            (None, Some((entry, _))) => self.db.has_table_alone(snapshot, entry),
            (None, None) => true,
        }
    }
}

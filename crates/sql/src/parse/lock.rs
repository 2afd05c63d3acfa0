//! `LOCK TABLE`, and rows that a query locks.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{self, LockTableMode, SetExpr, TableFactor};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::marks;
use crate::parse::object_name::{RelationName, identifier, relation};
use crate::parse::statement::kept::Kept;
use crate::parse::statement::query::Query;
use crate::walk::Walk;

/// What a query that locks rows does when it cannot have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLocks {
    /// It waits. So does one with `SKIP LOCKED`, which is as if it had come later.
    Waits,
    /// It fails: `NOWAIT`.
    DoesNotWait,
}

/// `LOCK TABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTables {
    /// The tables.
    pub tables: Vec<RelationName>,
    /// What others may do meanwhile.
    pub mode: TableLock,
    /// Whether it fails instead of waiting.
    pub nowait: bool,
}

/// The modes of `LOCK TABLE`, as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// `ACCESS SHARE`: reading.
    Reads,
    /// `ROW SHARE`: reading, and locking rows.
    ReadsToChange,
    /// `ROW EXCLUSIVE`: changing rows, as others do.
    Changes,
    /// Stronger modes: nobody else writes. Who reads is not kept from it.
    Writes,
}

/// In whose way locks of rows are; the stronger ones come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLockMode {
    /// `FOR KEY SHARE`
    KeyShare,
    /// `FOR SHARE`
    Share,
    /// `FOR NO KEY UPDATE`
    NoKeyUpdate,
    /// `FOR UPDATE`
    Update,
}

impl RowLockMode {
    /// The words that ask for it.
    fn clause(self) -> &'static str {
        match self {
            RowLockMode::KeyShare => "FOR KEY SHARE",
            RowLockMode::Share => "FOR SHARE",
            RowLockMode::NoKeyUpdate => "FOR NO KEY UPDATE",
            RowLockMode::Update => "FOR UPDATE",
        }
    }
}

/// The mode of a clause, and the name that it is of.
pub(crate) fn mode_of(clause: &ast::LockClause) -> (RowLockMode, Option<ast::ObjectName>) {
    let mut of = clause.of.clone();
    let is_mark = |part: &ast::ObjectNamePart| part.as_ident().is_some_and(marks::is_word);
    let is_of_key = of.as_ref().is_some_and(|of| of.0.first().is_some_and(is_mark));
    if let Some(of) = of.as_mut().filter(|_| is_of_key) {
        of.0.remove(0);
    }
    let mode = match (clause.lock_type, is_of_key) {
        (ast::LockType::Share, true) => RowLockMode::KeyShare,
        (ast::LockType::Share, false) => RowLockMode::Share,
        (ast::LockType::Update, true) => RowLockMode::NoKeyUpdate,
        (ast::LockType::Update, false) => RowLockMode::Update,
    };
    (mode, of.filter(|of| !of.0.is_empty()))
}

/// A table or view whose rows a query locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedRelation {
    /// Its schema, where the query says it.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

impl Query {
    /// Whether it says `FOR UPDATE` or the like of some relation, and what it does then.
    pub fn row_locks(&self) -> Option<RowLocks> {
        let locks = self.locks();
        locks.mode.filter(|_| !locks.relations.is_empty())
    }

    /// The words by which it locks rows of some relation, those that stand first if there are
    /// several.
    pub fn lock_clause(&self) -> Option<&'static str> {
        self.row_locks().and(self.locks().clause)
    }

    /// What it says `FOR UPDATE` or the like of, in `FROM` and in the queries there; not what its
    /// `WITH` names, whose rows are nobody's.
    pub fn locked_relations(&self) -> &[LockedRelation] {
        &self.locks().relations
    }

    /// Whether what it says `FOR UPDATE OF` stands in its `FROM`.
    ///
    /// # Errors
    /// 42P01 for a name that does not.
    pub fn check_locked_names(&self) -> SqlResult<()> {
        let Some((clause, name)) = &self.locks().unknown else { return Ok(()) };
        let message = format!("relation \"{name}\" in {clause} clause not found in FROM clause");
        Err(SqlError::new(SqlState::UNDEFINED_TABLE, message))
    }

    fn locks(&self) -> &Locks {
        let kept = self.locks.get_or_init(|| Kept::new(Arc::new(Locks::of(&self.ast))));
        kept.get().expect("nothing else is kept there")
    }
}

impl Locks {
    fn of(query: &ast::Query) -> Locks {
        let mut locks = Locks::default();
        // It never breaks off.
        let _ = query.walk(&mut locks);
        let named = std::mem::take(&mut locks.named);
        let is_with = |r: &LockedRelation| r.schema.is_none() && named.contains(&r.name);
        locks.relations.retain(|relation| !is_with(relation));
        locks
    }
}

/// The relations whose rows a query locks.
#[derive(Debug, Default)]
struct Locks {
    mode: Option<RowLocks>,
    clause: Option<&'static str>,
    relations: Vec<LockedRelation>,
    /// What is named by a `WITH`.
    named: BTreeSet<String>,
    /// Whether something has the name that the clause is of.
    is_found: bool,
    /// A clause, and the name that it is of and nothing has.
    unknown: Option<(&'static str, String)>,
}

impl ast::Visitor for Locks {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.named.extend(with.map(|one| identifier(&one.alias.name)));
        for lock in &query.locks {
            let mode = match lock.nonblock {
                Some(ast::NonBlock::Nowait) => RowLocks::DoesNotWait,
                Some(ast::NonBlock::SkipLocked) | None => RowLocks::Waits,
            };
            self.mode.get_or_insert(mode);
            let (strength, of) = mode_of(lock);
            self.clause.get_or_insert(strength.clause());
            let of = of.as_ref().and_then(last_part);
            self.is_found = of.is_none();
            self.body(&query.body, of.as_deref());
            if let (false, Some(of)) = (self.is_found, of) {
                self.unknown.get_or_insert((strength.clause(), of));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Locks {
    /// The relations of a query; of one only, by its name there, if that is said.
    fn body(&mut self, body: &SetExpr, of: Option<&str>) {
        match body {
            SetExpr::Select(select) => select.from.iter().for_each(|from| self.joined(from, of)),
            SetExpr::Query(query) => self.body(&query.body, of),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, of);
                self.body(right, of);
            }
            _ => {}
        }
    }

    fn joined(&mut self, from: &ast::TableWithJoins, of: Option<&str>) {
        self.factor(&from.relation, of);
        from.joins.iter().for_each(|join| self.factor(&join.relation, of));
    }

    fn factor(&mut self, factor: &TableFactor, of: Option<&str>) {
        self.is_found |= known_as(factor).is_some_and(|known| of == Some(known.as_str()));
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let parts: Vec<String> =
                    name.0.iter().filter_map(|part| part.as_ident()).map(identifier).collect();
                let Some((last, schema)) = parts.split_last() else { return };
                let known = alias.as_ref().map_or(last.clone(), |alias| identifier(&alias.name));
                if of.is_none_or(|of| of == known) {
                    let schema = schema.last().cloned();
                    self.relations.push(LockedRelation { schema, name: last.clone() });
                }
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let is_meant =
                    |of: &str| alias.as_ref().is_some_and(|alias| identifier(&alias.name) == of);
                if of.is_none_or(is_meant) {
                    self.body(&subquery.body, None);
                }
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.joined(table_with_joins, of),
            _ => {}
        }
    }
}

/// What a relation is called in its query.
fn known_as(factor: &TableFactor) -> Option<String> {
    let (name, alias) = match factor {
        TableFactor::Table { name, alias, .. } => (Some(name), alias),
        TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => (None, alias),
        _ => return None,
    };
    match alias {
        Some(alias) => Some(identifier(&alias.name)),
        None => name.and_then(last_part),
    }
}

fn last_part(name: &ast::ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(identifier)
}

pub(super) fn lock(lock: &ast::Lock) -> SqlResult<LockTables> {
    let tables = lock.tables.iter().map(|table| relation(&table.name)).collect::<SqlResult<_>>()?;
    let mode = match lock.lock_mode {
        Some(LockTableMode::AccessShare) => TableLock::Reads,
        Some(LockTableMode::RowShare) => TableLock::ReadsToChange,
        Some(LockTableMode::RowExclusive) => TableLock::Changes,
        _ => TableLock::Writes,
    };
    Ok(LockTables { tables, mode, nowait: lock.nowait })
}

//! What a statement says. How it is read stands in the modules of `parse`.

pub(crate) mod alter;
pub(crate) mod bound;
pub(crate) mod constraint;
pub(crate) mod copy;
pub(crate) mod create;
pub(crate) mod cursor;
pub(crate) mod explain;
pub(crate) mod kept;
pub(crate) mod overriding;
pub(crate) mod prepare;
pub(crate) mod query;
pub(crate) mod relations;
pub(crate) mod secret;
pub(crate) mod sequence;
pub(crate) mod transaction;

use std::sync::Arc;

use crate::parse::comment::Comment;
use crate::parse::dml::{Delete, Insert, Truncate, Update};
use crate::parse::lock::LockTables;
use crate::parse::member::MemberStatement;
use crate::parse::nominal::Nominal;
use crate::parse::notification::NotificationStatement;
use crate::parse::object_name::RelationName;
use crate::parse::role::RoleStatement;
use crate::parse::statement::create::{CreateIndex, CreateTable, Drop};
use crate::parse::statement::query::Query;
use crate::parse::vacuum::Vacuum;
use alter::{AlterTable, RenameRelation};
use bound::Bound;
use constraint::SetConstraints;
use copy::{Copy, CopyTo};
use create::CreateView;
use cursor::CursorStatement;
use explain::{Explain, Explaining};
use prepare::{Discard, Execute, Prepare};
use secret::SecretStatement;
use sequence::{AlterSequence, CreateSequence};
use transaction::Transaction;

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `SELECT`, `VALUES`, `WITH`.
    Query(Query),
    /// `EXPLAIN [ANALYZE]`.
    Explain(Explain),
    /// `CREATE TABLE`.
    CreateTable(CreateTable),
    /// `CREATE INDEX`.
    CreateIndex(CreateIndex),
    /// `CREATE [OR REPLACE] VIEW`.
    CreateView(CreateView),
    /// `ALTER TABLE`.
    AlterTable(AlterTable),
    /// `ALTER .. RENAME TO` of a relation that may be of several kinds.
    Rename(RenameRelation),
    /// A statement about kinds of objects that there are none of.
    Nominal(Nominal),
    /// `CREATE SEQUENCE`.
    CreateSequence(CreateSequence),
    /// `ALTER SEQUENCE`.
    AlterSequence(AlterSequence),
    /// `DROP` of a table, an index, a view or a sequence.
    Drop(Drop),
    /// `INSERT`.
    Insert(Insert),
    /// `UPDATE`.
    Update(Update),
    /// `DELETE`.
    Delete(Delete),
    /// `TRUNCATE`.
    Truncate(Truncate),
    /// `LOCK TABLE`.
    Lock(LockTables),
    /// `COPY .. FROM`.
    Copy(Copy),
    /// `COPY .. TO`.
    CopyTo(CopyTo),
    /// `ANALYZE`, of one table or of all.
    Analyze {
        /// The table; `None` is all.
        table: Option<RelationName>,
    },
    /// `VACUUM`.
    Vacuum(Vacuum),
    /// `SET name = value`; `None` is `DEFAULT`.
    Set {
        /// Setting.
        name: String,
        /// New value as text.
        value: Option<String>,
    },
    /// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS`: settings with their values.
    SetTransaction(Vec<(String, String)>),
    /// `SET LOCAL name = value`: until the transaction block ends.
    SetLocal {
        /// Setting.
        name: String,
        /// New value as text; `None` is `DEFAULT`.
        value: Option<String>,
    },
    /// `SHOW name`; the name may be `all` or `tables`.
    Show {
        /// Setting.
        name: String,
    },
    /// `RESET name`; `None` is `ALL`.
    Reset {
        /// Setting.
        name: Option<String>,
    },
    /// A `WITH` whose queries change rows.
    WithWrites(WithWrites),
    /// `EXPLAIN` of what changes rows.
    ExplainWrite(ExplainWrite),
    /// `LISTEN`, `UNLISTEN` and `NOTIFY`.
    Notification(NotificationStatement),
    /// `SET CONSTRAINTS`.
    SetConstraints(SetConstraints),
    /// `REORGANIZE [TABLE]`.
    Reorganize {
        /// The table.
        table: RelationName,
    },
    /// `COMMENT ON`.
    Comment(Comment),
    /// `CHECK DATABASE`.
    CheckDatabase,
    /// `BACKUP DATABASE TO`, a file of the server that does not exist yet.
    Backup {
        /// Its path.
        path: String,
    },
    /// `ALTER DATABASE ADD MEMBER` and `DROP MEMBER`.
    Member(MemberStatement),
    /// `CHECKPOINT`.
    Checkpoint,
    /// Roles and privileges.
    Role(RoleStatement),
    /// Keys of object stores.
    Secret(SecretStatement),
    /// `BEGIN`, `COMMIT`, `ROLLBACK` and their other names.
    Transaction(Transaction),
    /// `PREPARE`.
    Prepare(Box<Prepare>),
    /// `EXECUTE`.
    Execute(Execute),
    /// `DEALLOCATE`: what is to be forgotten, `None` for all.
    Deallocate {
        /// A prepared statement.
        name: Option<String>,
    },
    /// `DISCARD`.
    Discard(Discard),
    /// `DECLARE`, `FETCH`, `MOVE`, `CLOSE`.
    Cursor(CursorStatement),
}

impl Statement {
    /// Notes where it came from, if it is one that may have a generic plan.
    pub(crate) fn set_bound(&mut self, bound: Bound) {
        match self {
            Statement::Query(query) => query.bound = Some(Arc::new(bound)),
            Statement::Insert(insert) => insert.bound = Some(Arc::new(bound)),
            Statement::Update(update) => update.bound = Some(Arc::new(bound)),
            Statement::Delete(delete) => delete.bound = Some(Arc::new(bound)),
            Statement::WithWrites(with) => {
                let parts = with.parts.iter_mut().chain([with.body.as_mut()]);
                parts.enumerate().for_each(|(at, part)| part.set_bound(bound.of_part(at)));
            }
            _ => {}
        }
    }

    /// Where it came from, if that was noted.
    pub fn bound(&self) -> Option<&Arc<Bound>> {
        match self {
            Statement::Query(query) => query.bound.as_ref(),
            Statement::Insert(insert) => insert.bound.as_ref(),
            Statement::Update(update) => update.bound.as_ref(),
            Statement::Delete(delete) => delete.bound.as_ref(),
            _ => None,
        }
    }
}

/// `EXPLAIN` of a statement that changes rows.
#[derive(Clone, Debug)]
pub struct ExplainWrite {
    /// What it says of itself.
    pub options: Explaining,
    /// An `INSERT`, `UPDATE` or `DELETE`.
    pub statement: Box<Statement>,
}

/// A statement behind a `WITH` of which some queries change rows.
#[derive(Clone, Debug)]
pub struct WithWrites {
    /// What runs before the body, in this order: changes, and queries that are computed once.
    pub parts: Vec<Statement>,
    /// What comes behind them: a query, or another change.
    pub body: Box<Statement>,
}

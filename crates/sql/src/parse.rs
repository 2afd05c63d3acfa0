//! Text to statements: what a statement says (`statement`), and how it is read (`text`). Only queries go on to
//! the library.

pub(crate) mod adjacent;
pub(crate) mod alter;
pub(crate) mod backup;
pub(crate) mod balance;
pub(crate) mod bind;
pub(crate) mod clauses;
pub(crate) mod column_type;
pub(crate) mod comment;
pub(crate) mod constraint;
pub(crate) mod copy;
mod count;
pub(crate) mod create_view;
pub(crate) mod cursor;
pub(crate) mod ddl;
pub(crate) mod deferral;
pub(crate) mod dialect;
pub(crate) mod dml;
pub(crate) mod exclude;
pub(crate) mod explain;
pub(crate) mod expressions;
pub(crate) mod file_call;
pub(crate) mod files;
pub(crate) mod identity;
pub(crate) mod include;
pub(crate) mod lock;
pub(crate) mod marks;
pub(crate) mod needed;
pub(crate) mod no_columns;
pub(crate) mod normalise;
pub(crate) mod notification;
pub(crate) mod object_name;
pub(crate) mod operators;
pub(crate) mod overriding;
pub(crate) mod place;
pub(crate) mod precedence;
pub(crate) mod prepare;
pub(crate) mod refuse;
pub(crate) mod reorganize;
pub(crate) mod reread;
pub(crate) mod role;
pub(crate) mod secret;
pub(crate) mod sequence;
pub(crate) mod set_functions;
pub(crate) mod setting;
pub(crate) mod shape;
pub(crate) mod split;
pub(crate) mod statement;
pub(crate) mod statement_names;
pub(crate) mod stored;
pub(crate) mod synonyms;
pub(crate) mod table;
pub(crate) mod template;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod type_names;
pub(crate) mod unqualified;
pub(crate) mod vacuum;
pub(crate) mod vectors;
pub(crate) mod with_writes;
pub(crate) mod words;

pub use comment::{Comment, Commented};
pub use copy::{
    Compression, CopyFormat, CopyOptions, ForcedColumns, Header, Ignored, ParquetOptions,
    file_insert, table_query,
};
pub use cursor::{no_block, no_cursor};
pub use dml::{Delete, Insert, Truncate, Update};
pub use lock::{LockTables, LockedRelation, RowLockMode, RowLocks, TableLock};
pub use notification::NotificationStatement;
pub use role::{Grant, GrantTarget, Privilege, RoleName, RoleOptions, RoleStatement, Secret};
pub use setting::ISOLATION_LEVELS;
pub use shape::Shape;
pub use statement::ExplainWrite;
pub use statement::WithWrites;
pub use statement::alter::{AlterTable, Alteration};
pub use statement::constraint::SetConstraints;
pub use statement::constraint::{ColumnSpec, ConstraintSpec, ForeignKeySpec};
pub use statement::copy::{Copied, Copy, CopySource, CopyTarget, CopyTo};
pub use statement::create::CreateView;
pub use statement::cursor::{CursorStatement, DeclareCursor, Fetch, Which};
pub use statement::explain::Explain;
pub use statement::explain::Explaining;
pub use statement::overriding::Overriding;
pub use statement::prepare::{Discard, Execute, Prepare};
pub use statement::secret::{CreateSecret, SecretStatement};
pub use statement::sequence::{AlterSequence, CreateSequence, SequenceChange};
pub use template::{Parameter, Template};
pub use unqualified::NamedRelation;
pub use vacuum::Vacuum;
pub use with_writes::RESULTS_SCHEMA;

pub(crate) use balance::balance;
pub(crate) use column_type::column_type;
pub use count::token_count;

pub use statement::Statement;
pub use statement::create::{CreateIndex, CreateTable, Drop, DropObject, OnCommit};
pub use statement::query::Query;
pub use statement::transaction::{Modes, Transaction};
pub use text::parse;

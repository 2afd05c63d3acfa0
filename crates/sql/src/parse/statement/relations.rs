//! The relations that a statement changes or defines, as it names them. What queries read is bound
//! by its schema.

use super::Statement;
use crate::parse::object_name::RelationName;
use crate::parse::role::{Grant, GrantTarget, RoleStatement};
use crate::parse::statement::copy::Copied;

impl Statement {
    /// The relations that it changes, defines or drops; not those that it makes.
    pub fn relations(&self) -> Vec<&RelationName> {
        match self {
            Statement::CreateIndex(create) => vec![&create.table],
            Statement::AlterTable(alter) => vec![&alter.table],
            Statement::Rename(rename) => vec![&rename.relation],
            Statement::Nominal(nominal) => nominal.of.iter().map(|of| &of.relation).collect(),
            Statement::AlterSequence(alter) => vec![&alter.name],
            Statement::Drop(drop) => drop.names.iter().collect(),
            Statement::Insert(insert) => vec![&insert.table],
            Statement::Update(update) => vec![&update.table],
            Statement::Delete(delete) => vec![&delete.table],
            Statement::Truncate(truncate) => truncate.tables.iter().collect(),
            Statement::Lock(lock) => lock.tables.iter().collect(),
            Statement::Copy(copy) => vec![&copy.table],
            Statement::CopyTo(copy) => match &copy.copied {
                Copied::Returning(statement) => statement.relations(),
                Copied::Table { .. } | Copied::Query(_) => vec![],
            },
            Statement::Analyze { table } => table.iter().collect(),
            Statement::Vacuum(vacuum) => vacuum.tables.iter().collect(),
            Statement::Reorganize { table } => vec![table],
            Statement::Role(RoleStatement::Owner { relation, .. }) => vec![relation],
            Statement::Role(RoleStatement::Grant(Grant {
                target: GrantTarget::Relations(names) | GrantTarget::Sequences(names),
                ..
            })) => names.iter().collect(),
            Statement::WithWrites(with) => {
                with.parts.iter().chain([&*with.body]).flat_map(Statement::relations).collect()
            }
            Statement::ExplainWrite(explain) => explain.statement.relations(),
            _ => vec![],
        }
    }

    /// True if it changes rows by what a query finds or gives.
    pub fn changes_rows(&self) -> bool {
        matches!(
            self,
            Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::WithWrites(_)
                | Statement::ExplainWrite(_)
        )
    }

    /// The relation that it makes, if it is not made for one session.
    pub fn makes(&self) -> Option<&RelationName> {
        match self {
            Statement::CreateTable(create) => Some(&create.name).filter(|_| !create.temporary),
            Statement::CreateView(create) => Some(&create.name),
            Statement::CreateSequence(create) => Some(&create.name),
            _ => None,
        }
    }
}

//! `ALTER TABLE`, as far as syntax goes.

use datafusion_sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation as Operation, DropBehavior, RenameTableNameKind,
};
use plan::constraints::ColumnDefault;
use types::{SqlError, SqlResult};

use super::constraint;
use crate::parse::column_type::column_type;
use crate::parse::object_name::{identifier, name, relation};
use crate::parse::statement::alter::{AlterTable, Alteration};

pub(super) fn alter_table(alter: &ast::AlterTable) -> SqlResult<AlterTable> {
    let mut alterations = vec![];
    for operation in &alter.operations {
        alteration(operation, &mut alterations)?;
    }
    Ok(AlterTable { table: relation(&alter.name)?, if_exists: alter.if_exists, alterations })
}

fn alteration(operation: &Operation, out: &mut Vec<Alteration>) -> SqlResult<()> {
    let cascades = |b: &Option<DropBehavior>| matches!(b, Some(DropBehavior::Cascade));
    out.push(match operation {
        Operation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
            let column = Box::new(constraint::column(column_def)?);
            Alteration::AddColumn { column, if_not_exists: *if_not_exists }
        }
        Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            for column in column_names {
                let (name, cascade) = (identifier(column), cascades(drop_behavior));
                out.push(Alteration::DropColumn { name, if_exists: *if_exists, cascade });
            }
            return Ok(());
        }
        Operation::RenameColumn { old_column_name, new_column_name } => Alteration::RenameColumn {
            old: identifier(old_column_name),
            new: identifier(new_column_name),
        },
        Operation::RenameTable { table_name: RenameTableNameKind::To(new) } => {
            Alteration::Rename { new: name(new)? }
        }
        Operation::AddConstraint { constraint, not_valid: false } => {
            Alteration::AddConstraint(constraint::table_constraint(constraint)?)
        }
        Operation::DropConstraint { if_exists, name, drop_behavior } => {
            let (name, cascade) = (identifier(name), cascades(drop_behavior));
            Alteration::DropConstraint { name, if_exists: *if_exists, cascade }
        }
        Operation::RenameConstraint { old_name, new_name } => {
            Alteration::RenameConstraint { old: identifier(old_name), new: identifier(new_name) }
        }
        Operation::AlterColumn { column_name, op } => alter_column(identifier(column_name), op)?,
        other => return Err(SqlError::unsupported(format!("ALTER TABLE {other}"))),
    });
    Ok(())
}

fn alter_column(column: String, op: &AlterColumnOperation) -> SqlResult<Alteration> {
    Ok(match op {
        AlterColumnOperation::SetNotNull => Alteration::Nullable { column, nullable: false },
        AlterColumnOperation::DropNotNull => Alteration::Nullable { column, nullable: true },
        AlterColumnOperation::SetDefault { value } => {
            Alteration::Default { column, default: Some(constraint::default(value)?) }
        }
        AlterColumnOperation::DropDefault => Alteration::Default { column, default: None },
        AlterColumnOperation::SetDataType { data_type, using, .. } => Alteration::Type {
            column,
            ty: column_type(data_type)?,
            using: using.as_ref().map(ToString::to_string),
        },
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let always = matches!(generated_as, Some(ast::GeneratedAs::Always));
            let options = sequence_options.as_deref().unwrap_or_default();
            let identity = constraint::identity(always, options)?;
            Alteration::Default { column, default: Some(ColumnDefault::Identity(identity)) }
        }
    })
}

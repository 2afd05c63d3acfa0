//! Constraints of columns and tables, as far as syntax goes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    self, ColumnOption, ConstraintReferenceMatchKind, GeneratedAs, ReferentialAction as Action,
    TableConstraint,
};
use plan::constraints::{ColumnDefault, Identity, ReferentialAction};
use plan::sequence::{Sequence, SequenceOptions};
use types::{Column, SqlError, SqlResult, SqlState};

use super::deferral;
use crate::parse::column_type::column_type;
use crate::parse::ddl::{index_columns, nulls_not_distinct};
use crate::parse::include;
use crate::parse::normalise::printed;
use crate::parse::object_name::{identifier, name};
use crate::parse::statement::constraint::{ColumnSpec, ConstraintSpec, ForeignKeySpec};
use crate::walk::visit_expressions;

pub(super) fn column(def: &ast::ColumnDef) -> SqlResult<ColumnSpec> {
    let name = identifier(&def.name);
    let serial = serial(&def.data_type);
    let ty = serial.map_or_else(|| column_type(&def.data_type), Ok)?;
    let sequence = Sequence::new();
    let identity = Identity { sequence, name: None, always: false, standard: false };
    let mut spec = ColumnSpec {
        column: Column { name, ty, nullable: serial.is_none() },
        default: serial.map(|_| ColumnDefault::Identity(identity)),
        constraints: vec![],
    };
    for option in &def.options {
        let given = option.name.as_ref().map(identifier);
        add_option(&mut spec, given, &option.option)?;
    }
    Ok(spec)
}

/// `serial` and its kin: an integer with a sequence.
fn serial(ty: &ast::DataType) -> Option<types::LogicalType> {
    let ast::DataType::Custom(name, modifiers) = ty else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match identifier(name.0.last()?.as_ident()?).as_str() {
        "serial" | "serial4" => Some(types::LogicalType::Int32),
        "bigserial" | "serial8" => Some(types::LogicalType::Int64),
        "smallserial" | "serial2" => Some(types::LogicalType::Int16),
        _ => None,
    }
}

fn add_option(
    spec: &mut ColumnSpec,
    given: Option<String>,
    option: &ColumnOption,
) -> SqlResult<()> {
    let columns = vec![spec.column.name.clone()];
    match option {
        ColumnOption::Null => {}
        ColumnOption::NotNull => spec.column.nullable = false,
        ColumnOption::Default(expr) => set_default(spec, default(expr)?)?,
        ColumnOption::PrimaryKey(key) => {
            let deferral = deferral::of(key.characteristics.as_ref())?;
            spec.constraints.push(ConstraintSpec::PrimaryKey { name: given, columns, deferral });
        }
        ColumnOption::Unique(key) => {
            refuse_equal_nulls(key)?;
            let (included, deferral) = (vec![], deferral::of(key.characteristics.as_ref())?);
            let unique = ConstraintSpec::Unique { name: given, columns, included, deferral };
            spec.constraints.push(unique);
        }
        ColumnOption::Check(check) => spec.constraints.push(check_of(given, &check.expr)?),
        ColumnOption::ForeignKey(key) => {
            let mut key = foreign_key(given, key)?;
            key.columns = columns;
            spec.constraints.push(ConstraintSpec::ForeignKey(key));
        }
        ColumnOption::Generated { generation_expr: Some(expr), .. } => {
            set_default(spec, ColumnDefault::Generated(printed(expr)))?;
        }
        ColumnOption::Generated { generated_as, sequence_options, .. } => {
            let always = matches!(generated_as, GeneratedAs::Always);
            let options = sequence_options.as_deref().unwrap_or_default();
            set_default(spec, ColumnDefault::Identity(identity(always, options)?))?;
            spec.column.nullable = false;
        }
        other => return Err(SqlError::unsupported(format!("column constraint {other}"))),
    }
    Ok(())
}

fn set_default(spec: &mut ColumnSpec, default: ColumnDefault) -> SqlResult<()> {
    if spec.default.replace(default).is_some() {
        let message =
            format!("multiple default values specified for column \"{}\"", spec.column.name);
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    Ok(())
}

/// A default, which may name no column.
pub(super) fn default(expr: &ast::Expr) -> SqlResult<ColumnDefault> {
    if !columns_of(expr).is_empty() {
        let message = "cannot use column reference in DEFAULT expression";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(ColumnDefault::Expression(printed(expr)))
}

/// What an identity column says of itself; the name of its sequence stands beside the tree
/// ([`super::identity`]).
pub(super) fn identity(always: bool, given: &[ast::SequenceOptions]) -> SqlResult<Identity> {
    let number = |expr: &ast::Expr| {
        let text = expr.to_string();
        let parsed = text.replace(' ', "").parse::<i64>();
        parsed.map_err(|_| SqlError::unsupported(format!("the sequence option {text}")))
    };
    let bound = |expr: &Option<ast::Expr>| expr.as_ref().map(number).transpose();
    let mut options = SequenceOptions::default();
    for option in given {
        match option {
            ast::SequenceOptions::StartWith(expr, _) => options.start = Some(number(expr)?),
            ast::SequenceOptions::IncrementBy(expr, _) => options.increment = Some(number(expr)?),
            ast::SequenceOptions::MinValue(expr) => options.least = Some(bound(expr)?),
            ast::SequenceOptions::MaxValue(expr) => options.most = Some(bound(expr)?),
            ast::SequenceOptions::Cache(expr) => options.cache = Some(number(expr)?),
            ast::SequenceOptions::Cycle(no) => options.cycles = Some(!no),
        }
    }
    // The greatest type: that of the column says more when it is known.
    let sequence = options.create(types::LogicalType::Int64)?;
    Ok(Identity { sequence, name: None, always, standard: true })
}

/// Errors: 0A000 for `NULLS NOT DISTINCT`.
fn refuse_equal_nulls(key: &ast::UniqueConstraint) -> SqlResult<()> {
    match key.nulls_distinct {
        ast::NullsDistinctOption::NotDistinct => Err(nulls_not_distinct()),
        _ => Ok(()),
    }
}

pub(super) fn table_constraint(constraint: &TableConstraint) -> SqlResult<ConstraintSpec> {
    let names = |idents: &[ast::Ident]| idents.iter().map(identifier).collect();
    Ok(match constraint {
        TableConstraint::PrimaryKey(key) => {
            let (columns, included) = include::split(&key.columns);
            let columns = index_columns(columns)?;
            if !included.is_empty() {
                return Err(SqlError::unsupported("a primary key with INCLUDE").with_hint(
                    "a table is stored in the order of its primary key, which finds all columns",
                ));
            }
            let deferral = deferral::of(key.characteristics.as_ref())?;
            let name = key.name.as_ref().map(identifier);
            ConstraintSpec::PrimaryKey { name, columns, deferral }
        }
        TableConstraint::Unique(key) => {
            refuse_equal_nulls(key)?;
            let (columns, included) = include::split(&key.columns);
            let (columns, included) = (index_columns(columns)?, index_columns(included)?);
            let deferral = deferral::of(key.characteristics.as_ref())?;
            let name = key.name.as_ref().map(identifier);
            ConstraintSpec::Unique { name, columns, included, deferral }
        }
        TableConstraint::Check(check) => {
            check_of(check.name.as_ref().map(identifier), &check.expr)?
        }
        TableConstraint::ForeignKey(key) => {
            include::refuse(&key.columns)?;
            let mut spec = foreign_key(key.name.as_ref().map(identifier), key)?;
            spec.columns = names(&key.columns);
            ConstraintSpec::ForeignKey(spec)
        }
        other => return Err(SqlError::unsupported(format!("table constraint {other}"))),
    })
}

fn check_of(name: Option<String>, expr: &ast::Expr) -> SqlResult<ConstraintSpec> {
    let columns = columns_of(expr);
    Ok(ConstraintSpec::Check { name, expression: printed(expr), columns })
}

fn foreign_key(
    given: Option<String>,
    key: &ast::ForeignKeyConstraint,
) -> SqlResult<ForeignKeySpec> {
    if let Some(kind) = &key.match_kind
        && !matches!(kind, ConstraintReferenceMatchKind::Simple)
    {
        return Err(SqlError::unsupported(format!("{kind}")));
    }
    include::refuse(&key.referred_columns)?;
    Ok(ForeignKeySpec {
        name: given,
        columns: vec![],
        table: name(&key.foreign_table)?,
        referenced: key.referred_columns.iter().map(identifier).collect(),
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        deferral: deferral::of(key.characteristics.as_ref())?,
    })
}

fn action(given: Option<Action>) -> ReferentialAction {
    match given {
        None | Some(Action::NoAction) => ReferentialAction::Refuse,
        Some(Action::Restrict) => ReferentialAction::Restrict,
        Some(Action::Cascade) => ReferentialAction::Cascade,
        Some(Action::SetNull) => ReferentialAction::SetNull,
        Some(Action::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// The columns that an expression names, ordered by name.
fn columns_of(expr: &ast::Expr) -> Vec<String> {
    let mut found = BTreeSet::new();
    // The visit itself never stops.
    let _ = visit_expressions(expr, |e| {
        match e {
            ast::Expr::Identifier(ident) => {
                found.insert(identifier(ident));
            }
            ast::Expr::CompoundIdentifier(parts) => found.extend(parts.last().map(identifier)),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    found.into_iter().collect()
}

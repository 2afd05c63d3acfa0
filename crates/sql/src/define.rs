//! Definitions of tables, their names resolved and checked.

use std::ops::ControlFlow;
use std::sync::Arc;

use plan::catalog::{IndexDef, IndexId, TableDef, TableId, TableStorage};
use plan::constraints::{Check, ColumnDefault, Constraints, Deferral, ForeignKey};
use plan::generated::{first_free, generated, joined};
use types::{Column, LogicalType, Schema, SqlError, SqlResult, SqlState};

use crate::catalog::Catalog;
use crate::catalog::missing::table_not_found;
use crate::dml::{compiled, expressions, insert, refer, target};
use crate::parse::object_name;
use crate::parse::statement::constraint::{ColumnSpec, ConstraintSpec, ForeignKeySpec};
use crate::parse::statement::create::CreateTable;
use crate::walk::{visit_expressions, visit_expressions_mut};

/// A table to be, or one that is about to change.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its id.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub schema: Schema,
    /// Ordinals of the columns of the primary key that the table is clustered on.
    pub primary_key: Vec<usize>,
    /// Indexes that it has already.
    pub indexes: Vec<IndexDef>,
    /// Keys that have no index yet.
    pub unique: Vec<UniqueDraft>,
    /// Everything else.
    pub constraints: Constraints,
}

/// A key that has no index yet.
#[derive(Clone, Debug)]
pub struct UniqueDraft {
    /// Its name, which is the index's.
    pub name: String,
    /// Ordinals of the columns that must be unique.
    pub columns: Vec<usize>,
    /// Ordinals of the columns that the index only carries.
    pub included: Vec<usize>,
    /// Whether it is the primary key of a table that is clustered on row ids.
    pub primary: bool,
    /// When a transaction checks it.
    pub deferral: Deferral,
}

impl UniqueDraft {
    /// Its index.
    pub fn index(self, id: IndexId) -> IndexDef {
        let UniqueDraft { name, columns, included, primary, deferral } = self;
        let index = IndexDef::new(id, &name, columns);
        IndexDef { included, unique: true, primary, deferral, ..index }
    }
}

/// A key that others may refer to.
struct Referable {
    columns: Vec<usize>,
    is_primary: bool,
    deferral: Deferral,
}

impl Draft {
    /// A table without columns.
    pub fn new(id: TableId, name: &str) -> Draft {
        Draft {
            id,
            name: name.to_owned(),
            schema: Schema::default(),
            primary_key: vec![],
            indexes: vec![],
            unique: vec![],
            constraints: Constraints::default(),
        }
    }

    /// What a `CREATE TABLE` defines; the columns are `columns` where the statement has a query.
    ///
    /// Errors: 42701, 42703, 42P01, 42P16, 42804, 42830 for definitions that cannot be.
    pub fn of(
        create: &CreateTable,
        columns: Vec<Column>,
        id: TableId,
        catalog: &dyn Catalog,
    ) -> SqlResult<Draft> {
        let mut draft = Draft::new(id, &create.name);
        draft.schema.columns = columns;
        for spec in &create.columns {
            draft.add_column(spec)?;
        }
        let own = create.columns.iter().flat_map(|c| &c.constraints);
        for constraint in own.chain(&create.constraints) {
            draft.add_constraint(constraint, catalog)?;
        }
        draft.check(catalog)?;
        Ok(draft)
    }

    /// The definition, with the indexes that it has already.
    pub fn table(&self, old: &TableDef) -> TableDef {
        TableDef {
            id: self.id,
            name: self.name.clone(),
            schema: self.schema.clone(),
            storage: old.storage,
            primary_key: self.primary_key.clone(),
            indexes: old.indexes.clone(),
            statistics: old.statistics.clone(),
            constraints: Arc::new(self.constraints.clone()),
        }
    }

    /// Adds a column behind the others, without its constraints.
    ///
    /// Errors: 42701.
    pub fn add_column(&mut self, spec: &ColumnSpec) -> SqlResult<()> {
        let name = &spec.column.name;
        if self.schema.ordinal(name).is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" already exists", self.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        self.schema.columns.push(spec.column.clone());
        self.set_default(self.schema.columns.len() - 1, spec.default.clone());
        Ok(())
    }

    /// Gives a column a default, or takes it away.
    pub fn set_default(&mut self, ordinal: usize, default: Option<ColumnDefault>) {
        let defaults = &mut self.constraints.defaults;
        if default.is_some() {
            defaults.resize(defaults.len().max(ordinal + 1), None);
        }
        if let Some(place) = defaults.get_mut(ordinal) {
            *place = default.map(with_own_counter);
        }
        while defaults.last().is_some_and(Option::is_none) {
            defaults.pop();
        }
    }

    /// The ordinal of a column.
    ///
    /// Errors: 42703.
    pub fn ordinal(&self, name: &str) -> SqlResult<usize> {
        self.schema.ordinal(name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })
    }

    /// Adds a constraint.
    ///
    /// Errors: see [`Draft::of`]; 42710 for a name that is taken.
    pub fn add_constraint(
        &mut self,
        spec: &ConstraintSpec,
        catalog: &dyn Catalog,
    ) -> SqlResult<()> {
        match spec {
            ConstraintSpec::PrimaryKey { name, columns, deferral } => {
                self.set_primary_key(name.clone(), columns, *deferral)
            }
            ConstraintSpec::Unique { name, columns, included, deferral } => {
                let all = joined(columns.iter().chain(included).map(String::as_str));
                let (columns, included) = (self.key(columns)?, self.included(included)?);
                let name = self.constraint_name(name.clone(), &all, "key")?;
                self.constraints.unique.push(name.clone());
                let (primary, deferral) = (false, *deferral);
                self.unique.push(UniqueDraft { name, columns, included, primary, deferral });
                Ok(())
            }
            ConstraintSpec::Check { name, expression, columns } => {
                let of = match columns.as_slice() {
                    [column] => column.as_str(),
                    _ => "",
                };
                let name = self.constraint_name(name.clone(), of, "check")?;
                let expression = expression.clone();
                self.constraints.checks.push(Check { name, expression });
                Ok(())
            }
            ConstraintSpec::ForeignKey(key) => self.add_foreign_key(key, catalog),
        }
    }

    fn set_primary_key(
        &mut self,
        name: Option<String>,
        columns: &[String],
        deferral: Deferral,
    ) -> SqlResult<()> {
        if self.has_primary_key() {
            let message =
                format!("multiple primary keys for table \"{}\" are not allowed", self.name);
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        self.primary_key = self.key(columns)?;
        for &ordinal in &self.primary_key {
            self.schema.columns[ordinal].nullable = false;
        }
        let usual = generated(&self.name, "", "pkey");
        self.constraints.primary_key_name = name.filter(|n| *n != usual);
        if deferral != Deferral::Never {
            self.uncluster(deferral);
        }
        Ok(())
    }

    /// Whether there is a primary key, of whatever kind.
    pub fn has_primary_key(&self) -> bool {
        !self.primary_key.is_empty()
            || self.unique.iter().any(|unique| unique.primary)
            || self.indexes.iter().any(|index| index.primary)
    }

    /// Whether the column at an ordinal is part of it.
    pub fn is_in_primary_key(&self, ordinal: usize) -> bool {
        let of_index = self.indexes.iter().filter(|index| index.primary);
        let of_draft = self.unique.iter().filter(|unique| unique.primary);
        let columns = of_index.map(|i| &i.columns).chain(of_draft.map(|u| &u.columns));
        columns.chain([&self.primary_key]).any(|columns| columns.contains(&ordinal))
    }

    /// Has an index uphold the primary key, if the table is to be clustered on it: two of its rows can have one
    /// key between the statements of a transaction, or its rows are not in a tree.
    pub fn uncluster(&mut self, deferral: Deferral) {
        if self.primary_key.is_empty() {
            return;
        }
        let (columns, included) = (std::mem::take(&mut self.primary_key), vec![]);
        let given = self.constraints.primary_key_name.take();
        let name = given.unwrap_or_else(|| generated(&self.name, "", "pkey"));
        self.unique.insert(0, UniqueDraft { name, columns, included, primary: true, deferral });
    }

    /// The ordinals of a key's columns.
    fn key(&self, columns: &[String]) -> SqlResult<Vec<usize>> {
        let mut ordinals = vec![];
        for name in columns {
            let Some(ordinal) = self.schema.ordinal(name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
            };
            if ordinals.contains(&ordinal) {
                let message = format!("column \"{name}\" appears twice in a key");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
            }
            let ty = self.schema.columns[ordinal].ty;
            if !ty.may_be_key() {
                return Err(SqlError::unsupported(format!("a key of type {ty}")));
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    /// The ordinals of columns that an index only carries.
    fn included(&self, columns: &[String]) -> SqlResult<Vec<usize>> {
        let ordinal = |name: &String| {
            self.schema.ordinal(name).ok_or_else(|| {
                let message = format!("column \"{name}\" named in key does not exist");
                SqlError::new(SqlState::UNDEFINED_COLUMN, message)
            })
        };
        columns.iter().map(ordinal).collect()
    }

    fn add_foreign_key(&mut self, spec: &ForeignKeySpec, catalog: &dyn Catalog) -> SqlResult<()> {
        let ordinal = |name: &String| {
            self.schema.ordinal(name).ok_or_else(|| {
                let message = format!(
                    "column \"{name}\" referenced in foreign key constraint does not exist"
                );
                SqlError::new(SqlState::UNDEFINED_COLUMN, message)
            })
        };
        let columns = spec.columns.iter().map(ordinal).collect::<SqlResult<Vec<_>>>()?;
        let (table, schema, referenced) = self.referenced(spec, catalog)?;
        if referenced.len() != columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, message));
        }
        let of = joined(spec.columns.iter().map(String::as_str));
        let name = self.constraint_name(spec.name.clone(), &of, "fkey")?;
        for (&own, &other) in columns.iter().zip(&referenced) {
            let (own, other) = (&self.schema.columns[own], &schema.columns[other]);
            refer::check_can_refer(&name, own, other)?;
        }
        let (on_delete, on_update) = (spec.on_delete, spec.on_update);
        let deferral = spec.deferral;
        let key = ForeignKey { name, columns, table, referenced, on_delete, on_update, deferral };
        self.constraints.foreign_keys.push(key);
        Ok(())
    }

    /// The table that a foreign key refers to: its id, its columns, the ordinals of those referenced.
    fn referenced(
        &self,
        spec: &ForeignKeySpec,
        catalog: &dyn Catalog,
    ) -> SqlResult<(u32, Schema, Vec<usize>)> {
        let (id, schema, keys) = if spec.table == self.name {
            (self.id, self.schema.clone(), self.own_keys())
        } else {
            let table = catalog.table(&spec.table);
            let table = table.ok_or_else(|| table_not_found(catalog, &spec.table))?;
            let keys = keys_of(&table.primary_key, table.indexes.iter().map(AsRef::as_ref));
            (table.id, table.schema.clone(), keys)
        };
        if spec.referenced.is_empty() {
            let Some(primary) = keys.into_iter().find(|key| key.is_primary) else {
                let message =
                    format!("there is no primary key for referenced table \"{}\"", spec.table);
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
            };
            return match primary.deferral {
                Deferral::Never => Ok((id.0, schema, primary.columns)),
                _ => Err(deferrable_referenced("primary key", &spec.table)),
            };
        }
        let ordinal = |name: &String| {
            schema.ordinal(name).ok_or_else(|| {
                let message = format!(
                    "column \"{name}\" referenced in foreign key constraint does not exist"
                );
                SqlError::new(SqlState::UNDEFINED_COLUMN, message)
            })
        };
        let wanted = spec.referenced.iter().map(ordinal).collect::<SqlResult<Vec<_>>>()?;
        let same = |key: &&Referable| {
            key.columns.len() == wanted.len() && key.columns.iter().all(|c| wanted.contains(c))
        };
        let matching: Vec<&Referable> = keys.iter().filter(same).collect();
        if matching.iter().any(|key| key.deferral == Deferral::Never) {
            return Ok((id.0, schema, wanted));
        }
        if !matching.is_empty() {
            return Err(deferrable_referenced("unique constraint", &spec.table));
        }
        let message = format!(
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            spec.table
        );
        Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, message))
    }

    /// The keys that the table has or is to have.
    fn own_keys(&self) -> Vec<Referable> {
        let mut keys = keys_of(&self.primary_key, self.indexes.iter());
        keys.extend(self.unique.iter().map(|unique| Referable {
            columns: unique.columns.clone(),
            is_primary: unique.primary,
            deferral: unique.deferral,
        }));
        keys
    }

    /// The name given, if it is free, or one made of the table and what it is of.
    fn constraint_name(&self, given: Option<String>, of: &str, label: &str) -> SqlResult<String> {
        let taken = |name: &str| {
            self.constraints.checks.iter().any(|c| c.name == name)
                || self.constraints.foreign_keys.iter().any(|k| k.name == name)
                || self.unique.iter().any(|u| u.name == name)
                || self.indexes.iter().any(|i| i.unique && i.name == name)
        };
        match given {
            Some(name) if taken(&name) => {
                let message =
                    format!("constraint \"{name}\" for relation \"{}\" already exists", self.name);
                Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message))
            }
            Some(name) => Ok(name),
            None => Ok(first_free((&self.name, of, label), taken)),
        }
    }

    /// Binds every expression of the definition.
    ///
    /// Errors: 42804 for types that do not fit, and what binding says.
    pub fn check(&self, catalog: &dyn Catalog) -> SqlResult<()> {
        let table = self.table(&TableDef {
            id: self.id,
            name: String::new(),
            schema: Schema::default(),
            storage: TableStorage::default(),
            primary_key: vec![],
            indexes: vec![],
            statistics: Arc::default(),
            constraints: Arc::default(),
        });
        expressions::checks(&table, catalog)?;
        self.check_generated()?;
        for (ordinal, column) in self.schema.columns.iter().enumerate() {
            let Some(identity) = self.constraints.identity_of(ordinal) else { continue };
            if !matches!(column.ty, LogicalType::Int16 | LogicalType::Int32 | LogicalType::Int64) {
                let message = "identity column type must be smallint, integer, or bigint";
                return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            identity.sequence.check(column.ty)?;
        }
        let table = Arc::new(table);
        crate::dml::defaults::Defaults::new(&table, catalog)?;
        let none = arrow_array::RecordBatch::new_empty(insert::incoming_schema(&table).arrow());
        compiled::RowRules::of(&table, catalog)?.filled(&table, none).map(|_| ())
    }
}

impl Draft {
    /// 42P17 for a generated column that is made of generated columns, or of itself.
    fn check_generated(&self) -> SqlResult<()> {
        let defaults = || self.constraints.defaults.iter();
        let generated = defaults().zip(&self.schema.columns);
        let generated = generated.filter(|(d, _)| matches!(d, Some(ColumnDefault::Generated(_))));
        let names: Vec<&str> = generated.map(|(_, column)| column.name.as_str()).collect();
        for default in defaults() {
            let Some(ColumnDefault::Generated(expression)) = default else { continue };
            for name in &names {
                if names_column(expression, name)? {
                    let message = format!(
                        "cannot use generated column \"{name}\" in column generation expression"
                    );
                    let detail = "A generated column cannot reference another generated column.";
                    return Err(SqlError::new(SqlState("42P17"), message).with_detail(detail));
                }
            }
        }
        Ok(())
    }
}

/// The keys of a table that is clustered on these columns, or on row ids.
fn keys_of<'a>(clustered: &[usize], indexes: impl Iterator<Item = &'a IndexDef>) -> Vec<Referable> {
    let primary = Some(clustered).filter(|columns| !columns.is_empty()).map(|columns| Referable {
        columns: columns.to_vec(),
        is_primary: true,
        deferral: Deferral::Never,
    });
    let unique = indexes.filter(|index| index.unique).map(|index| Referable {
        columns: index.columns.clone(),
        is_primary: index.primary,
        deferral: index.deferral,
    });
    primary.into_iter().chain(unique).collect()
}

/// 55000: rows that are there twice for a while are nothing to refer to.
fn deferrable_referenced(what: &str, table: &str) -> SqlError {
    let message = format!("cannot use a deferrable {what} for referenced table \"{table}\"");
    SqlError::new(SqlState("55000"), message)
}

/// The expression with a column renamed, as text.
///
/// Errors: those of the catalog being damaged.
pub fn renamed_in(expression: &str, old: &str, new: &str) -> SqlResult<String> {
    use datafusion_sql::sqlparser::ast::{Expr, Ident};
    let mut expr = target::parsed(expression)?;
    let rename = |ident: &mut Ident| {
        if object_name::identifier(ident) == old {
            *ident = Ident::with_quote('"', new);
        }
    };
    // The visit itself never stops.
    let _ = visit_expressions_mut(&mut expr, |e| {
        match e {
            Expr::Identifier(ident) => rename(ident),
            Expr::CompoundIdentifier(parts) => {
                if let Some(last) = parts.last_mut() {
                    rename(last);
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(expr.to_string())
}

/// Whether the expression names the column.
///
/// Errors: those of the catalog being damaged.
pub fn names_column(expression: &str, column: &str) -> SqlResult<bool> {
    use datafusion_sql::sqlparser::ast::Expr;
    let expr = target::parsed(expression)?;
    let found = visit_expressions(&expr, |e| {
        let ident = match e {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        match ident.is_some_and(|ident| object_name::identifier(ident) == column) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    Ok(found.is_break())
}

/// A statement may run twice: each time it makes a sequence of its own.
fn with_own_counter(default: ColumnDefault) -> ColumnDefault {
    match default {
        ColumnDefault::Identity(mut identity) => {
            identity.sequence = identity.sequence.restarted();
            ColumnDefault::Identity(identity)
        }
        other => other,
    }
}

//! The definition of a table while it is altered, and where its columns come from.

use std::sync::Arc;

use plan::catalog::{IndexId, TableDef, TableId, TableStorage};
use plan::constraints::{ColumnDefault, Deferral, ForeignKey};
use sql::Draft;
use sql::parse::{Alteration, ColumnSpec, ConstraintSpec};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::entry::TableEntry;
use crate::ddl::names::exists;
use crate::ddl::sequence::name_sequences;
use crate::dml::references::referring;
use crate::writing::Writing;

/// Where the values of a column come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// The old column at this ordinal, as it is.
    Old(usize),
    /// The default.
    Default,
    /// An expression over the old columns.
    Expression(String),
}

/// A table on its way to a new definition.
pub(crate) struct Altered {
    pub(crate) entry: Arc<TableEntry>,
    pub(crate) draft: Draft,
    /// For each new column.
    pub(crate) origins: Vec<Origin>,
    /// For each old column its new place.
    pub(crate) remap: Vec<Option<usize>>,
    /// Whether rows are laid out anew.
    pub(crate) rebuild: bool,
    /// Foreign keys of other tables that go.
    pub(crate) dropped_references: Vec<(TableId, String)>,
    /// Foreign keys of this table that rows have not been checked against.
    pub(crate) new_keys: Vec<String>,
    pub(crate) next_id: u32,
}

impl Altered {
    pub(crate) fn new(entry: &Arc<TableEntry>) -> Altered {
        let def = &entry.def;
        let mut draft = Draft::new(def.id, &def.name);
        draft.schema = def.schema.clone();
        draft.primary_key = def.primary_key.clone();
        draft.constraints = (*def.constraints).clone();
        draft.indexes = def.indexes.iter().map(|i| (**i).clone()).collect();
        let count = def.schema.columns.len();
        Altered {
            entry: entry.clone(),
            draft,
            origins: (0..count).map(Origin::Old).collect(),
            remap: (0..count).map(Some).collect(),
            rebuild: false,
            dropped_references: vec![],
            new_keys: vec![],
            next_id: 0,
        }
    }

    pub(crate) fn apply(
        &mut self,
        writing: &Writing<'_>,
        alteration: &Alteration,
    ) -> SqlResult<()> {
        match alteration {
            Alteration::AddColumn { column, if_not_exists } => {
                self.add_column(writing, column, *if_not_exists)
            }
            Alteration::DropColumn { name, if_exists, cascade } => {
                self.drop_column(writing, name, *if_exists, *cascade)
            }
            Alteration::RenameColumn { old, new } => self.rename_column(old, new),
            Alteration::Rename { new } => {
                if writing.catalog.snapshot().has_relation(new) {
                    return Err(exists(new));
                }
                let name = self.primary_key_name();
                self.draft.constraints.primary_key_name =
                    name.filter(|n| *n != plan::generated::generated(new, "", "pkey"));
                self.keep_sequence_names();
                self.draft.name = new.clone();
                Ok(())
            }
            Alteration::AddConstraint(spec) => self.add_constraint(writing, spec),
            Alteration::DropConstraint { name, if_exists, cascade } => {
                self.drop_constraint(writing, name, *if_exists, *cascade)
            }
            Alteration::RenameConstraint { old, new } => self.rename_constraint(old, new),
            Alteration::RenameIndex { old, new } => {
                match writing.catalog.snapshot().has_relation(new) {
                    true => Err(exists(new)),
                    false => self.rename_constraint(old, new),
                }
            }
            Alteration::Deferral { name, deferral } => self.set_deferral(name, *deferral),
            Alteration::Default { column, default } => {
                let ordinal = self.draft.ordinal(column)?;
                self.check_default(ordinal, default.as_ref())?;
                self.draft.set_default(ordinal, default.clone());
                Ok(())
            }
            Alteration::Nullable { column, nullable } => self.set_nullable(column, *nullable),
            Alteration::Type { column, ty, using } => {
                let ordinal = self.draft.ordinal(column)?;
                let from = self.draft.schema.columns[ordinal].ty;
                if using.is_none() && !sql::dml::is_assignable(&from.arrow(), &ty.arrow()) {
                    let message =
                        format!("column \"{column}\" cannot be cast automatically to type {ty}");
                    return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message).with_hint(
                        format!("You might need to specify \"USING {column}::{ty}\"."),
                    ));
                }
                let quoted = format!("\"{}\"", column.replace('"', "\"\""));
                // A text too long for the type is refused when it is assigned; a cast would cut it.
                let plain = ty.without_length();
                let expression = using.clone().unwrap_or_else(|| format!("{quoted}::{plain}"));
                self.origins[ordinal] = match &self.origins[ordinal] {
                    Origin::Old(_) => Origin::Expression(expression),
                    _ => return Err(SqlError::unsupported("altering a new column's type")),
                };
                self.draft.schema.columns[ordinal].ty = *ty;
                self.rebuild = true;
                let keys = self.draft.constraints.foreign_keys.iter();
                let own = keys.filter(|key| key.columns.contains(&ordinal));
                self.new_keys.extend(own.map(|key| key.name.clone()));
                Ok(())
            }
        }
    }

    fn primary_key_name(&self) -> Option<String> {
        let usual = || plan::generated::generated(&self.draft.name, "", "pkey");
        let key = !self.draft.primary_key.is_empty();
        key.then(|| self.draft.constraints.primary_key_name.clone().unwrap_or_else(usual))
    }

    fn add_column(
        &mut self,
        writing: &Writing<'_>,
        column: &ColumnSpec,
        if_not_exists: bool,
    ) -> SqlResult<()> {
        if if_not_exists && self.draft.schema.ordinal(&column.column.name).is_some() {
            return Ok(());
        }
        self.draft.add_column(column)?;
        self.origins.push(Origin::Default);
        self.rebuild = true;
        column.constraints.iter().try_for_each(|c| self.add_constraint(writing, c))
    }

    fn add_constraint(&mut self, writing: &Writing<'_>, spec: &ConstraintSpec) -> SqlResult<()> {
        let name = match spec {
            ConstraintSpec::PrimaryKey { name, .. } | ConstraintSpec::Unique { name, .. } => {
                self.rebuild = true;
                name
            }
            ConstraintSpec::Check { name, .. } => name,
            ConstraintSpec::ForeignKey(key) => &key.name,
        };
        if let Some(name) = name {
            let index = self.draft.indexes.iter().any(|i| i.name == *name);
            let primary = self.primary_key_name().as_ref() == Some(name);
            let keyed =
                matches!(spec, ConstraintSpec::PrimaryKey { .. } | ConstraintSpec::Unique { .. });
            if keyed && writing.catalog.snapshot().has_relation(name) {
                return Err(exists(name));
            }
            if index || primary {
                let message = format!(
                    "constraint \"{name}\" for relation \"{}\" already exists",
                    self.draft.name
                );
                return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
            }
        }
        self.draft.add_constraint(spec, &writing.catalog)?;
        if matches!(spec, ConstraintSpec::ForeignKey(_)) {
            let added = self.draft.constraints.foreign_keys.last();
            self.new_keys.extend(added.map(|k| k.name.clone()));
        }
        Ok(())
    }

    fn drop_column(
        &mut self,
        writing: &Writing<'_>,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> SqlResult<()> {
        let gone = match self.draft.ordinal(name) {
            Err(_) if if_exists => return Ok(()),
            found => found?,
        };
        let old = self.remap.iter().position(|new| *new == Some(gone));
        for (child, key) in referring(&writing.catalog, self.draft.id) {
            if old.is_some_and(|old| key.referenced.contains(&old)) {
                self.drop_reference(&child.def, &key, cascade)?;
            }
        }
        let own = self.draft.constraints.foreign_keys.iter();
        if own.clone().any(|k| k.table == self.draft.id.0 && k.referenced.contains(&gone)) {
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        }
        self.rebuild = true;
        let shift = |i: usize| if i > gone { i - 1 } else { i };
        self.draft.schema.columns.remove(gone);
        self.origins.remove(gone);
        for new in &mut self.remap {
            *new = new.filter(|&n| n != gone).map(shift);
        }
        if self.draft.primary_key.contains(&gone) {
            self.draft.primary_key.clear();
        }
        self.draft.primary_key.iter_mut().for_each(|i| *i = shift(*i));
        self.draft.indexes.retain(|i| !i.columns.contains(&gone) && !i.included.contains(&gone));
        for index in &mut self.draft.indexes {
            let held = index.columns.iter_mut().chain(&mut index.included);
            held.for_each(|i| *i = shift(*i));
        }
        self.draft.unique.retain(|u| !u.columns.contains(&gone) && !u.included.contains(&gone));
        for unique in &mut self.draft.unique {
            let held = unique.columns.iter_mut().chain(&mut unique.included);
            held.for_each(|i| *i = shift(*i));
        }
        let constraints = &mut self.draft.constraints;
        if gone < constraints.defaults.len() {
            constraints.defaults.remove(gone);
        }
        constraints.foreign_keys.retain(|k| !k.columns.contains(&gone));
        for key in &mut constraints.foreign_keys {
            key.columns.iter_mut().for_each(|i| *i = shift(*i));
            if key.table == self.draft.id.0 {
                key.referenced.iter_mut().for_each(|i| *i = shift(*i));
            }
        }
        let mut checks = vec![];
        for check in constraints.checks.drain(..) {
            if !sql::names_column(&check.expression, name)? {
                checks.push(check);
            }
        }
        constraints.checks = checks;
        Ok(())
    }

    /// A foreign key, of another table or this one, that needs what goes.
    fn drop_reference(
        &mut self,
        child: &TableDef,
        key: &ForeignKey,
        cascade: bool,
    ) -> SqlResult<()> {
        if cascade {
            self.dropped_references.push((child.id, key.name.clone()));
            if child.id == self.entry.def.id {
                self.draft.constraints.foreign_keys.retain(|own| own.name != key.name);
            }
            return Ok(());
        }
        let message =
            format!("cannot alter table {} because other objects depend on it", self.draft.name);
        let detail = format!("constraint {} on table {} depends on it", key.name, child.name);
        Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_detail(detail)
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    fn rename_column(&mut self, old: &str, new: &str) -> SqlResult<()> {
        let ordinal = self.draft.ordinal(old)?;
        if self.draft.schema.ordinal(new).is_some() {
            let message =
                format!("column \"{new}\" of relation \"{}\" already exists", self.draft.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        self.keep_sequence_names();
        self.draft.schema.columns[ordinal].name = new.to_owned();
        let constraints = &mut self.draft.constraints;
        for check in &mut constraints.checks {
            check.expression = sql::renamed_in(&check.expression, old, new)?;
        }
        for default in constraints.defaults.iter_mut().flatten() {
            if let ColumnDefault::Generated(expression) = default {
                *expression = sql::renamed_in(expression, old, new)?;
            }
        }
        Ok(())
    }

    /// Sequences keep their names when their table or column is renamed.
    fn keep_sequence_names(&mut self) {
        let defaults = self.draft.constraints.defaults.iter_mut();
        for (default, column) in defaults.zip(&self.draft.schema.columns) {
            if let Some(ColumnDefault::Identity(identity)) = default {
                let usual = || format!("{}_{}_seq", self.draft.name, column.name);
                identity.name.get_or_insert_with(usual);
            }
        }
    }

    /// Errors: 42601 for another default of an identity or a generated column, 55000 for an identity of a
    /// column that cannot be one.
    fn check_default(&self, ordinal: usize, default: Option<&ColumnDefault>) -> SqlResult<()> {
        let column = &self.draft.schema.columns[ordinal];
        let of = format!("column \"{}\" of relation \"{}\"", column.name, self.draft.name);
        let old = self.draft.constraints.default_of(ordinal);
        let is_identity =
            |d: &ColumnDefault| matches!(d, ColumnDefault::Identity(identity) if identity.standard);
        let refused = |state, what: &str| Err(SqlError::new(state, format!("{of} {what}")));
        if default.is_some_and(is_identity) {
            let state = SqlState("55000");
            return match old {
                _ if column.nullable => {
                    refused(state, "must be declared NOT NULL before identity can be added")
                }
                Some(old) if is_identity(old) => refused(state, "is already an identity column"),
                Some(_) => refused(state, "already has a default value"),
                None => Ok(()),
            };
        }
        match old {
            Some(old) if is_identity(old) => {
                refused(SqlState::SYNTAX_ERROR, "is an identity column")
            }
            Some(ColumnDefault::Generated(_)) => {
                refused(SqlState::SYNTAX_ERROR, "is a generated column")
            }
            _ => Ok(()),
        }
    }

    fn set_nullable(&mut self, column: &str, nullable: bool) -> SqlResult<()> {
        let ordinal = self.draft.ordinal(column)?;
        let identity = self.draft.constraints.identity_of(ordinal);
        if nullable && identity.is_some_and(|identity| identity.standard) {
            let table = &self.draft.name;
            let message =
                format!("column \"{column}\" of relation \"{table}\" is an identity column");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if nullable && self.draft.is_in_primary_key(ordinal) {
            let message = format!("column \"{column}\" is in a primary key");
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let column = &mut self.draft.schema.columns[ordinal];
        // A nullable column of a key has a byte more.
        let keyed = self.draft.indexes.iter().any(|i| i.columns.contains(&ordinal));
        self.rebuild |= keyed && column.nullable != nullable;
        column.nullable = nullable;
        Ok(())
    }

    fn drop_constraint(
        &mut self,
        writing: &Writing<'_>,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> SqlResult<()> {
        let primary = self.primary_key_name().as_deref() == Some(name);
        let index = self.draft.indexes.iter().find(|i| i.unique && i.name == name);
        let key = if primary { Some(&self.draft.primary_key) } else { index.map(|i| &i.columns) };
        if let Some(key) = key.cloned() {
            for (child, foreign) in referring(&writing.catalog, self.draft.id) {
                let same = foreign.referenced.len() == key.len()
                    && foreign.referenced.iter().all(|c| key.contains(c));
                if same {
                    self.drop_reference(&child.def, &foreign, cascade)?;
                }
            }
            self.rebuild = true;
            if primary {
                self.draft.primary_key.clear();
                self.draft.constraints.primary_key_name = None;
            } else {
                self.draft.indexes.retain(|i| i.name != name);
                self.draft.constraints.unique.retain(|unique| unique != name);
            }
            return Ok(());
        }
        let constraints = &mut self.draft.constraints;
        let before = constraints.checks.len() + constraints.foreign_keys.len();
        constraints.checks.retain(|c| c.name != name);
        constraints.foreign_keys.retain(|k| k.name != name);
        let after = constraints.checks.len() + constraints.foreign_keys.len();
        if before == after && !if_exists {
            let table = &self.draft.name;
            let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        Ok(())
    }

    fn rename_constraint(&mut self, old: &str, new: &str) -> SqlResult<()> {
        let new = new.to_owned();
        if self.primary_key_name().as_deref() == Some(old) {
            self.draft.constraints.primary_key_name = Some(new);
            return Ok(());
        }
        let constraints = &mut self.draft.constraints;
        let check = constraints.checks.iter_mut().find(|c| c.name == old).map(|c| &mut c.name);
        let key = constraints.foreign_keys.iter_mut().find(|k| k.name == old).map(|k| &mut k.name);
        let index = self.draft.indexes.iter_mut().find(|i| i.name == old).map(|i| &mut i.name);
        let unique = constraints.unique.iter_mut().find(|name| *name == old);
        match check.or(key).or(index) {
            Some(name) => {
                unique.into_iter().for_each(|name| *name = new.clone());
                *name = new;
                Ok(())
            }
            None => {
                let table = &self.draft.name;
                let message = format!("constraint \"{old}\" for table \"{table}\" does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// Errors: 42704 for a constraint that there is not, 42809 for one that is no foreign key.
    fn set_deferral(&mut self, name: &str, deferral: Deferral) -> SqlResult<()> {
        let constraints = &mut self.draft.constraints;
        if let Some(key) = constraints.foreign_keys.iter_mut().find(|key| key.name == name) {
            key.deferral = deferral;
            return Ok(());
        }
        let (table, checks) = (&self.draft.name, &constraints.checks);
        let is_other = self.draft.indexes.iter().any(|index| index.unique && index.name == name)
            || checks.iter().any(|check| check.name == name)
            || self.primary_key_name().as_deref() == Some(name);
        let of = format!("constraint \"{name}\" of relation \"{table}\"");
        Err(match is_other {
            true => SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{of} is not a foreign key constraint"),
            ),
            false => SqlError::new(SqlState::UNDEFINED_OBJECT, format!("{of} does not exist")),
        })
    }

    /// Gives new indexes their ids, and binds what the definition says.
    pub(crate) fn finish(&mut self, writing: &Writing<'_>) -> SqlResult<()> {
        let snapshot = writing.catalog.snapshot();
        self.next_id = snapshot.next_id;
        if self.entry.def.storage == TableStorage::Column {
            self.draft.uncluster(Deferral::Never);
        }
        for unique in std::mem::take(&mut self.draft.unique) {
            if snapshot.has_relation(&unique.name) {
                return Err(exists(&unique.name));
            }
            self.next_id += 1;
            self.draft.indexes.push(unique.index(IndexId(self.next_id)));
        }
        if !snapshot.is_temporary(&self.entry.def.name) {
            name_sequences(&mut self.draft, snapshot)?;
        }
        self.draft.check(&writing.catalog)
    }

    /// The definition as it becomes.
    pub(crate) fn definition(&self) -> TableDef {
        let mut def = self.draft.table(&self.entry.def);
        def.indexes = self.draft.indexes.iter().cloned().map(Arc::new).collect();
        let mut statistics = (*def.statistics).clone();
        let kept = |origin: &Origin| match origin {
            Origin::Old(old) => statistics.columns.get(*old).cloned(),
            _ => None,
        };
        // Statistics are for all columns or for none.
        let columns = self.origins.iter().map(kept).collect::<Option<Arc<[_]>>>();
        statistics.columns = columns.unwrap_or_default();
        def.statistics = Arc::new(statistics);
        def
    }
}

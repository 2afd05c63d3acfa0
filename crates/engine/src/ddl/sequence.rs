//! `CREATE`, `ALTER` and `DROP SEQUENCE`.

use std::sync::Arc;

use plan::constraints::{ColumnDefault, Constraints};
use plan::sequence::{OwningColumn, SequenceDef, SequenceOptions};
use sql::Draft;
use sql::parse::{AlterSequence, CreateSequence, Drop, SequenceChange};
use sql::sequence::{next_of, numbered_by};
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::names::exists;
use crate::access::rights::Relation;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::writing::Writing;

/// Creates a sequence.
///
/// Errors: 42P07 when the name is taken, 22023 for options that do not fit each other.
pub(crate) async fn create_sequence(
    writing: &Writing<'_>,
    create: &CreateSequence,
) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    if snapshot.has_relation(&create.name) {
        return if create.if_not_exists { Ok(()) } else { Err(exists(&create.name)) };
    }
    let ty = create.options.ty.unwrap_or(LogicalType::Int64);
    let sequence = create.options.create(ty)?;
    let column = owning_column(snapshot, &create.options)?.flatten();
    let (name, type_name) = (create.name.name.clone(), ty.to_string());
    let session_role = writing.catalog.role();
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            let id = snapshot.take_id();
            let def = SequenceDef { id, name, type_name, sequence, owner: column };
            Arc::make_mut(&mut snapshot.access).own(&Relation::Sequence(id), session_role);
            snapshot.sequences_mut().insert(def.name.clone(), Arc::new(def));
            Ok(())
        })
    });
    change.await
}

/// The column that is to own a sequence; `None` where nothing is said of it.
fn owning_column(
    snapshot: &Snapshot,
    options: &SequenceOptions,
) -> SqlResult<Option<Option<OwningColumn>>> {
    let Some(owner) = &options.owner else { return Ok(None) };
    let Some((table, column)) = owner else { return Ok(Some(None)) };
    if snapshot.is_temporary(table) {
        return Err(SqlError::unsupported("a sequence owned by a temporary table"));
    }
    let entry = snapshot.table(table)?;
    if entry.def.schema.ordinal(column).is_none() {
        let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
    }
    Ok(Some(Some(OwningColumn { table: entry.def.id.0, column: column.clone() })))
}

/// Alters a sequence, that of a column too. Statements that run on older versions of the catalog go on
/// with the options that were; the numbers that they take count, unless the sequence restarts.
///
/// Errors: 42P01 and 42P07 for names, 22023 for options that do not fit.
pub(crate) async fn alter_sequence(writing: &Writing<'_>, alter: &AlterSequence) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    if let SequenceChange::Rename(new) = &alter.change
        && snapshot.has_relation(new)
    {
        return Err(exists(new));
    }
    if let Some(def) = snapshot.sequences.get(&alter.name.name) {
        let altered = altered(snapshot, def, &alter.change)?;
        let old = alter.name.name.clone();
        let change = writing.change(move |_, snapshot| {
            Box::pin(async move {
                snapshot.sequences_mut().remove(&old);
                if old != altered.name {
                    rename_in_defaults(snapshot, &old, &altered.name);
                }
                snapshot.sequences_mut().insert(altered.name.clone(), Arc::new(altered));
                Ok(())
            })
        });
        return change.await;
    }
    match snapshot.numbered_column(&alter.name) {
        Some((entry, ordinal)) => {
            alter_column(writing, entry.clone(), ordinal, &alter.change).await
        }
        None if alter.if_exists && !snapshot.has_relation(&alter.name) => Ok(()),
        None => Err(no_sequence(snapshot, &alter.name)),
    }
}

fn altered(
    snapshot: &Snapshot,
    def: &SequenceDef,
    change: &SequenceChange,
) -> SqlResult<SequenceDef> {
    let options = match change {
        SequenceChange::Rename(new) => return Ok(SequenceDef { name: new.clone(), ..def.clone() }),
        SequenceChange::Options(options) => options,
    };
    let ty = options.ty.unwrap_or(def.ty());
    let sequence = options.alter(&def.sequence, ty)?;
    let owner = owning_column(snapshot, options)?.unwrap_or_else(|| def.owner.clone());
    Ok(SequenceDef { type_name: ty.to_string(), sequence, owner, ..def.clone() })
}

async fn alter_column(
    writing: &Writing<'_>,
    entry: Arc<TableEntry>,
    ordinal: usize,
    change: &SequenceChange,
) -> SqlResult<()> {
    let mut constraints = (*entry.def.constraints).clone();
    let Some(Some(ColumnDefault::Identity(identity))) = constraints.defaults.get_mut(ordinal)
    else {
        return Err(SqlError::internal("the column has no sequence"));
    };
    match change {
        SequenceChange::Rename(new) => identity.name = Some(new.clone()),
        SequenceChange::Options(options) => {
            let column = &entry.def.schema.columns[ordinal];
            keeps_column(writing.snapshot(), &entry, ordinal, options)?;
            identity.sequence = options.alter(&identity.sequence, column.ty)?;
        }
    }
    put_constraints(writing, entry, constraints).await
}

/// The sequence of a column has its type and stays with it.
fn keeps_column(
    snapshot: &Snapshot,
    entry: &TableEntry,
    ordinal: usize,
    options: &SequenceOptions,
) -> SqlResult<()> {
    let (table, column) = (&entry.def, &entry.def.schema.columns[ordinal]);
    if options.ty.is_some_and(|ty| ty != column.ty) {
        return Err(SqlError::unsupported("another type for the sequence of a column"));
    }
    let own = OwningColumn { table: table.id.0, column: column.name.clone() };
    match owning_column(snapshot, options)? {
        Some(owner) if owner != Some(own) => {
            let name = table.sequence_name(ordinal);
            let detail = format!("Sequence \"{name}\" is linked to table \"{}\".", table.name);
            Err(SqlError::unsupported("another owner for the sequence of a column")
                .with_detail(detail))
        }
        _ => Ok(()),
    }
}

async fn put_constraints(
    writing: &Writing<'_>,
    entry: Arc<TableEntry>,
    constraints: Constraints,
) -> SqlResult<()> {
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            let mut def = (*entry.def).clone();
            def.constraints = Arc::new(constraints);
            snapshot.put(entry.with_def(def));
            Ok(())
        })
    });
    change.await
}

fn no_sequence(snapshot: &Snapshot, name: &str) -> SqlError {
    match snapshot.has_relation(name) {
        true => SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence")),
        false => {
            let message = format!("relation \"{name}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        }
    }
}

/// Drops sequences; with `CASCADE` also the defaults that take numbers from them.
///
/// Errors: 42P01, 42809 for names; 2BP01 when a default needs one.
pub(crate) async fn drop_sequences(writing: &Writing<'_>, drop: &Drop) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let (mut found, mut columns) = (vec![], vec![]);
    for name in &drop.names {
        match (snapshot.sequences.contains_key(&name.name), snapshot.numbered_column(name)) {
            (true, _) => found.push(name.name.clone()),
            (_, Some((table, ordinal))) if drop.cascade && is_serial(table, ordinal) => {
                columns.push((table.def.name.clone(), ordinal));
            }
            _ if drop.if_exists && !snapshot.has_relation(name) => {}
            _ => return Err(may_not_drop(snapshot, name)),
        }
    }
    if !drop.cascade {
        found.iter().try_for_each(|name| no_dependents(snapshot, name))?;
    }
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            for name in found {
                forget_in_defaults(snapshot, &name);
                snapshot.sequences_mut().remove(&name);
            }
            for (table, ordinal) in columns {
                forget_default(snapshot, &table, ordinal);
            }
            Ok(())
        })
    });
    change.await
}

/// Whether a column takes its numbers by a default, which can go; an identity column needs its sequence.
fn is_serial(table: &TableEntry, ordinal: usize) -> bool {
    table.def.constraints.identity_of(ordinal).is_some_and(|identity| !identity.standard)
}

/// A `serial` column without its sequence has no default any more; it stays as it is else.
fn forget_default(snapshot: &mut Snapshot, table: &str, ordinal: usize) {
    let Some(entry) = snapshot.tables.get(table).cloned() else { return };
    let mut def = (*entry.def).clone();
    let mut constraints = (*def.constraints).clone();
    if let Some(default) = constraints.defaults.get_mut(ordinal) {
        *default = None;
    }
    def.constraints = Arc::new(constraints);
    snapshot.put(entry.with_def(def));
}

fn may_not_drop(snapshot: &Snapshot, name: &str) -> SqlError {
    let Some((table, ordinal)) = snapshot.numbered_column(name) else {
        return match snapshot.has_relation(name) {
            true => no_sequence(snapshot, name),
            false => {
                let message = format!("sequence \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            }
        };
    };
    let serial = is_serial(table, ordinal);
    let (table, column) = (&table.def.name, &table.def.schema.columns[ordinal].name);
    if serial {
        return needed(name, table, column);
    }
    let message =
        format!("cannot drop sequence {name} because column {column} of table {table} requires it");
    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_hint(format!("You can drop column {column} of table {table} instead."))
}

fn needed(name: &str, table: &str, column: &str) -> SqlError {
    let message = format!("cannot drop sequence {name} because other objects depend on it");
    let detail =
        format!("default value for column {column} of table {table} depends on sequence {name}");
    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_detail(detail)
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// Whether a default takes numbers from a sequence.
fn names_sequence(default: &Option<ColumnDefault>, name: &str) -> bool {
    match default {
        Some(ColumnDefault::Expression(text)) => numbered_by(text).is_some_and(|n| n == name),
        _ => false,
    }
}

fn no_dependents(snapshot: &Snapshot, name: &str) -> SqlResult<()> {
    for entry in snapshot.tables.values() {
        let defaults = &entry.def.constraints.defaults;
        let user = defaults.iter().position(|default| names_sequence(default, name));
        if let Some(ordinal) = user {
            return Err(needed(name, &entry.def.name, &entry.def.schema.columns[ordinal].name));
        }
    }
    Ok(())
}

/// Changes the defaults that name a sequence.
fn change_defaults(
    snapshot: &mut Snapshot,
    name: &str,
    change: impl Fn(&mut Option<ColumnDefault>),
) {
    let naming = |entry: &&Arc<TableEntry>| {
        entry.def.constraints.defaults.iter().any(|default| names_sequence(default, name))
    };
    let entries: Vec<_> = snapshot.tables.values().filter(naming).cloned().collect();
    for entry in entries {
        let mut def = (*entry.def).clone();
        let mut constraints = (*def.constraints).clone();
        let naming = |default: &&mut Option<ColumnDefault>| names_sequence(default, name);
        constraints.defaults.iter_mut().filter(naming).for_each(&change);
        def.constraints = Arc::new(constraints);
        snapshot.put(entry.with_def(def));
    }
}

fn forget_in_defaults(snapshot: &mut Snapshot, name: &str) {
    change_defaults(snapshot, name, |default| *default = None);
}

/// Defaults are texts; they follow a sequence that is renamed.
fn rename_in_defaults(snapshot: &mut Snapshot, old: &str, new: &str) {
    let text = next_of(&sql::quote_ident(new));
    let renamed = Some(ColumnDefault::Expression(text));
    change_defaults(snapshot, old, |default| default.clone_from(&renamed));
}

/// Gives the new sequences of columns names that no other relation has: where `t_id_seq` is taken, it is
/// `t_id_seq1`, as PostgreSQL names them.
///
/// Errors: 42P07 where `SEQUENCE NAME` gave one that another relation has.
pub(crate) fn name_sequences(draft: &mut Draft, snapshot: &Snapshot) -> SqlResult<()> {
    let table = draft.id;
    let is_taken = |name: &str| match snapshot.numbered_column(name) {
        Some((owner, _)) => owner.def.id != table,
        None => snapshot.has_relation(name),
    };
    let columns = draft.schema.columns.iter().map(|column| column.name.as_str());
    let mut given: Vec<String> = vec![];
    for (default, column) in draft.constraints.defaults.iter_mut().zip(columns) {
        let Some(ColumnDefault::Identity(identity)) = default else { continue };
        let usual = format!("{}_{column}_seq", draft.name);
        let numbered = (1..).map(|number| format!("{usual}{number}"));
        let is_free = |name: &String| !is_taken(name) && !given.contains(name);
        let name = match &identity.name {
            Some(name) if !is_free(name) => return Err(exists(name)),
            Some(name) => name.clone(),
            None => {
                std::iter::once(usual.clone()).chain(numbered).find(is_free).unwrap_or_default()
            }
        };
        if name != usual {
            identity.name = Some(name.clone());
        }
        given.push(name);
    }
    Ok(())
}

/// The sequences that a table owns go with it.
pub(crate) fn drop_owned(snapshot: &mut Snapshot, table: u32) {
    let is_owned = |def: &SequenceDef| def.owner.as_ref().is_some_and(|o| o.table == table);
    if snapshot.sequences.values().any(|def| is_owned(def)) {
        snapshot.sequences_mut().retain(|_, def| !is_owned(def));
    }
}

/// The sequences that a column owns go with it, and know it by its new name.
pub(crate) fn follow_column(snapshot: &mut Snapshot, table: u32, old: &str, new: Option<&str>) {
    let own = OwningColumn { table, column: old.to_owned() };
    if new == Some(old) || !snapshot.sequences.values().any(|s| s.owner.as_ref() == Some(&own)) {
        return;
    }
    let Some(new) = new else {
        return snapshot.sequences_mut().retain(|_, def| def.owner.as_ref() != Some(&own));
    };
    let owned =
        snapshot.sequences_mut().values_mut().filter(|def| def.owner.as_ref() == Some(&own));
    for def in owned {
        let owner = Some(OwningColumn { table, column: new.to_owned() });
        *def = Arc::new(SequenceDef { owner, ..(**def).clone() });
    }
}

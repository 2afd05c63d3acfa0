//! `CREATE TABLE`, also from a query.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use plan::catalog::{IndexId, TableDef, TableId, TableStorage};
use plan::constraints::Deferral;
use sql::Draft;
use sql::parse::CreateTable;
use storage::TreeId;
use txn::waiting::unless_cancelled;
use types::{Column, SqlError, SqlResult, SqlState};

use super::names::exists;
use super::sequence::name_sequences;
use crate::access::rights::Relation;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::trees::drop_trees;
use crate::columns::refused::check_definition;
use crate::columns::stored::StoredColumns;
use crate::database::Database;
use crate::fault;
use crate::load::loader::Loader;
use crate::load::target::Target;
use crate::parts::attach::attach;
use crate::parts::publish::claim;
use crate::stream::rows::QueryRows;
use crate::writing::Writing;

/// Creates a table, with an index for each of its unique constraints; the number of rows that its
/// query gave it.
///
/// Errors: 42P07 when the name is taken, and those of [`Draft::of`].
pub(crate) async fn create_table(writing: &Writing<'_>, create: &CreateTable) -> SqlResult<u64> {
    let snapshot = writing.catalog.snapshot();
    let taken = match create.temporary {
        true => snapshot.is_temporary(&create.name),
        false => snapshot.has_relation(&create.name),
    };
    if taken {
        return if create.if_not_exists { Ok(0) } else { Err(exists(&create.name)) };
    }
    let mut ids = Ids(snapshot.next_id);
    let id = TableId(ids.take());
    let (columns, mut rows) = match &create.query {
        None => (vec![], None),
        Some(query) => {
            let rows = writing.stream(&writing.finding(None, query, None).await?);
            (columns_of(&rows.schema), Some(rows))
        }
    };
    same_persistence(snapshot, create)?;
    if let Some(location) = create.location.as_ref().filter(|_| is_attached(create)) {
        return attached(writing, create, location, id).await;
    }
    let mut draft = Draft::of(create, columns, id, &writing.catalog)?;
    if !create.temporary {
        name_sequences(&mut draft, snapshot)?;
    }
    let def = stored_as(said_storage(create)?, writing, &draft, &mut ids)?;
    if let Some(index) = def.indexes.iter().find(|index| is_taken(snapshot, create, &index.name)) {
        return Err(exists(&index.name));
    }
    let remote = match &create.location {
        Some(location) => {
            let claimed = claim(writing.db, &def, location);
            Some(unless_cancelled(&writing.cancel, claimed).await??)
        }
        None => None,
    };
    let (index_count, is_column) = (def.indexes.len(), def.storage == TableStorage::Column);
    let placeholders = new_trees(writing.db, 1 + index_count + usize::from(is_column)).await?;
    let (store, (indexes, deleted)) = (writing.db.store(), placeholders[1..].split_at(index_count));
    let columns = deleted.first();
    let columns = columns.map(|deleted| StoredColumns { remote, ..StoredColumns::empty(*deleted) });
    let entry = TableEntry::new(store, def, placeholders[0], indexes)?;
    let entry = entry.with_columns(store, columns.as_ref())?;
    let filled = match &mut rows {
        None => Ok(None),
        Some(rows) => filled(writing, &entry, rows).await,
    };
    match filled {
        Err(error) => {
            // No catalog knows them; a failure leaves pages that the next start takes back.
            drop_trees(writing.db.store(), &placeholders).await.ok();
            Err(error)
        }
        Ok(None) => publish(writing, create, entry, vec![], ids.0).await.map(|()| 0),
        Ok(Some((filled, count))) => {
            let trees: Vec<TreeId> = filled.trees().chain(placeholders.iter().copied()).collect();
            let published = publish(writing, create, filled, placeholders, ids.0).await;
            if published.is_err() {
                drop_trees(writing.db.store(), &trees).await.ok();
            }
            published.map(|()| count)
        }
    }
}

/// True if an index of the table may not have this name. A temporary table hides the table of its
/// name with all indexes of that one.
fn is_taken(snapshot: &Snapshot, create: &CreateTable, name: &str) -> bool {
    let table = snapshot.index(name).map(|(entry, _)| &entry.def.name);
    let is_hidden = create.temporary && table == Some(&create.name.name);
    snapshot.has_relation(name) && !is_hidden
}

/// What the statement says of the storage: where there is a location, columns.
fn said_storage(create: &CreateTable) -> SqlResult<Option<TableStorage>> {
    match (&create.location, create.storage) {
        (None, said) => Ok(said),
        (Some(_), Some(TableStorage::Row)) => {
            Err(SqlError::unsupported("a table of rows with a location")
                .with_hint("Tables that have a location are stored in columns."))
        }
        (Some(_), _) if create.temporary => {
            Err(SqlError::unsupported("a temporary table with a location"))
        }
        (Some(_), _) => Ok(Some(TableStorage::Column)),
    }
}

/// Whether the columns are those of the table at the location.
fn is_attached(create: &CreateTable) -> bool {
    create.columns.is_empty() && create.constraints.is_empty() && create.query.is_none()
}

/// Creates a table that is read from where another database wrote it.
async fn attached(
    writing: &Writing<'_>,
    create: &CreateTable,
    location: &str,
    id: TableId,
) -> SqlResult<u64> {
    let storage = said_storage(create)?.unwrap_or_default();
    let (db, store) = (writing.db, writing.db.store());
    let trees = new_trees(db, 2).await?;
    let attached = unless_cancelled(&writing.cancel, attach(db, location, trees[1])).await;
    let (columns, stored) = match attached.flatten() {
        Ok(attached) => attached,
        Err(error) => {
            drop_trees(store, &trees).await.ok();
            return Err(error);
        }
    };
    let draft = Draft::of(create, columns, id, &writing.catalog)?;
    let def = TableDef { storage, ..defined(&draft, &mut Ids(id.0)) };
    let entry = TableEntry::new(store, def, trees[0], &[])?.with_columns(store, Some(&stored))?;
    publish(writing, create, entry, vec![], id.0).await.map(|()| 0)
}

/// Temporary tables refer to such tables only, and permanent ones to permanent ones.
fn same_persistence(snapshot: &Snapshot, create: &CreateTable) -> SqlResult<()> {
    let kind = |temporary| if temporary { "temporary" } else { "permanent" };
    for name in create.referenced_tables() {
        if name != create.name.as_str() && snapshot.is_temporary(name) != create.temporary {
            let kind = kind(create.temporary);
            let message = format!("constraints on {kind} tables may reference only {kind} tables");
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
    }
    Ok(())
}

/// Ids of new objects, taken from the catalog when the change is made.
pub(crate) struct Ids(pub(crate) u32);

impl Ids {
    pub(crate) fn take(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

fn defined(draft: &Draft, ids: &mut Ids) -> TableDef {
    let none = TableDef {
        id: draft.id,
        name: String::new(),
        schema: draft.schema.clone(),
        storage: TableStorage::Row,
        primary_key: vec![],
        indexes: vec![],
        statistics: Arc::default(),
        constraints: Arc::default(),
    };
    let mut def = draft.table(&none);
    for unique in &draft.unique {
        def.indexes.push(Arc::new(unique.clone().index(IndexId(ids.take()))));
    }
    def
}

/// The definition with the storage that the statement says, or the default: tables that cannot be kept
/// in columns are kept as rows then.
///
/// # Errors
/// 0A000 when the statement says what cannot be.
fn stored_as(
    said: Option<TableStorage>,
    writing: &Writing<'_>,
    draft: &Draft,
    ids: &mut Ids,
) -> SqlResult<TableDef> {
    let storage = said.unwrap_or(writing.settings.default_table_storage);
    if storage == TableStorage::Row {
        return Ok(defined(draft, ids));
    }
    let mut unclustered = draft.clone();
    unclustered.uncluster(Deferral::Never);
    let first = ids.0;
    let def = TableDef { storage, ..defined(&unclustered, ids) };
    match check_definition(&def) {
        Err(error) if said.is_some() => Err(error),
        Err(_) => {
            ids.0 = first;
            Ok(defined(draft, ids))
        }
        Ok(()) => Ok(def),
    }
}

/// The columns of a result, as a table has them.
fn columns_of(rows: &Schema) -> Vec<Column> {
    let column = |field: &Arc<arrow_schema::Field>| Column {
        name: field.name().clone(),
        ty: types::described::column_type(field),
        nullable: true,
    };
    rows.fields().iter().map(column).collect()
}

async fn new_trees(db: &Database, count: usize) -> SqlResult<Vec<TreeId>> {
    let mut trees = vec![];
    for _ in 0..count {
        trees.push(db.store().create_tree().await.map_err(fault::storage)?);
    }
    Ok(trees)
}

/// The table with these rows, in new trees, and how many they are; `None` when there are none.
async fn filled(
    writing: &Writing<'_>,
    entry: &TableEntry,
    rows: &mut QueryRows,
) -> SqlResult<Option<(TableEntry, u64)>> {
    let schema = entry.def.schema.arrow();
    let (db, cancel) = (writing.db, writing.cancel.clone());
    let mut loader = Loader::empty(db, Target::of(Arc::new(entry.clone())), cancel)?;
    let mut count = 0;
    while let Some(batch) = rows.next().await? {
        let typed = batch.columns().iter().zip(&entry.def.schema.columns);
        let typed =
            typed.map(|(a, c)| sql::dml::assign(a, c)).collect::<SqlResult<Vec<ArrayRef>>>()?;
        let batch = crate::dml::rows::batch(&schema, typed, batch.num_rows())?;
        loader.push(&batch).await?;
        count += batch.num_rows() as u64;
    }
    if count == 0 {
        return Ok(None);
    }
    let built = loader.build(db).await?;
    Ok(Some((built.entry(db.store(), (*entry.def).clone())?, count)))
}

async fn publish(
    writing: &Writing<'_>,
    create: &CreateTable,
    entry: TableEntry,
    dropped: Vec<TreeId>,
    next_id: u32,
) -> SqlResult<()> {
    let owner = writing.catalog.role();
    let session = writing.db.session_id().filter(|_| create.temporary);
    let change = writing.change(move |_, snapshot: &mut Snapshot| {
        Box::pin(async move {
            snapshot.next_id = snapshot.next_id.max(next_id);
            Arc::make_mut(&mut snapshot.access).own(&Relation::Table(entry.def.id.0), owner);
            match session {
                Some(session) => snapshot.put_temporary(session, entry),
                None => snapshot.put(entry),
            }
            snapshot.abandon(&dropped);
            Ok(())
        })
    });
    change.await
}

//! Tables that another database writes, brought up to the list that is there now: when a statement begins
//! that reads one outside of a transaction block.

use std::sync::Arc;

use plan::{Node, Operator};
use types::{SqlError, SqlResult};

use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::remote::list::LIST;
use crate::columns::remote::stored::StoredRemote;
use crate::objects::fault::of_object;
use crate::parts::attach::attach;
use crate::writing::Writing;

/// The location of a table that follows what another database writes.
pub(crate) fn followed(entry: &TableEntry) -> Option<&StoredRemote> {
    let remote = entry.columns.as_ref()?.remote.as_ref()?;
    (remote.writer.is_none() && remote.snapshot.is_none()).then_some(remote)
}

/// The tables of a plan that follow what other databases write.
pub(crate) fn following(root: &Node, snapshot: &Snapshot) -> Vec<Arc<TableEntry>> {
    let mut found: Vec<Arc<TableEntry>> = vec![];
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        nodes.extend(node.children());
        let Operator::Scan(scan) = &node.operator else { continue };
        let Some(entry) = snapshot.table_by_id(scan.table.id) else { continue };
        let is_known = found.iter().any(|other| other.def.id == entry.def.id);
        if followed(entry).is_some() && !is_known {
            found.push(entry.clone());
        }
    }
    found
}

/// Whether another list is there than the one that the table was made from.
///
/// # Errors
/// Those of the store.
pub(crate) async fn is_old(snapshot: &Snapshot, entry: &TableEntry) -> SqlResult<bool> {
    let Some(remote) = followed(entry) else { return Ok(false) };
    let bucket = snapshot.bucket(&remote.location)?;
    let info = bucket.store.head(&bucket.location.key(LIST)).await;
    let info = info.map_err(|error| of_object(&error, &bucket.location, LIST))?;
    Ok(info.tag.unwrap_or_default() != remote.tag)
}

/// Whether a list may be a later one of an encrypted table; of others all may be.
pub(crate) fn may_follow(old: &StoredRemote, new: Option<&StoredRemote>) -> bool {
    let is_later = |new: &StoredRemote| new.sealed == old.sealed && new.sequence >= old.sequence;
    (old.sealed.is_none() && new.is_some_and(|new| new.sealed.is_none()))
        || new.is_some_and(is_later)
}

/// Makes the table from the list that is there now. Queries that run go on with what they began with.
///
/// # Errors
/// 55000 when the columns are others, or those of an encrypted table are of another or older one, and those of [`attach`].
pub(crate) async fn refresh(writing: &Writing<'_>, name: &str) -> SqlResult<()> {
    let entry = writing.entry(name)?;
    let Some(columns) = entry.stored_columns().filter(|_| followed(&entry).is_some()) else {
        return Ok(());
    };
    let no_location = || SqlError::internal("a followed table has no location");
    let old = columns.remote.clone().ok_or_else(no_location)?;
    let (location, deleted) = (old.location.clone(), storage::TreeId(columns.deleted));
    let (found, stored) = attach(writing.db, &location, deleted).await?;
    if found != entry.def.schema.columns || !may_follow(&old, stored.remote.as_ref()) {
        let made: Vec<_> = stored.parts.iter().map(|part| part.tree_id()).collect();
        crate::catalog::trees::drop_trees(writing.db.store(), &made).await.ok();
        let message = format!("another table than \"{name}\" is at \"{location}\" by now");
        return Err(SqlError::new(types::SqlState("55000"), message)
            .with_hint("Drop it and create it again."));
    }
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            let newer = (*entry).clone().with_columns(store, Some(&stored))?;
            snapshot.put_over(&entry, newer);
            Ok(())
        })
    });
    change.await
}

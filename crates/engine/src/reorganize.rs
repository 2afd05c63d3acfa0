//! `REORGANIZE TABLE`: the trees of a table written anew, full and in the order of their keys.

use std::collections::HashSet;
use std::sync::Arc;

use types::SqlResult;

use crate::load::{Loader, Rebuilt, replaced};
use crate::writing::Writing;

/// Rebuilds table and indexes from the table's own rows. The new trees take the place of the old
/// ones in one checkpoint; queries that run go on with the old ones.
///
/// Errors: 42P01 for an unknown table.
pub(crate) async fn reorganize(writing: &Writing<'_>, table: &str) -> SqlResult<()> {
    let entry = writing.entry(table)?;
    let (db, cancel) = (writing.db, writing.cancel.clone());
    let loader = Loader::without(db, entry.clone(), &HashSet::new(), cancel).await?;
    let Rebuilt { tree_ids, row_count } = loader.build(db).await?;
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            let new = replaced(store, &entry, &tree_ids, row_count, entry.next_row_id)?;
            // The rows are the same, so what is known of their columns stays true.
            let mut def = (*new.def).clone();
            let mut statistics = (*def.statistics).clone();
            statistics.columns = entry.def.statistics.columns.clone();
            def.statistics = Arc::new(statistics);
            snapshot.put(new.with_def(def));
            snapshot.abandon(&entry.tree_ids());
            Ok(())
        })
    });
    change.await
}

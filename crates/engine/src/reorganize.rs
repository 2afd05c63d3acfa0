//! `REORGANIZE TABLE`: the trees of a table written anew, full and in the order of their keys.

use types::SqlResult;

use crate::load::leaving::Left;
use crate::load::loader::Loader;
use crate::load::target::Target;
use crate::writing::Writing;

/// Rebuilds table and indexes from the table's own rows. The new trees take the place of the old
/// ones in one checkpoint; queries that run go on with the old ones.
///
/// Errors: 42P01 for an unknown table.
pub(crate) async fn reorganize(writing: &Writing<'_>, table: &str) -> SqlResult<()> {
    let entry = writing.entry(table)?;
    let (db, cancel) = (writing.db, writing.cancel.clone());
    let loader = Loader::anew(db, Target::of(entry.clone()), Left::Nothing, cancel).await?;
    let rebuilt = loader.build(db).await?;
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            // The rows are the same, so what is known of their columns stays true.
            let def = (*entry.def).clone();
            snapshot.put_over(&entry, rebuilt.entry(store, def)?);
            Ok(())
        })
    });
    change.await
}

//! Statements that free space, on a disk that is full.

use storage::SpentReserve;
use types::SqlResult;

use crate::catalog;
use crate::writing::Writing;
use txn::waiting::unless_cancelled;

/// Lets a statement that frees space have what the file keeps for that, until this is dropped. On a
/// full disk a checkpoint comes first: what statements have freed before can be used then, and the
/// reserve is for the pages that this one changes.
///
/// # Errors
/// 57014; XX000 when the transaction has ended.
pub(crate) async fn spend_reserve(writing: &Writing<'_>) -> SqlResult<SpentReserve> {
    let (store, versions) = (writing.db.store(), writing.db.versions());
    if catalog::persist::reserve(store, versions.noted_bytes()).await.is_err() {
        // On the heap: what few statements need is not to lie in the future of each.
        Box::pin(make_room(writing)).await?;
    }
    Ok(store.spend_reserve())
}

/// Makes a checkpoint, if the disk has room for it. The statement may have room without one.
pub(crate) async fn make_room(writing: &Writing<'_>) -> SqlResult<()> {
    let right = match writing.db.block() {
        Some(block) => Some(block.right()?),
        None => writing.right.clone(),
    };
    if let Some(right) = right {
        let checkpoint = writing.db.versions().checkpoint(&right);
        unless_cancelled(&writing.cancel, checkpoint).await?.ok();
        unless_cancelled(&writing.cancel, writing.db.store().settled()).await?.ok();
    }
    Ok(())
}

//! Trees that nobody wants any more.

use storage::{Store, TreeId};
use types::SqlResult;

use crate::fault;

pub(crate) async fn drop_trees(store: &Store, trees: &[TreeId]) -> SqlResult<()> {
    for &tree in trees {
        store.drop_tree(tree).await.map_err(fault::storage)?;
    }
    Ok(())
}

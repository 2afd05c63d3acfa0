//! Commits of a database that this one follows, put into its trees beside those who read.

use runtime::IoCounters;
use storage::{Changes, Tree, TreeId};
use txn::undo::ReadView;
use txn::undo::records::Changing;
use txn::waiting::breathe;
use types::SqlResult;

use super::chain::Versions;
use crate::catalog::persist::restore_number;
use crate::fault;

/// Entries of a tree that are changed together: neighbours, as a rule.
const ENTRIES_AT_ONCE: usize = 64;

impl Versions {
    /// Makes entries what they are to be, as one version, which is visible then: who reads as of an
    /// earlier one sees what they were. Nothing of it becomes durable. False for changes of
    /// definitions: nothing is done then.
    ///
    /// # Errors
    /// Those of storage; nobody sees anything of it then, and nothing else may come.
    pub(crate) async fn replay(&self, changes: Changes) -> SqlResult<bool> {
        let catalog = self.store.catalog().id();
        let (of_catalog, of_rows): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|((tree, _), _)| *tree == catalog);
        let newest = self.newest();
        for ((_, key), value) in &of_catalog {
            if !restore_number(&newest, key, value.as_deref())? {
                return Ok(false);
            }
        }
        let _change = self.change_right().await;
        let stamp = newest.read_view.new_stamp();
        let view = newest.read_view.with_own(&stamp, 0);
        for of_tree in of_rows.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
            for some in of_tree.chunks(ENTRIES_AT_ONCE) {
                self.replay_some(&view, some).await?;
                breathe().await;
            }
        }
        let mut catalogs = self.catalogs_mut();
        let ended = catalogs.newest.read_view.next();
        assert!(ended.commit(&stamp, &view, false), "it has read nothing");
        catalogs.replace(ended);
        Ok(true)
    }

    async fn replay_some(&self, view: &ReadView, changes: &[Change]) -> SqlResult<()> {
        let ((tree, _), _) = changes[0];
        let tree = self.store.tree(tree).map_err(fault::storage)?;
        let (mut olds, io) = (vec![], IoCounters::default());
        for ((_, key), _) in changes {
            let old = tree.get(key, &io, <[u8]>::to_vec).await;
            olds.push(old.map_err(fault::storage)?);
        }
        let changing = changes.iter().zip(&olds).map(|(((_, key), _), old)| Changing {
            key,
            old: old.as_deref(),
            keeps_key: false,
        });
        view.record(tree.id(), changing);
        for (((_, key), value), old) in changes.iter().zip(&olds) {
            let change = (key.as_slice(), value.as_deref());
            put(&tree, change, old.is_some(), &io).await?;
        }
        Ok(())
    }
}

/// An entry, and what it is to be.
type Change = ((TreeId, Vec<u8>), Option<Vec<u8>>);

async fn put(
    tree: &Tree,
    (key, value): (&[u8], Option<&[u8]>),
    is_there: bool,
    io: &IoCounters,
) -> SqlResult<()> {
    let done = match (value, is_there) {
        (None, false) => Ok(()),
        (None, true) => tree.delete(key, io).await.map(drop),
        (Some(value), true) => tree.replace(key, value, io).await.map(drop),
        (Some(value), false) => tree.insert(key, value).await.map(drop),
    };
    done.map_err(fault::storage)
}

//! The records of the catalog on disk (`docs/format/catalog.md`): one for each object, in one tree, and
//! their keys.

use std::ops::Bound;

use runtime::IoCounters;
use storage::{Direction, Redo, Tree};
use types::{SqlError, SqlResult, SqlState};

use super::sequence::SequenceKey;
use crate::fault;

/// What a record is about. The byte begins its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The next id of an object.
    Head = 1,
    /// A table: its definition and its trees.
    Table = 2,
    /// Where a sequence stands.
    Number = 3,
    /// All views.
    Views = 4,
    /// The sequences that `CREATE SEQUENCE` made.
    Sequences = 5,
    /// What is said of objects.
    Comments = 6,
    /// Roles and privileges.
    Access = 7,
    /// The trees that a column table has besides those of every table.
    Columns = 8,
    /// Keys of object stores.
    Secrets = 9,
    /// What probes have found of the device.
    Device = 10,
}

const KINDS: [Kind; 10] = [
    Kind::Head,
    Kind::Table,
    Kind::Number,
    Kind::Views,
    Kind::Sequences,
    Kind::Comments,
    Kind::Access,
    Kind::Columns,
    Kind::Secrets,
    Kind::Device,
];

/// Bytes of a key: the kind, an id and a number, big-endian. The catalogs of earlier programs have keys
/// of eight bytes.
pub(super) const KEY_BYTES: usize = 7;

/// The key of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// That of the object; 0 where there is one record of the kind.
    pub(super) id: u32,
    /// The ordinal of a column; 0 for what belongs to none.
    pub(super) number: u16,
}

impl Key {
    /// That of the only record of its kind.
    pub(super) fn only(kind: Kind) -> Key {
        Key { kind, id: 0, number: 0 }
    }

    pub(super) fn table(id: u32) -> Key {
        Key { kind: Kind::Table, id, number: 0 }
    }

    pub(super) fn columns(id: u32) -> Key {
        Key { kind: Kind::Columns, id, number: 0 }
    }

    pub(super) fn number(SequenceKey(id, number): SequenceKey) -> Key {
        Key { kind: Kind::Number, id, number }
    }

    fn encode(self) -> [u8; KEY_BYTES] {
        let mut bytes = [self.kind as u8; KEY_BYTES];
        bytes[1..5].copy_from_slice(&self.id.to_be_bytes());
        bytes[5..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> SqlResult<Key> {
        let [kind, id @ .., high, low] = bytes else { return Err(damaged("a key is too short")) };
        let known = KINDS.into_iter().find(|known| *known as u8 == *kind);
        let kind = known.ok_or_else(|| damaged(&format!("kind {kind} is not known")))?;
        let number = u16::from_be_bytes([*high, *low]);
        Ok(Key { kind, id: u32::from_be_bytes(fixed(id)?), number })
    }
}

/// The records of the catalog, to be changed; for the log, what was changed.
pub(super) struct Records<'a> {
    pub(super) tree: Tree,
    pub(super) redo: &'a mut Redo,
}

impl Records<'_> {
    /// Writes a record, also over one that is there.
    pub(super) async fn put(&mut self, key: Key, value: &[u8]) -> SqlResult<()> {
        let (key, io) = (key.encode(), IoCounters::default());
        if !self.tree.replace(&key, value, &io).await.map_err(fault::storage)? {
            self.tree.insert(&key, value).await.map_err(fault::storage)?;
        }
        self.redo.push(self.tree.id(), &key, Some(value));
        Ok(())
    }

    /// Removes a record, if it is there.
    pub(super) async fn remove(&mut self, key: Key) -> SqlResult<()> {
        let (key, io) = (key.encode(), IoCounters::default());
        if self.tree.delete(&key, &io).await.map_err(fault::storage)? {
            self.redo.push(self.tree.id(), &key, None);
        }
        Ok(())
    }

    /// Removes the records of all numbers of an object.
    pub(super) async fn remove_all(&mut self, kind: Kind, id: u32) -> SqlResult<()> {
        let (first, last) = (Key { kind, id, number: 0 }, Key { kind, id, number: u16::MAX });
        let (first, last) = (first.encode(), last.encode());
        let bounds = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        for (key, _) in entries(&self.tree, bounds.0, bounds.1).await? {
            self.remove(Key::decode(&key)?).await?;
        }
        Ok(())
    }
}

/// All records of a catalog, in the order of their keys.
pub(super) async fn all(tree: &Tree) -> SqlResult<Vec<(Key, Vec<u8>)>> {
    let all = entries(tree, Bound::Unbounded, Bound::Unbounded).await?;
    all.into_iter().map(|(key, value)| Ok((Key::decode(&key)?, value))).collect()
}

/// The entries of a tree within bounds, in order.
pub(super) async fn entries(
    tree: &Tree,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> SqlResult<Vec<(Vec<u8>, Vec<u8>)>> {
    let (io, mut found) = (IoCounters::default(), vec![]);
    let mut cursor = tree.range(low, high, Direction::Forward);
    while let Some(leaf) = cursor.next(&io).await.map_err(fault::storage)? {
        for index in 0..leaf.len() {
            let mut key = vec![];
            let value = leaf.entry(index, &mut key).to_vec();
            found.push((key, value));
        }
    }
    Ok(found)
}

/// So many bytes, and no others.
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> SqlResult<[u8; N]> {
    bytes.try_into().map_err(|_| damaged("a field has the wrong length"))
}

/// XX001
pub(super) fn damaged(why: &str) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("the catalog is damaged: {why}"))
}

//! Changes of entries as the log has them (`docs/format/log.md`, section 3).

use crate::le::u32_at;
use crate::tree_id::TreeId;

const CHANGE_HEADER_BYTES: usize = 12;

/// The `value_len` of an entry that is gone.
const GONE: u32 = u32::MAX;

/// Changes of entries, to be made durable by [`crate::Store::log`]. What is in them has been done in
/// the trees already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redo {
    bytes: Vec<u8>,
}

impl Redo {
    /// Adds that the entry of `key` has this value now, or is gone. The last change of a key counts.
    pub fn push(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>) {
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).expect("an entry is short");
        self.bytes.extend(tree.0.to_le_bytes());
        self.bytes.extend(len(key).to_le_bytes());
        self.bytes.extend(value.map_or(GONE, len).to_le_bytes());
        self.bytes.extend(key);
        self.bytes.extend(value.unwrap_or_default());
    }

    /// Adds the changes of another one behind its own.
    pub fn append(&mut self, other: &Redo) {
        self.bytes.extend(&other.bytes);
    }

    /// Forgets all but the first `len` bytes, which a call of [`Redo::len`] has returned.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Bytes in the log.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing to be logged.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What goes into a frame.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A change as it is read: tree, key, value.
pub(crate) type Change<'a> = (TreeId, &'a [u8], Option<&'a [u8]>);

/// Takes the first change off the bytes; `None` when they are none.
pub(crate) fn split_first(bytes: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let (header, rest) = bytes.split_at_checked(CHANGE_HEADER_BYTES)?;
    let (key, rest) = rest.split_at_checked(u32_at(header, 4) as usize)?;
    let tree = TreeId(u32_at(header, 0));
    match u32_at(header, 8) {
        GONE => Some(((tree, key, None), rest)),
        len => {
            let (value, rest) = rest.split_at_checked(len as usize)?;
            Some(((tree, key, Some(value)), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back() {
        let mut redo = Redo::default();
        redo.push(TreeId(3), b"key", Some(b"value"));
        redo.push(TreeId(4), b"", None);
        let kept = redo.len();
        redo.push(TreeId(5), b"undone", Some(b""));
        redo.truncate(kept);
        let (first, rest) = split_first(redo.bytes()).unwrap();
        assert_eq!(first, (TreeId(3), &b"key"[..], Some(&b"value"[..])));
        let (second, rest) = split_first(rest).unwrap();
        assert_eq!(second, (TreeId(4), &b""[..], None));
        assert!(rest.is_empty());
        assert!(split_first(&redo.bytes()[..kept - 1]).is_some());
        assert!(split_first(&redo.bytes()[..14]).is_none(), "it ends in the key");
    }
}

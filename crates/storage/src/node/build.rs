//! Making nodes from sorted entries, and changing single entries of them.

use super::layout::{
    CELL_BYTES, COUNT, HAS_OVERFLOW, HEAP_TOP, HINT_COUNT, HINTS, LEVEL, LOWER_LEN, LOWER_OFF,
    OVERFLOW_MARK, PREFIX_LEN, SLOT_BYTES, SLOTS, UPPER_INF, UPPER_LEN, UPPER_OFF,
};
use super::search::head_of;
use super::{Node, Value};
use crate::le::{set_u16, set_u32, u16_at, u32_at};
use crate::page::{self, Identity, PageKind};

/// What a node is, apart from its entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub level: u8,
    pub lower: &'a [u8],
    pub upper: Option<&'a [u8]>,
}

/// Sorted entries in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    /// For each entry: where its key ends and where its value ends, and whether that is a reference.
    ends: Vec<(usize, usize, bool)>,
}

impl Entries {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn push(&mut self, key: &[u8], value: Value<'_>) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value.bytes);
        self.ends.push((key_end, self.bytes.len(), value.overflow));
    }

    pub fn key(&self, position: usize) -> &[u8] {
        &self.bytes[self.begin(position)..self.ends[position].0]
    }

    pub fn value(&self, position: usize) -> Value<'_> {
        let (begin, end, overflow) = self.ends[position];
        Value { bytes: &self.bytes[begin..end], overflow }
    }

    /// Bytes of keys and values of an entry.
    pub fn entry_len(&self, position: usize) -> usize {
        self.ends[position].1 - self.begin(position)
    }

    fn begin(&self, position: usize) -> usize {
        if position == 0 { 0 } else { self.ends[position - 1].1 }
    }

    /// Key and value of each entry.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Value<'_>)> {
        (0..self.len()).map(|i| (self.key(i), self.value(i)))
    }

    /// Removes the first `count` entries.
    pub fn drain_front(&mut self, count: usize) {
        let cut = self.begin(count);
        self.bytes.drain(..cut);
        self.ends.drain(..count);
        for end in &mut self.ends {
            *end = (end.0 - cut, end.1 - cut, end.2);
        }
    }
}

/// Length of the longest common prefix.
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The shortest key above `left` that is not above `right`: a prefix of `right`.
pub(crate) fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    assert!(left < right, "a separator lies between ascending keys");
    &right[..common_prefix_len(left, right) + 1]
}

/// Bytes of a page that `count` entries of `entries_len` bytes in all need within these fences.
pub(crate) fn bytes_needed(
    lower: &[u8],
    upper: Option<&[u8]>,
    count: usize,
    entries_len: usize,
) -> usize {
    let prefix = upper.map_or(0, |upper| common_prefix_len(lower, upper));
    let fences = lower.len() + upper.map_or(0, <[u8]>::len);
    SLOTS + fences + count * (SLOT_BYTES + CELL_BYTES) + entries_len - count * prefix
}

/// Writes a whole node into `page`.
pub(crate) fn build<'e>(
    page: &mut [u8],
    identity: Identity,
    shape: Shape<'_>,
    entries: impl Iterator<Item = (&'e [u8], Value<'e>)>,
) {
    let kind = if shape.level == 0 { PageKind::Leaf } else { PageKind::Inner };
    page::init(page, kind, identity);
    let prefix_len = shape.upper.map_or(0, |upper| common_prefix_len(shape.lower, upper));
    let end = page.len();
    set_u16(page, HEAP_TOP, fit(end));
    page[LEVEL] = shape.level;
    page[UPPER_INF] = u8::from(shape.upper.is_none());
    write_fence(page, LOWER_OFF, LOWER_LEN, shape.lower);
    write_fence(page, UPPER_OFF, UPPER_LEN, shape.upper.unwrap_or_default());
    set_u16(page, PREFIX_LEN, fit(prefix_len));
    let mut count = 0;
    for (key, value) in entries {
        write_entry(page, count, &key[prefix_len..], value);
        count += 1;
        set_u16(page, COUNT, fit(count));
    }
    refresh_hints(page);
}

/// Writes an empty leaf that is responsible for all keys: the root of an empty tree.
pub(crate) fn build_empty(page: &mut [u8], identity: Identity) {
    build(page, identity, Shape { level: 0, lower: b"", upper: None }, std::iter::empty());
}

/// Inserts an entry at `position`, where `lower_bound` said that it belongs; false when there is no
/// room.
pub(crate) fn insert(page: &mut [u8], position: usize, key: &[u8], value: Value<'_>) -> bool {
    let node = Node::new(page);
    let count = node.count();
    assert!(node.covers(key), "the key lies within the fences");
    assert!(position <= count, "position {position} of {count}");
    if !node.has_room(key.len(), value.bytes.len()) {
        return false;
    }
    let suffix = &key[node.prefix_len()..];
    if node.free_bytes() < SLOT_BYTES + CELL_BYTES + suffix.len() + value.bytes.len() {
        compact(page);
    }
    let slot = SLOTS + position * SLOT_BYTES;
    page.copy_within(slot..SLOTS + count * SLOT_BYTES, slot + SLOT_BYTES);
    write_entry(page, position, suffix, value);
    set_u16(page, COUNT, fit(count + 1));
    refresh_hints(page);
    true
}

/// Removes the entry at `position`. Its cell becomes a hole of the heap, which the next compaction
/// closes.
pub(crate) fn remove(page: &mut [u8], position: usize) {
    let node = Node::new(page);
    let count = node.count();
    assert!(position < count, "position {position} of {count}");
    let (cell, cell_len) = (node.cell(position).0, node.cell_len(position));
    if cell == usize::from(u16_at(page, HEAP_TOP)) {
        set_u16(page, HEAP_TOP, fit(cell + cell_len));
    }
    let slot = SLOTS + position * SLOT_BYTES;
    page.copy_within(slot + SLOT_BYTES..SLOTS + count * SLOT_BYTES, slot);
    set_u16(page, COUNT, fit(count - 1));
    refresh_hints(page);
}

/// Gives the entry at `position` another value; false when there is no room for it.
pub(crate) fn replace(page: &mut [u8], position: usize, value: Value<'_>) -> bool {
    let node = Node::new(page);
    let (cell, suffix_len) = node.cell(position);
    if !node.has_room_instead(position, value.bytes.len()) {
        return false;
    }
    if value.bytes.len() > node.value(position).bytes.len() {
        let key = node.key(position);
        remove(page, position);
        let inserted = insert(page, position, &key, value);
        assert!(inserted, "the node has room for the longer value");
        return true;
    }
    let value_at = cell + CELL_BYTES + suffix_len;
    page[value_at..value_at + value.bytes.len()].copy_from_slice(value.bytes);
    mark_len(page, cell, value);
    true
}

/// Closes the holes of the heap.
fn compact(page: &mut [u8]) {
    let node = Node::new(page);
    let mut entries = Entries::default();
    node.visit_stored(0..node.count(), &mut |key, value| entries.push(key, value));
    let (lower, upper) = (node.lower().to_vec(), node.upper().map(<[u8]>::to_vec));
    let shape = Shape { level: node.level(), lower: &lower, upper: upper.as_deref() };
    let identity = Identity::of(page);
    build(page, identity, shape, entries.iter());
}

fn write_fence(page: &mut [u8], offset: usize, len: usize, fence: &[u8]) {
    let at = take_heap(page, fence.len());
    page[at..at + fence.len()].copy_from_slice(fence);
    set_u16(page, offset, fit(at));
    set_u16(page, len, fit(fence.len()));
}

fn write_entry(page: &mut [u8], position: usize, suffix: &[u8], value: Value<'_>) {
    let slot = SLOTS + position * SLOT_BYTES;
    let cell = take_heap(page, CELL_BYTES + suffix.len() + value.bytes.len());
    assert!(cell >= slot + SLOT_BYTES, "entry {position} does not fit its node");
    mark_len(page, cell, value);
    let value_at = cell + CELL_BYTES + suffix.len();
    page[cell + CELL_BYTES..value_at].copy_from_slice(suffix);
    page[value_at..value_at + value.bytes.len()].copy_from_slice(value.bytes);
    set_u32(page, slot, head_of(suffix));
    set_u16(page, slot + 4, fit(cell));
    set_u16(page, slot + 6, fit(suffix.len()));
}

/// Writes the length of a cell's value, and whether that is a reference.
fn mark_len(page: &mut [u8], cell: usize, value: Value<'_>) {
    let mark = if value.overflow { OVERFLOW_MARK } else { 0 };
    set_u16(page, cell, fit(value.bytes.len()) | mark);
    page[HAS_OVERFLOW] |= u8::from(value.overflow);
}

fn take_heap(page: &mut [u8], len: usize) -> usize {
    let top = usize::from(u16_at(page, HEAP_TOP));
    assert!(len <= top, "the heap of a node overflows");
    set_u16(page, HEAP_TOP, fit(top - len));
    top - len
}

fn refresh_hints(page: &mut [u8]) {
    let count = usize::from(u16_at(page, COUNT));
    if count <= 2 * HINT_COUNT {
        page[HINTS..SLOTS].fill(0);
        return;
    }
    let distance = count / (HINT_COUNT + 1);
    for index in 0..HINT_COUNT {
        let head = u32_at(page, SLOTS + (index + 1) * distance * SLOT_BYTES);
        set_u32(page, HINTS + 4 * index, head);
    }
}

fn fit(value: usize) -> u16 {
    u16::try_from(value).expect("offsets in a page fit 16 bits")
}

//! Checks that a node is what `docs/format/page.md` says, byte ranges first, so that nothing here
//! can panic.

use super::Node;
use super::layout::{
    CELL_BYTES, HEAP_TOP, LOWER_LEN, LOWER_OFF, OVERFLOW_MARK, PREFIX_LEN, SLOT_BYTES, SLOTS,
    UPPER_LEN, UPPER_OFF,
};
use super::search::head_of;
use crate::le::u16_at;
use crate::overflow::{REFERENCE_BYTES, Reference, VALUE_LEN_MAX};

/// Checks the inside of a node.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn verify(page: &[u8]) -> Result<(), &'static str> {
    verify_ranges(page)?;
    verify_keys(&Node::new(page))
}

fn verify_ranges(page: &[u8]) -> Result<(), &'static str> {
    let node = Node::new(page);
    let heap_top = usize::from(u16_at(page, HEAP_TOP));
    let slots_end = SLOTS + node.count() * SLOT_BYTES;
    if heap_top > page.len() || slots_end > heap_top {
        return Err("slots and heap overlap");
    }
    let inside = |offset: usize, len: usize| offset >= heap_top && offset + len <= page.len();
    let at = |offset: usize| usize::from(u16_at(page, offset));
    if !inside(at(LOWER_OFF), at(LOWER_LEN)) || !inside(at(UPPER_OFF), at(UPPER_LEN)) {
        return Err("a fence lies outside of the heap");
    }
    if at(PREFIX_LEN) > at(LOWER_LEN) {
        return Err("the prefix is longer than the lower fence");
    }
    for position in 0..node.count() {
        let (cell, suffix_len) = node.cell(position);
        if !inside(cell, CELL_BYTES + suffix_len)
            || !inside(cell, CELL_BYTES + suffix_len + value_len(page, cell))
        {
            return Err("a cell lies outside of the heap");
        }
        let value = node.value(position);
        if !node.is_leaf() && (value.bytes.len() != 4 || value.overflow) {
            return Err("a child is not a page number");
        }
        if value.overflow && (!node.has_overflow() || !is_reference(value.bytes)) {
            return Err("a long value without a reference");
        }
    }
    if node.used_bytes() > page.len() {
        return Err("cells overlap");
    }
    Ok(())
}

fn value_len(page: &[u8], cell: usize) -> usize {
    usize::from(u16_at(page, cell) & !OVERFLOW_MARK)
}

/// Whether the bytes are a reference to a value that may be.
fn is_reference(bytes: &[u8]) -> bool {
    let len_max = VALUE_LEN_MAX as u32;
    bytes.len() == REFERENCE_BYTES && (1..=len_max).contains(&Reference::decode(bytes).len)
}

fn verify_keys(node: &Node<'_>) -> Result<(), &'static str> {
    let mut previous: Option<Vec<u8>> = None;
    for position in 0..node.count() {
        let key = node.key(position);
        if !node.covers(&key) {
            return Err("a key lies outside of the fences");
        }
        if previous.as_ref().is_some_and(|previous| *previous >= key) {
            return Err("keys are out of order");
        }
        if node.head(position) != head_of(node.suffix(position)) {
            return Err("a head does not match its key");
        }
        if node.lower_bound(&key) != (position, true) {
            return Err("a key cannot be found");
        }
        previous = Some(key);
    }
    if !node.is_leaf() && (node.count() == 0 || node.key(0) != node.lower()) {
        return Err("an inner node does not begin at its lower fence");
    }
    Ok(())
}

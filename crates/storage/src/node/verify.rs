//! Checks that a node is what `docs/format/page.md` says, byte ranges first, so that nothing here
//! can panic.

use super::Node;
use super::layout::{
    CELL_BYTES, HEAP_TOP, LOWER_LEN, LOWER_OFF, PREFIX_LEN, SLOT_BYTES, SLOTS, UPPER_LEN, UPPER_OFF,
};
use super::search::head_of;
use crate::le::u16_at;

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
            || !inside(cell, CELL_BYTES + suffix_len + usize::from(u16_at(page, cell)))
        {
            return Err("a cell lies outside of the heap");
        }
        if !node.is_leaf() && node.value(position).len() != 4 {
            return Err("a child is not a page number");
        }
    }
    if node.used_bytes() > page.len() {
        return Err("cells overlap");
    }
    Ok(())
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

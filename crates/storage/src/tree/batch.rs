//! A batch of keys, descended together: level by level, each node once.

use std::ops::Range;

use runtime::IoCounters;

use super::shortcuts::{Shortcut, Vicinity};
use super::{Depth, Step, Tree};
use crate::error::{Result, StorageError};
use crate::node::{Node, Value};
use crate::overflow::Reference;
use crate::page::PageId;
use crate::pool::Pool;

/// Nodes whose reads are started ahead of the one that is being searched.
const WINDOW_NODES: usize = 128;

/// Nodes ahead of the current one whose translation entries, and whose first lines, are fetched
/// into the processor's cache.
const HINT_ENTRY_AHEAD: usize = 16;
const HINT_PAGE_AHEAD: usize = 8;

/// Leaves ahead of the current one whose slots, and whose cells, are looked for.
const HINT_SLOTS_AHEAD: usize = 4;
const HINT_CELLS_AHEAD: usize = 2;

/// Keys of one leaf for which that is done: more of them are near to each other.
const HINT_KEYS_MAX: usize = 4;

/// From this many nodes in a level on, hints pay.
const HINT_NODES_MIN: usize = 16;

/// Long values whose reads are started together.
const LONG_VALUES_AHEAD: usize = 32;

/// A node and the keys that lead to it, as positions in the sorted order.
struct Group<'t> {
    pid: PageId,
    keys: Range<u32>,
    /// The shortcut that leads to it, and the frame that it names.
    shortcut: Option<Shortcut<'t>>,
    frame: Option<u32>,
}

impl Group<'_> {
    /// Runs `look` on the page, if it is in the frame that is known.
    fn peek<R>(&self, pool: &Pool, look: impl FnMut(&[u8]) -> R) -> Option<R> {
        pool.peek_in(self.frame?, self.pid, look)
    }
}

impl Tree {
    /// Looks up all `keys`, in any order, duplicates included; `visit` is told the position in
    /// `keys` and the value of each that the tree holds, in no particular order.
    ///
    /// With [`Depth::Many`] the reads of a level are started together, consecutive pages in one
    /// request.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when a page cannot be read; some values may have been visited by then.
    pub async fn get_batch(
        &self,
        keys: &[impl AsRef<[u8]>],
        depth: Depth,
        io: &IoCounters,
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by(|a, b| keys[*a as usize].as_ref().cmp(keys[*b as usize].as_ref()));
        let place = |at: u32| order[at as usize] as usize;
        let key = |at: u32| keys[place(at)].as_ref();
        let mut strays: Vec<u32> = Vec::new();
        let mut long: Vec<(u32, Reference)> = Vec::new();
        let mut groups = self.first_groups(keys.len() as u32, key);
        while !groups.is_empty() {
            let mut next = Vec::with_capacity(groups.len());
            for index in 0..groups.len() {
                self.look_ahead(index, groups.len(), |i| groups[i].pid, depth, io);
                self.look_into_leaves(&groups, index, key);
                let group = &groups[index];
                let mut look = |page: &[u8]| {
                    for at in group.keys.clone() {
                        match self.step(page, key(at)) {
                            Step::Down(child, _) => extend(&mut next, child, at, None),
                            Step::Leaf => {
                                let node = Node::new(page);
                                if let (position, true) = node.covered_bound(key(at)) {
                                    match node.value(position) {
                                        Value { bytes, overflow: true } => {
                                            long.push((at, Reference::decode(bytes)));
                                        }
                                        Value { bytes, .. } => visit(place(at), bytes),
                                    }
                                }
                            }
                            Step::Astray => strays.push(at),
                        }
                    }
                };
                if group.peek(&self.store.pool, &mut look).is_some() {
                    continue;
                }
                match self.store.pool.read(group.pid, io, look).await {
                    // The number may be outdated: each key is looked for from the root.
                    Err(StorageError::Corrupt { .. }) => strays.extend(group.keys.clone()),
                    read => read?,
                }
                if let Some(shortcut) = group.shortcut {
                    shortcut.set(group.pid, self.store.pool.frame_of(group.pid));
                }
            }
            groups = next;
        }
        for found in long.chunks(LONG_VALUES_AHEAD) {
            if depth == Depth::Many {
                let page_size = self.store.pool.page_size();
                let pids = found.iter().flat_map(|(_, value)| value.extent(page_size).pids());
                self.store.pool.prefetch(pids.take(self.store.pool.window(WINDOW_NODES)), io);
            }
            for &(at, reference) in found {
                let value = self.resolve(key(at), reference, io).await?;
                value.into_iter().for_each(|value| visit(place(at), &value));
            }
        }
        for at in strays {
            self.get(key(at), io, |value| visit(place(at), value)).await?;
        }
        Ok(())
    }

    /// The nodes at which the descents begin: leaves, where the table of shortcuts knows them.
    fn first_groups<'k>(&self, count: u32, key: impl Fn(u32) -> &'k [u8]) -> Vec<Group<'_>> {
        let near: Vec<_> = (0..count)
            .map_while(|at| self.shared.shortcuts.near(key(at)))
            .inspect(|vicinity| vicinity.hint())
            .collect();
        let mut groups = Vec::new();
        for at in 0..count {
            let shortcut = near.get(at as usize).map(Vicinity::shortcut);
            match shortcut.and_then(|shortcut| Some((shortcut, shortcut.leaf()?.0))) {
                Some((shortcut, pid)) => extend(&mut groups, pid, at, Some(shortcut)),
                None => extend(&mut groups, self.shared.root, at, None),
            }
        }
        if near.is_empty() {
            self.came_from_root(u64::from(count));
        }
        groups
    }

    /// Called before node `index` is searched: brings closer what the searches of leaves a few groups
    /// later will touch, one dependent step after the other (corobase paper, section 5.8).
    fn look_into_leaves<'k>(
        &self,
        groups: &[Group<'_>],
        index: usize,
        key: impl Fn(u32) -> &'k [u8],
    ) {
        let pool = &self.store.pool;
        if groups.len() < HINT_NODES_MIN || !pool.is_interleaved() || !self.is_out_of_cache(0) {
            return;
        }
        if let Some(frame) = groups.get(index + HINT_PAGE_AHEAD).and_then(|group| group.frame) {
            pool.hint_frame(frame);
        }
        let hint = |ahead: usize, hint: fn(&Node<'_>, &[u8])| {
            let Some(group) = groups.get(index + ahead) else { return };
            let look = |page: &[u8]| {
                let node = Node::new(page);
                if self.owns(page) {
                    group.keys.clone().take(HINT_KEYS_MAX).for_each(|at| hint(&node, key(at)));
                }
            };
            match group.frame {
                Some(frame) => pool.peek_in(frame, group.pid, look),
                None => pool.peek(group.pid, look),
            };
        };
        hint(HINT_SLOTS_AHEAD, |node, key| node.hint_slots(key));
        hint(HINT_CELLS_AHEAD, |node, key| node.hint_cell(key));
    }

    /// Called before node `index` of a level is searched: starts reads of the nodes after it, and
    /// brings resident ones closer.
    pub(super) fn look_ahead(
        &self,
        index: usize,
        count: usize,
        pid: impl Fn(usize) -> PageId,
        depth: Depth,
        io: &IoCounters,
    ) {
        let pool = &self.store.pool;
        let window = pool.window(WINDOW_NODES);
        if depth == Depth::Many && index.is_multiple_of(window / 2) && count > 1 {
            let begin = if index == 0 { 0 } else { index + window / 2 };
            let end = count.min(index + window);
            pool.prefetch((begin..end).map(&pid), io);
        }
        if count < HINT_NODES_MIN || !pool.is_interleaved() {
            return;
        }
        if index + HINT_ENTRY_AHEAD < count {
            pool.hint_entry(pid(index + HINT_ENTRY_AHEAD));
        }
        if index + HINT_PAGE_AHEAD < count {
            pool.hint_page(pid(index + HINT_PAGE_AHEAD));
        }
    }
}

fn extend<'t>(groups: &mut Vec<Group<'t>>, pid: PageId, at: u32, shortcut: Option<Shortcut<'t>>) {
    match groups.last_mut() {
        Some(last) if last.pid == pid && last.keys.end == at => last.keys.end = at + 1,
        _ => {
            let frame = shortcut.and_then(Shortcut::leaf).and_then(|(_, frame)| frame);
            groups.push(Group { pid, keys: at..at + 1, shortcut, frame });
        }
    }
}

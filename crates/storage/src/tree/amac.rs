//! Look-ups as state machines that are written by hand, in a ring (asynchronous memory access chaining;
//! Kocberber, Falsafi and Grot, VLDB 2015): what interleaving gains without coroutines and without a
//! scheduler. `dovetail bench ycsb` has it as a bound for both; nothing else calls it, since its searches
//! cannot wait for a page.

use runtime::IoCounters;

use super::Tree;
use super::shortcuts::{Shortcut, Vicinity};
use crate::error::Result;
use crate::node::{Node, Value};
use crate::page::PageId;

/// What a search has asked for, and may look at when its turn comes.
enum Stage<'t> {
    /// The leaves near to its key, in the table of shortcuts.
    Vicinity(Vicinity<'t>),
    /// The head of its leaf, in the frame where it was lately.
    Leaf(PageId, u32),
    /// The slots that the leaf's hints lead to.
    Slots(PageId, u32),
    /// The cell of the key.
    Cell(PageId, u32),
}

struct Search<'t> {
    at: usize,
    stage: Stage<'t>,
}

/// How a turn ended.
enum Turn<'t> {
    Asked(Stage<'t>),
    Found,
    /// Whatever is not as it was lately: a search from the root says.
    Astray,
}

impl Tree {
    /// Looks up all `keys`, `window` at a time, each by one step of its search after the other; `visit` is told
    /// the position in `keys` and the value of each that the tree holds.
    ///
    /// # Errors
    /// As [`Tree::get`].
    ///
    /// # Panics
    /// If `window` is 0.
    pub async fn get_by_state_machines(
        &self,
        keys: &[impl AsRef<[u8]>],
        window: usize,
        io: &IoCounters,
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<()> {
        assert!(window > 0, "a ring has a place");
        let mut strays = vec![];
        let mut waiting = 0..keys.len();
        let mut next = |strays: &mut Vec<usize>| {
            waiting.by_ref().find_map(|at| {
                let begun = self.shared.shortcuts.near(keys[at].as_ref()).map(|vicinity| {
                    vicinity.hint();
                    Search { at, stage: Stage::Vicinity(vicinity) }
                });
                if begun.is_none() {
                    strays.push(at);
                }
                begun
            })
        };
        let mut ring: Vec<Search<'_>> = (0..window).map_while(|_| next(&mut strays)).collect();
        while !ring.is_empty() {
            let mut index = 0;
            while index < ring.len() {
                let search = &mut ring[index];
                match self.turn(search, keys[search.at].as_ref(), visit) {
                    Turn::Asked(stage) => {
                        search.stage = stage;
                        index += 1;
                        continue;
                    }
                    Turn::Astray => strays.push(search.at),
                    Turn::Found => {}
                }
                match next(&mut strays) {
                    Some(begun) => {
                        ring[index] = begun;
                        index += 1;
                    }
                    None => drop(ring.swap_remove(index)),
                }
            }
        }
        for at in strays {
            self.get(keys[at].as_ref(), io, |value| visit(at, value)).await?;
        }
        Ok(())
    }

    #[inline]
    fn turn<'t>(
        &'t self,
        search: &Search<'t>,
        key: &[u8],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Turn<'t> {
        let pool = &self.store.pool;
        let hint = |frame: u32, pid: PageId, hint: fn(&Node<'_>, &[u8])| {
            let look = |page: &[u8]| self.owns(page).then(|| hint(&Node::new(page), key));
            pool.peek_in(frame, pid, look).flatten()
        };
        match &search.stage {
            Stage::Vicinity(vicinity) => match Shortcut::leaf(vicinity.shortcut()) {
                Some((pid, Some(frame))) => {
                    pool.hint_frame(frame);
                    Turn::Asked(Stage::Leaf(pid, frame))
                }
                _ => Turn::Astray,
            },
            &Stage::Leaf(pid, frame) => match hint(frame, pid, |node, key| node.hint_slots(key)) {
                Some(()) => Turn::Asked(Stage::Slots(pid, frame)),
                None => Turn::Astray,
            },
            &Stage::Slots(pid, frame) => match hint(frame, pid, |node, key| node.hint_cell(key)) {
                Some(()) => Turn::Asked(Stage::Cell(pid, frame)),
                None => Turn::Astray,
            },
            &Stage::Cell(pid, frame) => {
                let found =
                    pool.peek_in(frame, pid, |page| self.value_in(page, key, search.at, visit));
                if found == Some(true) { Turn::Found } else { Turn::Astray }
            }
        }
    }

    /// Whether a page settles what the tree has for `key`; `visit` is told.
    #[inline]
    fn value_in(
        &self,
        page: &[u8],
        key: &[u8],
        at: usize,
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> bool {
        let node = Node::new(page);
        if !self.owns(page) || !node.is_leaf() {
            return false;
        }
        match node.lower_bound(key) {
            (position, true) => match node.value(position) {
                Value { overflow: true, .. } => false,
                Value { bytes, .. } => {
                    visit(at, bytes);
                    true
                }
            },
            _ => node.covers(key),
        }
    }
}

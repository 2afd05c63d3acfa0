//! Power cuts and killed processes.

use std::collections::BTreeMap;

use stdx::Prng;

use super::disk::{Disk, State};
use super::image::{Change, ChangeKind, Image};

impl Disk {
    /// The disk as it may look after a power cut now: whatever was synced is there; of all other
    /// writes, finished or under way, any subset of their sectors. `seed` chooses the subset.
    pub fn crash(&self, seed: u64) -> Disk {
        let state = self.state();
        let mut prng = Prng::new(seed);
        let names = state.names.crash(&mut prng);
        let survival = [0.0, 0.1, 0.5, 0.9, 1.0][prng.below(5) as usize];
        let mut nodes = BTreeMap::new();
        for (_, node) in names.paths() {
            let bytes = state.nodes[&node].crash(state.under_way(node), survival, &mut prng);
            nodes.insert(node, Image::of(bytes));
        }
        Disk::with(seed, names, nodes, state.latency)
    }

    /// The disk as it looks after the process was killed now: finished writes are there, synced
    /// or not (and still unsynced), locks are gone. Writes under way may be torn.
    pub fn kill(&self, seed: u64) -> Disk {
        let state = self.state();
        let disk = Disk::with(seed, state.names.clone(), state.nodes.clone(), state.latency);
        {
            let mut after = disk.state();
            after.sequence = state.sequence;
            for (node, offset, bytes) in state.under_way.values() {
                after.tear(*node, *offset, bytes);
            }
        }
        disk
    }
}

impl State {
    fn under_way(&self, node: u64) -> Vec<Change> {
        let here = self.under_way.values().filter(|(at, _, _)| *at == node);
        here.map(|(_, offset, bytes)| Change {
            sequence: u64::MAX,
            kind: ChangeKind::Write { offset: *offset, bytes: bytes.clone() },
            is_durable: false,
        })
        .collect()
    }
}

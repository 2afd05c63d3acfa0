//! The bytes of one file: as readers see them, as they would survive, and what lies between.

use std::collections::BTreeSet;

use stdx::Prng;

/// A change that no sync has covered.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) sequence: u64,
    pub(super) kind: ChangeKind,
    /// It survives all the same.
    pub(super) is_durable: bool,
}

#[derive(Clone, Debug)]
pub(super) enum ChangeKind {
    Write {
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen(u64),
    /// These bytes take no space any more, and are zeros.
    GiveBack {
        offset: u64,
        len: u64,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    written: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    /// Blocks that take no space, by number.
    holes: BTreeSet<u64>,
}

fn put(target: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let begin = offset as usize;
    let end = begin + bytes.len();
    if target.len() < end {
        target.resize(end, 0);
    }
    target[begin..end].copy_from_slice(bytes);
}

fn apply(target: &mut Vec<u8>, kind: &ChangeKind) {
    match kind {
        ChangeKind::Write { offset, bytes } => put(target, *offset, bytes),
        ChangeKind::SetLen(len) => target.resize(*len as usize, 0),
        ChangeKind::GiveBack { offset, len } => {
            let begin = (*offset as usize).min(target.len());
            let end = begin.saturating_add(*len as usize).min(target.len());
            target[begin..end].fill(0);
        }
    }
}

/// The pieces of a write, one per sector that it touches.
fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let first = (SECTOR_BYTES - offset % SECTOR_BYTES).min(bytes.len() as u64) as usize;
    let (head, rest) = bytes.split_at(first);
    let tail = rest.chunks(SECTOR_BYTES as usize).enumerate();
    let begin = offset + first as u64;
    std::iter::once((offset, head))
        .chain(tail.map(move |(i, piece)| (begin + i as u64 * SECTOR_BYTES, piece)))
}

impl Image {
    pub(super) fn of(bytes: Vec<u8>) -> Image {
        Image { written: bytes.clone(), synced: bytes, ..Image::default() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.written
    }

    /// Flips bits on the medium itself: readers see it, and it survives.
    pub(super) fn rot(&mut self, offset: usize, mask: u8) -> bool {
        let found = self.written.get_mut(offset).map(|byte| *byte ^= mask).is_some();
        if let Some(byte) = self.synced.get_mut(offset) {
            *byte ^= mask;
        }
        found
    }

    pub(super) fn change(&mut self, sequence: u64, kind: ChangeKind) {
        apply(&mut self.written, &kind);
        match &kind {
            ChangeKind::Write { offset, bytes } => {
                self.fill_holes(*offset, offset + bytes.len() as u64);
            }
            ChangeKind::SetLen(len) => drop(self.holes.split_off(&len.div_ceil(BLOCK_BYTES))),
            ChangeKind::GiveBack { offset, len } => {
                let end = (offset + len).min(self.written.len() as u64);
                self.holes.extend(offset.div_ceil(BLOCK_BYTES)..end / BLOCK_BYTES);
            }
        }
        self.unsynced.push(Change { sequence, kind, is_durable: false });
    }

    /// Bytes of space that the file takes.
    pub(super) fn space(&self) -> u64 {
        self.written.len() as u64 - self.holes.len() as u64 * BLOCK_BYTES
    }

    fn blocks(begin: u64, end: u64) -> std::ops::Range<u64> {
        begin / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)
    }

    /// Bytes of space that the file lacks to have all from `begin` to `end`.
    pub(super) fn missing(&self, begin: u64, end: u64) -> u64 {
        let holes = self.holes.range(Image::blocks(begin, end)).count() as u64;
        end.saturating_sub(self.written.len() as u64) + holes * BLOCK_BYTES
    }

    /// All bytes from `begin` to `end` take space.
    pub(super) fn fill_holes(&mut self, begin: u64, end: u64) {
        for block in Image::blocks(begin, end) {
            self.holes.remove(&block);
        }
    }

    /// The write that has just taken place survives whatever comes, and nothing else does for that. It stays
    /// where it is among the changes: an older one of the same bytes must not come back over it.
    pub(super) fn sync_last(&mut self) {
        self.unsynced.iter_mut().last().expect("a write has taken place").is_durable = true;
    }

    /// Some sectors of a failed write.
    pub(super) fn tear(&mut self, sequence: u64, offset: u64, bytes: &[u8], prng: &mut Prng) {
        for (offset, piece) in sectors(offset, bytes) {
            if prng.chance(0.5) {
                let kind = ChangeKind::Write { offset, bytes: piece.to_vec() };
                self.change(sequence, kind);
            }
        }
    }

    fn covered(&mut self, upto: u64) -> Vec<Change> {
        let split = self.unsynced.partition_point(|change| change.sequence <= upto);
        let rest = self.unsynced.split_off(split);
        std::mem::replace(&mut self.unsynced, rest)
    }

    /// Makes everything up to `upto` durable.
    pub(super) fn sync(&mut self, upto: u64) {
        for change in self.covered(upto) {
            apply(&mut self.synced, &change.kind);
        }
    }

    /// A failed sync: what it covered survives in part, and no later sync will know of the rest.
    pub(super) fn fail_sync(&mut self, upto: u64, prng: &mut Prng) {
        let covered = self.covered(upto);
        self.synced = survive(&self.synced, &covered, 0.5, prng);
    }

    /// What the medium holds after a crash, with writes that were still under way.
    pub(super) fn crash(&self, under_way: Vec<Change>, survival: f64, prng: &mut Prng) -> Vec<u8> {
        let mut changes = self.unsynced.clone();
        changes.extend(under_way);
        survive(&self.synced, &changes, survival, prng)
    }
}

/// Any subset of the changes, sector by sector; a lost change of length cuts what lies beyond.
fn survive(base: &[u8], changes: &[Change], survival: f64, prng: &mut Prng) -> Vec<u8> {
    let mut bytes = base.to_vec();
    let is_durable = changes.iter().any(|change| change.is_durable);
    let growth_survives = is_durable || survival > 0.0 && (survival >= 1.0 || prng.chance(0.5));
    for change in changes {
        let survival = if change.is_durable { 1.0 } else { survival };
        match &change.kind {
            ChangeKind::SetLen(_) | ChangeKind::GiveBack { .. } => {
                if prng.chance(survival) {
                    apply(&mut bytes, &change.kind);
                }
            }
            ChangeKind::Write { offset, bytes: new } => {
                for (at, piece) in sectors(*offset, new) {
                    if prng.chance(survival) {
                        put(&mut bytes, at, piece);
                    }
                }
            }
        }
    }
    if !growth_survives && bytes.len() > base.len() {
        bytes.truncate(base.len());
    }
    bytes
}

/// The unit in which space is given back, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// The unit that is written whole or not at all, in bytes.
pub const SECTOR_BYTES: u64 = 512;

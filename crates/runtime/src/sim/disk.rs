//! The simulated disk: files in memory, and what becomes of operations on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, io};

use stdx::Prng;

use super::faults::{FaultPlan, Latency};
use super::image::{ChangeKind, Image};
use super::names::Names;
use super::network::Network;
use super::trace::Trace;
use crate::fs::file::{File, Node};
use crate::fs::identity::Identity;
use crate::fs::options::{FileBackend, OpenOptions};
use crate::lock::lock;
use crate::op::{Answer, Meta, Transfer};
use crate::ring::kind::RingKind;

/// A disk of a simulation. Clones are the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) prng: Prng,
    pub(super) seed: u64,
    pub(super) faults: FaultPlan,
    pub(super) latency: Latency,
    pub(super) network: Network,
    pub(super) names: Names,
    pub(super) nodes: BTreeMap<u64, Image>,
    pub(super) locked: BTreeSet<u64>,
    pub(super) trace: Trace,
    pub(super) op_count: u64,
    pub(super) write_count: u64,
    /// Writes and reservations begun so far.
    pub(super) space_op_count: u64,
    /// Numbers completed changes, so that a sync covers those before its start.
    pub(super) sequence: u64,
    /// Writes under way by operation: at a crash each of their sectors may have been written.
    pub(super) under_way: BTreeMap<u64, (u64, u64, Vec<u8>)>,
    /// The machine has died: nothing changes any more.
    pub(super) frozen: bool,
}

/// An open file of a simulated disk.
pub(crate) struct Handle {
    disk: Disk,
    pub(super) node: u64,
    pub(super) options: OpenOptions,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.options.lock {
            self.disk.state().locked.remove(&self.node);
        }
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "Disk(seed {}, {} writes)", state.seed, state.write_count)
    }
}

pub(super) fn eio() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

impl Disk {
    /// An empty disk whose latencies and faults follow from `seed`.
    pub fn new(seed: u64) -> Disk {
        Disk::with(seed, Names::default(), BTreeMap::new(), Latency::default())
    }

    pub(super) fn with(
        seed: u64,
        names: Names,
        nodes: BTreeMap<u64, Image>,
        latency: Latency,
    ) -> Disk {
        Disk(Arc::new(Mutex::new(State {
            prng: Prng::new(seed),
            seed,
            faults: FaultPlan::default(),
            latency,
            network: Network::new(seed),
            names,
            nodes,
            locked: BTreeSet::new(),
            trace: Trace::default(),
            op_count: 0,
            write_count: 0,
            space_op_count: 0,
            sequence: 0,
            under_way: BTreeMap::new(),
            frozen: false,
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// What goes wrong from now on.
    pub fn faults(&self, plan: FaultPlan) {
        self.state().faults = plan;
    }

    /// How long operations take from now on.
    pub fn latency(&self, latency: Latency) {
        self.state().latency = latency;
    }

    /// The network of the machine that the disk is in.
    pub fn network(&self) -> Network {
        self.state().network.clone()
    }

    /// Writes begun so far.
    pub fn write_count(&self) -> u64 {
        self.state().write_count
    }

    /// Writes and reservations of space begun so far.
    pub fn space_op_count(&self) -> u64 {
        self.state().space_op_count
    }

    /// Operations begun so far.
    pub fn op_count(&self) -> u64 {
        self.state().op_count
    }

    /// True after `crash_at_write` or `crash_at_op` has struck.
    pub fn is_crashed(&self) -> bool {
        self.state().frozen
    }

    /// A fingerprint of all scheduling decisions, operations and events of the network so far.
    pub fn trace_hash(&self) -> u64 {
        let state = self.state();
        let mut trace = state.trace.clone();
        trace.note(&[state.network.trace_hash()]);
        trace.hash()
    }

    /// The content of a file as a reader would see it.
    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.state();
        let node = state.names.find(path.as_ref())?;
        Some(state.nodes[&node].bytes().to_vec())
    }

    /// Flips the bits of `mask` in one byte of a file, on the medium itself. False: no such byte.
    pub fn rot(&self, path: impl AsRef<Path>, offset: u64, mask: u8) -> bool {
        let mut state = self.state();
        let Some(node) = state.names.find(path.as_ref()) else { return false };
        state.nodes.get_mut(&node).is_some_and(|image| image.rot(offset as usize, mask))
    }

    pub(super) fn note(&self, words: &[u64]) {
        self.state().trace.note(words);
    }
}

impl State {
    fn image(&mut self, node: u64) -> &mut Image {
        self.nodes.get_mut(&node).expect("an open file has an image")
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Carries out a read of at most `limit` bytes.
    pub(super) fn read(&mut self, node: u64, transfer: &mut Transfer, limit: usize) -> usize {
        let bytes = self.image(node).bytes();
        let begin = (transfer.offset as usize).min(bytes.len());
        let end = begin.saturating_add(limit).min(bytes.len());
        transfer.fill(&bytes[begin..end])
    }

    pub(super) fn write(&mut self, node: u64, offset: u64, bytes: Vec<u8>) {
        let sequence = self.next_sequence();
        self.image(node).change(sequence, ChangeKind::Write { offset, bytes });
    }

    /// Makes the write durable that has just taken place, and with it, if it `is_linked` to a sync, all that
    /// was written before it began, up to `upto`.
    pub(super) fn sync_last(&mut self, node: u64, is_linked: bool, upto: u64) {
        self.image(node).sync_last();
        if is_linked {
            self.image(node).sync(upto);
        }
    }

    pub(super) fn tear(&mut self, node: u64, offset: u64, bytes: &[u8]) {
        let sequence = self.next_sequence();
        let mut prng = self.prng.fork();
        self.image(node).tear(sequence, offset, bytes, &mut prng);
    }

    pub(super) fn sync(&mut self, node: u64, upto: u64) {
        self.image(node).sync(upto);
    }

    pub(super) fn fail_sync(&mut self, node: u64, upto: u64) {
        let mut prng = self.prng.fork();
        self.image(node).fail_sync(upto, &mut prng);
    }

    /// Carries out a file operation.
    pub(super) fn answer(&mut self, disk: &Disk, meta: &Meta) -> io::Result<Answer> {
        match meta {
            Meta::Open(path, options) => self.open(disk, path, options).map(Answer::File),
            Meta::Rename(from, to) => self.names.rename(from, to).map(|()| Answer::Unit),
            Meta::Remove(path) => self.names.remove(path).map(|()| Answer::Unit),
            Meta::Exists(path) => Ok(Answer::Bool(self.names.exists(path))),
            Meta::Identity(path) => {
                let node = self.names.find(path).ok_or(io::ErrorKind::NotFound)?;
                Ok(Answer::Identity(Identity::File(0, node)))
            }
            Meta::CreateDir(path) => {
                self.names.create_dir(path);
                Ok(Answer::Unit)
            }
            Meta::SyncDir(path) => {
                self.names.sync_dir(path);
                Ok(Answer::Unit)
            }
            Meta::List(path) => Ok(Answer::Names(self.names.list(path))),
            Meta::Len(file) => {
                let node = node_of(disk, file)?;
                Ok(Answer::Len(self.image(node).bytes().len() as u64))
            }
            Meta::SetLen(file, len) => self.set_len(node_of(disk, file)?, *len),
            Meta::Allocate(file, offset, len) => {
                let node = node_of(disk, file)?;
                let end = offset.saturating_add(*len);
                self.check_space(node, *offset, end)?;
                self.image(node).fill_holes(*offset, end);
                match self.image(node).bytes().len() as u64 >= end {
                    true => Ok(Answer::Unit),
                    false => self.set_len(node, end),
                }
            }
            Meta::GiveBack(file, offset, len) => {
                let node = node_of(disk, file)?;
                let sequence = self.next_sequence();
                let kind = ChangeKind::GiveBack { offset: *offset, len: *len };
                self.image(node).change(sequence, kind);
                Ok(Answer::Bool(true))
            }
        }
    }

    /// Refuses to let a file have bytes from `begin` to `end` when that is more than the disk has.
    pub(super) fn check_space(&self, node: u64, begin: u64, end: u64) -> io::Result<()> {
        let Some(capacity) = self.faults.capacity else { return Ok(()) };
        let used: u64 = self.nodes.values().map(Image::space).sum();
        let missing = self.nodes[&node].missing(begin, end);
        match missing > 0 && used + missing > capacity {
            true => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            false => Ok(()),
        }
    }

    fn set_len(&mut self, node: u64, len: u64) -> io::Result<Answer> {
        let sequence = self.next_sequence();
        self.image(node).change(sequence, ChangeKind::SetLen(len));
        Ok(Answer::Unit)
    }

    fn open(&mut self, disk: &Disk, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let node = match self.names.find(path) {
            Some(_) if options.create_new => Err(io::ErrorKind::AlreadyExists)?,
            Some(node) => node,
            None if options.create || options.create_new => self.create(path),
            None => Err(io::ErrorKind::NotFound)?,
        };
        if options.lock && !self.locked.insert(node) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let handle = Handle { disk: disk.clone(), node, options: *options };
        let backend = FileBackend {
            kind: RingKind::Sim,
            direct: options.direct,
            polled: false,
            passthrough: false,
            reason: "a simulated disk".to_owned(),
        };
        Ok(File::of_sim(handle, path, backend))
    }

    fn create(&mut self, path: &Path) -> u64 {
        let node = self.nodes.last_key_value().map_or(1, |(last, _)| last + 1);
        self.nodes.insert(node, Image::default());
        self.names.create(path, node);
        node
    }
}

/// The handle of a file of this very disk.
pub(super) fn handle_of<'a>(disk: &Disk, file: &'a File) -> io::Result<&'a Handle> {
    match file.node() {
        Node::Sim(handle) if Arc::ptr_eq(&handle.disk.0, &disk.0) => Ok(handle),
        Node::Sim(_) | Node::System(_) => Err(io::Error::from_raw_os_error(libc::EBADF)),
    }
}

fn node_of(disk: &Disk, file: &File) -> io::Result<u64> {
    handle_of(disk, file).map(|handle| handle.node)
}

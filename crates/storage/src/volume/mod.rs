//! Where the bytes of a database lie: in one file, or on several members (`docs/format/volume.md`).
//!
//! The store has one space of bytes, which a [`Volume`] gives it with the operations of a file.
//! A database in one file passes through. Of others each extent lies on one member, which the table
//! says; the first member has the table, in two slots that are written by turns.
//!
//! Writes, syncs and returns of space share the `gate`; a change of the table has it alone. So no
//! sync of the store overlaps one of the table, which the kernel could tell of what the other lost,
//! and nothing is written to an extent that moves.

mod change;
pub(crate) mod convert;
mod format;
mod install;
mod label;
mod member;
pub(crate) mod open;
mod origin;
mod probe;
mod relocate;
mod table;
mod transfers;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use runtime::IoBuf;
use runtime::fs::{Durability, File, FileBackend};
use runtime::sync::Semaphore;

use crate::error::{MemberFault, Result, StorageError};
use crate::gate::fair_lock::FairLock;
use crate::planted;
use member::Member;
pub(crate) use member::Opening;
use origin::Origin;
use table::Table;
use transfers::{Way, one};

/// The unit of what the layer itself writes, in bytes: the greatest sector of a device.
const BLOCK_BYTES: usize = 4096;

/// How space is divided. Chosen when a database gets its first label, and never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of an extent, the unit that lies on one member: a power of two from 64 KiB to 1 GiB.
    pub extent_bytes: u64,
    /// Bytes of each of the two slots for the table, of which each extent takes four.
    pub table_bytes: u64,
}

impl Default for Geometry {
    /// A database may have 16 TiB, as many as page numbers of 4 KiB give.
    fn default() -> Geometry {
        Geometry { extent_bytes: 4 << 20, table_bytes: 17 << 20 }
    }
}

impl Geometry {
    fn is_valid(&self) -> bool {
        let Geometry { extent_bytes, table_bytes } = *self;
        extent_bytes.is_power_of_two()
            && (64 << 10..=1 << 30).contains(&extent_bytes)
            && table_bytes.is_multiple_of(BLOCK_BYTES as u64)
            && (BLOCK_BYTES as u64..=64 << 20).contains(&table_bytes)
    }

    /// Bytes in front of the extents of a member.
    fn head_bytes(&self) -> u64 {
        (BLOCK_BYTES as u64 + 2 * self.table_bytes).next_multiple_of(self.extent_bytes)
    }

    /// The same in extents.
    fn head_extents(&self) -> u32 {
        (self.head_bytes() / self.extent_bytes) as u32
    }

    /// Where a place begins.
    fn offset(&self, place: u32) -> u64 {
        self.head_bytes() + u64::from(place) * self.extent_bytes
    }

    /// Where the slot of the table with this sequence begins.
    fn slot(&self, sequence: u64) -> u64 {
        let slot = if planted::is("volume-one-slot") { 0 } else { sequence % 2 };
        BLOCK_BYTES as u64 + slot * self.table_bytes
    }
}

/// Which files or devices a database is to lie on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeOptions {
    /// All members but the first. Of a database that exists: none, and they are looked for where
    /// they were; or all, in any order.
    pub members: Vec<PathBuf>,
    /// True if foreign bytes on new members may be overwritten.
    pub format: bool,
    /// Used by databases that are made.
    pub geometry: Geometry,
}

/// A member, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberInfo {
    /// 1 is the first one; numbers are not given again.
    pub number: u32,
    /// Its path.
    pub path: PathBuf,
    /// Bytes of a device; 0 for a file, which grows.
    pub size_bytes: u64,
    /// Bytes of extents that lie on it.
    pub used_bytes: u64,
    /// Bytes a second that were read when it joined.
    pub speed_bytes: u64,
}

/// The bytes of a database. Clones share them.
#[derive(Clone)]
pub(crate) struct Volume(Kind);

#[derive(Clone)]
enum Kind {
    File(File),
    Members(Arc<Members>),
}

/// A database over members.
pub(crate) struct Members {
    origin: Origin,
    opening: Opening,
    state: RwLock<Arc<State>>,
    gate: FairLock,
    /// Of who joins or leaves.
    changing: Semaphore,
    /// Position of the one that leaves, or 0.
    leaving: AtomicUsize,
    /// A sync has failed, or it is unknown which table counts: nothing is written any more.
    failed: AtomicBool,
    /// Of the first one.
    backend: FileBackend,
    /// The slot of the next table has a part of one.
    is_torn: AtomicBool,
    /// All take writes with `RWF_DSYNC` for durable, and tell each of them what became of it.
    heeds_dsync: AtomicBool,
    /// All did when they were opened, and one that has joined since does not.
    is_mixed: AtomicBool,
}

/// The table that counts, and its members in that order.
struct State {
    table: Table,
    members: Vec<Arc<Member>>,
}

impl Members {
    /// Members that are open in this way.
    fn of(origin: Origin, state: State, opening: Opening) -> Volume {
        let heeds_dsync = state.members.iter().all(|member| member.file.heeds_dsync());
        let members = Members {
            origin,
            opening,
            backend: state.members[0].file.backend().clone(),
            is_torn: AtomicBool::new(false),
            heeds_dsync: AtomicBool::new(heeds_dsync),
            is_mixed: AtomicBool::new(false),
            state: RwLock::new(Arc::new(state)),
            gate: FairLock::new(),
            changing: Semaphore::new(1),
            leaving: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        };
        Volume(Kind::Members(Arc::new(members)))
    }

    /// Notes what a member that joins is like, before anything lies on it.
    fn note_kind(&self, file: &File) {
        if !file.heeds_dsync() && self.heeds_dsync.swap(false, Ordering::AcqRel) {
            self.is_mixed.store(true, Ordering::Release);
        }
    }

    /// The way of a write to a member. One that was chosen because all members had it is no way on
    /// one that has joined since and does not.
    fn way_to(&self, file: &File, way: Way) -> Way {
        let is_vain = || self.is_mixed.load(Ordering::Acquire) && !file.heeds_dsync();
        match way {
            Way::WriteDurable(Durability::Flag) if is_vain() => Way::WriteDurable(Durability::Sync),
            way => way,
        }
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn check(&self) -> io::Result<()> {
        match self.failed.load(Ordering::Acquire) {
            true => Err(io::Error::other("a member of the database has failed")),
            false => Ok(()),
        }
    }

    /// Passes an outcome on; after a bad one nothing is written any more.
    fn or_failed<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|_| self.failed.store(true, Ordering::Release))
    }

    fn bytes(&self) -> u64 {
        self.state().table.extents.len() as u64 * self.origin.geometry.extent_bytes
    }
}

impl From<File> for Volume {
    fn from(file: File) -> Volume {
        Volume(Kind::File(file))
    }
}

impl Volume {
    /// The file of a database that lies on nothing else.
    ///
    /// # Panics
    /// If it has members.
    pub fn only_file(&self) -> &File {
        match &self.0 {
            Kind::File(file) => file,
            Kind::Members(_) => panic!("a database with members is no file"),
        }
    }
}

/// The operations of [`File`], with its errors, and those of members that have failed.
impl Volume {
    /// Fills the whole of `buf`.
    pub async fn read_exact_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        match &self.0 {
            Kind::File(file) => file.read_exact_at(buf, offset).await,
            // No part of the frames of those that read one file.
            Kind::Members(members) => {
                let (result, bufs) = Box::pin(members.read(vec![buf], offset)).await;
                (result, one(bufs))
            }
        }
    }

    /// Fills several buffers.
    pub async fn read_vectored_exact_at(
        &self,
        bufs: Vec<IoBuf>,
        offset: u64,
    ) -> (io::Result<()>, Vec<IoBuf>) {
        match &self.0 {
            Kind::File(file) => file.read_vectored_exact_at(bufs, offset).await,
            Kind::Members(members) => Box::pin(members.read(bufs, offset)).await,
        }
    }

    /// Writes the whole of `buf`.
    pub async fn write_all_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        match &self.0 {
            Kind::File(file) => file.write_all_at(buf, offset).await,
            Kind::Members(members) => members.written(buf, offset, Way::Write).await,
        }
    }

    /// The same, of bytes that are synced next.
    pub async fn write_to_sync_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        match &self.0 {
            Kind::File(file) => file.write_to_sync_at(buf, offset).await,
            Kind::Members(members) => members.written(buf, offset, Way::WriteToSync).await,
        }
    }

    /// The same, of bytes that are durable then.
    pub async fn write_durable_at(
        &self,
        buf: IoBuf,
        offset: u64,
        durability: Durability,
    ) -> (io::Result<()>, IoBuf) {
        match &self.0 {
            Kind::File(file) => file.write_durable_at(buf, offset, durability).await,
            Kind::Members(members) => {
                members.written(buf, offset, Way::WriteDurable(durability)).await
            }
        }
    }

    /// Writes the whole of several buffers, one after the other.
    pub async fn write_vectored_all_at(
        &self,
        bufs: Vec<IoBuf>,
        offset: u64,
    ) -> (io::Result<()>, Vec<IoBuf>) {
        match &self.0 {
            Kind::File(file) => file.write_vectored_all_at(bufs, offset).await,
            Kind::Members(members) => members.written_vectored(bufs, offset, Way::Write).await,
        }
    }

    /// Makes what was written durable.
    pub async fn sync_data(&self) -> io::Result<()> {
        match &self.0 {
            Kind::File(file) => file.sync_data().await,
            Kind::Members(members) => Box::pin(members.sync()).await,
        }
    }

    /// The length in bytes.
    pub async fn len(&self) -> io::Result<u64> {
        match &self.0 {
            Kind::File(file) => file.len().await,
            Kind::Members(members) => Ok(members.bytes()),
        }
    }

    /// Reserves space for these bytes; what lies before them stays as it is.
    pub async fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        match &self.0 {
            Kind::File(file) => file.allocate(offset, len).await,
            Kind::Members(members) => Box::pin(members.allocate(offset, len)).await,
        }
    }

    /// Gives the space of these bytes back. False where that cannot be.
    pub async fn give_back(&self, offset: u64, len: u64) -> io::Result<bool> {
        match &self.0 {
            Kind::File(file) => file.give_back(offset, len).await,
            Kind::Members(members) => Box::pin(members.give_back(offset, len)).await,
        }
    }

    /// How requests travel; those of the first member stand for all.
    pub fn backend(&self) -> &FileBackend {
        match &self.0 {
            Kind::File(file) => file.backend(),
            Kind::Members(members) => &members.backend,
        }
    }

    /// True if the kernel tells a write that is durable in this way what became of it, whoever
    /// syncs beside it.
    pub fn tells(&self, durability: Durability) -> bool {
        let is_mixed = match &self.0 {
            Kind::File(_) => false,
            Kind::Members(members) => members.is_mixed.load(Ordering::Acquire),
        };
        durability == Durability::Flag && self.backend().direct && !is_mixed
    }

    /// True if a write with `RWF_DSYNC` is known to be durable when it ends.
    pub fn heeds_dsync(&self) -> bool {
        match &self.0 {
            Kind::File(file) => file.heeds_dsync(),
            Kind::Members(members) => members.heeds_dsync.load(Ordering::Acquire),
        }
    }

    /// Takes a file or device in; runs to its end when the caller is dropped.
    ///
    /// # Errors
    /// `Option` where there is one file; `Member`, `Io`.
    pub async fn add(&self, path: &Path, format: bool) -> Result<()> {
        let Kind::Members(members) = &self.0 else {
            let what = "a member joins a database in one file while nobody has it open";
            return Err(StorageError::Option(what));
        };
        let (members, path) = (Arc::clone(members), path.to_owned());
        let joining = runtime::spawn(async move { members.join(&path, format).await });
        joining.await.unwrap_or(Err(StorageError::Stopped))
    }

    /// Lets a member go; runs to its end when the caller is dropped.
    ///
    /// # Errors
    /// `Member`, `Io`.
    pub async fn remove(&self, path: &Path) -> Result<()> {
        let Kind::Members(members) = &self.0 else {
            return Err(StorageError::Member(MemberFault::OneFile));
        };
        let (members, path) = (Arc::clone(members), path.to_owned());
        let leaving = runtime::spawn(async move { members.leave(&path).await });
        leaving.await.unwrap_or(Err(StorageError::Stopped))
    }

    /// Clears the labels of devices, of a database that has not come to be.
    pub async fn erase_devices(&self) {
        let Kind::Members(members) = &self.0 else { return };
        for member in members.state().members.iter().filter(|member| member.size > 0) {
            member.erase().await;
        }
    }

    /// The members, the first one first; none of a database in one file.
    pub fn members(&self) -> Vec<MemberInfo> {
        let Kind::Members(members) = &self.0 else { return vec![] };
        let (state, extent_bytes) = (members.state(), members.origin.geometry.extent_bytes);
        let counts = state.table.counts();
        let info = |(record, count): (&table::Record, u32)| MemberInfo {
            number: record.number,
            path: record.path.clone(),
            size_bytes: record.size,
            used_bytes: u64::from(count) * extent_bytes,
            speed_bytes: record.speed,
        };
        state.table.members.iter().zip(counts).map(info).collect()
    }
}

#[cfg(test)]
mod tests;

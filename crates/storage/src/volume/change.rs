//! Changes of the table: the space of bytes grows, members join and leave.
//!
//! A change counts when the first member has its table, in the slot that the last one does not
//! have, and not before; the members are by then as the new table says. Which one counts is unknown
//! where a sync fails, and nothing is written any more: both say the truth as long as that is so.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::{IoBuf, fs};

use super::member::{Member, ensure_different, unsuited, write};
use super::table::{MEMBER_COUNT_MAX, Place, choose};
use super::transfers::{Way, stopped, sync_all};
use super::{BLOCK_BYTES, Members, State, format};
use crate::error::{MemberFault, Result, StorageError};

/// Bytes of an extent that are moved at a time.
const MOVE_BYTES: u64 = 1 << 20;

impl Members {
    /// Gives places to extents until there are so many bytes.
    ///
    /// # Errors
    /// `StorageFull` when no member has room; others of the members.
    pub(super) async fn grow(&self, bytes: u64) -> io::Result<()> {
        let _alone = self.gate.exclusive().await;
        self.check()?;
        let mut next = self.next();
        let extent_count = usize::try_from(bytes.div_ceil(self.origin.geometry.extent_bytes));
        let extent_count = extent_count.map_err(|_| ErrorKind::FileTooLarge)?;
        if next.table.extents.len() >= extent_count {
            return Ok(());
        }
        let mut taker = Taker::of(self, &next);
        while next.table.extents.len() < extent_count {
            let place = taker.take().await?;
            next.table.extents.push(place);
        }
        self.write_ends(&next).await?;
        // The length of a file is not durable before.
        self.or_failed(sync_all(next.members.iter().cloned()).await)?;
        self.install(next).await
    }

    /// Writes the last block of what each file has got: the length that a sync has failed to make
    /// durable is not asked for again, since the file has it, and would be missing after a crash.
    async fn write_ends(&self, next: &State) -> io::Result<()> {
        let counts = self.state().table.counts();
        let ends = next.members.iter().zip(next.table.counts()).zip(counts);
        for ((member, count), _) in ends.filter(|((_, count), before)| count > before) {
            if member.size == 0 {
                let end = self.origin.geometry.offset(count);
                write(member, &[0; BLOCK_BYTES], end - BLOCK_BYTES as u64).await?;
            }
        }
        Ok(())
    }

    /// Takes a file or device in. It counts when the table says so; until then it may have a label
    /// of a number that it will not have.
    ///
    /// # Errors
    /// `Member`, `Io`. The members are those that there were.
    pub(super) async fn join(&self, path: &Path, clear: bool) -> Result<()> {
        if self.opening.unchanged {
            return Err(StorageError::Option("a database that stays unchanged takes no members"));
        }
        let _one = self.changing.acquire().await;
        let state = self.state();
        if state.members.len() == MEMBER_COUNT_MAX {
            return Err(unsuited(path, "a database has 64 members at most"));
        }
        let paths = state.members.iter().map(|member| member.path.as_path());
        ensure_different(&paths.chain([path]).collect::<Vec<_>>()).await?;
        let (member, is_made) = self.origin.found(path, self.opening).await?;
        let known = &state.table.members;
        format::clear(&member, &self.origin.database, known, clear).await?;
        let record = match self.origin.made_ready(&member, state.table.next_number).await {
            Ok(record) => record,
            Err(error) => {
                drop(member);
                if is_made {
                    drop(fs::remove(path).await);
                }
                return Err(error);
            }
        };
        let _alone = self.gate.exclusive().await;
        self.note_kind(&member.file);
        let mut next = self.next();
        next.table.next_number = record.number + 1;
        next.table.members.push(record);
        next.members.push(member);
        self.install(next).await.map_err(|error| StorageError::io("take a member in", &error))
    }

    /// Moves what lies on a member to the others, and lets it go.
    ///
    /// # Errors
    /// `Member` for the first one and where there is none at this path; `Io`, when the disk is full
    /// among others: what was moved stays moved, and the member is one.
    pub(super) async fn leave(&self, path: &Path) -> Result<()> {
        let _one = self.changing.acquire().await;
        let state = self.state();
        let unknown = MemberFault::Unknown { path: path.to_owned() };
        let leaving = state.members.iter().position(|member| member.path == path);
        let leaving = leaving.filter(|position| *position > 0);
        let leaving = leaving.ok_or(StorageError::Member(unknown))?;
        self.leaving.store(leaving, Ordering::Release);
        let left = self.leave_from(leaving).await;
        self.leaving.store(0, Ordering::Release);
        left.map_err(|error| StorageError::io("move extents to other members", &error))
    }

    async fn leave_from(&self, leaving: usize) -> io::Result<()> {
        loop {
            let _alone = self.gate.exclusive().await;
            // Looked for by whom nobody gives an extent to the member meanwhile: growth that began
            // before it was leaving may have.
            match self.extent_on(leaving) {
                Some(extent) => self.relocate(extent).await?,
                None => return self.part_with(leaving).await,
            }
        }
    }

    /// Lets a member go on which nothing lies. The caller has the gate alone.
    async fn part_with(&self, leaving: usize) -> io::Result<()> {
        let mut next = self.next();
        next.table.members.remove(leaving);
        let member = next.members.remove(leaving);
        for place in &mut next.table.extents {
            assert_ne!(place.member, leaving, "nothing lies on a member that leaves");
            place.member -= usize::from(place.member > leaving);
        }
        self.install(next).await?;
        // It is free for others. Where that fails it has the label of a member that is none.
        member.erase().await;
        Ok(())
    }

    /// The last extent on a member.
    fn extent_on(&self, position: usize) -> Option<usize> {
        let state = self.state();
        let last = state.table.counts()[position].checked_sub(1)?;
        let last = Place { member: position, number: last };
        let extent = state.table.extents.iter().position(|place| *place == last);
        assert!(extent.is_some(), "the places of a member have no gap");
        extent
    }

    /// Moves an extent, the last one of the member that leaves, to another one. The caller has the
    /// gate alone.
    async fn relocate(&self, extent: usize) -> io::Result<()> {
        self.check()?;
        let mut next = self.next();
        let from = next.table.extents[extent];
        let to = Taker::of(self, &next).take().await?;
        self.copy_extent(&next, from, to).await?;
        self.or_failed(next.members[to.member].sync().await)?;
        next.table.extents[extent] = to;
        self.install(next).await
    }

    async fn copy_extent(&self, state: &State, from: Place, to: Place) -> io::Result<()> {
        let piece_bytes = MOVE_BYTES.min(self.origin.geometry.extent_bytes);
        let piece = |within: u64| {
            let (source, target) = (&state.members[from.member], &state.members[to.member]);
            let (source, target) = (Arc::clone(source), Arc::clone(target));
            let read_at = self.origin.geometry.offset(from.number) + within;
            let write_at = self.origin.geometry.offset(to.number) + within;
            runtime::spawn(async move {
                let bytes = vec![IoBuf::alloc(piece_bytes as usize)];
                let (read, bytes) = source.moved(bytes, read_at, Way::Read).await;
                read?;
                target.moved(bytes, write_at, Way::Write).await.0
            })
        };
        let offsets = (0..self.origin.geometry.extent_bytes).step_by(piece_bytes as usize);
        let pieces: Vec<_> = offsets.map(piece).collect();
        let mut result = Ok(());
        for piece in pieces {
            result = result.and(piece.await.unwrap_or_else(|_| Err(stopped())));
        }
        result
    }
}

/// Gives places on members out.
struct Taker<'m> {
    of: &'m Members,
    members: Vec<Arc<Member>>,
    speeds: Vec<u64>,
    counts: Vec<u32>,
    has_room: Vec<bool>,
}

impl<'m> Taker<'m> {
    /// Those of a table, but for a member that leaves.
    fn of(of: &'m Members, state: &State) -> Taker<'m> {
        let leaving = of.leaving.load(Ordering::Acquire);
        let speeds = state.table.members.iter().map(|member| member.speed).collect();
        let (count, counts) = (state.members.len(), state.table.counts());
        let has_room = (0..count).map(|member| leaving == 0 || member != leaving).collect();
        Taker { of, members: state.members.clone(), speeds, counts, has_room }
    }

    /// The next place, for which there is space.
    ///
    /// # Errors
    /// `StorageFull` when no member has any; others of the members.
    async fn take(&mut self) -> io::Result<Place> {
        let geometry = &self.of.origin.geometry;
        loop {
            let chosen = choose(&self.speeds, &self.counts, |member| self.has_room[member]);
            let member = chosen.ok_or(ErrorKind::StorageFull)?;
            let number = self.counts[member];
            let (at, len) = (geometry.offset(number), geometry.extent_bytes);
            match self.members[member].reserve(at, len).await {
                Err(error) if is_full(&error) => self.has_room[member] = false,
                reserved => {
                    reserved?;
                    self.counts[member] += 1;
                    return Ok(Place { member, number });
                }
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}

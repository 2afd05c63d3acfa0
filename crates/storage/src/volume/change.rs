//! Changes of the table: the space of bytes grows, members join and leave.
//!
//! A change counts when the first member has its table, in the slot that the last one does not
//! have, and not before; the members are by then as the new table says. Which one counts is unknown
//! where a sync fails, and nothing is written any more: both say the truth as long as that is so.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::Ordering;

use runtime::fs;

use super::member::{ensure_different, unsuited, write};
use super::relocate::Taker;
use super::table::MEMBER_COUNT_MAX;
use super::transfers::sync_all;
use super::{BLOCK_BYTES, Members, State, format};
use crate::error::{MemberFault, Result, StorageError};

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

    /// Takes a file or device in, and moves its share of the extents there. It counts when the
    /// table says so; until then it may have a label of a number that it will not have.
    ///
    /// # Errors
    /// `Member`, `Io`. The members are those that there were, unless extents could not be moved.
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
        let alone = self.gate.exclusive().await;
        self.note_kind(&member.file);
        let mut next = self.next();
        next.table.next_number = record.number + 1;
        next.table.members.push(record);
        next.members.push(member);
        let position = next.members.len() - 1;
        let joined = self.install(next).await;
        joined.map_err(|error| StorageError::io("take a member in", &error))?;
        drop(alone);
        let moved = self.even_out(position).await;
        moved.map_err(|error| StorageError::io("move extents to a new member", &error))
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
                Some(extent) => self.relocate(extent, Taker::of(self, &self.state())).await?,
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
}

//! The two slots of the table on the first member (`docs/format/volume.md`, section 3).
//!
//! Both have the table that counts before anything is written by it. So one that is torn, has
//! rotted or cannot be read is known by the other one, which says the same.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use runtime::IoBuf;

use super::label::Label;
use super::member::{Member, write};
use super::table::Table;
use super::transfers::{Way, one};
use super::{BLOCK_BYTES, Kind, Members, State, Volume};
use crate::error::{Result, StorageError};
use crate::planted;

/// Up to here the old header slots of a converted file lie, one behind the other, of pages of any
/// size.
const HEADERS_END: usize = 64 << 10;

impl Members {
    /// The table that follows the one that counts, so far the same.
    pub(super) fn next(&self) -> State {
        let state = self.state();
        let mut table = state.table.clone();
        table.sequence += 1;
        State { table, members: state.members.clone() }
    }

    /// Has the table of `next` written, and lets it count. Whoever calls has the gate alone, or is
    /// the only one who knows the members.
    ///
    /// # Errors
    /// `StorageFull` when the table could not be written: the last one counts, and the same may be
    /// tried again. After other errors nothing is written any more.
    pub(super) async fn install(&self, next: State) -> io::Result<()> {
        self.check()?;
        assert_eq!(next.table.members.len(), next.members.len(), "a member for each record");
        let (first, table) = (&next.members[0], &next.table);
        if let Err(error) = self.write_table(first, table).await {
            if error.kind() == ErrorKind::StorageFull {
                self.or_failed(self.ensure_void(first, table).await)?;
            }
            return Err(error);
        }
        self.let_count(next);
        self.mirror().await
    }

    /// Writes the table that counts to the other slot, too.
    ///
    /// # Errors
    /// Those after which nothing is written any more. Without space for it the next change is
    /// written there, and finds what is there now cleared.
    async fn mirror(&self) -> io::Result<()> {
        let twin = self.next();
        match self.write_table(&twin.members[0], &twin.table).await {
            Err(error) if error.kind() == ErrorKind::StorageFull => Ok(()),
            written => {
                written?;
                self.let_count(twin);
                Ok(())
            }
        }
    }

    /// Writes a table to its slot, and syncs it.
    ///
    /// # Errors
    /// As [`Members::install`]; a part of it may be there when space is lacking.
    async fn write_table(&self, first: &Member, table: &Table) -> io::Result<()> {
        let bytes = table.encode(&self.origin).ok_or(ErrorKind::FileTooLarge)?;
        let at = self.origin.geometry.slot(table.sequence);
        if self.is_torn.load(Ordering::Acquire) {
            // The rest of one table must not become whole with parts of another.
            self.write_slot(first, &[0; BLOCK_BYTES], at).await?;
        }
        self.is_torn.store(true, Ordering::Release);
        self.write_slot(first, &bytes, at).await?;
        self.is_torn.store(false, Ordering::Release);
        Ok(())
    }

    async fn write_slot(&self, first: &Member, bytes: &[u8], at: u64) -> io::Result<()> {
        match write(first, bytes, at).await {
            Err(error) if error.kind() == ErrorKind::StorageFull => return Err(error),
            written => self.or_failed(written)?,
        }
        match planted::is("volume-table-not-synced") {
            true => Ok(()),
            false => self.or_failed(first.sync().await),
        }
    }

    /// Fails if a table is whole though its write has failed: what was not written was there.
    async fn ensure_void(&self, first: &Member, table: &Table) -> io::Result<()> {
        let len = table.encode(&self.origin).map_or(BLOCK_BYTES, |bytes| bytes.len());
        let at = self.origin.geometry.slot(table.sequence);
        let (read, bytes) = first.moved(vec![IoBuf::alloc(len)], at, Way::Read).await;
        read?;
        match Table::decode(one(bytes).as_slice(), &self.origin) {
            Some(found) if found == *table => {
                Err(io::Error::other("two tables of members may count"))
            }
            _ => Ok(()),
        }
    }

    fn let_count(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}

impl Volume {
    /// Makes durable what was read as the table, of which only a reader may know: then both slots
    /// have it, with the paths where members are now. If they have had the same (`is_mirrored`),
    /// one of them was durable before the other was written.
    pub(super) async fn settle(&self, was: &Table, is_mirrored: bool) -> Result<()> {
        let Kind::Members(members) = &self.0 else { return Ok(()) };
        if was.sequence == 0 || members.opening.unchanged {
            return Ok(());
        }
        let state = members.state();
        let is_elsewhere = was.members != state.table.members;
        let settled = async {
            if !is_mirrored {
                members.write_table(&state.members[0], was).await?;
            }
            match is_elsewhere {
                true => members.install(members.next()).await,
                false if !is_mirrored => members.mirror().await,
                false => Ok(()),
            }
        };
        settled.await.map_err(|error| StorageError::io("write the table of members", &error))
    }

    /// Writes the first table of a converted file, and a label that does not stand for it any more.
    /// The slots have what lay there; an old header among it must not be found when the label is
    /// damaged.
    pub(super) async fn finish_conversion(&self, label: Label) -> Result<()> {
        let Kind::Members(members) = &self.0 else { return Ok(()) };
        if members.opening.unchanged {
            return Ok(());
        }
        let (state, origin) = (members.state(), label.origin);
        if state.table.sequence == 0 {
            // It may be known to readers alone, and the file be what it was after a crash.
            origin.write_label(&state.members[0], &label).await?;
            let finished = async {
                let zeros = vec![0; HEADERS_END - BLOCK_BYTES];
                write(&state.members[0], &zeros, BLOCK_BYTES as u64).await?;
                state.members[0].sync().await?;
                members.install(members.next()).await
            };
            let failed = |error| StorageError::io("write the table of members", &error);
            finished.await.map_err(failed)?;
        }
        origin.write_label(&state.members[0], &Label { converted: 0, ..label }).await
    }
}

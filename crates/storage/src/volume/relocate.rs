//! Extents that move, and the places that are given out for them and for new ones.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::IoBuf;

use super::member::Member;
use super::table::{Place, choose, overloaded};
use super::transfers::{Way, stopped};
use super::{Members, State};
use crate::planted;

/// Bytes of an extent that are moved at a time.
const MOVE_BYTES: u64 = 1 << 20;

impl Members {
    /// Moves extents to a member until it has as many for its speed as the others, or no room. Each
    /// move is whole by itself, and writes go on between two.
    pub(super) async fn even_out(&self, target: usize) -> io::Result<()> {
        loop {
            let _alone = self.gate.exclusive().await;
            let state = self.state();
            let speeds: Vec<u64> = state.table.members.iter().map(|member| member.speed).collect();
            let source = overloaded(&speeds, &state.table.counts(), target);
            let Some(extent) = source.and_then(|source| self.extent_on(source)) else {
                return Ok(());
            };
            match self.relocate(extent, Taker::to(self, &state, target)).await {
                Err(error) if is_full(&error) => return Ok(()),
                moved => moved?,
            }
        }
    }

    /// The last extent on a member.
    pub(super) fn extent_on(&self, position: usize) -> Option<usize> {
        let state = self.state();
        let last = state.table.counts()[position].checked_sub(1)?;
        let last = Place { member: position, number: last };
        let extent = state.table.extents.iter().position(|place| *place == last);
        assert!(extent.is_some(), "the places of a member have no gap");
        extent
    }

    /// Moves an extent, the last one of its member, to where `taker` says. The caller has the gate
    /// alone.
    pub(super) async fn relocate(&self, extent: usize, mut taker: Taker<'_>) -> io::Result<()> {
        self.check()?;
        let mut next = self.next();
        let (from, to) = (next.table.extents[extent], taker.take().await?);
        assert_ne!(from.member, to.member, "an extent moves to another member");
        self.copy_extent(&next, from, to).await?;
        if !planted::is("volume-moved-not-synced") {
            self.or_failed(next.members[to.member].sync().await)?;
        }
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
pub(super) struct Taker<'m> {
    of: &'m Members,
    members: Vec<Arc<Member>>,
    speeds: Vec<u64>,
    counts: Vec<u32>,
    has_room: Vec<bool>,
}

impl<'m> Taker<'m> {
    /// Those of one member.
    pub fn to(of: &'m Members, state: &State, target: usize) -> Taker<'m> {
        let mut taker = Taker::of(of, state);
        taker.has_room.iter_mut().enumerate().for_each(|(member, room)| *room &= member == target);
        taker
    }

    /// Those of a table, but for a member that leaves.
    pub fn of(of: &'m Members, state: &State) -> Taker<'m> {
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
    pub async fn take(&mut self) -> io::Result<Place> {
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

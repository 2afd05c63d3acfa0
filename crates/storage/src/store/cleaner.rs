//! The cleaner of a file whose pages lie out of place (`docs/format/places.md`, section 6): a task
//! that copies what is needed of the emptiest extents elsewhere, beside those who read, change and
//! commit. It holds the turn of a checkpoint, so none runs meanwhile, and no backup.
//!
//! Images of an extent that the last checkpoint needs are copied as well, and its map is written
//! again: no checkpoint is needed for the extent to become free.

use std::sync::Arc;

use runtime::IoBuf;

use super::checkpoint::{CHUNK_PAGES, Places, meta_of};
use super::{CheckpointTurn, StoreInner};
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::header::Header;
use crate::meta;
use crate::page::{self, PageId};
use crate::page_map::PageMap;
use crate::page_map::moves::Move;
use crate::planted;

/// Extents that are cleaned in one turn, at most: a checkpoint waits for it.
const VICTIMS_MAX: usize = 8;

/// Images that are copied at a time.
const MOVES_MAX: usize = 64;

/// Attempts at a read.
const ATTEMPTS_MAX: u32 = 2;

/// Images that are being copied: their places are held.
struct Held<'m> {
    map: &'m PageMap,
    moves: Vec<Move>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.map.end_moves(&self.moves);
    }
}

impl StoreInner {
    /// Begins to clean, if there is something to clean, and nobody has the turn.
    pub fn clean_ahead(self: &Arc<Self>) {
        if let Some(map) = &self.pool.map
            && map.is_sparse()
            && self.pool.poison().is_none()
            && let Some(cleaning) = self.cleaning.try_acquire()
            && let Some(permit) = self.settling.try_acquire()
        {
            let (store, map) = (Arc::clone(self), Arc::clone(map));
            drop(runtime::spawn(async move {
                let turn = CheckpointTurn { _permit: permit };
                // A failed write has poisoned the store.
                drop(store.clean(&map, false).await);
                // Whoever waits for this may want the file to be let go of.
                drop(store);
                drop((turn, cleaning));
            }));
        }
    }

    /// Cleans for somebody who finds the disk full, if nobody but the cleaner has the turn: who
    /// has that may be the one who asks.
    pub(super) async fn clean_for_room(&self) {
        if let Some(map) = &self.pool.map {
            let _cleaning = self.cleaning.acquire().await;
            if let Some(turn) = self.settling.try_acquire() {
                drop(self.clean(map, true).await);
                drop(turn);
            }
        }
    }

    /// Empties some extents. `at_once`: they are to be free when this ends, and not first when much
    /// was moved, or with the next checkpoint.
    async fn clean(&self, map: &PageMap, at_once: bool) -> Result<()> {
        let (mut moved, before) = (Ok(()), map.stats().moved);
        for (start, _) in map.victims(VICTIMS_MAX) {
            self.check_writable()?;
            moved = self.move_extent(map, start).await;
            if moved.is_err() || !(at_once || map.is_sparse()) {
                break;
            }
        }
        let is_full = moved.as_ref().is_err_and(StorageError::is_disk_full);
        if map.stats().replaced > 0 && (at_once || is_full || map.has_much_replaced()) {
            moved = self.write_moves(map).await;
        }
        let is_idle = map.stats().moved == before;
        if is_idle || moved.as_ref().is_err_and(StorageError::is_disk_full) {
            map.give_up_cleaning();
        }
        moved
    }

    /// Copies all images of an extent that somebody wants to other places. Those that cannot be
    /// read stay: who reads them next is told.
    async fn move_extent(&self, map: &PageMap, start: PageId) -> Result<()> {
        let held = Held { map, moves: map.begin_moves(start) };
        for chunk in held.moves.chunks(MOVES_MAX) {
            let (moves, images) = self.read_moves(chunk).await;
            if moves.is_empty() {
                continue;
            }
            let taken = map.take_to_move(&moves, self.pool.dirty()).await?;
            let placed = taken.places.iter().copied().zip(images).collect();
            self.pool.write_at_places(placed).await?;
            map.install_moves(taken, &moves);
        }
        Ok(())
    }

    /// Those images that can be read, consecutive ones in one request, all of them together.
    async fn read_moves(&self, moves: &[Move]) -> (Vec<Move>, Vec<IoBuf>) {
        let mut reads = Vec::new();
        for run in moves.chunk_by(|a, b| a.from.place + 1 == b.from.place) {
            let (file, offset) = (self.pool.file().clone(), self.pool.offset(run[0].from.place));
            let (count, page_size) = (run.len(), self.pool.page_size());
            let read = runtime::spawn(async move {
                for _ in 0..ATTEMPTS_MAX {
                    let buffers = (0..count).map(|_| IoBuf::alloc(page_size)).collect();
                    let (read, buffers) = file.read_vectored_exact_at(buffers, offset).await;
                    if read.is_ok() {
                        return buffers;
                    }
                }
                Vec::new()
            });
            reads.push((run, read));
        }
        let mut found = (Vec::new(), Vec::new());
        for (run, read) in reads {
            for (image, buffer) in run.iter().zip(read.await.unwrap_or_default()) {
                if image.is_it(buffer.as_slice()) {
                    found.0.push(*image);
                    found.1.push(buffer);
                }
            }
        }
        found
    }

    /// Has the file say where the images of the last checkpoint lie now: its map and its directory
    /// are written again, and a header that names them. Then nothing needs the places where they
    /// were.
    async fn write_moves(&self, map: &PageMap) -> Result<()> {
        self.check_writable()?;
        // A survey of the file counts on the header.
        let _with_header = self.headless.acquire().await;
        self.write_pieces(map).await?;
        let before = self.header.lock().expect("header").clone();
        let last = Arc::clone(&self.directory.lock().expect("directory"));
        let directory = Arc::new(Directory {
            trees: last.trees.clone(),
            free: last.free.clone(),
            places: map.durable_records(),
        });
        let pages = directory.encode().len().div_ceil(meta::capacity(self.pool.page_size()));
        let meta = self.take_directory(map, pages as u32).await?;
        let page_count = self.ground().page_count();
        let (numbers, directory_now) = (before.numbers, Arc::clone(&directory));
        let places = Places { meta, directory, page_count, numbers };
        self.write_directory(&places).await.inspect_err(|_| self.ground().give(meta))?;
        let header = Header {
            sequence: before.sequence + 1,
            page_count,
            meta_pid: meta.start,
            meta_pages: meta.pages,
            ..before.clone()
        };
        self.commit_moves(&header).await.map_err(|error| self.poisoned_by(error))?;
        *self.header.lock().expect("header") = header;
        *self.directory.lock().expect("directory") = directory_now;
        self.ground().give(meta_of(&before));
        map.let_replaced_go();
        map.give_space_back().await;
        Ok(())
    }

    async fn commit_moves(&self, header: &Header) -> Result<()> {
        if !planted::is("moves-not-synced") {
            self.sync().await?;
        }
        // Both slots hold the same, so any may be the first.
        self.write_both_slots(header, 1).await
    }

    /// Writes the pieces of the last checkpoint's map that differ from those on disk.
    async fn write_pieces(&self, map: &PageMap) -> Result<()> {
        loop {
            let images = map.remapped(CHUNK_PAGES, self.pool.epoch());
            if images.is_empty() {
                return Ok(());
            }
            let sum =
                |(index, image): &(u32, IoBuf)| (*index, page::stored_checksum(image.as_slice()));
            let pieces: Vec<(u32, u32)> = images.iter().map(sum).collect();
            let taken = map.take_for_pieces(pieces.len(), self.pool.dirty()).await?;
            let images = images.into_iter().map(|(_, image)| image);
            let placed = taken.places.iter().copied().zip(images).collect();
            self.pool.write_at_places(placed).await?;
            map.install_pieces(taken, &pieces);
        }
    }
}

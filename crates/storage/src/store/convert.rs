//! Conversion of a file whose pages lie in place to one whose pages lie out of place
//! (`docs/format/places.md`, section 8).
//!
//! Pages stay where they are: the first map says that each lies where its number says. Map and
//! directory go to pages that are free in the state before, so that state stays whole until a
//! header names the new one.

mod cover;

use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;

use super::checkpoint::meta_of;
use super::open::{assemble, open};
use super::{Store, StoreInner, StoreOptions, placed};
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::extent::{Extent, merge};
use crate::header::{Header, OUT_OF_PLACE_VERSION};
use crate::log::place::LogPlace;
use crate::page;
use crate::page_map::Claim;
use crate::places::{Entry, Layout, PlaceRecords};
use crate::pool::memory::PAGE_COUNT_MAX;
use crate::volume::Volume;
use cover::{Cover, between};

/// Pages that are read in one request: 1 MiB of pages of 4 KiB.
const RUN_PAGES: u32 = 256;

/// Requests on their way.
const READS_MAX: usize = 8;

/// Attempts at a read.
const ATTEMPTS_MAX: u32 = 2;

impl Store {
    /// Converts a file whose pages lie in place to the layout of `options`, out of place. Nobody
    /// has it open meanwhile. After a crash the file is what it was, or converted, whole; a file
    /// that is converted already stays as it is.
    ///
    /// # Errors
    /// Those of [`Store::open`]; `Option` where the options ask for no conversion; `Corrupt` with a
    /// damaged page; `Io` when the disk is full, which it is, too, where there would be no room for
    /// what frees space. The file is what it was then, but for its length.
    pub async fn convert(path: &Path, options: StoreOptions) -> Result<()> {
        let (extent_pages, options) = (wanted(&options)?, options);
        let store = open(path, &options, &Arc::default()).await?;
        if store.inner.pool.map.is_some() {
            store.close().await;
            return Ok(());
        }
        store.quiesce().await;
        let old = Old::of(&store.inner, extent_pages);
        drop(store);
        let store = old.with_map(&options).await.map_err(no_room)?;
        let written = old.write_to(&store).await.map_err(no_room);
        store.close().await;
        written
    }
}

/// Pages of the extents that the file is to have.
///
/// # Errors
/// `Option`.
fn wanted(options: &StoreOptions) -> Result<u32> {
    placed::check(options.layout, options)?;
    match options.layout {
        Layout::OutOfPlace { .. } if options.unchanged => {
            Err(StorageError::Option("a file that stays unchanged cannot be converted"))
        }
        Layout::OutOfPlace { .. } if options.archive.is_some() => {
            Err(StorageError::Option("a file is converted without its archive"))
        }
        Layout::OutOfPlace { extent_pages } => Ok(extent_pages),
        Layout::InPlace => {
            Err(StorageError::Option("files are converted to the layout out of place alone"))
        }
    }
}

/// Says for what a full disk has no room.
fn no_room(error: StorageError) -> StorageError {
    match error {
        StorageError::Io { kind, message, .. } if error.is_disk_full() => {
            let action = "make room in the file for another layout";
            StorageError::Io { action, kind, message }
        }
        other => other,
    }
}

/// A file with pages in place: its last checkpoint, which has settled and has nothing logged
/// behind it.
struct Old {
    file: Volume,
    header: Header,
    directory: Arc<Directory>,
    /// Runs that are no pages of trees.
    free: Vec<Extent>,
    extent_pages: u32,
    cover: Cover,
}

impl Old {
    /// The file goes on to be locked when the store is gone.
    fn of(store: &StoreInner, extent_pages: u32) -> Old {
        let header = store.header.lock().expect("header").clone();
        let directory = Arc::clone(&store.directory.lock().expect("directory"));
        assert_eq!(header.double_write.pages, 0, "a checkpoint that has settled");
        assert!(store.log.is_empty(), "recovery has put the log into the trees");
        let file = store.pool.file().clone();
        let runs = [Some(meta_of(&header)), header.log.extent()].into_iter().flatten();
        let runs = runs.filter(|run| run.pages > 0);
        let free = merge(directory.free.iter().copied().chain(runs).collect());
        let used = between(&free, header.page_count);
        let cover = Cover::of(&used, header.log.extent(), extent_pages);
        Old { file, header, directory, free, extent_pages, cover }
    }

    /// A store of this state, out of place, of which nothing is written. Pages that only the old
    /// header names stay as they are until a checkpoint has settled.
    async fn with_map(&self, options: &StoreOptions) -> Result<Store> {
        let end = self.cover.starts.last().map_or(0, |last| last + self.extent_pages);
        let page_count = self.header.page_count.max(end);
        if page_count > PAGE_COUNT_MAX {
            return Err(StorageError::Full);
        }
        let bytes = |pages: u32| u64::from(pages) * u64::from(self.header.page_size);
        let (from, to) = (bytes(self.header.page_count), bytes(page_count));
        if to > from {
            let held = self.file.allocate(from, to - from).await;
            held.map_err(|error| StorageError::io("extend the database file", &error))?;
        }
        let map = self.map().await?;
        let (extent_pages, extents) = (self.extent_pages, self.cover.starts.clone());
        let places = PlaceRecords { extent_pages, extents, map_pages: vec![] };
        let (trees, free) = (self.directory.trees.clone(), self.free.clone());
        let directory = Arc::new(Directory { trees, free, places });
        let found = (self.placed_header(page_count), map);
        let store = assemble(self.file.clone(), options, found, &directory, None, 0)?;
        self.keep_runs(&store.inner);
        Ok(store)
    }

    /// The map: each page lies where its number says, strays nowhere yet. All pages are read, for
    /// their checksums.
    ///
    /// # Errors
    /// `Corrupt` with a damaged page; `Io`.
    async fn map(&self) -> Result<Vec<Entry>> {
        let mut map = vec![Entry::default(); self.header.page_count as usize];
        let runs = between(&self.free, self.header.page_count);
        let runs: Vec<Extent> = runs.into_iter().flat_map(pieces).collect();
        for chunk in runs.chunks(READS_MAX) {
            let begin = |run: &Extent| {
                let (file, page_size, run) = (self.file.clone(), self.page_size(), *run);
                runtime::spawn(async move { read_run(&file, page_size, run).await })
            };
            let reads: Vec<_> = chunk.iter().map(begin).collect();
            let mut all = Vec::new();
            for read in reads {
                all.push(read.await.unwrap_or(Err(StorageError::Stopped)));
            }
            for (run, images) in chunk.iter().zip(all) {
                for (place, image) in run.pids().zip(images?.as_slice().chunks(self.page_size())) {
                    map[place as usize] = Entry { place, checksum: page::stored_checksum(image) };
                }
            }
        }
        let strays = self.cover.strays.iter().flat_map(|run| run.pids());
        strays.for_each(|pid| map[pid as usize] = Entry::default());
        Ok(map)
    }

    fn page_size(&self) -> usize {
        self.header.page_size as usize
    }

    /// The header of the old state with a map, which names no directory.
    fn placed_header(&self, page_count: u32) -> Header {
        Header {
            version: OUT_OF_PLACE_VERSION,
            numbers: self.header.page_count,
            page_count,
            meta_pid: 0,
            meta_pages: 0,
            next_log: LogPlace::default(),
            archive: 0,
            ..self.header.clone()
        }
    }

    /// Keeps pages that only the old state needs from being used before it is needed no more:
    /// directory, the log's next run, strays. What of them lies in extents is no free space.
    fn keep_runs(&self, store: &StoreInner) {
        let runs = [Some(meta_of(&self.header)), self.header.next_log.extent()];
        let runs = runs.into_iter().flatten().chain(self.cover.strays.iter().copied());
        let mut ground = store.ground();
        for pid in runs.flat_map(Extent::pids) {
            let page = Extent { start: pid, pages: 1 };
            if ground.take_exactly(page) {
                ground.retire_run(page);
            }
        }
    }

    /// Makes the state with a map the one of the file.
    ///
    /// # Errors
    /// `Io` when the disk has no room for it and for what frees space: the file has the old state.
    async fn write_to(&self, store: &Store) -> Result<()> {
        let pool = &store.inner.pool;
        let map_pages = pool.map.as_ref().expect("pages lie where a map says").outdate_all();
        let strays: usize = self.cover.strays.iter().map(|run| run.pages as usize).sum();
        // Nothing may be cleaned for it: that would write a header.
        pool.reserve_places(map_pages + strays, Claim::Freeing).await?;
        for run in self.cover.strays.iter().flat_map(|run| pieces(*run)) {
            let images = read_run(&self.file, self.page_size(), run).await?;
            let images = images.as_slice().chunks(self.page_size()).map(IoBuf::copy_of);
            pool.write_images(run.pids().zip(images).collect()).await?;
        }
        store.checkpoint().await
    }
}

/// A run in parts that are read in one request each.
fn pieces(run: Extent) -> impl Iterator<Item = Extent> {
    let starts = (0..run.pages).step_by(RUN_PAGES as usize);
    starts.map(move |at| Extent { start: run.start + at, pages: RUN_PAGES.min(run.pages - at) })
}

/// Reads pages where their numbers say.
///
/// # Errors
/// `Corrupt` with the first one that is damaged; `Io`.
async fn read_run(file: &Volume, page_size: usize, run: Extent) -> Result<IoBuf> {
    let offset = u64::from(run.start) * page_size as u64;
    let mut attempts = 0;
    let images = loop {
        attempts += 1;
        let buffer = IoBuf::alloc(run.pages as usize * page_size);
        match file.read_exact_at(buffer, offset).await {
            (Ok(()), images) => break images,
            (Err(error), _) if attempts == ATTEMPTS_MAX => {
                return Err(StorageError::io("read a page", &error));
            }
            (Err(_), _) => {}
        }
    };
    for (pid, image) in run.pids().zip(images.as_slice().chunks(page_size)) {
        page::check(image, pid).map_err(|reason| StorageError::Corrupt { pid, reason })?;
    }
    Ok(images)
}

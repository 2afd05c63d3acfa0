//! The checkpoint (`docs/format/file.md`, section 2): all pages that have changed become durable, and the
//! log begins anew. Nobody changes pages until its *point*; what can be written before or after is
//! (`Pool::flush`, `settle.rs`). Where the log goes on in its next run (`docs/format/log.md`, section 5) the
//! point comes before the header, and only what takes no sync lies before it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::IoBuf;

use super::{CheckpointTurn, StoreInner};
use crate::directory::{Directory, encoded_len};
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::header::{self, Header, IN_PLACE_VERSION};
use crate::log::place::LogPlace;
use crate::log::redo::Redo;
use crate::log::{Begun, First};
use crate::page::{self, Identity, PageId};
use crate::space::{Space, Take};
use crate::{meta, planted};

/// Images in memory at a time: 1 MiB of 4 KiB pages.
pub(super) const CHUNK_PAGES: usize = 256;

/// A dirty page and its frame.
type Dirty = (PageId, u32);

/// Where a checkpoint puts the directory.
pub(super) struct Places {
    pub meta: Extent,
    pub directory: Arc<Directory>,
    /// Pages that the directory accounts for. A bulk load may take more while the checkpoint runs.
    pub page_count: u32,
    /// Page numbers, where pages lie out of place; else 0.
    pub numbers: u32,
}

/// All of a checkpoint but its header, written and not synced.
pub(super) struct Written {
    before: Header,
    places: Places,
    pub(super) begun: Begun,
    dirty: Vec<(PageId, u32, bool)>,
    archive: u64,
    time: u64,
}

/// What a checkpoint has to settle.
pub(super) struct Passed {
    directory: Arc<Directory>,
    /// Pages that are in its double-write buffer, and where; or that lie elsewhere than in the
    /// checkpoint before, for the archive.
    pages: Vec<(PageId, PageId)>,
}

/// How a checkpoint begins its log.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// Anew, with what transactions in flight have replaced; nobody commits before its header is durable.
    Anew(&'a Redo),
    /// The log goes on in this run, which a header names already, with this.
    On(LogPlace, First<'a>),
}

impl Way<'_> {
    fn is_empty(self) -> bool {
        match self {
            Way::Anew(replaced) => replaced.is_empty(),
            Way::On(_, first) => first.is_empty(),
        }
    }
}

impl StoreInner {
    /// Runs a checkpoint as a task of its own: a caller that is dropped does not stop it halfway. Its log
    /// begins with `first`. It is durable then, and settles in another task.
    pub async fn checkpoint(self: &Arc<Self>, turn: CheckpointTurn, first: Redo) -> Result<()> {
        let store = Arc::clone(self);
        runtime::spawn(async move {
            store.archive_ahead().await;
            store.checkpoint_alone(turn, &first).await
        })
        .await
        .unwrap_or(Err(StorageError::Stopped))
    }

    /// What fails here is tried again while nobody writes.
    pub(super) async fn archive_ahead(&self) {
        if let Some(archive) = &self.archive {
            archive.flush().await.ok();
        }
    }

    pub(super) async fn checkpoint_alone(
        self: Arc<Self>,
        turn: CheckpointTurn,
        first: &Redo,
    ) -> Result<()> {
        let _no_writers = self.writers.exclusive().await;
        let _no_write_backs = self.pool.writing.exclusive().await;
        let Some(written) = self.write(Way::Anew(first)).await? else { return Ok(()) };
        let header = self.header_after(&written);
        self.commit(&header).await?;
        let passed = self.pass(written, &header);
        self.begin_settling(turn, header, passed);
        Ok(())
    }

    /// Writes all but the header; `None`: nothing has changed. What fails for want of space leaves everything
    /// as it was. The caller holds writers back.
    pub(super) async fn write(&self, way: Way<'_>) -> Result<Option<Written>> {
        self.check_writable()?;
        let dirty = self.pool.dirty_frames();
        // Changed old pages that are clean in the pool, or no longer there, are in the double-write buffer.
        let changed = self.changed.load(Ordering::Relaxed)
            || self.pool.double_write.len() > 0
            || self.pool.map.as_ref().is_some_and(|map| map.has_changed())
            || !self.log.is_empty();
        if dirty.is_empty() && !changed && way.is_empty() {
            return Ok(None);
        }
        // What the log had is in the archive before the log begins anew.
        let archive = match &self.archive {
            Some(archive) => archive.finish().await,
            None => 0,
        };
        let before = self.header.lock().expect("header").clone();
        let time = self.log.tick();
        let mut dirty = dirty;
        let of = |kept| move |d: &&(PageId, u32, bool)| d.2 == kept;
        let new: Vec<Dirty> = dirty.iter().filter(of(false)).map(|d| (d.0, d.1)).collect();
        let old: Vec<Dirty> = dirty.iter().filter(of(true)).map(|d| (d.0, d.1)).collect();
        self.write_double_write(&old).await?;
        if planted::is("pages-before-header") {
            self.write_pages(&old).await?;
        }
        let begun = match way {
            Way::Anew(replaced) => self.place_log(&before, replaced).await?,
            Way::On(place, _) => Begun::anew(place, before.checkpoint + 1),
        };
        let written = match &self.pool.map {
            Some(map) => {
                dirty.clear();
                self.write_placed(map, &new).await
            }
            None => self.write_beside(&before, &new, begun.place).await,
        };
        match written {
            Ok(places) => Ok(Some(Written { before, places, begun, dirty, archive, time })),
            Err(error) => {
                if let Way::Anew(_) = way {
                    let new = begun.place.extent().filter(|_| begun.place != before.log);
                    new.into_iter().for_each(|run| self.ground().give(run));
                }
                Err(error)
            }
        }
    }

    /// The file may hold the old state or the new one: only opening it again can tell.
    pub(super) fn poisoned_by(&self, error: StorageError) -> StorageError {
        self.pool.set_poison(&error);
        match self.check_writable() {
            // Another attempt is of no use, as the kind of the error would say.
            Err(poisoned) if error.is_disk_full() => poisoned,
            _ => error,
        }
    }

    /// Writes what the last checkpoint does not reach: new pages and the directory. A failure for lack of space
    /// may be followed by another attempt, any other poisons the store.
    async fn write_beside(&self, before: &Header, new: &[Dirty], log: LogPlace) -> Result<Places> {
        let places = self.place_directory(before, log).await?;
        let written = match self.write_pages(new).await {
            Ok(()) => self.write_directory(&places).await,
            failed => failed,
        };
        written.inspect_err(|_| self.space().give(places.meta))?;
        Ok(places)
    }

    /// The header that makes what was written the state of the file.
    pub(super) fn header_after(&self, written: &Written) -> Header {
        let Written { before, places, begun, archive, time, .. } = written;
        // One that was given away is in use.
        let has_next = before.next_log.extent() == self.ground().next_log();
        Header {
            version: before.version.max(IN_PLACE_VERSION),
            numbers: places.numbers,
            sequence: before.sequence + 1,
            checkpoint: before.checkpoint + 1,
            page_count: places.page_count,
            meta_pid: places.meta.start,
            meta_pages: places.meta.pages,
            next_tree: self.next_tree.load(Ordering::Relaxed),
            double_write: self.pool.double_write.header(),
            log: begun.place,
            log_frames: begun.frames(),
            log_previous: begun.previous,
            next_log: if has_next { before.next_log } else { LogPlace::default() },
            archive: *archive,
            time: *time,
            ..before.clone()
        }
    }

    /// Makes the state of this header the one of the file. What is written here has its space, so a failure is
    /// never for the lack of it on a file system that keeps its word. The store is poisoned then.
    pub(super) async fn commit(&self, header: &Header) -> Result<()> {
        let committed = async {
            if !planted::is("checkpoint-not-synced") {
                self.sync().await?;
            }
            self.write_slot(header, first_slot(header)).await
        };
        committed.await.map_err(|error| self.poisoned_by(error))
    }

    /// Where the log is to lie: where it is, or in another run of zeros that is taken here, longer or with
    /// a first frame. Where there is no space for a longer one it stays as it is.
    async fn place_log(&self, before: &Header, first: &Redo) -> Result<Begun> {
        let number = before.checkpoint + 1;
        let Some(wanted) = self.log.pages_wanted(before, first) else {
            return Ok(Begun::anew(before.log, number));
        };
        let is_optional = first.is_empty();
        let spare = self.ground().take_spare_log(wanted);
        let run = match spare {
            Some(run) => run,
            None => match self.take_log(wanted, first).await {
                Err(error) if is_optional && error.is_disk_full() => {
                    return Ok(Begun::anew(before.log, number));
                }
                taken => taken?,
            },
        };
        let salt = u64::from_le_bytes(runtime::entropy());
        let place = LogPlace { pid: run.start, pages: run.pages, salt };
        let is_new = spare.is_none();
        match self.log.prepare((place, is_new), number, first).await {
            Ok(begun) => Ok(begun),
            Err(error) => {
                self.ground().give(run);
                match error.is_disk_full() {
                    true if is_optional => Ok(Begun::anew(before.log, number)),
                    true => Err(error),
                    false => Err(self.poisoned_by(error)),
                }
            }
        }
    }

    /// Takes pages for the log. One that the checkpoint cannot do without is what the reserve is
    /// for, and is shorter on a full disk.
    async fn take_log(&self, pages: u32, first: &Redo) -> Result<Extent> {
        let ground = self.ground_allocator();
        match ground.take(pages).await {
            Err(error) if error.is_disk_full() && !first.is_empty() => {
                let needed = self.log.pages_needed(first).min(pages);
                ground.take_by(|space, held| space.take(needed, held, 0)).await
            }
            taken => taken,
        }
    }

    async fn place_directory(&self, before: &Header, log: LogPlace) -> Result<Places> {
        let freed = freed_by(before, log);
        self.allocator.take_by(|space, held| self.choose_places(space, held, &freed)).await
    }

    /// Takes pages for the directory, and makes it: it has to tell of these very pages.
    fn choose_places(
        &self,
        space: &mut Space,
        held: u32,
        freed: &[Extent],
    ) -> Result<Take<Places>> {
        let trees: Vec<_> = self.trees().values().map(|tree| tree.record()).collect();
        // Taking the pages of the directory may cut one of the extents listed now in two.
        let extents_max = space.free_after_restart(freed).len() + 1;
        let capacity = meta::capacity(self.pool.page_size());
        let meta_pages = encoded_len(trees.len(), extents_max).div_ceil(capacity);
        let meta = match space.take(meta_pages as u32, held, 0)? {
            Take::Taken(extent) => extent,
            Take::Grow(page_count) => return Ok(Take::Grow(page_count)),
            Take::Fill(pages) => return Ok(Take::Fill(pages)),
        };
        let free = space.free_after_restart(freed);
        assert!(free.len() <= extents_max, "the list of free pages grew by taking from it");
        let page_count = space.page_count();
        assert!(page_count <= held, "the file holds all its pages before anything refers to them");
        let directory = Arc::new(Directory { trees, free, ..Directory::default() });
        Ok(Take::Taken(Places { meta, directory, page_count, numbers: 0 }))
    }

    pub(super) fn images(&self, pages: &[Dirty]) -> Vec<(PageId, IoBuf)> {
        let image = |&(pid, frame): &Dirty| {
            let copied = self.pool.image(frame);
            (pid, copied.expect("nobody changes pages during a checkpoint").0)
        };
        pages.iter().map(image).collect()
    }

    async fn write_pages(&self, pages: &[Dirty]) -> Result<()> {
        for chunk in pages.chunks(CHUNK_PAGES) {
            self.pool.write_images(self.images(chunk)).await?;
        }
        Ok(())
    }

    pub(super) async fn write_directory(&self, places: &Places) -> Result<()> {
        let bytes = places.directory.encode();
        let page_size = self.pool.page_size();
        let mut pieces = bytes.chunks(meta::capacity(page_size));
        let mut images = Vec::new();
        for pid in places.meta.pids() {
            let mut image = IoBuf::alloc(page_size);
            let identity = Identity { pid, tree: 0, epoch: self.pool.epoch() };
            meta::build(image.as_mut_slice(), identity, pieces.next().unwrap_or_default());
            page::seal(image.as_mut_slice(), pid);
            images.push((pid, image));
        }
        assert!(pieces.next().is_none(), "the directory does not fit its pages");
        self.pool.write_at_places(images).await
    }

    /// Appends the images of changed old pages that are in the pool to the double-write buffer.
    async fn write_double_write(&self, old: &[Dirty]) -> Result<()> {
        self.pool.close_gap_in_double_write().await?;
        for chunk in old.chunks(CHUNK_PAGES) {
            // All of them together need no more than this.
            self.pool.append_to_double_write(self.images(chunk), false).await?;
        }
        Ok(())
    }

    pub(super) async fn sync(&self) -> Result<()> {
        let synced = self.syncs.sync().await;
        synced.map_err(|error| StorageError::io("sync the database file", &error))
    }

    /// Writes a header to slot `first` and then to the other, each synced: at rest both hold the
    /// same. The other slot has to hold a header that leads to the same state, or to the last one.
    pub(super) async fn write_both_slots(&self, header: &Header, first: PageId) -> Result<()> {
        assert!(first < 2, "there are two slots");
        self.write_slot(header, first).await?;
        self.write_slot(header, 1 - first).await
    }

    pub(super) async fn write_slot(&self, header: &Header, slot: PageId) -> Result<()> {
        let mut image = IoBuf::alloc(self.pool.page_size());
        header::encode(header, image.as_mut_slice());
        let written = self.pool.file().write_all_at(image, self.pool.offset(slot)).await.0;
        written.map_err(|error| StorageError::io("write the file header", &error))?;
        self.sync().await
    }

    /// The point of a checkpoint: what changes from now on is for the next one.
    pub(super) fn pass(&self, written: Written, header: &Header) -> Passed {
        let Written { before, places, begun, dirty, .. } = written;
        dirty.iter().for_each(|(_, frame, _)| self.pool.mark_clean(*frame));
        let mut pages = self.pool.double_write.begin_placing();
        self.pool.set_epoch(header.checkpoint + 1);
        if let Some(archive) = &self.archive {
            archive.begin(header.checkpoint, begun.bytes());
        }
        self.log.restart(begun, header.checkpoint);
        self.changed.store(false, Ordering::Relaxed);
        let log = header.log;
        if let Some(map) = &self.pool.map {
            self.space().begin_settling([]);
            let moved = map.begin_settling();
            pages.extend(moved.into_iter().filter(|_| self.archive.is_some()));
        }
        let mut space = self.ground();
        match before.log.extent().filter(|run| log != before.log && run.pages >= log.pages) {
            Some(left) => {
                space.leave_log(left);
                space.begin_settling(freed_by(&before, before.log));
            }
            None => space.begin_settling(freed_by(&before, log)),
        }
        Passed { directory: places.directory, pages }
    }

    /// The checkpoint exists: lets it settle.
    pub(super) fn begin_settling(
        self: &Arc<Self>,
        turn: CheckpointTurn,
        header: Header,
        Passed { directory, pages }: Passed,
    ) {
        *self.header.lock().expect("header") = header.clone();
        *self.directory.lock().expect("directory") = Arc::clone(&directory);
        let store = Arc::clone(self);
        drop(runtime::spawn(async move {
            store.settle(header, &directory, &pages).await;
            // Whoever waits for this may want the file to be let go of.
            drop(store);
            drop(turn);
        }));
    }
}

/// The slot that the header of a checkpoint is written to first: the other one has the same, or the last
/// one without a double-write buffer.
pub(super) fn first_slot(header: &Header) -> PageId {
    PageId::from(header.double_write.pages == 0)
}

/// The directory of the checkpoint with this header.
pub(super) fn meta_of(header: &Header) -> Extent {
    Extent { start: header.meta_pid, pages: header.meta_pages }
}

/// What the checkpoint before needed for itself and the next one, with its log there, does not.
fn freed_by(before: &Header, log: LogPlace) -> Vec<Extent> {
    let meta = meta_of(before);
    let moved = before.log.extent().filter(|_| log != before.log);
    (meta.pages > 0).then_some(meta).into_iter().chain(moved).collect()
}

//! Creating and opening a file, recovery included (`docs/format/file.md`, section 2).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};

use runtime::fs::{self, Durability, File, OpenOptions, Scratch};
use runtime::sync::Semaphore;
use runtime::{IoBuf, IoCounters};

use super::placed;
use super::progress::{RecoveryPhase, RecoveryProgress};
use super::{Store, StoreInner, StoreOptions};
use crate::allocator::Allocator;
use crate::archive::Archive;
use crate::archive::attach::attach;
use crate::archive::write::Settled;
use crate::directory::Directory;
use crate::error::{Damage, MemberFault, Result, StorageError};
use crate::gate::fair_lock::FairLock;
use crate::header::{
    self, DoubleWrite, Header, IN_PLACE_VERSION, LABEL_VERSION, OUT_OF_PLACE_VERSION,
};
use crate::log::Log;
use crate::log::place::LogPlace;
use crate::log::recover::{self, Entries, Logged};
use crate::meta;
use crate::page::{self, PAGE_SIZE_MAX, PAGE_SIZE_MIN, PageId};
use crate::page_map;
use crate::places::{Entry, Layout, PlaceRecords};
use crate::pool::Pool;
use crate::space::Space;
use crate::syncs::Syncs;
use crate::tree::shared::TreeShared;
use crate::tree_id::TreeId;
use crate::volume::{self, Opening, Volume};

/// Number of the catalog tree in files that this program creates.
const CATALOG: TreeId = TreeId(1);

/// Pages that recovery reads and writes at a time: 1 MiB of 4 KiB pages.
const REPLAY_PAGES: u32 = 256;

pub(super) async fn create(path: &Path, options: &StoreOptions) -> Result<Store> {
    if !header::page_size_is_valid(options.page_size) {
        return Err(StorageError::Option("the page size is a power of two from 4096 to 32768"));
    }
    placed::check(options.layout, options)?;
    let (file, made) = match volume::open::wants_labels(path, &options.volume).await? {
        true => volume::open::create(path, &options.volume, opening(options)).await?,
        false => (Volume::from(open_file(path, options, true).await?), vec![path.to_owned()]),
    };
    let created = create_in(file.clone(), path, options).await;
    if created.is_err() {
        file.erase_devices().await;
    }
    drop(file);
    let created = match created {
        // The archive begins with what a file has.
        Ok(store) if options.archive.is_some() => {
            store.close().await;
            open(path, options, &Arc::default()).await
        }
        created => created,
    };
    if created.is_err() {
        // They hold nothing, and would be in the way of the next attempt.
        volume::open::remove_all(&made).await;
    }
    created
}

async fn create_in(file: Volume, path: &Path, options: &StoreOptions) -> Result<Store> {
    let (version, extent_pages) = match options.layout {
        Layout::InPlace => (IN_PLACE_VERSION, 0),
        Layout::OutOfPlace { extent_pages } => (OUT_OF_PLACE_VERSION, extent_pages),
    };
    let first = Header {
        version,
        numbers: if extent_pages > 0 { 2 } else { 0 },
        page_size: options.page_size,
        sequence: 0,
        checkpoint: 0,
        page_count: 2,
        meta_pid: 0,
        meta_pages: 0,
        next_tree: CATALOG.0 + 1,
        catalog_tree: CATALOG.0,
        double_write: DoubleWrite::default(),
        log: LogPlace::default(),
        log_frames: 0,
        log_previous: 0,
        next_log: LogPlace::default(),
        archive: 0,
        time: 0,
    };
    let places = PlaceRecords { extent_pages, ..PlaceRecords::default() };
    let directory = Arc::new(Directory { places, ..Directory::default() });
    let store = assemble(file, options, (first, vec![]), &directory, None, 0)?;
    store.inner.create_tree(CATALOG).await?;
    store.checkpoint().await?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let synced = fs::sync_dir(parent.unwrap_or(Path::new("."))).await;
    synced.map_err(|error| StorageError::io("sync the directory of the database file", &error))?;
    Ok(store)
}

pub(super) async fn open(
    path: &Path,
    options: &StoreOptions,
    progress: &Arc<RecoveryProgress>,
) -> Result<Store> {
    let (file, slots) = open_with_slots(path, options).await?;
    let Slots { mut header, slot, alike, other } = slots;
    check_length(&file, &header).await?;
    let mut double_written = vec![];
    if header.double_write.pages > 0 {
        progress.begin(RecoveryPhase::DoubleWrite, header.double_write.pages.into());
        double_written = replay(&file, &header, progress).await?;
    }
    let directory = Arc::new(read_directory(&file, &header).await?);
    placed::check(directory.places.layout(), options)?;
    let map = page_map::open::read(&file, &header, &directory.places).await?;
    let logged = recover::read(&file, &header, progress).await?;
    let has_frames = logged.has_frames();
    let Logged { entries, frames, frames_behind, time } = logged;
    if frames_behind > 0 {
        // They are of no checkpoint that could be archived: who wrote them had no archive.
        header.archive = 0;
    }
    // Both slots say so once a checkpoint is in its places and in the archive.
    let is_settled = header.double_write.pages == 0 && alike;
    let mut is_archived = is_settled;
    if header.is_out_of_place() && options.archive.is_some() && !is_settled {
        let moved = moved_since(&file, other.as_ref(), &header, &map).await;
        is_archived = moved.is_none();
        double_written = moved.unwrap_or_default();
    }
    let place = |pid: PageId| map.get(pid as usize).copied().unwrap_or_default();
    let settled = Settled {
        file: &file,
        header: &header,
        directory: &directory,
        double_written: &double_written,
        places: header.is_out_of_place().then_some(&place),
    };
    let (archive, line) = match &options.archive {
        Some(options) => {
            let (archive, line) = attach(options, settled, &frames, is_archived).await?;
            (Some(archive), line)
        }
        // What the checkpoint has changed is in no archive.
        None if !is_settled => (None, 0),
        None => (None, header.archive),
    };
    let is_same = is_settled && line == header.archive;
    if !is_same {
        header.sequence += 1;
        header.double_write = DoubleWrite::default();
        header.archive = line;
    }
    let found = (header.clone(), map);
    let store = assemble(file, options, found, &directory, archive, frames_behind)?;
    if !is_same {
        // The slot that was read stays until the other one is written.
        store.inner.write_both_slots(&header, 1 - slot).await?;
    }
    store.inner.log.note_time(time);
    drop(frames);
    let store = check_catalog(store)?;
    match has_frames {
        true => recover(store, entries, progress).await,
        false => Ok(store),
    }
}

/// Keeps pages out of the next run of the log, which the directory counts as free: for good where nothing is in
/// it, else until another checkpoint has settled, since recovery may begin again.
fn take_next_log(space: &mut Space, header: &Header, frames_behind: u64) -> Result<()> {
    let Some(run) = header.next_log.extent() else { return Ok(()) };
    if !space.take_exactly(run) {
        return Err(StorageError::Corrupt { pid: run.start, reason: Damage::Directory });
    }
    match frames_behind {
        0 => space.keep_spare_log(run),
        _ => space.retire_run(run),
    }
    Ok(())
}

/// Puts what was logged since the checkpoint into its trees. The log begins anew with another checkpoint,
/// also where nothing has come of what was logged: else frames behind the next one would be of the run before.
async fn recover(store: Store, logged: Entries, progress: &Arc<RecoveryProgress>) -> Result<Store> {
    // Committed changes had their space: where the disk is full now, that is the reserve.
    let _reserve = store.spend_reserve();
    recover::replay(&store, logged, progress).await?;
    progress.begin(RecoveryPhase::Checkpoint, 0);
    store.inner.mark_changed();
    store.checkpoint().await?;
    Ok(store)
}

fn check_catalog(store: Store) -> Result<Store> {
    let pid = store.inner.header.lock().expect("header").meta_pid;
    if store.inner.trees().contains_key(&store.inner.catalog) {
        return Ok(store);
    }
    Err(StorageError::Corrupt { pid, reason: Damage::Directory })
}

/// Opens a file that exists, with its members if it has any, and reads the header slots.
pub(super) async fn open_with_slots(
    path: &Path,
    options: &StoreOptions,
) -> Result<(Volume, Slots)> {
    let file = open_file(path, options, false).await?;
    let volume = Volume::from(file.clone());
    sync(&volume).await?;
    match read_header(&volume).await {
        Err(StorageError::NewerVersion { found: LABEL_VERSION, .. }) => {}
        Ok(_) if !options.volume.members.is_empty() => {
            return Err(StorageError::Member(MemberFault::OneFile));
        }
        slots => return Ok((volume, slots?)),
    }
    let members = volume::open::open(file, path, &options.volume, opening(options)).await?;
    sync(&members).await?;
    let slots = read_header(&members).await?;
    Ok((members, slots))
}

/// Nothing of a file that an earlier process wrote and did not sync is read as if it were durable.
async fn sync(volume: &Volume) -> Result<()> {
    let synced = volume.sync_data().await;
    synced.map_err(|error| StorageError::io("sync the database file", &error))
}

pub(super) fn opening(options: &StoreOptions) -> Opening {
    Opening { direct: options.direct, unchanged: options.unchanged }
}

pub(super) async fn open_file(path: &Path, options: &StoreOptions, create: bool) -> Result<File> {
    // The follower of an archive has the lock, and room beside the file.
    let scratch = if options.followed { Scratch::Beside } else { Scratch::Temporary };
    let open = OpenOptions {
        read: true,
        write: !options.unchanged,
        create: false,
        create_new: create,
        direct: options.direct,
        lock: !options.followed,
        overlay: options.unchanged.then_some(scratch),
    };
    File::open(path, open).await.map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::ResourceBusy => StorageError::Locked,
        _ => StorageError::io("open the database file", &error),
    })
}

pub(super) fn assemble(
    file: Volume,
    options: &StoreOptions,
    (header, map): (Header, Vec<Entry>),
    directory: &Arc<Directory>,
    archive: Option<Arc<Archive>>,
    frames_behind: u64,
) -> Result<Store> {
    let mut space = Space::new(header.number_count(), &directory.free);
    let (allocator, map) = match header.is_out_of_place() {
        true => {
            let records = &directory.places;
            let map = (map, options.fill_percent);
            let map =
                page_map::open::assemble(file.clone(), &header, records, map, &directory.free)?;
            take_next_log(&mut map.ground().space(), &header, frames_behind)?;
            if header.checkpoint > 0 {
                map.ground().assume_holes();
            }
            space.set_map(map.clone());
            (Arc::new(Allocator::of_numbers(header.page_size, space)), Some(map))
        }
        false => {
            take_next_log(&mut space, &header, frames_behind)?;
            (Arc::new(Allocator::new(file.clone(), header.page_size, space, options.reserve)), None)
        }
    };
    let (pages, epoch) = ((Arc::clone(&allocator), map), header.checkpoint + 1);
    let syncs = Syncs::new(file.clone());
    let log =
        Log::new(file.clone(), syncs.clone(), options.log, durability(options, &file), &header);
    let pool = Pool::new(file, pages, header.page_size, options.pool_bytes, epoch)?;
    pool.expect(header.number_count());
    let trees: BTreeMap<_, _> = directory
        .trees
        .iter()
        .map(|record| (record.id, Arc::new(TreeShared::from_record(record))))
        .collect();
    let inner = StoreInner {
        pool: Arc::new(pool),
        allocator,
        trees: Mutex::new(trees),
        next_tree: AtomicU32::new(header.next_tree),
        catalog: TreeId(header.catalog_tree),
        writers: FairLock::new(),
        structure: FairLock::new(),
        syncs,
        log,
        archive,
        settling: Semaphore::new(1),
        cleaning: Semaphore::new(1),
        headless: Semaphore::new(1),
        changed: AtomicBool::new(false),
        header: Mutex::new(header),
        directory: Mutex::new(Arc::clone(directory)),
        frames_behind,
        io: IoCounters::default(),
    };
    Ok(Store { inner: Arc::new(inner) })
}

fn durability(options: &StoreOptions, file: &Volume) -> Durability {
    let by_default = if file.heeds_dsync() { Durability::Flag } else { Durability::Sync };
    options.log_durability.unwrap_or(by_default)
}

/// What the two slots say.
pub(super) struct Slots {
    /// The header that counts.
    header: Header,
    /// The slot that holds it.
    slot: PageId,
    /// Whether the other one does, too.
    alike: bool,
    /// The header in the other one, if it holds one.
    other: Option<Header>,
}

/// The header that counts, of a file that is as long as it says.
///
/// # Errors
/// Those of opening it.
pub(crate) async fn header_of(file: &Volume) -> Result<Header> {
    let header = read_header(file).await?.header;
    check_length(file, &header).await.map(|()| header)
}

async fn read_header(file: &Volume) -> Result<Slots> {
    let first = read_slot(file, 0).await?;
    let first = first.map_or(Err(StorageError::NotADatabase), |slot| header::decode(&slot, 0));
    let candidates = match &first {
        Ok(header) => vec![header.page_size],
        Err(newer @ StorageError::NewerVersion { .. }) => return Err(newer.clone()),
        // The first slot cannot tell where the second one is.
        Err(_) => (PAGE_SIZE_MIN.ilog2()..=PAGE_SIZE_MAX.ilog2()).map(|bits| 1 << bits).collect(),
    };
    let mut second = Err(StorageError::NotADatabase);
    for page_size in candidates {
        if let Some(slot) = read_slot(file, u64::from(page_size)).await? {
            let found = header::decode(&slot, 1).and_then(|header| {
                let misplaced = StorageError::Corrupt { pid: 1, reason: Damage::Header };
                if header.page_size == page_size { Ok(header) } else { Err(misplaced) }
            });
            // Whatever lies where others would have it does not count then.
            let is_known = matches!(second, Ok(_) | Err(StorageError::NewerVersion { .. }));
            second = if is_known { second } else { found };
        }
    }
    let alike = first.is_ok() && first == second;
    let others = [second.clone().ok(), first.clone().ok()];
    let (header, slot) = header::choose(first, second)?;
    let [of_first, of_second] = others;
    let other = if slot == 0 { of_first } else { of_second };
    Ok(Slots { header, slot, alike, other })
}

/// The bytes of a slot, `None` when the file ends before.
async fn read_slot(file: &Volume, offset: u64) -> Result<Option<Vec<u8>>> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let buffer = IoBuf::alloc(PAGE_SIZE_MIN as usize);
        match file.read_exact_at(buffer, offset).await {
            (Ok(()), buffer) => return Ok(Some(buffer.as_slice().to_vec())),
            (Err(error), _) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            (Err(error), _) if attempts == 2 => {
                return Err(StorageError::io("read the file header", &error));
            }
            (Err(_), _) => {}
        }
    }
}

async fn check_length(file: &Volume, header: &Header) -> Result<()> {
    let found = file.len().await;
    let found_bytes =
        found.map_err(|error| StorageError::io("ask for the file's length", &error))?;
    let expected_bytes = u64::from(header.page_count) * u64::from(header.page_size);
    if found_bytes < expected_bytes {
        return Err(StorageError::Truncated { expected_bytes, found_bytes });
    }
    Ok(())
}

/// Writes the images of the double-write buffer to their places. May be interrupted anywhere and done again.
///
/// Which pages these are.
pub(crate) async fn replay(
    file: &Volume,
    header: &Header,
    progress: &RecoveryProgress,
) -> Result<Vec<PageId>> {
    let damaged =
        StorageError::Corrupt { pid: header.double_write.pid, reason: Damage::DoubleWrite };
    let (mut sum, mut pids) = (0, vec![]);
    // First pass: the double-write buffer as a whole, so that a damaged one changes nothing.
    for (start, pages) in chunks(header.double_write) {
        for image in read_pages(file, header.page_size, start, pages).await? {
            let pid = page::stored_pid(image.as_slice());
            let known = pid >= 2 && pid < u64::from(header.page_count);
            if page::check_any(image.as_slice()).is_err() || !known {
                return Err(damaged);
            }
            sum = crc32c::crc32c_append(sum, &image.as_slice()[4..8]);
            pids.push(pid as PageId);
        }
    }
    if sum != header.double_write.checksum {
        return Err(damaged);
    }
    for (start, pages) in chunks(header.double_write) {
        for image in read_pages(file, header.page_size, start, pages).await? {
            let offset = page::stored_pid(image.as_slice()) * u64::from(header.page_size);
            let written = file.write_all_at(image, offset).await.0;
            written.map_err(|error| StorageError::io("replay the double-write buffer", &error))?;
        }
        progress.add(pages.into());
    }
    let synced = file.sync_data().await;
    synced.map_err(|error| StorageError::io("sync the database file", &error))?;
    Ok(pids)
}

fn chunks(double_write: DoubleWrite) -> impl Iterator<Item = (PageId, u32)> {
    let starts = (0..double_write.pages).step_by(REPLAY_PAGES as usize);
    starts.map(move |at| (double_write.pid + at, REPLAY_PAGES.min(double_write.pages - at)))
}

async fn read_pages(
    file: &Volume,
    page_size: u32,
    start: PageId,
    pages: u32,
) -> Result<Vec<IoBuf>> {
    let mut images = Vec::new();
    for pid in start..start + pages {
        images.push(read_page(file, page_size, pid).await?);
    }
    Ok(images)
}

/// Reads a page outside of the pool, twice if need be, unchecked.
async fn read_page(file: &Volume, page_size: u32, pid: PageId) -> Result<IoBuf> {
    let offset = u64::from(pid) * u64::from(page_size);
    let mut attempts = 0;
    loop {
        attempts += 1;
        match file.read_exact_at(IoBuf::alloc(page_size as usize), offset).await {
            (Ok(()), buffer) => return Ok(buffer),
            (Err(error), _) if attempts == 2 => {
                return Err(StorageError::io("read a page", &error));
            }
            (Err(_), _) => {}
        }
    }
}

/// Pages that lie elsewhere than in the checkpoint before, if the other slot has that one: nothing
/// of it was given away before both slots are alike.
async fn moved_since(
    file: &Volume,
    other: Option<&Header>,
    header: &Header,
    map: &[Entry],
) -> Option<Vec<PageId>> {
    let other = other.filter(|other| other.checkpoint + 1 == header.checkpoint)?;
    let directory = read_directory(file, other).await.ok()?;
    let before = page_map::open::read(file, other, &directory.places).await.ok()?;
    let pages = (0..).zip(before.iter().zip(map));
    let moved = pages.filter(|(_, (before, now))| before != now && now.place != 0);
    Some(moved.map(|(pid, _)| pid).collect())
}

pub(crate) async fn read_directory(file: &Volume, header: &Header) -> Result<Directory> {
    let mut payload = Vec::new();
    for pid in header.meta_pid..header.meta_pid.saturating_add(header.meta_pages) {
        let image = read_page(file, header.page_size, pid).await?;
        page::check(image.as_slice(), pid)
            .map_err(|reason| StorageError::Corrupt { pid, reason })?;
        let piece = meta::payload(image.as_slice());
        let damaged = StorageError::Corrupt { pid, reason: Damage::Directory };
        payload.extend_from_slice(piece.ok_or(damaged)?);
    }
    let damaged = StorageError::Corrupt { pid: header.meta_pid, reason: Damage::Directory };
    Directory::decode(&payload, header.version, header.number_count()).ok_or(damaged)
}

//! The map of a file that is opened.

use std::sync::Arc;

use runtime::IoBuf;

use super::{PageMap, map_page};
use crate::allocator::Allocator;
use crate::error::{Damage, Result, StorageError};
use crate::extent::Extent;
use crate::header::Header;
use crate::page::PageId;
use crate::places::{Entry, Owner, PlaceRecords};
use crate::space::Space;
use crate::volume::Volume;

/// Pieces of the map that are read at a time.
const READS_MAX: usize = 64;

/// Attempts at a read.
const ATTEMPTS_MAX: u32 = 2;

/// The entries of all pieces of the map.
pub(crate) async fn read(
    file: &Volume,
    header: &Header,
    records: &PlaceRecords,
) -> Result<Vec<Entry>> {
    let mut map = Vec::new();
    let indexed: Vec<(u32, Entry)> = (0..).zip(records.map_pages.iter().copied()).collect();
    let capacity = map_page::capacity(header.page_size as usize);
    for chunk in indexed.chunks(READS_MAX) {
        let mut reads = Vec::new();
        for &(index, entry) in chunk.iter().filter(|(_, entry)| entry.place != 0) {
            let (file, page_size) = (file.clone(), header.page_size);
            let read =
                runtime::spawn(async move { read_page(&file, page_size, entry.place).await });
            reads.push((index, entry, read));
        }
        for (index, entry, read) in reads {
            let image = read.await.unwrap_or(Err(StorageError::Stopped))?;
            let damaged = StorageError::Corrupt { pid: entry.place, reason: Damage::Map };
            let entries = map_page::entries(image.as_slice(), index, entry).ok_or(damaged)?;
            map.resize(index as usize * capacity, Entry::default());
            map.extend(entries);
        }
    }
    map.truncate(header.numbers as usize);
    Ok(map)
}

async fn read_page(file: &Volume, page_size: u32, place: PageId) -> Result<IoBuf> {
    let offset = u64::from(place) * u64::from(page_size);
    let mut attempts = 0;
    loop {
        attempts += 1;
        match file.read_exact_at(IoBuf::alloc(page_size as usize), offset).await {
            (Ok(()), buffer) => return Ok(buffer),
            (Err(error), _) if attempts == ATTEMPTS_MAX => {
                return Err(StorageError::io("read the map of places", &error));
            }
            (Err(_), _) => {}
        }
    }
}

/// The map, and what gives out places. `map`: as `read` has found it; `free`: pages that the
/// directory lists as free.
///
/// # Errors
/// `Corrupt` when two pages lie at one place, or one outside of the extents.
pub(crate) fn assemble(
    file: Volume,
    header: &Header,
    records: &PlaceRecords,
    (mut map, fill_percent): (Vec<Entry>, u32),
    free: &[Extent],
) -> Result<Arc<PageMap>> {
    // Their entries are of loads that did not end.
    let unused = |extent: &Extent| extent.start as usize..(extent.start + extent.pages) as usize;
    for pid in free.iter().flat_map(unused) {
        map.get_mut(pid).into_iter().for_each(|entry| *entry = Entry::default());
    }
    let damaged = |pid| StorageError::Corrupt { pid, reason: Damage::Map };
    let ground = Arc::new(Allocator::new(file, header.page_size, Space::new(2, &[]), false));
    let (pages, fill) = (records.extent_pages, fill_percent);
    let this = PageMap::new(Arc::clone(&ground), header.page_size, pages, fill);
    {
        let mut state = this.state();
        let mut end = 2;
        for &start in &records.extents {
            let next = start.checked_add(records.extent_pages).filter(|_| start >= end);
            end = next.filter(|next| *next <= header.page_count).ok_or(damaged(start))?;
            state.extents.add(start);
        }
        let pages = (0..).zip(&map).map(|(pid, entry)| (entry.place, Owner::Page(pid)));
        let pieces = (0..).zip(&records.map_pages).map(|(at, entry)| (entry.place, Owner::Map(at)));
        for (place, owner) in pages.chain(pieces).filter(|(place, _)| *place != 0) {
            if !state.extents.claim(place, owner) {
                return Err(damaged(place));
            }
        }
        state.extents.drop_dead();
        state.map = map;
        state.map_pages.clone_from(&records.map_pages);
    }
    let runs = this.runs(&this.state());
    *ground.space() = ground_of(header, &runs)?;
    Ok(Arc::new(this))
}

/// Free space of the file: all that holds neither pages nor directory nor log.
fn ground_of(header: &Header, extents: &[Extent]) -> Result<Space> {
    let meta = Extent { start: header.meta_pid, pages: header.meta_pages };
    let mut used = extents.to_vec();
    used.extend(Some(meta).filter(|meta| meta.pages > 0));
    used.extend(header.log.extent());
    used.sort_unstable();
    let (mut end, mut free) = (2, Vec::new());
    for Extent { start, pages } in used {
        if start < end {
            return Err(StorageError::Corrupt { pid: start, reason: Damage::Directory });
        }
        free.extend(Some(Extent { start: end, pages: start - end }).filter(|gap| gap.pages > 0));
        end = start + pages;
    }
    let rest = header.page_count.checked_sub(end);
    let rest = rest.ok_or(StorageError::Corrupt { pid: end, reason: Damage::Directory })?;
    free.extend(Some(Extent { start: end, pages: rest }).filter(|gap| gap.pages > 0));
    Ok(Space::new(header.page_count, &free))
}

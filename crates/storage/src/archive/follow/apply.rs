//! Puts segments and frames into a copy. A copy that is left in the midst of a checkpoint has no
//! header, so that nobody takes it for a database, and goes on with the same segment.

use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::File;

use super::marker::Marker;
use super::tail::Tail;
use super::{FollowError, Follower, Result};
use crate::archive::failed;
use crate::archive::placed::put_images;
use crate::archive::record::{Head, SegmentId};
use crate::archive::restore::{pid_of, put_log};
use crate::header::{self, DoubleWrite, Header};
use crate::log::place::LogPlace;
use crate::page::PageId;
use crate::store::StoreInner;
use crate::store::open::{header_of, replay};
use crate::store::progress::RecoveryProgress;

const WRITE: &str = "write to the replica";
const READ: &str = "read the replica";

/// Bytes of the log that are compared at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Makes a backup a copy that follows.
pub(super) async fn begin(path: &Path, file: &File) -> Result<Marker> {
    let found = header_of(&file.clone().into()).await?;
    if found.archive == 0 {
        return Err(FollowError::NotArchived);
    }
    if found.is_out_of_place() {
        return Err(FollowError::Layout);
    }
    if found.double_write.pages > 0 {
        replay(&file.clone().into(), &found, &RecoveryProgress::default()).await?;
    }
    let marker = Marker { line: found.archive, checkpoint: found.checkpoint };
    marker.write(path).await?;
    put_header(file, &of_copy(found)).await?;
    Ok(marker)
}

/// Goes on with a copy that follows already.
pub(super) async fn begun(path: &Path, file: &File, marker: Marker) -> Result<Marker> {
    let Ok(header) = header_of(&file.clone().into()).await else { return Ok(marker) };
    // It was left before its header was that of a copy.
    if header.archive == marker.line {
        return begin(path, file).await;
    }
    let Marker { line, checkpoint } = marker;
    let is_next = header.checkpoint == checkpoint + 1;
    if header.archive != 0 || !(is_next || header.checkpoint == checkpoint) {
        return Err(FollowError::NotArchived);
    }
    let marker = Marker { line, checkpoint: header.checkpoint };
    if is_next {
        marker.write(path).await?;
    }
    Ok(marker)
}

/// Puts the segment behind `id` into a copy that was left in the midst of that.
pub(super) async fn finish(
    folder: &Path,
    (path, file): (&Path, &File),
    id: SegmentId,
) -> Result<(Tail, Header)> {
    let id = SegmentId { checkpoint: id.checkpoint + 1, ..id };
    let damaged = || FollowError::Damaged(id.path(folder));
    let next = Tail::open(folder, id).await?.ok_or_else(damaged)?;
    if !next.has_least() {
        return Err(FollowError::Unknown { checkpoint: id.checkpoint });
    }
    let header = put_segment(folder, (path, file), (&[], None), &next).await?;
    Ok((next, header))
}

/// Puts the pages of a checkpoint into the copy; its header.
pub(super) async fn segment(follower: &Follower, next: &Tail) -> Result<Header> {
    let stores: Vec<_> = follower.stores.iter().filter_map(|store| store.upgrade()).collect();
    let before = (&*stores, Some(&follower.header));
    put_segment(&follower.folder, (&follower.path, &follower.file), before, next).await
}

async fn put_segment(
    folder: &Path,
    (path, file): (&Path, &File),
    (stores, before): (&[Arc<StoreInner>], Option<&Header>),
    next: &Tail,
) -> Result<Header> {
    let last = checked(folder, before, next).await?;
    reserve(file, &last).await?;
    for slot in 0..2 {
        write(file, IoBuf::alloc(last.page_size as usize), slot * u64::from(last.page_size))
            .await?;
    }
    sync(file).await?;
    put_pages(folder, file, stores, next).await?;
    if before.is_some_and(|before| before.log != last.log) {
        // Its pages were free in the state before, and maybe not in earlier ones.
        let (pid, pages) = (u64::from(last.log.pid), u64::from(last.log.pages));
        let page_size = u64::from(last.page_size);
        keep(stores, pid * page_size, pages * page_size).await?;
    }
    put_log(&next.survey.frame_bytes, &last, &file.clone().into()).await?;
    sync(file).await?;
    put_header(file, &last).await?;
    let SegmentId { line, checkpoint } = next.id();
    Marker { line, checkpoint }.write(path).await?;
    Ok(last)
}

/// The header that a segment gives the copy. The segment is looked through as a whole: what is
/// wrong with it must be found while the copy is one still.
async fn checked(folder: &Path, before: Option<&Header>, next: &Tail) -> Result<Header> {
    let last = of_copy(next.survey.begin.header.clone());
    if last.is_out_of_place() {
        return Err(FollowError::Layout);
    }
    let damaged = || FollowError::Damaged(next.id().path(folder));
    let has_other_pages = before.is_some_and(|before| before.page_size != last.page_size);
    if has_other_pages {
        return Err(damaged());
    }
    for head in &next.survey.pages {
        images(next, *head).await?.ok_or_else(damaged)?;
    }
    Ok(last)
}

/// The images of a record and their pages, in their order; none where one is not intact.
async fn images(next: &Tail, head: Head) -> Result<Option<Vec<(PageId, IoBuf)>>> {
    let page_size = next.survey.begin.header.page_size as usize;
    let Some(content) = next.reader.content(head).await? else { return Ok(None) };
    let of = |image: &[u8]| Some((pid_of(image, page_size)?, IoBuf::copy_of(image)));
    let images: Option<Vec<_>> = content.chunks(page_size).map(of).collect();
    Ok(images.map(|mut images| {
        images.sort_by_key(|(pid, _)| *pid);
        images
    }))
}

/// Has the file system give the space that the copy is to have: a full disk leaves it as it is.
async fn reserve(file: &File, last: &Header) -> Result<()> {
    let bytes = u64::from(last.page_count) * u64::from(last.page_size);
    let len = file.len().await.map_err(failed(WRITE))?;
    if len < bytes {
        file.allocate(len, bytes - len).await.map_err(failed(WRITE))?;
    }
    Ok(())
}

/// Images to their places. Stores that are open keep what lies there.
async fn put_pages(
    folder: &Path,
    file: &File,
    stores: &[Arc<StoreInner>],
    next: &Tail,
) -> Result<()> {
    let page_size = next.survey.begin.header.page_size as usize;
    let damaged = || FollowError::Damaged(next.id().path(folder));
    for head in &next.survey.pages {
        let images = images(next, *head).await?.ok_or_else(damaged)?;
        for run in images.chunk_by(|(before, _), (pid, _)| before + 1 == *pid) {
            let offset = u64::from(run[0].0) * page_size as u64;
            keep(stores, offset, (run.len() * page_size) as u64).await?;
        }
        put_images(&file.clone().into(), page_size, images).await?;
    }
    Ok(())
}

async fn keep(stores: &[Arc<StoreInner>], offset: u64, len: u64) -> Result<()> {
    for store in stores {
        let kept = store.pool.file().only_file().keep(offset, len).await;
        kept.map_err(failed("keep pages for who reads the replica"))?;
    }
    Ok(())
}

/// Has the log of a copy that is opened begin with the frames that the folder has. A log that
/// has these and more stays: the folder may have lost some that were put and not synced.
pub(super) async fn begin_log(file: &File, header: &Header, tail: &Tail) -> Result<()> {
    let all = &tail.survey.frame_bytes;
    if begins_with(file, log_begin(header), all).await? {
        return Ok(());
    }
    if !tail.has_least() {
        return Err(FollowError::Unknown { checkpoint: header.checkpoint });
    }
    Ok(put_log(all, header, &file.clone().into()).await?)
}

async fn begins_with(file: &File, begin: u64, all: &[u8]) -> Result<bool> {
    let len = file.len().await.map_err(failed(READ))?;
    if len < begin + all.len() as u64 {
        return Ok(false);
    }
    let mut at = begin;
    for piece in all.chunks(PIECE_BYTES) {
        let (read, found) = file.read_exact_at(IoBuf::alloc(piece.len()), at).await;
        read.map_err(failed(READ))?;
        if found.as_slice() != piece {
            return Ok(false);
        }
        at += piece.len() as u64;
    }
    Ok(true)
}

fn log_begin(header: &Header) -> u64 {
    u64::from(header.log.pid) * u64::from(header.page_size)
}

/// Puts the frames from a byte on into the log.
pub(super) async fn frames(file: &File, header: &Header, all: &[u8], from: usize) -> Result<()> {
    let log_bytes = u64::from(header.log.pages) * u64::from(header.page_size);
    assert!(from < all.len() && all.len() as u64 <= log_bytes, "a good tail has been extended");
    write(file, IoBuf::copy_of(&all[from..]), log_begin(header) + from as u64).await
}

/// The header of a copy: it belongs to no line, and nothing is on its way in it.
fn of_copy(header: Header) -> Header {
    // The archive has nothing of the pages of the log's next run.
    let (double_write, next_log) = (DoubleWrite::default(), LogPlace::default());
    Header { archive: 0, double_write, next_log, ..header }
}

async fn put_header(file: &File, header: &Header) -> Result<()> {
    for slot in 0..2 {
        let mut image = IoBuf::alloc(header.page_size as usize);
        header::encode(header, image.as_mut_slice());
        write(file, image, slot * u64::from(header.page_size)).await?;
    }
    sync(file).await
}

async fn write(file: &File, bytes: IoBuf, offset: u64) -> Result<()> {
    Ok(file.write_all_at(bytes, offset).await.0.map_err(failed(WRITE))?)
}

async fn sync(file: &File) -> Result<()> {
    Ok(file.sync_data().await.map_err(failed("sync the replica"))?)
}

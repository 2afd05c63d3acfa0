//! A later state of a backup, by the archive (`docs/format/archive.md`, section 5).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};

use super::failed;
use super::placed::{PlacedFile, put_images};
use super::record::{Head, SegmentId};
use super::segment::{self, Survey};
use crate::error::{Result as Stored, StorageError};
use crate::header::{self, DoubleWrite, Header};
use crate::log::place::LogPlace;
use crate::page::{self, PageId};
use crate::store::open::{header_of, read_directory, replay};
use crate::store::progress::RecoveryProgress;
use crate::volume::Volume;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// The moment of the state that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The last that the archive has.
    End,
    /// With all that was committed until this time, in microseconds since 1970.
    Time(u64),
    /// With so many commits behind this checkpoint.
    Commit {
        /// Number of the checkpoint.
        checkpoint: u64,
        /// Frames of its log.
        frames: u64,
    },
}

/// What was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// Commits behind it.
    pub frames: u64,
    /// Time of the last commit, in microseconds since 1970.
    pub time: u64,
}

/// How far restoring has come, for who waits for it: bytes of the backup and of the archive's pages. The total
/// is 0 while the moment is looked for.
#[derive(Debug, Default)]
pub struct RestoreProgress {
    done: AtomicU64,
    total: AtomicU64,
}

impl RestoreProgress {
    /// Bytes that are done, and all there are.
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }

    fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }
}

/// Why a state cannot be had. Times are in microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreError {
    /// The backup was made while nothing was archived.
    NotArchived,
    /// The folder has nothing of the backup's checkpoint.
    Unknown,
    /// The moment lies before the backup.
    BeforeBackup {
        /// When its checkpoint was made.
        backup: u64,
    },
    /// The moment lies behind the last commit of the archive.
    BehindEnd {
        /// When that was.
        last: u64,
    },
    /// A segment is missing, and later ones are there.
    Gap {
        /// Its name.
        segment: PathBuf,
        /// Time of the last commit before it.
        last: u64,
    },
    /// A segment is damaged.
    Damaged {
        /// Its name.
        segment: PathBuf,
        /// Time of the last commit before the damage.
        last: u64,
    },
    /// What concerns the files.
    Storage(StorageError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::NotArchived => {
                write!(f, "the backup was made while the database was not archived")
            }
            RestoreError::Unknown => write!(f, "the archive has nothing of this backup's database"),
            RestoreError::BeforeBackup { .. } => write!(f, "the moment lies before the backup"),
            RestoreError::BehindEnd { .. } => {
                write!(f, "the moment lies behind the end of the archive")
            }
            RestoreError::Gap { segment, .. } => {
                write!(f, "segment \"{}\" of the archive is missing", segment.display())
            }
            RestoreError::Damaged { segment, .. } => {
                write!(f, "segment \"{}\" of the archive is damaged", segment.display())
            }
            RestoreError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RestoreError {}

impl From<StorageError> for RestoreError {
    fn from(error: StorageError) -> RestoreError {
        RestoreError::Storage(error)
    }
}

type Result<T> = std::result::Result<T, RestoreError>;

/// Makes a new file with a later state of a backup. It opens like a file after a crash.
///
/// # Errors
/// Those of [`RestoreError`]; nothing is left of the file then.
pub async fn restore(
    backup: &Path,
    folder: &Path,
    until: Until,
    target: &Path,
    progress: &RestoreProgress,
) -> Result<Restored> {
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let opened = File::open(backup, options).await;
    let backup = Volume::from(opened.map_err(failed("open the backup"))?);
    let header = header_of(&backup).await?;
    let plan = plan(folder, &header, until).await?;
    let options = OpenOptions {
        read: true,
        write: true,
        create: false,
        create_new: true,
        direct: false,
        lock: true,
        overlay: None,
    };
    let opened = File::open(target, options).await;
    let file = Volume::from(opened.map_err(failed("make the restored file"))?);
    let len = backup.len().await.map_err(failed("read the backup"))?;
    progress.total.store(len + plan.bytes_of_pages(), Relaxed);
    let made = make((&backup, &header), folder, &plan, &file, progress).await;
    drop(file);
    if let Err(error) = made {
        fs::remove(target).await.ok();
        return Err(error);
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let synced = fs::sync_dir(parent.unwrap_or(Path::new("."))).await;
    synced.map_err(failed("sync the folder of the restored file"))?;
    Ok(plan.restored())
}

/// Where the moment lies.
struct Plan {
    /// Segments whose pages lead there, in order.
    steps: Vec<Step>,
    /// The last one, and how many of its frames belong to it.
    survey: Survey,
    frames: usize,
}

/// The pages of a segment, and the last commit before it.
struct Step {
    id: SegmentId,
    pages: Vec<Head>,
    before: u64,
}

impl Plan {
    fn restored(&self) -> Restored {
        let last = self.frames.checked_sub(1).map(|at| self.survey.frames[at].time);
        Restored {
            checkpoint: self.survey.begin.header.checkpoint,
            frames: self.frames as u64,
            time: last.unwrap_or(self.survey.begin.header.time),
        }
    }

    fn bytes_of_pages(&self) -> u64 {
        self.steps.iter().flat_map(|step| &step.pages).map(|head| u64::from(head.len)).sum()
    }

    /// What the log is to hold.
    fn log(&self) -> &[u8] {
        let end = self.frames.checked_sub(1).map_or(0, |at| self.survey.frames[at].end);
        &self.survey.frame_bytes[..end]
    }
}

/// Looks for the moment, from the backup's checkpoint on.
async fn plan(folder: &Path, backup: &Header, until: Until) -> Result<Plan> {
    let line = backup.archive;
    if line == 0 {
        return Err(RestoreError::NotArchived);
    }
    let known = segment::checkpoints_of(folder, line).await?;
    if !known.contains(&backup.checkpoint) {
        return Err(RestoreError::Unknown);
    }
    if until.is_before(backup) {
        return Err(RestoreError::BeforeBackup { backup: backup.time });
    }
    let mut id = SegmentId { line, checkpoint: backup.checkpoint };
    let mut survey = surveyed(folder, id, backup.time).await?;
    let mut steps = vec![];
    loop {
        let last = survey.time();
        if let Some(frames) = until.frames_of(&survey) {
            return Ok(Plan { steps, survey, frames });
        }
        if survey.is_damaged {
            return Err(RestoreError::Damaged { segment: id.path(folder), last });
        }
        let is_past =
            matches!(until, Until::Commit { checkpoint, .. } if checkpoint == id.checkpoint);
        if is_past || known.last() == Some(&id.checkpoint) {
            let frames = survey.frames.len();
            return match until {
                Until::End => Ok(Plan { steps, survey, frames }),
                _ => Err(RestoreError::BehindEnd { last }),
            };
        }
        let next = SegmentId { line, checkpoint: id.checkpoint + 1 };
        if !known.contains(&next.checkpoint) {
            return Err(RestoreError::Gap { segment: next.path(folder), last });
        }
        let behind = surveyed(folder, next, last).await?;
        if behind.begin.previous != Some(survey.last()) {
            return Err(RestoreError::Damaged { segment: id.path(folder), last });
        }
        if matches!(until, Until::Time(time) if behind.begin.header.time > time) {
            let frames = survey.frames.len();
            return Ok(Plan { steps, survey, frames });
        }
        steps.push(Step { id: next, pages: behind.pages.clone(), before: last });
        (id, survey) = (next, behind);
    }
}

impl Until {
    fn is_before(self, backup: &Header) -> bool {
        match self {
            Until::End => false,
            Until::Time(time) => time < backup.time,
            Until::Commit { checkpoint, .. } => checkpoint < backup.checkpoint,
        }
    }

    /// How many frames of a segment belong to the moment, if nothing behind it does.
    fn frames_of(self, survey: &Survey) -> Option<usize> {
        // Those that came with the checkpoint belong to it.
        let least = survey.begin.header.log_frames as usize;
        match self {
            Until::End => None,
            Until::Time(time) => {
                let count = survey.frames.partition_point(|frame| frame.time <= time).max(least);
                (count < survey.frames.len() || time == survey.time()).then_some(count)
            }
            Until::Commit { checkpoint, frames } => {
                let count = usize::try_from(frames).ok().filter(|count| *count >= least)?;
                let is_here = checkpoint == survey.begin.header.checkpoint;
                (is_here && count <= survey.frames.len()).then_some(count)
            }
        }
    }
}

/// What a segment holds; `last` is the time of the last commit before it.
async fn surveyed(folder: &Path, id: SegmentId, last: u64) -> Result<Survey> {
    let survey = segment::survey(&segment::open(folder, id).await?).await?;
    let least = |survey: &Survey| {
        let known = survey.begin.header.log_frames as usize;
        survey.frames.len() >= known && !survey.pages_are_missing
    };
    survey.filter(least).ok_or_else(|| RestoreError::Damaged { segment: id.path(folder), last })
}

/// Fills the new file.
async fn make(
    (backup, header): (&Volume, &Header),
    folder: &Path,
    plan: &Plan,
    file: &Volume,
    progress: &RestoreProgress,
) -> Result<()> {
    copy(backup, file, progress).await?;
    if header.double_write.pages > 0 {
        replay(file, header, &RecoveryProgress::default()).await?;
    }
    // The archive has nothing of the pages of the log's next run.
    let mut last = Header {
        archive: 0,
        double_write: DoubleWrite::default(),
        next_log: LogPlace::default(),
        ..plan.survey.begin.header.clone()
    };
    let mut placed = match header.is_out_of_place() {
        true => {
            let directory = read_directory(file, header).await?;
            Some(PlacedFile::of(file, (header, directory), last.numbers).await?)
        }
        false => None,
    };
    for step in &plan.steps {
        put_pages(folder, step, header.page_size as usize, (file, placed.as_mut()), progress)
            .await?;
    }
    if let Some(placed) = placed {
        last = placed.finish(&plan.survey.directory, last).await?;
    }
    let page_size = u64::from(last.page_size);
    let (bytes, len) = (u64::from(last.page_count) * page_size, file.len().await);
    let len = len.map_err(failed("write the restored file"))?;
    if len < bytes {
        file.allocate(len, bytes - len).await.map_err(failed("write the restored file"))?;
    }
    put_log(plan.log(), &last, file).await?;
    for slot in 0..2 {
        let mut image = IoBuf::alloc(last.page_size as usize);
        header::encode(&last, image.as_mut_slice());
        write(file, image, slot * page_size).await?;
    }
    Ok(file.sync_data().await.map_err(failed("sync the restored file"))?)
}

async fn write(file: &Volume, bytes: IoBuf, offset: u64) -> Stored<()> {
    file.write_all_at(bytes, offset).await.0.map_err(failed("write the restored file"))
}

async fn copy(from: &Volume, to: &Volume, progress: &RestoreProgress) -> Stored<()> {
    let end = from.len().await.map_err(failed("read the backup"))?;
    let mut offset = 0;
    while offset < end {
        let len = COPY_BYTES.min(end - offset);
        let (read, piece) = from.read_exact_at(IoBuf::alloc(len as usize), offset).await;
        read.map_err(failed("read the backup"))?;
        write(to, piece, offset).await?;
        progress.add(len);
        offset += len;
    }
    Ok(())
}

/// Puts the images of a segment in their places.
async fn put_pages(
    folder: &Path,
    step: &Step,
    page_size: usize,
    (file, mut placed): (&Volume, Option<&mut PlacedFile<'_>>),
    progress: &RestoreProgress,
) -> Result<()> {
    let damaged = || RestoreError::Damaged { segment: step.id.path(folder), last: step.before };
    let segment = segment::open(folder, step.id).await?;
    for head in &step.pages {
        let content = segment.content(*head).await?.ok_or_else(damaged)?;
        let mut images = vec![];
        for image in content.chunks(page_size) {
            let pid = pid_of(image, page_size).ok_or_else(damaged)?;
            let place = match &mut placed {
                Some(placed) if placed.knows(u64::from(pid)) => placed.place_of(pid, image),
                Some(_) => return Err(damaged()),
                None => pid,
            };
            images.push((place, IoBuf::copy_of(image)));
        }
        put_images(file, page_size, images).await?;
        progress.add(content.len() as u64);
    }
    Ok(())
}

/// Which page the image is of, if it is intact.
pub(super) fn pid_of(image: &[u8], page_size: usize) -> Option<PageId> {
    page::check_any(Some(image).filter(|image| image.len() == page_size)?).ok()?;
    PageId::try_from(page::stored_pid(image)).ok().filter(|pid| *pid >= 2)
}

/// The log's run: these frames, and zeros.
pub(super) async fn put_log(frames: &[u8], header: &Header, file: &Volume) -> Stored<()> {
    let page_size = u64::from(header.page_size);
    let (begin, len) =
        (u64::from(header.log.pid) * page_size, u64::from(header.log.pages) * page_size);
    assert!(frames.len() as u64 <= len, "the frames come from a run of this length");
    let mut at = 0;
    while at < len {
        let mut piece = IoBuf::alloc(COPY_BYTES.min(len - at) as usize);
        let from = frames.get(at as usize..).unwrap_or_default();
        let count = from.len().min(piece.len());
        piece.as_mut_slice()[..count].copy_from_slice(&from[..count]);
        at += piece.len() as u64;
        let offset = begin + at - piece.len() as u64;
        write(file, piece, offset).await?;
    }
    Ok(())
}

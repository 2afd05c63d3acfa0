//! A file that is opened finds its archive: what that lacks is in the file, or another line begins
//! (`docs/format/archive.md`, sections 1 and 2).

use std::sync::Arc;

use runtime::fs::{self, File, OpenOptions};

use super::record::SegmentId;
use super::segment::{self, Survey};
use super::write::Settled;
use super::{Archive, ArchiveOptions, Line, failed};
use crate::error::Result;
use crate::header::{Header, VERSION_WITH_TIMES};

/// What a folder has of the line that a file names.
enum Found {
    /// The file's checkpoint, with so many bytes of its frames.
    Same(Line, usize),
    /// The checkpoint before.
    Before(Line),
    /// No line that can be gone on with.
    Nothing,
}

/// The archive of a file that was opened, and the line that its header is to name. The header is not changed
/// before: what the archive lacks is known as long as the double-write buffer is there.
///
/// # Errors
/// `Io` when the folder cannot be made or read.
pub(crate) async fn attach(
    options: &ArchiveOptions,
    settled: Settled<'_>,
    frames: &[u8],
    is_settled: bool,
) -> Result<(Arc<Archive>, u64)> {
    let header = settled.header;
    let archive = Arc::new(Archive::new(options));
    fs::create_dir(&options.folder).await.map_err(failed("make the folder of the archive"))?;
    if header.version < VERSION_WITH_TIMES {
        // Its commits have no times; those behind the next checkpoint do.
        return Ok((archive, 0));
    }
    match find(options, header, frames, is_settled).await {
        Found::Same(line, known) => {
            let id = line.id;
            archive.state().line = Some(line);
            archive.begin(header.checkpoint, &frames[known..]);
            // What fails now is tried again by the next checkpoint.
            archive.flush().await.ok();
            return Ok((archive, id));
        }
        Found::Before(line) => archive.state().line = Some(line),
        Found::Nothing => {}
    }
    archive.begin(header.checkpoint, frames);
    let line = archive.take(settled).await;
    archive.flush().await.ok();
    Ok((archive, line))
}

/// Looks for the line that the file names. A folder that cannot be read keeps no database from opening.
async fn find(options: &ArchiveOptions, header: &Header, frames: &[u8], is_settled: bool) -> Found {
    if header.archive == 0 {
        return Found::Nothing;
    }
    let why = match look(options, header, frames, is_settled).await {
        Ok(Ok(found)) => return found,
        Ok(Err(why)) => why.to_owned(),
        Err(error) => error.to_string(),
    };
    (options.tell)(&format!("the archive of before cannot be gone on with: {why}"));
    Found::Nothing
}

/// The end of the line, or why it cannot be gone on with.
async fn look(
    options: &ArchiveOptions,
    header: &Header,
    frames: &[u8],
    is_settled: bool,
) -> Result<std::result::Result<Found, &'static str>> {
    let (line, folder) = (header.archive, &options.folder);
    let last = segment::checkpoints_of(folder, line).await?.last().copied();
    let Some(checkpoint) = last else {
        return Ok(Err("the folder has nothing of this file"));
    };
    if checkpoint > header.checkpoint {
        return Ok(Err("the folder has later states of this file"));
    }
    // What a checkpoint has changed is known until it has settled; by then the archive has had it.
    if checkpoint + u64::from(!is_settled) < header.checkpoint {
        return Ok(Err("the folder lacks checkpoints of this file"));
    }
    let id = SegmentId { line, checkpoint };
    let Some(segment) = open_to_go_on(options, id).await else {
        return Ok(Err("its last segment cannot be opened to be written"));
    };
    // A process that was killed may have left a record that it did not sync.
    segment.sync_data().await.map_err(failed("sync the archive"))?;
    let survey = segment::survey(&segment::open(folder, id).await?).await?;
    let Some(survey) = survey.filter(|survey| !survey.is_damaged) else {
        return Ok(Err("its last segment is damaged"));
    };
    let known = survey.frame_bytes.len();
    if checkpoint < header.checkpoint {
        return Ok(Ok(Found::Before(line_of(id, segment, survey))));
    }
    let begin = &survey.begin.header;
    let is_same = begin.time == header.time && begin.log == header.log;
    match is_same && frames.starts_with(&survey.frame_bytes) {
        true => Ok(Ok(Found::Same(line_of(id, segment, survey), known))),
        false => Ok(Err("the folder has another future of this file")),
    }
}

/// Opens a segment to write to it, unless another process does.
async fn open_to_go_on(options: &ArchiveOptions, id: SegmentId) -> Option<File> {
    let open = OpenOptions {
        read: false,
        write: true,
        create: false,
        create_new: false,
        direct: false,
        lock: true,
        overlay: None,
    };
    File::open(id.path(&options.folder), open).await.ok()
}

fn line_of(id: SegmentId, segment: File, survey: Survey) -> Line {
    let (frames, checksum) = survey.last();
    let time = survey.time();
    let Survey { begin, directory, end, .. } = survey;
    Line {
        id: id.line,
        checkpoint: id.checkpoint,
        segment,
        end,
        frames,
        checksum,
        time,
        place: begin.header.log,
        page_count: begin.header.number_count(),
        directory: Arc::new(directory),
    }
}

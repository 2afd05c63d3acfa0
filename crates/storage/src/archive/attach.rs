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
/// before: what the archive lacks is known as long as the journal is there.
///
/// # Errors
/// `Io` when the folder cannot be made or read.
pub(crate) async fn attach(
    options: &ArchiveOptions,
    settled: Settled<'_>,
    frames: &[u8],
) -> Result<(Arc<Archive>, u64)> {
    let header = settled.header;
    let archive = Arc::new(Archive::new(options));
    fs::create_dir(&options.folder).await.map_err(failed("make the folder of the archive"))?;
    if header.version < VERSION_WITH_TIMES {
        // Its commits have no times; those behind the next checkpoint do.
        return Ok((archive, 0));
    }
    match find(options, header, frames).await? {
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

async fn find(options: &ArchiveOptions, header: &Header, frames: &[u8]) -> Result<Found> {
    let (line, folder) = (header.archive, &options.folder);
    let nothing = |why: &str| {
        (options.tell)(&format!("the archive of before cannot be gone on with: {why}"));
        Ok(Found::Nothing)
    };
    if line == 0 {
        return Ok(Found::Nothing);
    }
    let last = segment::checkpoints_of(folder, line).await?.last().copied();
    let Some(checkpoint) = last else {
        return nothing("the folder has nothing of this file");
    };
    if checkpoint > header.checkpoint {
        return nothing("the folder has later states of this file");
    }
    if checkpoint + 1 < header.checkpoint {
        return nothing("the folder lacks checkpoints of this file");
    }
    let id = SegmentId { line, checkpoint };
    let Some(segment) = open_to_go_on(options, id).await else {
        return nothing("its last segment cannot be opened to be written");
    };
    let survey = segment::survey(&segment::open(folder, id).await?).await?;
    let Some(survey) = survey.filter(|survey| !survey.is_damaged) else {
        return nothing("its last segment is damaged");
    };
    let known = survey.frame_bytes.len();
    if checkpoint < header.checkpoint {
        return Ok(Found::Before(line_of(id, segment, survey)));
    }
    match frames.starts_with(&survey.frame_bytes) {
        true => Ok(Found::Same(line_of(id, segment, survey), known)),
        false => nothing("the folder has other commits than the file"),
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
        page_count: begin.header.page_count,
        directory: Arc::new(directory),
    }
}

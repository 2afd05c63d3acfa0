//! The segment that a copy has come to, read as far as it goes.

use std::path::Path;

use crate::archive::record::{Reader, SegmentId};
use crate::archive::segment::{self, Survey};
use crate::error::Result;
use crate::header::Header;

/// The end of what a copy has of its line.
pub(super) struct Tail {
    pub reader: Reader,
    pub survey: Survey,
}

impl Tail {
    /// Reads a segment; `None` when its beginning is damaged, or a page of it, or it has more
    /// frames than the log that it names.
    ///
    /// # Errors
    /// `Io`.
    pub async fn open(folder: &Path, id: SegmentId) -> Result<Option<Tail>> {
        let reader = segment::open(folder, id).await?;
        let survey = segment::survey(&reader).await?;
        Ok(survey.map(|survey| Tail { reader, survey }).filter(Tail::is_good))
    }

    /// True if its records are as they were written, and the copy's log has room for its frames.
    pub fn is_good(&self) -> bool {
        let Header { log, page_size, .. } = &self.survey.begin.header;
        let log_bytes = u64::from(log.pages) * u64::from(*page_size);
        !self.survey.is_damaged && self.survey.frame_bytes.len() as u64 <= log_bytes
    }

    pub fn id(&self) -> SegmentId {
        self.reader.id
    }

    /// Reads what has come since.
    ///
    /// # Errors
    /// `Io`.
    pub async fn extend(&mut self) -> Result<()> {
        if self.reader.has_grown().await? || self.survey.end < self.reader.len {
            segment::read_frames(&self.reader, &mut self.survey).await?;
        }
        Ok(())
    }

    /// True if it has the frames that were written before its checkpoint's header.
    pub fn has_least(&self) -> bool {
        self.survey.frames.len() >= self.survey.begin.header.log_frames as usize
    }
}

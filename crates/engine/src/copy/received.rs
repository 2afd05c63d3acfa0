//! What has come of the data of a `COPY .. FROM`, for records that are read where they lie. One that does not
//! end there is begun anew when more has come: so reading a record never waits.

use crate::input::stop::Stop;

/// Bytes that have come and are not done with.
#[derive(Default)]
pub(crate) struct Received {
    bytes: Vec<u8>,
    /// Where the record that is read begins.
    begin: usize,
    /// Where it is read on.
    position: usize,
    /// Nothing more comes.
    has_ended: bool,
}

impl Received {
    /// More has come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.begin > 0 {
            self.bytes.drain(..self.begin);
            (self.begin, self.position) = (0, self.position - self.begin);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Bytes of the record that is read, as far as they have come.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.begin
    }

    /// A record begins here: what is before it is done with.
    pub(crate) fn begin(&mut self) {
        self.begin = self.position;
    }

    /// Back to the begin of the record.
    pub(crate) fn go_back(&mut self) {
        self.position = self.begin;
    }

    /// The next bytes, `count` of them or as many as there are at the end.
    pub(crate) fn take(&mut self, count: usize) -> Result<&[u8], Stop> {
        let left = self.bytes.len() - self.position;
        if left < count && !self.has_ended {
            return Err(Stop::NeedsMore);
        }
        let from = self.position;
        self.position += count.min(left);
        Ok(&self.bytes[from..self.position])
    }

    /// Passes over bytes, `count` of them or as many as have come; how many.
    pub(crate) fn skip(&mut self, count: u64) -> Result<u64, Stop> {
        let left = (self.bytes.len() - self.position) as u64;
        if left == 0 && count > 0 && !self.has_ended {
            return Err(Stop::NeedsMore);
        }
        let skipped = left.min(count);
        self.position += skipped as usize;
        Ok(skipped)
    }
}

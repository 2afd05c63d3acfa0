//! The data of a `COPY .. FROM`: what has come of it, and where more comes from.
//!
//! Records are read from what has come. One that does not end there is begun anew when more has come:
//! so reading a record never waits, and what waits is one function.

use runtime::sync::Cancel;
use types::{SqlError, SqlResult};

use super::files::{FileReader, no_input};
use crate::pipe::PipeReceiver;
use crate::waiting::unless_cancelled;

/// Where the data of a `COPY .. FROM` comes from.
pub(crate) enum Origin {
    /// A client.
    Client(PipeReceiver<Vec<u8>>),
    /// A file of the server, or an object.
    File(Box<FileReader>),
    /// It is all here.
    Memory,
}

/// Why a record could not be read.
pub(crate) enum Stop {
    /// It goes on in what has not come yet.
    NeedsMore,
    /// It is wrong.
    Wrong(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Wrong(error)
    }
}

/// The data.
pub(crate) struct Input {
    origin: Origin,
    bytes: Vec<u8>,
    /// Where the record that is read begins.
    begin: usize,
    /// Where it is read on.
    position: usize,
    /// Nothing more comes.
    has_ended: bool,
    /// What has come since it began.
    bytes_read: u64,
}

impl Input {
    pub(crate) fn new(origin: Origin) -> Input {
        Input { origin, bytes: vec![], begin: 0, position: 0, has_ended: false, bytes_read: 0 }
    }

    /// Data that is all there.
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Input {
        let bytes_read = bytes.len() as u64;
        Input { origin: Origin::Memory, bytes, begin: 0, position: 0, has_ended: true, bytes_read }
    }

    /// Bytes that have come since it began.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// A record begins here: what is before it is done with.
    pub(super) fn begin(&mut self) {
        self.begin = self.position;
    }

    /// Back to the begin of the record.
    pub(super) fn go_back(&mut self) {
        self.position = self.begin;
    }

    /// The next byte; `None` at the end.
    pub(super) fn peek(&self) -> Result<Option<u8>, Stop> {
        match self.bytes.get(self.position) {
            None if !self.has_ended => Err(Stop::NeedsMore),
            byte => Ok(byte.copied()),
        }
    }

    /// Goes on by a byte.
    pub(super) fn step(&mut self) {
        self.position += 1;
    }

    /// The next bytes, `count` of them or as many as there are at the end.
    pub(super) fn take(&mut self, count: usize) -> Result<&[u8], Stop> {
        let left = self.bytes.len() - self.position;
        if left < count && !self.has_ended {
            return Err(Stop::NeedsMore);
        }
        let from = self.position;
        self.position += count.min(left);
        Ok(&self.bytes[from..self.position])
    }

    /// Passes over bytes, `count` of them or as many as have come; how many.
    pub(super) fn skip(&mut self, count: u64) -> Result<u64, Stop> {
        let left = (self.bytes.len() - self.position) as u64;
        if left == 0 && count > 0 && !self.has_ended {
            return Err(Stop::NeedsMore);
        }
        let skipped = left.min(count);
        self.position += skipped as usize;
        Ok(skipped)
    }

    /// Passes over everything that a client still sends; what else there is need not be read.
    pub(super) fn skip_rest(&mut self) -> Result<(), Stop> {
        self.position = self.bytes.len();
        self.begin();
        match self.origin {
            Origin::Client(_) if !self.has_ended => Err(Stop::NeedsMore),
            _ => Ok(()),
        }
    }

    /// Waits for more: at least as much as there is of the record, so that a long one is not begun anew
    /// too often.
    ///
    /// # Errors
    /// 58030 when it cannot be read, 57014.
    pub(super) async fn fill(&mut self, cancel: &Cancel) -> SqlResult<()> {
        self.bytes.drain(..self.begin);
        (self.begin, self.position) = (0, 0);
        let enough = 2 * self.bytes.len();
        loop {
            match unless_cancelled(cancel, self.origin.next()).await?? {
                Some(bytes) => {
                    self.bytes_read += bytes.len() as u64;
                    self.bytes.extend_from_slice(&bytes);
                }
                None => self.has_ended = true,
            }
            if self.has_ended || self.bytes.len() > enough {
                return Ok(());
            }
        }
    }
}

impl Origin {
    async fn next(&mut self) -> SqlResult<Option<Vec<u8>>> {
        match self {
            Origin::Client(pipe) => pipe.next().await.map_err(|why| no_input(&why.to_string())),
            Origin::File(file) => file.next().await,
            Origin::Memory => Ok(None),
        }
    }
}

//! The binary format of `COPY`, read: a signature, then for each row the number of its fields and each
//! field behind its length (PostgreSQL 15, reference of `COPY`).

use types::{SqlError, SqlState, binary};

use super::received::Received;
use crate::input::record::RECORD_BYTES_MAX;
use crate::input::stop::Stop;

/// What a binary file begins with; flags and the length of an extension follow.
pub(crate) const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Flags that a reader must know; the one it may know says that rows have oids.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
const WITH_OIDS: u32 = 1 << 16;

/// Reads records.
pub(crate) struct BinaryReader {
    received: Received,
    /// The types of the columns.
    oids: Vec<u32>,
    has_begun: bool,
    /// Bytes of the header's extension that are still to be passed over.
    extension: u64,
    /// Rows that were read to their ends.
    complete: u64,
    row: u64,
}

fn bad(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message.into())
}

impl BinaryReader {
    pub(crate) fn new(oids: Vec<u32>) -> BinaryReader {
        let received = Received::default();
        BinaryReader { received, oids, has_begun: false, extension: 0, complete: 0, row: 0 }
    }

    /// What has come.
    pub(crate) fn received(&mut self) -> &mut Received {
        &mut self.received
    }

    /// The row that is read, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    fn exactly<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Stop> {
        Ok(self.received.take(N)?.try_into().ok())
    }

    fn begin(&mut self) -> Result<(), Stop> {
        self.received.begin();
        let signature = self.exactly::<11>()?;
        if signature.as_ref().map(<[u8; 11]>::as_slice) != Some(SIGNATURE) {
            return Err(bad("COPY file signature not recognized").into());
        }
        let flags = self.exactly()?.map(u32::from_be_bytes);
        let flags = flags.ok_or_else(|| bad("invalid COPY file header (missing flags)"))?;
        if flags & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)").into());
        }
        if flags & CRITICAL_FLAGS != 0 {
            return Err(bad("unrecognized critical flags in COPY file header").into());
        }
        let length = self.exactly()?.map(i32::from_be_bytes);
        let length = length.and_then(|length| u64::try_from(length).ok());
        let length = length.ok_or_else(|| bad("invalid COPY file header (missing length)"))?;
        (self.extension, self.has_begun) = (length, true);
        Ok(())
    }

    /// Passes over the header's extension, as far as it has come.
    fn pass_extension(&mut self) -> Result<(), Stop> {
        while self.extension > 0 {
            self.received.begin();
            match self.received.skip(self.extension)? {
                0 => return Err(bad("invalid COPY file header (wrong length)").into()),
                skipped => self.extension -= skipped,
            }
        }
        Ok(())
    }

    /// The text forms of the next row's values; `None` at the end. When the row does not end in what has
    /// come, nothing is read.
    pub(crate) fn next_record(&mut self) -> Result<Option<Vec<Option<String>>>, Stop> {
        let record = self.read_record();
        if matches!(record, Err(Stop::NeedsMore)) {
            self.received.go_back();
        }
        record
    }

    fn read_record(&mut self) -> Result<Option<Vec<Option<String>>>, Stop> {
        if !self.has_begun {
            self.begin()?;
        }
        self.pass_extension()?;
        self.received.begin();
        self.row = self.complete + 1;
        // The end of the input without the trailer is an end too.
        let Some(count) = self.exactly()?.map(i16::from_be_bytes) else { return Ok(None) };
        if count == -1 {
            return match self.received.take(1)?.len() {
                0 => Ok(None),
                _ => Err(bad("received copy data after EOF marker").into()),
            };
        }
        let expected = self.oids.len();
        if usize::try_from(count) != Ok(expected) {
            return Err(bad(format!("row field count is {count}, expected {expected}")).into());
        }
        let fields = (0..expected).map(|index| self.field(index)).collect::<Result<_, Stop>>()?;
        self.complete += 1;
        Ok(Some(fields))
    }

    fn field(&mut self, index: usize) -> Result<Option<String>, Stop> {
        let length = self.exactly()?.map(i32::from_be_bytes);
        let length = match length.ok_or_else(|| bad("unexpected EOF in COPY data"))? {
            -1 => return Ok(None),
            length => usize::try_from(length).map_err(|_| bad("invalid field size"))?,
        };
        if length > RECORD_BYTES_MAX {
            return Err(bad("invalid field size").into());
        }
        // Memory grows with what has come, not with what is claimed.
        let bytes = self.received.take(length)?;
        if bytes.len() < length {
            return Err(bad("unexpected EOF in COPY data").into());
        }
        Ok(Some(binary::decode(self.oids[index], bytes)?))
    }
}

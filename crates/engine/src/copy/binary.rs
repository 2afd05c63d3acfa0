//! The binary format of `COPY`, read: a signature, then for each row the number of its fields and each
//! field behind its length (PostgreSQL 15, reference of `COPY`).

use std::io::{BufReader, Read};

use types::{SqlError, SqlResult, SqlState, binary};

use super::csv::RECORD_BYTES_MAX;
use super::out::SIGNATURE;

/// Flags that a reader must know; the one it may know says that rows have oids.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
const WITH_OIDS: u32 = 1 << 16;

/// Reads records.
pub(super) struct BinaryReader<'a> {
    input: BufReader<&'a mut dyn Read>,
    /// The types of the columns.
    oids: Vec<u32>,
    has_begun: bool,
    row: u64,
}

fn bad(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message.into())
}

impl<'a> BinaryReader<'a> {
    pub(super) fn new(input: &'a mut dyn Read, oids: Vec<u32>) -> BinaryReader<'a> {
        BinaryReader { input: BufReader::new(input), oids, has_begun: false, row: 0 }
    }

    /// The row that is read, from 1.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// Fills `into`, or as much of it as there is.
    fn read(&mut self, into: &mut [u8]) -> SqlResult<usize> {
        let mut filled = 0;
        while filled < into.len() {
            let count = self.input.read(&mut into[filled..]).map_err(|e| {
                SqlError::new(SqlState::IO_ERROR, format!("could not read COPY input: {e}"))
            })?;
            if count == 0 {
                break;
            }
            filled += count;
        }
        Ok(filled)
    }

    fn exactly<const N: usize>(&mut self) -> SqlResult<Option<[u8; N]>> {
        let mut bytes = [0; N];
        Ok((self.read(&mut bytes)? == N).then_some(bytes))
    }

    fn begin(&mut self) -> SqlResult<()> {
        let signature = self.exactly::<11>()?;
        if signature.as_ref().map(<[u8; 11]>::as_slice) != Some(SIGNATURE) {
            return Err(bad("COPY file signature not recognized"));
        }
        let flags = self.exactly()?.map(u32::from_be_bytes);
        let flags = flags.ok_or_else(|| bad("invalid COPY file header (missing flags)"))?;
        if flags & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL_FLAGS != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let length = self.exactly()?.map(i32::from_be_bytes);
        let length = length.and_then(|length| u64::try_from(length).ok());
        let length = length.ok_or_else(|| bad("invalid COPY file header (missing length)"))?;
        let skipped = std::io::copy(&mut self.input.by_ref().take(length), &mut std::io::sink());
        match skipped {
            Ok(count) if count == length => Ok(()),
            _ => Err(bad("invalid COPY file header (wrong length)")),
        }
    }

    /// The text forms of the next row's values; `None` at the end.
    pub(super) fn next_record(&mut self) -> SqlResult<Option<Vec<Option<String>>>> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin()?;
        }
        self.row += 1;
        // The end of the input without the trailer is an end too.
        let Some(count) = self.exactly()?.map(i16::from_be_bytes) else { return Ok(None) };
        if count == -1 {
            return match self.read(&mut [0])? {
                0 => Ok(None),
                _ => Err(bad("received copy data after EOF marker")),
            };
        }
        let expected = self.oids.len();
        if usize::try_from(count) != Ok(expected) {
            return Err(bad(format!("row field count is {count}, expected {expected}")));
        }
        (0..expected).map(|index| self.field(index)).collect::<SqlResult<_>>().map(Some)
    }

    fn field(&mut self, index: usize) -> SqlResult<Option<String>> {
        let length = self.exactly()?.map(i32::from_be_bytes);
        let length = match length.ok_or_else(|| bad("unexpected EOF in COPY data"))? {
            -1 => return Ok(None),
            length => usize::try_from(length).map_err(|_| bad("invalid field size"))?,
        };
        if length > RECORD_BYTES_MAX {
            return Err(bad("invalid field size"));
        }
        // Memory grows with what has come, not with what is claimed.
        let mut bytes = vec![];
        let taken = self.input.by_ref().take(length as u64).read_to_end(&mut bytes);
        match taken {
            Ok(count) if count == length => {}
            _ => return Err(bad("unexpected EOF in COPY data")),
        }
        binary::decode(self.oids[index], &bytes).map(Some)
    }
}

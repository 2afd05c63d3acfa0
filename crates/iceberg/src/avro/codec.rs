//! The compression of blocks: what decompresses to more than a limit is refused while it does, and it does piece by
//! piece, so that others have their turn.

use std::borrow::Cow;
use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::fault::{Error, Result};

/// Bytes of a block at most: writers end blocks after 16 to 64 KiB, and some after a whole manifest, which has
/// 8 MiB by default.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Bytes that are decompressed at once: a few milliseconds of the slowest codec.
const PIECE_BYTES: u64 = 1 << 20;

/// Snappy makes 64 bytes of 3 at most.
const SNAPPY_RATIO_MAX: usize = 22;

/// The logarithm of the memory that a frame of Zstandard may want to look back on: a whole block.
const ZSTD_WINDOW_LOG_MAX: u32 = 26;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    pub(super) fn parse(name: Option<&[u8]>) -> Result<Codec> {
        Ok(match name {
            None | Some(b"null") => Codec::Null,
            Some(b"deflate") => Codec::Deflate,
            Some(b"snappy") => Codec::Snappy,
            Some(b"zstandard") => Codec::Zstandard,
            Some(name) => {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(Error::unsupported(format!("Avro compressed with \"{name}\"")));
            }
        })
    }

    /// What a block has, or what it is decompressed from.
    pub(super) fn begin(self, bytes: &[u8]) -> Result<Block<'_>> {
        let (plain, packed): (Cow<'_, [u8]>, Option<Packed<'_>>) = match self {
            Codec::Null => (bytes.into(), None),
            Codec::Deflate => (Cow::default(), Some(Box::new(DeflateDecoder::new(bytes)))),
            Codec::Snappy => (snappy(bytes)?, None),
            Codec::Zstandard => {
                let mut decoder = zstd::stream::read::Decoder::new(bytes).map_err(|_| wrong())?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|_| wrong())?;
                (Cow::default(), Some(Box::new(decoder)))
            }
        };
        Ok(Block { plain, packed })
    }
}

type Packed<'a> = Box<dyn Read + Send + 'a>;

/// A block, which may be decompressed in part.
#[derive(Default)]
pub(super) struct Block<'a> {
    plain: Cow<'a, [u8]>,
    /// The rest.
    packed: Option<Packed<'a>>,
}

impl Block<'_> {
    /// All of it, once nothing is packed any more.
    pub(super) fn plain(&self) -> &[u8] {
        &self.plain
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// Bytes that it takes in memory beside those of the file.
    pub(super) fn own_bytes(&self) -> usize {
        match &self.plain {
            Cow::Borrowed(_) => 0,
            Cow::Owned(bytes) => bytes.capacity(),
        }
    }

    /// Decompresses a piece more.
    pub(super) fn unpack(&mut self) -> Result<()> {
        let Some(packed) = &mut self.packed else { return Ok(()) };
        let plain = self.plain.to_mut();
        let read = packed.take(PIECE_BYTES).read_to_end(plain).map_err(|_| wrong())?;
        if plain.len() > BLOCK_BYTES_MAX {
            return Err(too_long());
        }
        if (read as u64) < PIECE_BYTES {
            self.packed = None;
        }
        Ok(())
    }
}

fn wrong() -> Error {
    Error::damaged("a block cannot be decompressed")
}

fn too_long() -> Error {
    Error::too_large(format!("a block of more than {BLOCK_BYTES_MAX} bytes"))
}

/// A checksum of what was compressed follows, the highest byte first.
fn snappy<'a>(bytes: &[u8]) -> Result<Cow<'a, [u8]>> {
    let (bytes, checksum) = bytes.split_last_chunk::<4>().ok_or_else(wrong)?;
    let length = snap::raw::decompress_len(bytes).map_err(|_| wrong())?;
    if length > bytes.len().saturating_mul(SNAPPY_RATIO_MAX) {
        return Err(wrong());
    }
    if length > BLOCK_BYTES_MAX {
        return Err(too_long());
    }
    let whole = snap::raw::Decoder::new().decompress_vec(bytes).map_err(|_| wrong())?;
    let mut crc = Crc::new();
    crc.update(&whole);
    match crc.sum() == u32::from_be_bytes(*checksum) {
        true => Ok(whole.into()),
        false => Err(Error::damaged("a block has another checksum")),
    }
}

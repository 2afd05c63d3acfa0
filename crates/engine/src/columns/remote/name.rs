//! Names of chunks: bytes drawn by chance, so that no two writers ever mean the same object.

use std::fmt;

use crate::objects::seal::bytes_of_hex;

/// Bytes of a name.
const NAME_BYTES: usize = 16;

/// What a chunk's object is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChunkName(pub(crate) [u8; NAME_BYTES]);

/// What the names of all chunks begin with, within a location.
pub(crate) const FOLDER: &str = "chunks/";

impl ChunkName {
    /// A name that nothing has.
    pub(crate) fn new() -> ChunkName {
        ChunkName(runtime::entropy())
    }

    /// The name that an entry of a part holds; `None` for what is none.
    pub(crate) fn of(bytes: &[u8]) -> Option<ChunkName> {
        bytes.try_into().ok().map(ChunkName)
    }

    /// As entries of parts and the list hold it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The chunk that an object is, if it is one.
    pub(crate) fn of_object(name: &str) -> Option<ChunkName> {
        let digits = name.strip_prefix(FOLDER)?;
        bytes_of_hex(digits).map(ChunkName)
    }
}

impl fmt::Display for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FOLDER)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

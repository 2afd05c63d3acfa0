//! The sizes of the format.

/// Rows of a vector; why so many: `docs/format/block.md`, section 1.
pub const VECTOR_ROWS: usize = 1024;

/// Bytes of a sector: the least that is read of a body, and what a checksum covers.
pub const SECTOR_BYTES: usize = 4 << 10;

/// Bytes of a segment, unless one vector takes more: what is read at once of an SSD.
pub const SEGMENT_BYTES_MAX: usize = 64 << 10;

/// Bytes of a body at most, so that offsets in it are 32 bits with room to spare.
pub const BODY_BYTES_MAX: usize = 1 << 30;

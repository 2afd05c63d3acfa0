//! The columnar block format: chunks, segments, vectors and their encodings.
//!
//! Pure functions over bytes: no I/O and no `async fn`. [`encode`] makes a chunk of Arrow arrays;
//! [`ChunkHeader::parse`] reads its header, [`Vector`] decodes one vector of its body, wholly, at
//! chosen rows, or as far as a [`Restriction`] wants to know. Whoever calls brings the bytes as
//! [`Piece`]s; what is missing is said by [`Error::Absent`], to be read and tried again. The bytes
//! are specified in `docs/format/block.md`, the rules of this crate stand in its `README.md`.

mod bools;
mod chunk;
mod class;
mod encoding;
mod error;
mod fixed;
mod floats;
mod header;
mod layout;
mod mask;
mod raw;
mod restriction;
mod shared;
mod strings;
mod vector;
mod view;
mod words;
mod zone;

pub use chunk::{Chunk, ChunkBuilder, ChunkEncoder, ColumnEncoder, encode};
pub use class::NARROW_DIGITS_MAX;
pub use encoding::Encoding;
pub use error::{Damage, Error, Part, Result};
pub use header::{ChunkHeader, ColumnHeader, Segment, VectorHeader};
pub use layout::{BODY_BYTES_MAX, SECTOR_BYTES, SEGMENT_BYTES_MAX, VECTOR_ROWS};
pub use mask::Mask;
pub use restriction::{Comparison, Restriction};
pub use vector::{Gather, ROWS_ALONE_MAX, Vector};
pub use view::Piece;
pub use zone::{Verdict, Zone};

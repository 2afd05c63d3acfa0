//! How many pieces of a `COPY` are on their way.

/// Chunks that wait between a client and its `COPY`.
pub const COPY_CHUNKS: usize = 16;

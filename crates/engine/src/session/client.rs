//! The other ends of a `COPY` of a client.

use crate::pipe::{PipeReceiver, PipeSender};

/// The other ends of `COPY FROM STDIN` and `COPY TO STDOUT`.
#[derive(Default)]
pub struct Client {
    /// The data of `COPY FROM STDIN`.
    pub input: Option<PipeReceiver<Vec<u8>>>,
    /// Where the data of `COPY TO STDOUT` goes.
    pub output: Option<PipeSender<Vec<u8>>>,
}

/// Chunks that wait between a client and its `COPY`.
pub const COPY_CHUNKS: usize = 16;

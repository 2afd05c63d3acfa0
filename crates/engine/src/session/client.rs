//! Who has opened a session.

use crate::pipe::{PipeReceiver, PipeSender};

/// The other ends of `COPY FROM STDIN` and `COPY TO STDOUT`.
#[derive(Default)]
pub struct Client {
    /// The data of `COPY FROM STDIN`.
    pub input: Option<PipeReceiver<Vec<u8>>>,
    /// Where the data of `COPY TO STDOUT` goes.
    pub output: Option<PipeSender<Vec<u8>>>,
}

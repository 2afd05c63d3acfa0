//! Where the data of a `COPY .. FROM` comes from.

use runtime::sync::Cancel;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult};

use super::files::{FileReader, no_input};
use crate::pipe::PipeReceiver;

/// Where data comes from.
pub(crate) enum Input {
    /// A client.
    Client(PipeReceiver<Vec<u8>>),
    /// A file of the server, or an object.
    File(Box<FileReader>),
    /// It is all here, or was.
    Memory(Option<Vec<u8>>),
}

impl Input {
    /// Whether the next bytes are to be waited for, nobody knows how long.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Input::Client(pipe) => pipe.is_idle(),
            Input::File(_) | Input::Memory(_) => false,
        }
    }

    /// Whether somebody sends it, who is to be listened to until its end.
    pub(crate) fn is_client(&self) -> bool {
        matches!(self, Input::Client(_))
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// 58030 when it cannot be read, 57014.
    pub(crate) async fn next(&mut self, cancel: &Cancel) -> SqlResult<Option<Vec<u8>>> {
        match self {
            Input::Client(pipe) => {
                let next = unless_cancelled(cancel, pipe.next()).await?;
                next.map_err(|why| no_input(&why.to_string()))
            }
            Input::File(file) => unless_cancelled(cancel, file.next()).await?,
            Input::Memory(bytes) => match cancel.is_cancelled() {
                true => Err(SqlError::cancelled()),
                false => Ok(bytes.take()),
            },
        }
    }
}

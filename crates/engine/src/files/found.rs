//! A file that a path stands for: one of the server, or an object of a store.

use std::sync::Arc;

use types::SqlResult;

use crate::input::files::{FileReader, RandomFile};
use crate::objects::file::ObjectFile;
use crate::objects::room::Room;
use crate::objects::stream::ObjectStream;
use crate::objects::tally::Tally;

/// A file that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) path: String,
    object: Option<ObjectFile>,
}

impl Found {
    pub(super) fn local(path: String) -> Found {
        Found { path, object: None }
    }

    pub(super) fn object(path: String, object: ObjectFile) -> Found {
        Found { path, object: Some(object) }
    }

    pub(super) fn is_object(&self) -> bool {
        self.object.is_some()
    }

    /// To be read in parts.
    ///
    /// # Errors
    /// Those of opening it.
    pub(super) async fn open(&self) -> SqlResult<RandomFile> {
        match &self.object {
            Some(object) => Ok(RandomFile::of_object(&self.path, object.clone())),
            None => RandomFile::open(&self.path).await,
        }
    }

    /// To be read from its begin to its end, what is downloaded counted in `room`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(super) async fn read(
        &self,
        room: Option<Arc<Room>>,
        tally: Tally,
    ) -> SqlResult<FileReader> {
        match &self.object {
            Some(object) => Ok(FileReader::Object(ObjectStream::new(object.clone(), room, tally))),
            None => FileReader::open(&self.path).await,
        }
    }
}

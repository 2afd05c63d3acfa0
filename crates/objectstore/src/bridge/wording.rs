//! What our objects and errors are in the words of the public trait.

use chrono::{DateTime, Utc};
use object_store::path::Path;
use object_store::{Attributes, ObjectMeta, PutResult, TagSet};

use super::PublicResult;
use crate::error::{Error, ErrorKind};
use crate::operation::ObjectInfo;

/// Whose errors they are.
const NAME: &str = "dovetail";

/// What is said of an object. One whose store does not say when it was written is as old as can be.
pub(super) fn meta(info: ObjectInfo) -> PublicResult<ObjectMeta> {
    let written = info.modified_s.and_then(|seconds| DateTime::<Utc>::from_timestamp(seconds, 0));
    Ok(ObjectMeta {
        location: Path::parse(&info.key)?,
        last_modified: written.unwrap_or(DateTime::UNIX_EPOCH),
        size: info.size,
        e_tag: info.tag,
        version: None,
    })
}

pub(super) fn receipt(info: ObjectInfo) -> PutResult {
    PutResult { e_tag: info.tag, version: None }
}

/// The error of a request for `path`.
pub(super) fn public_error(path: &str, error: Error) -> object_store::Error {
    use object_store::Error as Public;
    let (path, status, kind) = (path.to_owned(), error.status(), error.kind());
    let source: Box<Error> = Box::new(error);
    match (kind, status) {
        (ErrorKind::NotFound, _) => Public::NotFound { path, source },
        (ErrorKind::Precondition, _) => Public::Precondition { path, source },
        (ErrorKind::Denied, Some(403)) => Public::PermissionDenied { path, source },
        (ErrorKind::Denied, _) => Public::Unauthenticated { path, source },
        _ => Public::Generic { store: NAME, source },
    }
}

pub(super) fn generic(what: &str) -> object_store::Error {
    object_store::Error::Generic { store: NAME, source: what.into() }
}

/// Attributes and tags would be lost.
pub(super) fn attributes_refused(attributes: &Attributes, tags: &TagSet) -> PublicResult<()> {
    match attributes.is_empty() && tags.encoded().is_empty() {
        true => Ok(()),
        false => {
            let source = "attributes and tags of objects are not stored".into();
            Err(object_store::Error::NotSupported { source })
        }
    }
}

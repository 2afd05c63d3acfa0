//! Names of single objects, as statements have them in the place of a file's: `s3://bucket/dir/a.parquet`.

use types::{SqlError, SqlResult, SqlState};

use super::location::{Location, Scheme};

/// Bytes of a name, at most: stores take 1,024.
const KEY_BYTES_MAX: usize = 1024;

/// An object, or the pattern of some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectPath {
    /// All of it, as it was written.
    pub(crate) text: String,
    /// The bucket alone; the host of a server of files.
    pub(crate) location: Location,
    /// The name within the bucket, which may have wildcards.
    pub(crate) key: String,
}

/// Whether a path names objects and no file of the server.
pub(crate) fn is_object(path: &str) -> bool {
    Scheme::of(path).is_some()
}

impl ObjectPath {
    /// Reads a path.
    ///
    /// # Errors
    /// 22023
    pub(crate) fn parse(text: &str) -> SqlResult<ObjectPath> {
        let wrong = |why: &str| {
            let message = format!("\"{text}\" names no object: {why}");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("Objects are like s3://bucket/name, gs://.., az://.., https://..")
        };
        let scheme = Scheme::of(text).ok_or_else(|| wrong("it names no kind of store"))?;
        let rest = &text[scheme.start().len()..];
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let location = Location::parse(&format!("{}{bucket}", scheme.start()))?;
        if key.is_empty() || key.len() > KEY_BYTES_MAX || key.bytes().any(|b| b.is_ascii_control())
        {
            return Err(wrong("a name has 1 to 1,024 bytes and no control characters"));
        }
        if scheme.only_reads() && key.contains(['?', '#', '%']) {
            return Err(wrong("its path is written as it is, without a query"));
        }
        Ok(ObjectPath { text: text.to_owned(), location, key: key.to_owned() })
    }

    /// The same bucket's object of another name.
    pub(crate) fn with_key(&self, key: &str) -> ObjectPath {
        let text = format!("{}/{key}", self.location);
        ObjectPath { text, location: self.location.clone(), key: key.to_owned() }
    }
}

#[cfg(test)]
mod tests;

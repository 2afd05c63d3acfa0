//! Where objects are: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`, and
//! `https://host/path` for what can only be read.

use std::fmt;

use types::{SqlError, SqlResult, SqlState};

/// Bytes of a location, at most: stores allow names of 1,024 bytes, and ours follow behind it.
const LOCATION_BYTES_MAX: usize = 900;

/// What kind of store a location names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
    Http,
    Https,
}

const SCHEMES: [(&str, Scheme); 5] = [
    ("s3://", Scheme::S3),
    ("gs://", Scheme::Google),
    ("az://", Scheme::Azure),
    ("http://", Scheme::Http),
    ("https://", Scheme::Https),
];

impl Scheme {
    /// That of a text that begins as a location does.
    pub(crate) fn of(text: &str) -> Option<Scheme> {
        SCHEMES.iter().find(|(start, _)| text.starts_with(start)).map(|(_, scheme)| *scheme)
    }

    /// As locations begin.
    pub(crate) fn start(self) -> &'static str {
        SCHEMES.iter().find(|(_, scheme)| *scheme == self).map_or("", |(start, _)| start)
    }

    /// Whether nothing can be written there.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Scheme::Http | Scheme::Https)
    }
}

/// A bucket, and what the names of the objects begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) scheme: Scheme,
    /// Bucket or container; the host of a server of files.
    pub(crate) bucket: String,
    /// Without slashes at its ends; may be empty.
    pub(crate) prefix: String,
}

impl Location {
    /// Reads a location.
    ///
    /// # Errors
    /// 22023
    pub(crate) fn parse(text: &str) -> SqlResult<Location> {
        let wrong = |why: &str| {
            let message = format!("\"{text}\" is no location of objects: {why}");
            Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("Locations are like s3://bucket/prefix, gs://.., az://.., https://.."))
        };
        let found = SCHEMES.iter().find_map(|(start, s)| Some((*s, text.strip_prefix(start)?)));
        let Some((scheme, rest)) = found else { return wrong("it names no kind of store") };
        if text.len() > LOCATION_BYTES_MAX {
            return wrong("it is too long");
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._=+".contains(&byte);
        let is_segment =
            |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_plain);
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
            return wrong("the parts of its path are of letters, digits and -._=+");
        }
        let is_host = |byte: u8| is_plain(byte) || (scheme.only_reads() && b":[]".contains(&byte));
        if bucket.is_empty() || !bucket.bytes().all(is_host) {
            return wrong("it names no bucket");
        }
        Ok(Location { scheme, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The name of an object within the bucket.
    pub(crate) fn key(&self, name: &str) -> String {
        match (self.scheme.only_reads(), self.prefix.as_str()) {
            (true, _) | (_, "") => name.to_owned(),
            (false, prefix) => format!("{prefix}/{name}"),
        }
    }
}

/// Whether what a location or the name of an object says lies below `scope`.
pub(crate) fn is_within(text: &str, scope: &str) -> bool {
    let rest = text.strip_prefix(scope.trim_end_matches('/'));
    let of_all = scope.ends_with("://") && text.starts_with(scope);
    of_all || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.scheme.start(), self.bucket)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests;

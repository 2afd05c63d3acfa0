//! How each kind of store wants to be asked, and how it answers.

mod azure;
mod complaint;
mod google;
mod list;
mod s3;
mod shared_key;
mod sign;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub(crate) use azure::Azure;
pub(crate) use google::Google;
pub(crate) use s3::S3;

use crate::credentials::{Credentials, Token};
use crate::error::{Error, Result};
use crate::http::{Around, Head, Request};
use crate::location::Endpoint;
use crate::operation::{ListPage, ObjectInfo, Operation, Part, parse_crc32c};
use crate::{date, encode};

/// A request whose path and query are still in parts, as signing needs them.
#[derive(Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) method: &'static str,
    /// Encoded.
    pub(crate) path: String,
    /// Names and values, not encoded.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: &'a [u8],
    /// What stands around the bytes.
    pub(crate) around: Option<Box<Around>>,
}

impl<'a> Draft<'a> {
    fn new(method: &'static str, path: String) -> Draft<'a> {
        Draft { method, path, query: Vec::new(), headers: Vec::new(), body: &[], around: None }
    }

    fn header(&mut self, name: &str, value: impl Into<String>) {
        self.headers.push((name.to_owned(), value.into()));
    }

    fn ask(&mut self, name: &str, value: impl Into<String>) {
        self.query.push((name.to_owned(), value.into()));
    }

    /// Names the bearer of a token.
    ///
    /// # Errors
    /// `Invalid` for an endpoint that is neither encrypted nor on this machine: unlike a signature,
    /// the token is of use to whoever sees it.
    fn bear(&mut self, token: &Token, endpoint: &Endpoint) -> Result<()> {
        if !endpoint.is_secure && !endpoint.is_loopback() {
            let what = format!("a token is not sent in clear to {endpoint}: it needs https");
            return Err(Error::invalid(what));
        }
        self.header("authorization", format!("Bearer {}", token.0));
        Ok(())
    }

    /// Asks for a part of an object.
    fn part(&mut self, range: &Range<u64>) {
        self.header("range", format!("bytes={}-{}", range.start, range.end - 1));
    }

    /// The query, encoded, in the order of its names.
    fn canonical_query(&self) -> String {
        let encoded = |(name, value): &(String, String)| {
            (encode::percent(name, false), encode::percent(value, false))
        };
        let mut pairs: Vec<_> = self.query.iter().map(encoded).collect();
        pairs.sort();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    }

    /// The request; headers are in the order of their names, as they are signed.
    fn finish(self) -> Result<Request<'a>> {
        let query = self.canonical_query();
        let target = match query.is_empty() {
            true => self.path.clone(),
            false => format!("{}?{query}", self.path),
        };
        for (name, value) in &self.headers {
            if !crate::http::is_plain(name) || !crate::http::is_plain(value) {
                return Err(Error::invalid(format!("the header {name} cannot have this value")));
            }
        }
        let Draft { method, headers, body, around, .. } = self;
        Ok(Request { method, target, headers, body, around })
    }
}

/// A kind of store, with its names.
pub(crate) enum Provider {
    S3(S3),
    Azure(Azure),
    Google(Google),
    /// A server of files: get and head only.
    Plain(Endpoint),
}

/// The longest name of an object that any store takes.
const KEY_BYTES_MAX: usize = 1024;

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let what = format!("the name of an object has 1 to {KEY_BYTES_MAX} bytes");
        return Err(Error::invalid(what));
    }
    // Stores take them as they are, but proxies and servers of files resolve them.
    if key.split('/').any(|part| part == "." || part == "..") {
        return Err(Error::invalid("no part of an object's name is . or .."));
    }
    Ok(())
}

impl Provider {
    /// Where its requests go.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        match self {
            Provider::S3(s3) => &s3.endpoint,
            Provider::Azure(azure) => &azure.endpoint,
            Provider::Google(google) => &google.endpoint,
            Provider::Plain(endpoint) => endpoint,
        }
    }

    /// The request for an operation, signed.
    pub(crate) fn request<'a>(
        &self,
        operation: &Operation<'a>,
        credentials: &Credentials,
        unix_s: i64,
    ) -> Result<Request<'a>> {
        match self {
            Provider::S3(s3) => s3.request(operation, credentials, unix_s),
            Provider::Azure(azure) => azure.request(operation, credentials, unix_s),
            Provider::Google(google) => google.request(operation, credentials),
            Provider::Plain(endpoint) => plain(endpoint, operation, credentials),
        }
    }

    /// The error that an answer tells.
    pub(crate) fn complaint(&self, head: &Head, body: &[u8]) -> Error {
        complaint::complaint(head, body, matches!(self, Provider::Google(_)))
    }

    /// What the head of an answer with an object, or with a part of it, says of it.
    pub(crate) fn info(&self, key: &str, head: &Head) -> ObjectInfo {
        let tag = match self {
            Provider::Google(_) => head.get("x-goog-generation"),
            _ => head.get("etag"),
        };
        ObjectInfo {
            key: key.to_owned(),
            size: match head.content_range() {
                Some((_, _, size)) => size,
                None => head.number("content-length").unwrap_or(0),
            },
            tag: tag.map(str::to_owned),
            modified_s: head.get("last-modified").and_then(date::parse),
        }
    }

    /// What the store says of an object that was asked about or written.
    ///
    /// # Errors
    /// `Protocol` for a document that cannot be read.
    pub(crate) fn receipt(&self, key: &str, head: &Head, body: &[u8]) -> Result<Receipt> {
        let writer = match self {
            Provider::Google(_) => return google::receipt(body),
            Provider::S3(_) => head.get(s3::WRITER),
            Provider::Azure(_) => head.get("x-ms-meta-dovetailwrite"),
            Provider::Plain(_) => None,
        };
        Ok(Receipt { info: self.info(key, head), write_id: writer.map(str::to_owned) })
    }

    /// The checksum of the whole object, where the store gives one.
    pub(crate) fn crc32c(&self, head: &Head) -> Option<u32> {
        if let Some(hashes) = head.get("x-goog-hash") {
            let hash = hashes.split(',').find_map(|hash| hash.trim().strip_prefix("crc32c="));
            return hash.and_then(parse_crc32c);
        }
        // That of an object of several parts may be one of their checksums.
        let is_whole = head.get("x-amz-checksum-type").is_none_or(|kind| kind != "COMPOSITE");
        head.get("x-amz-checksum-crc32c").filter(|_| is_whole).and_then(parse_crc32c)
    }

    /// Some objects of a list.
    pub(crate) fn list(&self, text: &str) -> Result<ListPage> {
        match self {
            Provider::S3(_) => list::s3(text),
            Provider::Azure(_) => list::azure(text),
            Provider::Google(_) => google::page(text),
            Provider::Plain(_) => Err(unsupported()),
        }
    }

    /// How objects are made of parts.
    pub(crate) fn assembly(&self) -> Assembly {
        match self {
            Provider::S3(_) => Assembly::Upload,
            Provider::Azure(_) | Provider::Plain(_) => Assembly::Blocks,
            Provider::Google(_) => Assembly::Objects { joined_max: google::JOINED_MAX },
        }
    }

    /// Whether bodies are hashed for the signature: where the connection is encrypted they need not be.
    pub(crate) fn signs_bodies(&self) -> bool {
        matches!(self, Provider::S3(_)) && !self.endpoint().is_secure
    }

    /// The number of an upload that was begun, by the store's answer.
    pub(crate) fn upload(&self, text: &str) -> Result<String> {
        list::upload(text)
    }

    /// What the names of an upload's parts begin with, where those are objects.
    pub(crate) fn parts_prefix(&self, key: &str, upload: &str) -> String {
        google::parts_prefix(key, upload)
    }

    /// The tag of a part that was stored.
    pub(crate) fn part_tag(
        &self,
        upload: &str,
        number: u32,
        head: &Head,
        body: &[u8],
    ) -> Result<String> {
        let tag = match self {
            Provider::Azure(_) => Some(azure::block_id(upload, number)),
            Provider::Google(_) => google::receipt(body)?.info.tag,
            _ => head.get("etag").map(str::to_owned),
        };
        tag.ok_or_else(|| Error::protocol("a part was stored without a tag"))
    }

    /// Whether an upload has ended well, which a status of success alone does not say: S3 begins to
    /// answer before it knows. The object's tag, where it is told.
    ///
    /// # Errors
    /// What the store complains of. `Protocol`, and nobody knows whether the object is there, when it
    /// says neither.
    pub(crate) fn end_of_upload(&self, head: &Head, body: &[u8]) -> Result<Option<String>> {
        if !matches!(self, Provider::S3(_)) {
            return Ok(None);
        }
        match list::end_of_upload(body) {
            list::End::Done(tag) => Ok(tag),
            list::End::Failed => Err(self.complaint(head, body)),
            list::End::Unknown => {
                Err(Error::protocol("the store does not say how the upload has ended").ambiguous())
            }
        }
    }

    /// What is sent to make one of parts: the object, which its writer then knows by `write_id`, or where
    /// that is missing a larger part.
    pub(crate) fn all_parts(
        &self,
        key: &str,
        upload: &str,
        parts: &[Part],
        write_id: Option<&str>,
    ) -> String {
        match self {
            Provider::Azure(_) => list::block_list(parts),
            Provider::S3(s3) => list::part_list(parts, s3.checksums),
            Provider::Google(_) => google::join(key, upload, parts, write_id),
            Provider::Plain(_) => String::new(),
        }
    }
}

/// What a store says of an object.
pub(crate) struct Receipt {
    pub(crate) info: ObjectInfo,
    /// The writer that has stored it.
    pub(crate) write_id: Option<String>,
}

/// How objects are made of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assembly {
    /// An upload is begun, and has parts with numbers.
    Upload,
    /// Blocks have names, and are forgotten by themselves.
    Blocks,
    /// Parts are objects, of which so many are made a larger one at a time.
    Objects { joined_max: usize },
}

fn unsupported() -> Error {
    Error::invalid("a server of files can be asked for whole objects and their parts only")
}

fn no_document() -> Error {
    Error::invalid("documents are asked for at servers of files")
}

/// A request is signed with the keys of the moment, not with the place that they come from.
fn unresolved() -> Error {
    Error::invalid("credentials that are fetched sign nothing themselves")
}

/// A request to a server of files.
fn plain<'a>(
    endpoint: &Endpoint,
    operation: &Operation<'a>,
    credentials: &Credentials,
) -> Result<Request<'a>> {
    let (method, key) = match operation {
        Operation::Get { key, .. } | Operation::Document { key, .. } => ("GET", key),
        Operation::Head { key } => ("HEAD", key),
        _ => return Err(unsupported()),
    };
    check_key(key)?;
    let mut draft = Draft::new(method, format!("{}/{}", endpoint.path, encode::percent(key, true)));
    match credentials {
        Credentials::Anonymous => {}
        Credentials::Bearer(token) => draft.bear(token, endpoint)?,
        _ => return Err(Error::invalid("a server of files takes a token, and no keys")),
    }
    draft.header("host", endpoint.authority());
    if let Operation::Get { range, tag, .. } = operation {
        if let Some(range) = range {
            draft.part(range);
        }
        if let Some(tag) = tag {
            draft.header("if-match", tag.clone());
        }
    }
    if let Operation::Document { query, headers, .. } = operation {
        query.iter().for_each(|(name, value)| draft.ask(name, *value));
        headers.iter().for_each(|(name, value)| draft.header(name, *value));
    }
    draft.finish()
}

//! AWS S3, everything that speaks like it, and the XML interface of Google Cloud Storage, which does
//! so with other names.

use super::sign::{EMPTY_SHA256, Scope, sign};
use super::{Draft, check_key, no_document, unresolved};
use crate::credentials::Credentials;
use crate::date::Date;
use crate::encode;
use crate::error::{Error, Result};
use crate::http::Request;
use crate::location::Endpoint;
use crate::operation::{Condition, Operation, Payload};

/// Whose names are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Amazon,
    Google,
}

impl Flavour {
    /// The name of a header of the store's own.
    pub(crate) fn header(self, name: &str) -> String {
        match self {
            Flavour::Amazon => format!("x-amz-{name}"),
            Flavour::Google => format!("x-goog-{name}"),
        }
    }

    pub(super) fn algorithm(self) -> &'static str {
        match self {
            Flavour::Amazon => "AWS4-HMAC-SHA256",
            Flavour::Google => "GOOG4-HMAC-SHA256",
        }
    }

    pub(super) fn key_prefix(self) -> &'static str {
        match self {
            Flavour::Amazon => "AWS4",
            Flavour::Google => "GOOG4",
        }
    }

    pub(super) fn terminator(self) -> &'static str {
        match self {
            Flavour::Amazon => "aws4_request",
            Flavour::Google => "goog4_request",
        }
    }

    fn service(self) -> &'static str {
        match self {
            Flavour::Amazon => "s3",
            Flavour::Google => "storage",
        }
    }
}

/// A bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3 {
    pub(crate) endpoint: Endpoint,
    /// Where the bucket is part of the path instead of the host.
    pub(crate) bucket_in_path: Option<String>,
    pub(crate) region: String,
    pub(crate) flavour: Flavour,
    /// Checksums are sent and asked for.
    pub(crate) checksums: bool,
}

impl S3 {
    fn path(&self, key: &str) -> String {
        let bucket = self.bucket_in_path.as_ref().map(|bucket| format!("/{bucket}"));
        let bucket = bucket.unwrap_or_default();
        format!("{}{bucket}/{}", self.endpoint.path, encode::percent(key, true))
    }

    pub(super) fn request<'a>(
        &self,
        operation: &Operation<'a>,
        credentials: &Credentials,
        unix_s: i64,
    ) -> Result<Request<'a>> {
        let (mut draft, payload) = self.draft(operation)?;
        draft.header("host", self.endpoint.authority());
        match credentials {
            Credentials::Anonymous => {}
            Credentials::Fetched(_) => return Err(unresolved()),
            Credentials::Bearer(token) => draft.bear(token, &self.endpoint)?,
            Credentials::Keys(keys) => {
                let hash = match payload {
                    None => EMPTY_SHA256,
                    Some(payload) => payload.sha256.as_deref().unwrap_or("UNSIGNED-PAYLOAD"),
                };
                let (flavour, service) = (self.flavour, self.flavour.service());
                let date = Date::of_unix_s(unix_s);
                let scope = Scope { flavour, region: &self.region, service, date };
                sign(&mut draft, keys, &scope, hash);
            }
        }
        draft.finish()
    }

    fn draft<'a>(&self, operation: &Operation<'a>) -> Result<(Draft<'a>, Option<&'a Payload<'a>>)> {
        let object =
            |method, key: &str| check_key(key).map(|()| Draft::new(method, self.path(key)));
        match operation {
            Operation::Get { key, range, tag } => {
                let mut draft = object("GET", key)?;
                match range {
                    Some(range) => draft.part(range),
                    None => self.want_checksum(&mut draft),
                }
                if let Some(tag) = tag {
                    self.require(&mut draft, tag);
                }
                Ok((draft, None))
            }
            Operation::Head { key } => Ok((object("HEAD", key)?, None)),
            Operation::Document { .. } => Err(no_document()),
            Operation::Delete { key } => Ok((object("DELETE", key)?, None)),
            Operation::Put { key, payload, condition, write_id } => {
                let mut draft = object("PUT", key)?;
                self.fill(&mut draft, payload);
                self.condition(&mut draft, condition)?;
                if let Some(id) = write_id {
                    draft.header(&self.flavour.header("meta-dovetail-write"), *id);
                }
                Ok((draft, Some(payload)))
            }
            Operation::List { prefix, delimiter, from, count_max } => {
                let mut draft = Draft::new("GET", self.path(""));
                self.list(&mut draft, prefix, *delimiter, *from, *count_max);
                Ok((draft, None))
            }
            Operation::CreateUpload { key, write_id } => {
                let mut draft = object("POST", key)?;
                draft.ask("uploads", "");
                draft.header(&self.flavour.header("meta-dovetail-write"), *write_id);
                if self.checksums && self.flavour == Flavour::Amazon {
                    draft.header("x-amz-checksum-algorithm", "CRC32C");
                }
                Ok((draft, None))
            }
            Operation::PutPart { key, upload, number, payload } => {
                let mut draft = object("PUT", key)?;
                draft.ask("partNumber", number.to_string());
                draft.ask("uploadId", *upload);
                self.fill(&mut draft, payload);
                Ok((draft, Some(payload)))
            }
            Operation::CompleteUpload { key, upload, payload, condition, .. } => {
                let mut draft = object("POST", key)?;
                draft.ask("uploadId", *upload);
                draft.body = payload.bytes;
                self.condition(&mut draft, condition)?;
                Ok((draft, Some(payload)))
            }
            Operation::AbortUpload { key, upload } => {
                let mut draft = object("DELETE", key)?;
                draft.ask("uploadId", *upload);
                Ok((draft, None))
            }
        }
    }

    fn list(
        &self,
        draft: &mut Draft<'_>,
        prefix: &str,
        delimiter: Option<&str>,
        from: Option<&str>,
        count_max: u32,
    ) {
        draft.ask("list-type", "2");
        draft.ask("max-keys", count_max.to_string());
        draft.ask("prefix", prefix);
        // Names may have characters that XML cannot.
        draft.ask("encoding-type", "url");
        if let Some(delimiter) = delimiter {
            draft.ask("delimiter", delimiter);
        }
        if let Some(from) = from {
            draft.ask("continuation-token", from);
        }
    }

    fn fill<'a>(&self, draft: &mut Draft<'a>, payload: &Payload<'a>) {
        draft.body = payload.bytes;
        if !self.checksums {
            return;
        }
        match self.flavour {
            Flavour::Amazon => draft.header("x-amz-checksum-crc32c", payload.crc32c_base64()),
            Flavour::Google => {
                draft.header("x-goog-hash", format!("crc32c={}", payload.crc32c_base64()));
            }
        }
    }

    fn want_checksum(&self, draft: &mut Draft<'_>) {
        if self.checksums && self.flavour == Flavour::Amazon {
            draft.header("x-amz-checksum-mode", "ENABLED");
        }
    }

    /// The object must have this tag.
    fn require(&self, draft: &mut Draft<'_>, tag: &str) {
        match self.flavour {
            Flavour::Amazon => draft.header("if-match", tag),
            Flavour::Google => draft.header("x-goog-if-generation-match", tag),
        }
    }

    fn condition(&self, draft: &mut Draft<'_>, condition: &Condition) -> Result<()> {
        match (condition, self.flavour) {
            (Condition::None, _) => {}
            (Condition::Absent, Flavour::Amazon) => draft.header("if-none-match", "*"),
            (Condition::Absent, Flavour::Google) => draft.header("x-goog-if-generation-match", "0"),
            (Condition::Matches(tag), _) if tag.is_empty() => {
                return Err(Error::invalid("the condition has an empty tag"));
            }
            (Condition::Matches(tag), _) => self.require(draft, tag),
        }
        Ok(())
    }
}

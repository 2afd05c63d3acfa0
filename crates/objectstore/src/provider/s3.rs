//! AWS S3, and everything that speaks like it.

use super::sign::{EMPTY_SHA256, Scope, sign};
use super::{Draft, check_key, no_document, unresolved};
use crate::credentials::Credentials;
use crate::date::Date;
use crate::encode;
use crate::error::{Error, Result};
use crate::http::Request;
use crate::location::Endpoint;
use crate::operation::{Condition, Operation, Payload};

/// A header that names the writer of an object, who then knows its own.
pub(super) const WRITER: &str = "x-amz-meta-dovetail-write";

/// A bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3 {
    pub(crate) endpoint: Endpoint,
    /// Where the bucket is part of the path instead of the host.
    pub(crate) bucket_in_path: Option<String>,
    pub(crate) region: String,
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
                let date = Date::of_unix_s(unix_s);
                let scope = Scope { region: &self.region, service: "s3", date };
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
                    draft.header("if-match", tag.clone());
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
                    draft.header(WRITER, *id);
                }
                Ok((draft, Some(payload)))
            }
            Operation::List { prefix, delimiter, from, count_max } => {
                let mut draft = Draft::new("GET", self.path(""));
                self.list(&mut draft, prefix, *delimiter, *from, *count_max);
                Ok((draft, None))
            }
            Operation::JoinParts { .. } => Err(Error::invalid("parts are joined at the end")),
            Operation::CreateUpload { key, write_id } => {
                let mut draft = object("POST", key)?;
                draft.ask("uploads", "");
                draft.header(WRITER, *write_id);
                if self.checksums {
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
        if self.checksums {
            draft.header("x-amz-checksum-crc32c", payload.crc32c_base64());
        }
    }

    fn want_checksum(&self, draft: &mut Draft<'_>) {
        if self.checksums {
            draft.header("x-amz-checksum-mode", "ENABLED");
        }
    }

    fn condition(&self, draft: &mut Draft<'_>, condition: &Condition) -> Result<()> {
        if *condition != Condition::None && self.endpoint.is_below("googleapis.com") {
            return Err(Error::invalid(
                "Google's interface of S3 has no conditions for writes: ask it as a store of Google's",
            ));
        }
        match condition {
            Condition::None => {}
            Condition::Absent => draft.header("if-none-match", "*"),
            Condition::Matches(tag) if tag.is_empty() => {
                return Err(Error::invalid("the condition has an empty tag"));
            }
            Condition::Matches(tag) => draft.header("if-match", tag.clone()),
        }
        Ok(())
    }
}

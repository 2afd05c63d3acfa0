//! Azure Blob Storage: block blobs of a container.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::shared_key::sign;
use super::{Draft, check_key, no_document, unresolved};
use crate::credentials::Credentials;
use crate::date::Date;
use crate::encode;
use crate::error::{Error, Result};
use crate::http::Request;
use crate::location::Endpoint;
use crate::operation::{Condition, Operation};

/// The version of the service whose rules are followed.
const VERSION: &str = "2021-12-02";

/// A container of an account.
#[derive(Clone, Debug)]
pub(crate) struct Azure {
    pub(crate) endpoint: Endpoint,
    pub(crate) account: String,
    pub(crate) container: String,
}

/// The name of a block; all of a blob have the same length.
pub(super) fn block_id(upload: &str, number: u32) -> String {
    BASE64_STANDARD.encode(format!("{upload}-{number:06}"))
}

impl Azure {
    fn path(&self, key: &str) -> String {
        let (path, container) = (&self.endpoint.path, &self.container);
        match key.is_empty() {
            true => format!("{path}/{container}"),
            false => format!("{path}/{container}/{}", encode::percent(key, true)),
        }
    }

    pub(super) fn request<'a>(
        &self,
        operation: &Operation<'a>,
        credentials: &Credentials,
        unix_s: i64,
    ) -> Result<Request<'a>> {
        let mut draft = self.draft(operation)?;
        draft.header("host", self.endpoint.authority());
        draft.header("x-ms-date", Date::of_unix_s(unix_s).http());
        draft.header("x-ms-version", VERSION);
        match credentials {
            Credentials::Anonymous => {}
            Credentials::Fetched(_) => return Err(unresolved()),
            Credentials::Bearer(token) => draft.bear(token, &self.endpoint)?,
            Credentials::Keys(keys) => sign(&mut draft, &self.account, keys)?,
        }
        draft.finish()
    }

    fn draft<'a>(&self, operation: &Operation<'a>) -> Result<Draft<'a>> {
        let object =
            |method, key: &str| check_key(key).map(|()| Draft::new(method, self.path(key)));
        let mut draft = match operation {
            Operation::Get { key, .. } => object("GET", key)?,
            Operation::Head { key } => object("HEAD", key)?,
            Operation::Document { .. } => return Err(no_document()),
            Operation::Delete { key } => object("DELETE", key)?,
            Operation::Put { key, .. }
            | Operation::PutPart { key, .. }
            | Operation::CompleteUpload { key, .. } => object("PUT", key)?,
            Operation::List { .. } => Draft::new("GET", self.path("")),
            Operation::CreateUpload { .. }
            | Operation::AbortUpload { .. }
            | Operation::JoinParts { .. } => {
                return Err(Error::invalid("uploads need not be begun here"));
            }
        };
        match operation {
            Operation::Get { range, tag, .. } => {
                if let Some(range) = range {
                    draft.part(range);
                }
                if let Some(tag) = tag {
                    draft.header("if-match", tag.clone());
                }
            }
            Operation::Put { payload, condition, write_id, .. } => {
                draft.body = payload.bytes;
                draft.header("x-ms-blob-type", "BlockBlob");
                require(&mut draft, condition)?;
                name_writer(&mut draft, *write_id);
            }
            Operation::PutPart { upload, number, payload, .. } => {
                draft.body = payload.bytes;
                draft.ask("comp", "block");
                draft.ask("blockid", block_id(upload, *number));
            }
            Operation::CompleteUpload { payload, condition, write_id, .. } => {
                draft.body = payload.bytes;
                draft.ask("comp", "blocklist");
                require(&mut draft, condition)?;
                name_writer(&mut draft, Some(write_id));
            }
            Operation::List { prefix, delimiter, from, count_max } => {
                draft.ask("restype", "container");
                draft.ask("comp", "list");
                draft.ask("maxresults", count_max.to_string());
                draft.ask("prefix", *prefix);
                if let Some(delimiter) = delimiter {
                    draft.ask("delimiter", *delimiter);
                }
                if let Some(from) = from {
                    draft.ask("marker", *from);
                }
            }
            _ => {}
        }
        Ok(draft)
    }
}

fn require(draft: &mut Draft<'_>, condition: &Condition) -> Result<()> {
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

fn name_writer(draft: &mut Draft<'_>, write_id: Option<&str>) {
    if let Some(id) = write_id {
        draft.header("x-ms-meta-dovetailwrite", id);
    }
}

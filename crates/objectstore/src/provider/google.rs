//! Google Cloud Storage, by its JSON interface.

use serde_json::{Value, json};

use super::{Draft, Receipt, check_key, no_document, unresolved};
use crate::credentials::Credentials;
use crate::error::{Error, Result};
use crate::http::{Around, Request};
use crate::location::Endpoint;
use crate::operation::{Condition, ListPage, ObjectInfo, Operation, Part, Payload};
use crate::{date, encode};

/// Objects that one request makes a larger one of, at most.
pub(super) const JOINED_MAX: usize = 32;
/// What is wanted of what the store says of an object.
const FIELDS: &str = "name,size,generation,updated,metadata";
const LIST_FIELDS: &str = "kind,nextPageToken,prefixes,items(name,size,generation,updated)";
/// The name in an object's metadata by which a writer knows its own.
const WRITER: &str = "dovetail-write";

/// A bucket.
#[derive(Clone, Debug)]
pub(crate) struct Google {
    pub(crate) endpoint: Endpoint,
    pub(crate) bucket: String,
}

/// What the names of all parts of an upload begin with. They are objects of their own, which a rule of the
/// bucket's can remove by the end of their names where a writer has died.
pub(super) fn parts_prefix(key: &str, upload: &str) -> String {
    format!("{key}.{upload}.")
}

fn part_name(key: &str, upload: &str, number: u32) -> String {
    format!("{}{number:06}.dovetail-part", parts_prefix(key, upload))
}

impl Google {
    fn objects(&self, interface: &str) -> String {
        format!(
            "{}{interface}/storage/v1/b/{}/o",
            self.endpoint.path,
            encode::percent(&self.bucket, false)
        )
    }

    fn object<'a>(&self, method: &'static str, key: &str) -> Result<Draft<'a>> {
        check_key(key)?;
        let path = format!("{}/{}", self.objects(""), encode::percent(key, false));
        Ok(Draft::new(method, path))
    }

    pub(super) fn request<'a>(
        &self,
        operation: &Operation<'a>,
        credentials: &Credentials,
    ) -> Result<Request<'a>> {
        let mut draft = self.draft(operation)?;
        draft.header("host", self.endpoint.authority());
        match credentials {
            Credentials::Anonymous => {}
            Credentials::Fetched(_) => return Err(unresolved()),
            Credentials::Bearer(token) => draft.bear(token, &self.endpoint)?,
            Credentials::Keys(_) => {
                return Err(Error::invalid("Google's JSON interface takes a token, and no keys"));
            }
        }
        draft.finish()
    }

    fn draft<'a>(&self, operation: &Operation<'a>) -> Result<Draft<'a>> {
        match operation {
            Operation::Get { key, range, tag } => {
                let mut draft = self.object("GET", key)?;
                draft.ask("alt", "media");
                // As it is stored: Google would unpack what says that it is packed, and give no parts of it.
                draft.header("accept-encoding", "gzip");
                if let Some(range) = range {
                    draft.part(range);
                }
                if let Some(tag) = tag {
                    require(&mut draft, &Condition::Matches(tag.clone()))?;
                }
                Ok(draft)
            }
            Operation::Head { key } => {
                let mut draft = self.object("GET", key)?;
                draft.ask("fields", FIELDS);
                Ok(draft)
            }
            Operation::Delete { key } => self.object("DELETE", key),
            Operation::Put { key, payload, condition, write_id } => {
                self.put(key, payload, condition, *write_id)
            }
            Operation::PutPart { key, upload, number, payload } => {
                self.put(&part_name(key, upload, *number), payload, &Condition::None, None)
            }
            Operation::JoinParts { key, upload, number, payload } => {
                self.compose(&part_name(key, upload, *number), payload, &Condition::None)
            }
            Operation::CompleteUpload { key, payload, condition, .. } => {
                self.compose(key, payload, condition)
            }
            Operation::List { prefix, delimiter, from, count_max } => {
                Ok(self.list(prefix, *delimiter, *from, *count_max))
            }
            Operation::Document { .. } => Err(no_document()),
            Operation::CreateUpload { .. } | Operation::AbortUpload { .. } => {
                Err(Error::invalid("uploads need not be begun here"))
            }
        }
    }

    /// An object with its metadata, by one request: the metadata has the checksum and the writer.
    fn put<'a>(
        &self,
        key: &str,
        payload: &'a Payload<'a>,
        condition: &Condition,
        write_id: Option<&str>,
    ) -> Result<Draft<'a>> {
        check_key(key)?;
        let mut draft = Draft::new("POST", self.objects("/upload"));
        draft.ask("uploadType", "multipart");
        draft.ask("fields", FIELDS);
        require(&mut draft, condition)?;
        let mut metadata = json!({ "name": key, "crc32c": payload.crc32c_base64() });
        if let Some(id) = write_id {
            metadata["metadata"] = json!({ WRITER: id });
        }
        // No body has it in it but by a chance of 2^-128: nobody knows it before.
        let boundary = encode::hex(&runtime::entropy::<16>());
        draft.header("content-type", format!("multipart/related; boundary={boundary}"));
        let before = format!(
            "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{metadata}\r\n\
             --{boundary}\r\ncontent-type: application/octet-stream\r\n\r\n"
        );
        let after = format!("\r\n--{boundary}--\r\n");
        draft.around = Some(Box::new(Around { before, after }));
        draft.body = payload.bytes;
        Ok(draft)
    }

    /// An object of others, in their order.
    fn compose<'a>(
        &self,
        key: &str,
        payload: &'a Payload<'a>,
        condition: &Condition,
    ) -> Result<Draft<'a>> {
        let mut draft = self.object("POST", key)?;
        draft.path += "/compose";
        draft.ask("fields", FIELDS);
        require(&mut draft, condition)?;
        draft.header("content-type", "application/json; charset=UTF-8");
        draft.body = payload.bytes;
        Ok(draft)
    }

    fn list<'a>(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
        from: Option<&str>,
        count_max: u32,
    ) -> Draft<'a> {
        let mut draft = Draft::new("GET", self.objects(""));
        draft.ask("fields", LIST_FIELDS);
        draft.ask("maxResults", count_max.to_string());
        draft.ask("prefix", prefix);
        if let Some(delimiter) = delimiter {
            draft.ask("delimiter", delimiter);
        }
        if let Some(from) = from {
            draft.ask("pageToken", from);
        }
        draft
    }
}

/// Conditions are by generation, which is 0 where there is no object.
fn require(draft: &mut Draft<'_>, condition: &Condition) -> Result<()> {
    match condition {
        Condition::None => {}
        Condition::Absent => draft.ask("ifGenerationMatch", "0"),
        Condition::Matches(tag) => match tag.parse::<i64>() {
            Ok(1..) => draft.ask("ifGenerationMatch", tag.clone()),
            _ => return Err(Error::invalid("the tag of the condition is no generation")),
        },
    }
    Ok(())
}

/// What is to be made of parts. Their names have been nobody else's, so whichever version there is has the
/// bytes that were sent.
pub(super) fn join(key: &str, upload: &str, parts: &[Part], write_id: Option<&str>) -> String {
    let one = |part: &Part| json!({ "name": part_name(key, upload, part.number) });
    let mut destination = json!({ "contentType": "application/octet-stream" });
    if let Some(id) = write_id {
        destination["metadata"] = json!({ WRITER: id });
    }
    let sources: Vec<Value> = parts.iter().map(one).collect();
    json!({ "sourceObjects": sources, "destination": destination }).to_string()
}

fn unreadable(why: &str) -> Error {
    Error::protocol(format!("the store's document cannot be read: {why}"))
}

/// What the store says of an object.
///
/// # Errors
/// `Protocol`; after a write nobody knows then whether it was done.
pub(super) fn receipt(body: &[u8]) -> Result<Receipt> {
    let document = serde_json::from_slice(body).ok();
    let receipt = document.as_ref().and_then(|document| {
        let info = object(document)?;
        let writer = document.pointer(&format!("/metadata/{WRITER}")).and_then(Value::as_str);
        Some(Receipt { info, write_id: writer.map(str::to_owned) })
    });
    receipt.ok_or_else(|| unreadable("it is none of an object").ambiguous())
}

/// `None` for what is none.
fn object(document: &Value) -> Option<ObjectInfo> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    Some(ObjectInfo {
        key: text("name")?.to_owned(),
        // Numbers of 64 bits are texts there. An object without bytes may have none.
        size: text("size").map_or(Some(0), |size| size.parse().ok())?,
        tag: Some(text("generation")?.to_owned()),
        modified_s: text("updated").and_then(date::parse),
    })
}

/// A page of a list.
pub(super) fn page(text: &str) -> Result<ListPage> {
    let document: Value = serde_json::from_str(text).map_err(|_| unreadable("no JSON"))?;
    if document.get("kind").and_then(Value::as_str) != Some("storage#objects") {
        return Err(unreadable("no list"));
    }
    let all = |name: &str| match document.get(name) {
        None => Ok(&[][..]),
        Some(Value::Array(all)) => Ok(&all[..]),
        Some(_) => Err(unreadable("no list")),
    };
    let objects = all("items")?.iter().map(object).collect::<Option<Vec<_>>>();
    let prefix = |prefix: &Value| prefix.as_str().map(str::to_owned);
    let prefixes = all("prefixes")?.iter().map(prefix).collect::<Option<Vec<_>>>();
    let (Some(objects), Some(prefixes)) = (objects, prefixes) else {
        return Err(unreadable("an object that is none"));
    };
    let next = document.get("nextPageToken").and_then(Value::as_str);
    let next = next.filter(|next| !next.is_empty()).map(str::to_owned);
    Ok(ListPage { objects, prefixes, next })
}

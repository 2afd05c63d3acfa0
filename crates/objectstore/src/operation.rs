//! What can be asked of a store, whichever it is, and what it answers.

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::encode;

/// What must hold for a write to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// There is no such object yet.
    Absent,
    /// The object is the one with this tag ([`ObjectInfo::tag`]).
    Matches(String),
}

/// What a store says of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name.
    pub key: String,
    /// Its bytes.
    pub size: u64,
    /// What changes with each write, for conditions: the entity tag, or the generation at Google.
    pub tag: Option<String>,
    /// Seconds since 1970 when it was written.
    pub modified_s: Option<i64>,
}

/// Some objects of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Objects by name.
    pub objects: Vec<ObjectInfo>,
    /// What names begin with that go on behind the delimiter.
    pub prefixes: Vec<String>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A body that is sent, with what the store is to check it by.
#[derive(Clone, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) crc32c: u32,
    /// Hexadecimal; where the connection is encrypted it is not needed.
    pub(crate) sha256: Option<String>,
}

/// Bytes hashed at once, some 100 µs.
const HASHED_BYTES: usize = 64 << 10;

impl<'a> Payload<'a> {
    /// Computes the hashes, giving way in between.
    pub(crate) async fn of(bytes: &'a [u8], is_signed: bool) -> Payload<'a> {
        let (mut crc32c, mut hash) = (0, Sha256::new());
        for piece in bytes.chunks(HASHED_BYTES) {
            crc32c = crc32c::crc32c_append(crc32c, piece);
            if is_signed {
                hash.update(piece);
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        let sha256 = is_signed.then(|| encode::hex(&hash.finalize()));
        Payload { bytes, crc32c, sha256 }
    }

    /// The checksum as headers have it.
    pub(crate) fn crc32c_base64(&self) -> String {
        BASE64_STANDARD.encode(self.crc32c.to_be_bytes())
    }
}

/// The checksum of bytes that came, giving way in between.
pub(crate) async fn checksum(bytes: &[u8]) -> u32 {
    let mut crc32c = 0;
    for piece in bytes.chunks(HASHED_BYTES * 16) {
        crc32c = crc32c::crc32c_append(crc32c, piece);
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
    }
    crc32c
}

/// A checksum as headers have it.
pub(crate) fn parse_crc32c(text: &str) -> Option<u32> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A part of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// From 1 on.
    pub(crate) number: u32,
    /// What the store has answered, to be told when all are there.
    pub(crate) tag: String,
    /// The checksum that it was sent with, as headers have it.
    pub(crate) crc32c: String,
}

/// What is asked of a store.
#[derive(Clone, Debug)]
pub(crate) enum Operation<'a> {
    Get {
        key: &'a str,
        range: Option<Range<u64>>,
        /// The object must still have this tag.
        tag: Option<String>,
    },
    Head {
        key: &'a str,
    },
    /// What a server makes for whoever asks in this way.
    Document {
        key: &'a str,
        query: &'a [(&'a str, &'a str)],
        headers: &'a [(&'a str, &'a str)],
    },
    Put {
        key: &'a str,
        payload: &'a Payload<'a>,
        condition: &'a Condition,
        /// Stored with the object, so that the writer knows its own.
        write_id: Option<&'a str>,
    },
    Delete {
        key: &'a str,
    },
    List {
        prefix: &'a str,
        delimiter: Option<&'a str>,
        from: Option<&'a str>,
        count_max: u32,
    },
    CreateUpload {
        key: &'a str,
        write_id: &'a str,
    },
    PutPart {
        key: &'a str,
        upload: &'a str,
        number: u32,
        payload: &'a Payload<'a>,
    },
    /// Makes a larger part of others.
    JoinParts {
        key: &'a str,
        upload: &'a str,
        number: u32,
        payload: &'a Payload<'a>,
    },
    CompleteUpload {
        key: &'a str,
        upload: &'a str,
        payload: &'a Payload<'a>,
        condition: &'a Condition,
        write_id: &'a str,
    },
    AbortUpload {
        key: &'a str,
        upload: &'a str,
    },
}

impl Operation<'_> {
    /// Whether doing it twice is the same as doing it once.
    pub(crate) fn is_idempotent(&self) -> bool {
        match self {
            Operation::Put { condition, .. } => **condition == Condition::None,
            Operation::CompleteUpload { .. } => false,
            _ => true,
        }
    }
}

//! What a store says when it does not do what it is asked.

use runtime::time;

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::http::Head;
use crate::{date, xml};

/// Characters of a store's message that are passed on.
const MESSAGE_CHARS_MAX: usize = 300;

/// The error that an answer tells. Documents of JSON are Google's; what other servers say in such may be anything.
pub(super) fn complaint(head: &Head, body: &[u8], is_google: bool) -> Error {
    let said = Said::read(body, is_google);
    let code = said.code.or_else(|| head.get("x-ms-error-code").map(str::to_owned));
    let ids = ["x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid"];
    let id = said.request_id.or_else(|| ids.iter().find_map(|n| head.get(n).map(str::to_owned)));
    let kind = kind(head.status, code.as_deref().unwrap_or_default());
    let message = said.message.unwrap_or_else(|| default_message(kind, head));
    Error::new(kind, format!("the store says: {}", clean(&message)))
        .with_status(head.status)
        .with_code(code.map(|code| clean(&code)))
        .with_body(!body.is_empty())
        .with_request_id(id.map(|id| clean(&id)))
        .with_retry_after(retry_after_s(head, time::unix_us().div_euclid(1_000_000)))
}

/// For how many seconds the store is to be left alone: it says a number, or until when.
pub(super) fn retry_after_s(head: &Head, unix_s: i64) -> Option<u64> {
    let until = || u64::try_from(date::parse(head.get("retry-after")?)? - unix_s).ok();
    head.number("retry-after").or_else(until)
}

/// What the body of an error says.
#[derive(Default)]
struct Said {
    code: Option<String>,
    message: Option<String>,
    request_id: Option<String>,
}

impl Said {
    fn read(body: &[u8], is_google: bool) -> Said {
        let mut said = Said::default();
        let Ok(text) = std::str::from_utf8(body) else { return said };
        if is_google && text.trim_start().starts_with('{') {
            return Said::of_json(text);
        }
        // What cannot be read to its end may have said something by then.
        let _ = xml::walk(text, |path, text| match path {
            "Error/Code" => said.code = Some(text),
            "Error/Message" => said.message = Some(text),
            "Error/RequestId" => said.request_id = Some(text),
            _ => {}
        });
        said
    }

    fn of_json(text: &str) -> Said {
        let document: Value = serde_json::from_str(text).unwrap_or_default();
        let text = |place: &str| document.pointer(place).and_then(Value::as_str).map(str::to_owned);
        let (code, message) = (text("/error/errors/0/reason"), text("/error/message"));
        Said { code, message, request_id: None }
    }
}

fn kind(status: u16, code: &str) -> ErrorKind {
    match (status, code) {
        (_, "SlowDown" | "RequestLimitExceeded" | "ServerBusy" | "TooManyRequests") => {
            ErrorKind::Throttled
        }
        (403, "rateLimitExceeded" | "userRateLimitExceeded") => ErrorKind::Throttled,
        (_, "RequestTimeout") => ErrorKind::TimedOut,
        (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "Md5Mismatch" | "Crc64Mismatch") => {
            ErrorKind::Corrupt
        }
        (409, "BlobAlreadyExists") => ErrorKind::Precondition,
        // Two writers at the same moment: the store wants to be asked again.
        (409, "ConditionalRequestConflict" | "OperationAborted") => ErrorKind::Unavailable,
        (401 | 403 | 419, _) => ErrorKind::Denied,
        (404, _) => ErrorKind::NotFound,
        (408, _) => ErrorKind::TimedOut,
        (412, _) => ErrorKind::Precondition,
        (416, _) => ErrorKind::Invalid,
        (429 | 503, _) => ErrorKind::Throttled,
        (500 | 502 | 504, _) => ErrorKind::Unavailable,
        // An error in an answer that began as a success.
        (200..=299, "InternalError" | "ServiceUnavailable") => ErrorKind::Unavailable,
        _ => ErrorKind::Refused,
    }
}

fn default_message(kind: ErrorKind, head: &Head) -> String {
    if (300..400).contains(&head.status) {
        let region = head.get("x-amz-bucket-region");
        let region = region.map(|region| format!("; the bucket is in the region {region}"));
        return format!(
            "go elsewhere, and redirects are not followed{}",
            region.unwrap_or_default()
        );
    }
    match kind {
        ErrorKind::NotFound => "there is no such object".to_owned(),
        ErrorKind::Precondition => "the condition does not hold".to_owned(),
        ErrorKind::Denied => "not allowed".to_owned(),
        ErrorKind::Throttled => "slow down".to_owned(),
        _ => "nothing but the status".to_owned(),
    }
}

/// One line without control characters, of bounded length: it may end in a log.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MESSAGE_CHARS_MAX).collect()
}

//! A request, read from a connection.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Bytes of a head, and of a body, at most: what one of ours sends is far below.
const HEAD_BYTES_MAX: u64 = 64 << 10;
const BODY_BYTES_MAX: u64 = 1 << 30;

/// What is asked.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    path: String,
    /// With names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The next one; `None` at the end of the connection.
    ///
    /// # Errors
    /// Those of the connection, and `InvalidData` for what is no request.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Request>> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let (mut head, mut line) = (input.by_ref().take(HEAD_BYTES_MAX), String::new());
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next(), words.next());
        let (Some(method), Some(target)) = (method, target) else {
            return Err(wrong("no method or no target"));
        };
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = Request { method: method.to_owned(), path, ..Request::default() };
        loop {
            line.clear();
            if head.read_line(&mut line)? == 0 {
                return Err(wrong("the head does not end"));
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse::<u64>);
        let length = length.ok().filter(|length| *length <= BODY_BYTES_MAX);
        let length = length.ok_or_else(|| wrong("the length of the body"))?;
        let read = input.take(length).read_to_end(&mut request.body)?;
        if (read as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(request))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the body is in frames, by HTTP or by a signature that streams: those are not read here.
    pub(super) fn is_framed(&self) -> bool {
        let is_signed = |encoding: &str| encoding.contains("aws-chunked");
        self.header("transfer-encoding").is_some()
            || self.header("content-encoding").is_some_and(is_signed)
    }

    /// The name of the object, behind that of the bucket; `None` for one that is no path below a folder.
    pub(super) fn key(&self) -> Option<&str> {
        let (_, key) = self.path.strip_prefix('/')?.split_once('/')?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._=+/".contains(&byte);
        let is_part = |part: &str| !matches!(part, "" | "." | "..");
        (key.bytes().all(is_plain) && key.split('/').all(is_part)).then_some(key)
    }

    /// The bytes that are asked for of an object of so many; `Ok(None)` for all.
    ///
    /// # Errors
    /// There are none such.
    pub(super) fn range(&self, size: u64) -> Result<Option<Range<u64>>, ()> {
        let Some(text) = self.header("range") else { return Ok(None) };
        let (first, last) = text.strip_prefix("bytes=").and_then(|r| r.split_once('-')).ok_or(())?;
        let number = |text: &str| text.parse::<u64>().map_err(drop);
        let range = match (first, last) {
            ("", count) => size.saturating_sub(number(count)?)..size,
            (first, "") => number(first)?..size,
            (first, last) => number(first)?..number(last)?.saturating_add(1).min(size),
        };
        if range.is_empty() { Err(()) } else { Ok(Some(range)) }
    }
}

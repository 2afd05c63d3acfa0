//! The head of an answer.

use crate::error::{Error, Result};

/// Headers of an answer, at most.
const HEADER_COUNT_MAX: usize = 128;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Known(u64),
    Chunked,
    /// Only by the end of the connection, which a lost one looks like too.
    Unknown,
}

/// Status and headers of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: Length,
    /// Whether the connection may be used again.
    pub(crate) keeps: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The head at the beginning of `bytes` and its length; `None` when there is more of it to come.
    ///
    /// # Errors
    /// `Protocol` for what is no head of HTTP/1.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>> {
        let mut places = [httparse::EMPTY_HEADER; HEADER_COUNT_MAX];
        let mut parsed = httparse::Response::new(&mut places);
        let wrong = |error| Error::protocol(format!("no answer of HTTP: {error}"));
        let httparse::Status::Complete(len) = parsed.parse(bytes).map_err(wrong)? else {
            return Ok(None);
        };
        let headers = parsed.headers.iter().map(|header| {
            let value = String::from_utf8_lossy(header.value).trim().to_owned();
            (header.name.to_ascii_lowercase(), value)
        });
        let mut head = Head {
            status: parsed.code.unwrap_or(0),
            length: Length::Unknown,
            keeps: parsed.version == Some(1),
            headers: headers.collect(),
        };
        head.length = head.find_length()?;
        if let Some(connection) = head.get("connection") {
            head.keeps &= !connection.to_ascii_lowercase().contains("close");
        }
        Ok(Some((head, len)))
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a header as a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    fn find_length(&self) -> Result<Length> {
        let codings = self.headers.iter().filter(|(name, _)| name == "transfer-encoding");
        let mut is_chunked = false;
        for (_, coding) in codings {
            match coding.eq_ignore_ascii_case("chunked") && !is_chunked {
                true => is_chunked = true,
                false => return Err(Error::protocol(format!("transfer encoding {coding:?}"))),
            }
        }
        let mut lengths = self.headers.iter().filter(|(name, _)| name == "content-length");
        let Some((_, first)) = lengths.next() else {
            return Ok(if is_chunked { Length::Chunked } else { Length::Unknown });
        };
        if is_chunked || lengths.any(|(_, other)| other != first) {
            return Err(Error::protocol("the answer has two lengths"));
        }
        let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        match first.parse().ok().filter(|_| digits) {
            Some(length) => Ok(Length::Known(length)),
            None => Err(Error::protocol(format!("content length {first:?}"))),
        }
    }

    /// First byte, last byte and total length of a part of an object.
    pub(crate) fn content_range(&self) -> Option<(u64, u64, u64)> {
        let (range, total) = self.get("content-range")?.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let range = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
        (range.0 <= range.1 && range.1 < range.2).then_some(range)
    }
}

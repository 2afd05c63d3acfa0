//! Requests as bytes.

/// A request, ready to be sent. Names of headers are in lower case; names and values have been made
/// by us or checked: no line ends in them. It holds a signature, so it is never shown.
#[derive(Clone, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    /// Path and query, encoded.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: &'a [u8],
    /// What the body begins and ends with, around the bytes that are somebody else's. Few requests have it, and each is
    /// part of the future of whoever waits.
    pub(crate) around: Option<Box<Around>>,
}

/// The beginning and the end of a body.
#[derive(Clone, Default)]
pub(crate) struct Around {
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Request<'_> {
    /// What stands in front of the bytes.
    pub(super) fn before(&self) -> &str {
        self.around.as_ref().map_or("", |around| around.before.as_str())
    }

    /// What stands behind them.
    pub(super) fn after(&self) -> &str {
        self.around.as_ref().map_or("", |around| around.after.as_str())
    }

    /// Bytes of the whole body.
    pub(crate) fn body_len(&self) -> usize {
        self.before().len() + self.body.len() + self.after().len()
    }

    /// Everything before the body.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            debug_assert!(is_plain(name) && is_plain(value), "a header is one line");
            out.push_str(name);
            out.push_str(": ");
            out.push_str(value);
            out.push_str("\r\n");
        }
        let length = self.body_len();
        if length > 0 || self.method == "PUT" || self.method == "POST" {
            out.push_str(&format!("content-length: {length}\r\n"));
        }
        out.push_str("\r\n");
        out.into_bytes()
    }
}

/// Whether a text can be part of a header's line.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

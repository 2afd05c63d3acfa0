//! Responses.

use std::fmt::Write as _;

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub content_type: &'static str,
    /// Further header fields.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// 200 with a body.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status: 200, content_type, headers: Vec::new(), body: body.into() }
    }

    /// Some status with a line of text.
    pub fn text(status: u16, line: &str) -> Response {
        let body = format!("{line}\n").into_bytes();
        let content_type = "text/plain; charset=utf-8";
        Response { status, content_type, headers: Vec::new(), body }
    }

    /// The bytes to send; without the body as the answer to `HEAD`.
    pub fn bytes(&self, keep_alive: bool, with_body: bool) -> Vec<u8> {
        let mut head = head(self.status, self.content_type, &self.headers, keep_alive);
        let _ = write!(head, "Content-Length: {}\r\n\r\n", self.body.len());
        let mut bytes = head.into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The head of a response up to the fields that frame its body.
pub(crate) fn head(
    status: u16,
    content_type: &str,
    headers: &[(&'static str, String)],
    keep_alive: bool,
) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    let connection = if keep_alive { "keep-alive" } else { "close" };
    let _ = write!(
        head,
        "Content-Type: {content_type}\r\nConnection: {connection}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
    );
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

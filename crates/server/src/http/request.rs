//! Requests: read from a socket, bounded in bytes and in time, and never believed.

use std::io;
use std::time::Duration;

use runtime::net::Socket;
use runtime::time;

/// Longest head of a request: no client of ours sends a tenth of it.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most header fields of a request.
const HEADER_COUNT_MAX: usize = 64;
/// Longest body: a statement, in JSON.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes received at once.
const CHUNK_BYTES: usize = 4 << 10;
/// How long a connection may rest between requests.
const REST_MAX: Duration = Duration::from_secs(75);
/// How long a head may take to come, from its first byte on: it fits one packet or two.
const HEAD_COMING_MAX: Duration = Duration::from_secs(5);
/// How long a body may take to come.
const BODY_COMING_MAX: Duration = Duration::from_secs(10);

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub method: String,
    /// The path, without the query.
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the client wants to send more requests here.
    pub keep_alive: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The client is gone, or rested too long: nothing to say.
    Ended,
    /// The status to end the connection with, and why.
    Status(u16, &'static str),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Refusal {
        Refusal::Ended
    }
}

impl Request {
    /// The value of a header field; its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.header("cookie")?.split(';').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(known, value)| (known.trim(), value))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.trim())
    }

    fn header_count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(known, _)| known == name).count()
    }

    /// Bytes of the body that the head announces.
    fn body_len(&self) -> Result<usize, Refusal> {
        if self.header("transfer-encoding").is_some() {
            return Err(Refusal::Status(501, "a body needs a Content-Length"));
        }
        if self.header_count("content-length") > 1 || self.header_count("host") > 1 {
            return Err(Refusal::Status(400, "a header field occurs twice"));
        }
        let Some(text) = self.header("content-length") else { return Ok(0) };
        // `parse` alone would take a sign.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<usize>() {
            Ok(len) if digits && len <= BODY_BYTES_MAX => Ok(len),
            _ if digits => Err(Refusal::Status(413, "the body is too long")),
            _ => Err(Refusal::Status(400, "Content-Length is no number")),
        }
    }
}

/// What has been received and not yet taken.
#[derive(Default)]
pub(crate) struct Input(Vec<u8>);

impl Input {
    async fn receive(&mut self, socket: &Socket) -> Result<(), Refusal> {
        let filled = self.0.len();
        self.0.resize(filled + CHUNK_BYTES, 0);
        let received = socket.recv(&mut self.0[filled..]).await;
        self.0.truncate(filled + *received.as_ref().unwrap_or(&0));
        match received? {
            0 => Err(Refusal::Ended),
            _ => Ok(()),
        }
    }

    /// The next request.
    pub async fn next(&mut self, socket: &Socket) -> Result<Request, Refusal> {
        if self.0.is_empty() {
            let first = time::timeout(REST_MAX, self.receive(socket)).await;
            first.map_err(|_| Refusal::Ended)??;
        }
        let late = |_| Refusal::Status(408, "the request took too long to come");
        let head = time::timeout(HEAD_COMING_MAX, self.head(socket)).await;
        let (mut request, head_len) = head.map_err(late)??;
        let body = time::timeout(BODY_COMING_MAX, self.body(socket, &request, head_len)).await;
        request.body = body.map_err(late)??;
        Ok(request)
    }

    /// The next request without its body, and the length of its head, which stays.
    async fn head(&mut self, socket: &Socket) -> Result<(Request, usize), Refusal> {
        loop {
            if let Some(parsed) = parse(&self.0)? {
                return Ok(parsed);
            }
            if self.0.len() > HEAD_BYTES_MAX {
                return Err(Refusal::Status(431, "the head is too long"));
            }
            self.receive(socket).await?;
        }
    }

    /// Takes a request out of what has been received; its body.
    async fn body(
        &mut self,
        socket: &Socket,
        request: &Request,
        head_len: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let body_len = request.body_len()?;
        if body_len > 0 && request.header("expect").is_some() {
            socket.send_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        while self.0.len() < head_len + body_len {
            self.receive(socket).await?;
        }
        let body = self.0[head_len..head_len + body_len].to_vec();
        self.0.drain(..head_len + body_len);
        Ok(body)
    }
}

/// The request at the start of `bytes` and the length of its head; `None` when there is more to
/// come.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; HEADER_COUNT_MAX];
    let mut head = httparse::Request::new(&mut fields);
    let head_len = match head.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::Status(431, "too many header fields"));
        }
        Err(_) => return Err(Refusal::Status(400, "this is no HTTP request")),
    };
    let field = |header: &httparse::Header| {
        let value = std::str::from_utf8(header.value).ok()?.trim().to_owned();
        Some((header.name.to_ascii_lowercase(), value))
    };
    let headers: Option<Vec<_>> = head.headers.iter().map(field).collect();
    let headers = headers.ok_or(Refusal::Status(400, "a header field is no text"))?;
    let target = head.path.unwrap_or_default();
    let mut request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        headers,
        body: Vec::new(),
        keep_alive: false,
    };
    let wish = request.header("connection").unwrap_or_default().to_ascii_lowercase();
    request.keep_alive = head.version == Some(1) && !wish.contains("close");
    Ok(Some((request, head_len)))
}

#[cfg(test)]
mod tests;

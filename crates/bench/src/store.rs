//! An object store over a folder that is as far away and as slow as one asks, for figures of what is read from
//! there. It speaks as much of S3 as a table and a reader of files need: get, ranges, head, put on a condition,
//! delete; no lists, no parts, no signatures.
//!
//! A connection has a thread. Bytes go from the file to the socket by the kernel alone, so that the store costs
//! little beside what is measured.

mod objects;
mod pace;
mod request;

use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use objects::{Objects, Stored};
use pace::Pace;
use request::Request;

/// What is injected; 0 leaves each of them out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Before the first byte of each answer.
    pub latency: Duration,
    /// Bytes a second of one connection.
    pub rate: u64,
    /// Bytes a second of all of them.
    pub cap: u64,
    /// One request of so many is ten times as slow.
    pub straggler_of: u64,
}

/// How much slower a straggler is.
const STRAGGLER: u32 = 10;

/// The store.
struct Server {
    objects: Objects,
    speed: Speed,
    cap: Pace,
    requests: AtomicU64,
}

/// Serves what is in `folder` until the process ends; `listening` is given the URL.
///
/// # Errors
/// There is no free port.
pub fn serve(folder: PathBuf, speed: Speed, listening: impl FnOnce(&str)) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listening(&format!("http://{}", listener.local_addr()?));
    let objects = Objects::new(folder);
    let cap = Pace::new(speed.cap);
    let server = Arc::new(Server { objects, speed, cap, requests: AtomicU64::new(0) });
    for socket in listener.incoming() {
        let (socket, server) = (socket?, server.clone());
        // A connection that fails is the client's to notice.
        thread::spawn(move || server.answer_all(socket).ok());
    }
    Ok(())
}

impl Server {
    /// Until the connection ends.
    fn answer_all(&self, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let mut input = BufReader::new(socket.try_clone()?);
        let mut output = socket;
        while let Some(request) = Request::read(&mut input)? {
            let turn = self.requests.fetch_add(1, Relaxed);
            let of = self.speed.straggler_of;
            let slower = if of > 0 && turn.is_multiple_of(of) { STRAGGLER } else { 1 };
            thread::sleep(self.speed.latency * slower);
            self.answer(&request, &mut output, u64::from(slower))?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request, output: &mut TcpStream, slower: u64) -> io::Result<()> {
        let Some(key) = request.key() else {
            return complain(output, "400 Bad Request", "InvalidURI", request);
        };
        if request.is_framed() {
            return complain(output, "501 Not Implemented", "NotImplemented", request);
        }
        match request.method.as_str() {
            "GET" | "HEAD" => match self.objects.open(key) {
                Ok(stored) => self.send(request, &stored, output, slower),
                Err(_) => complain(output, "404 Not Found", "NoSuchKey", request),
            },
            "PUT" => match self.objects.put(key, request)? {
                Some(tag) => head(output, "200 OK", 0, &[("etag", &tag)]),
                None => complain(output, "412 Precondition Failed", "PreconditionFailed", request),
            },
            "DELETE" => {
                self.objects.remove(key);
                head(output, "204 No Content", 0, &[])
            }
            _ => complain(output, "405 Method Not Allowed", "MethodNotAllowed", request),
        }
    }

    fn send(
        &self,
        request: &Request,
        stored: &Stored,
        output: &mut TcpStream,
        slower: u64,
    ) -> io::Result<()> {
        let Stored { file, size, tag } = stored;
        if request.header("if-match").is_some_and(|wanted| wanted != tag) {
            return complain(output, "412 Precondition Failed", "PreconditionFailed", request);
        }
        let (status, range) = match request.range(*size) {
            Ok(None) => ("200 OK", 0..*size),
            Ok(Some(range)) => ("206 Partial Content", range),
            Err(()) => {
                return complain(output, "416 Range Not Satisfiable", "InvalidRange", request);
            }
        };
        let shown = format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1));
        let modified = "Fri, 24 May 2013 00:00:00 GMT";
        let mut headers =
            vec![("etag", tag.as_str()), ("last-modified", modified), ("accept-ranges", "bytes")];
        if status.starts_with("206") {
            headers.push(("content-range", &shown));
        }
        head(output, status, range.end - range.start, &headers)?;
        match request.method.as_str() {
            "HEAD" => Ok(()),
            _ => pace::send(output, file, range, self.speed.rate / slower, &self.cap),
        }
    }
}

fn head(
    output: &mut TcpStream,
    status: &str,
    length: u64,
    headers: &[(&str, &str)],
) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    output.write_all(text.as_bytes())
}

/// An error as S3 words it; an answer to HEAD has no body.
fn complain(output: &mut TcpStream, status: &str, code: &str, request: &Request) -> io::Result<()> {
    let text = format!("<Error><Code>{code}</Code><Message>{status}</Message></Error>");
    let body = if request.method == "HEAD" { "" } else { &text };
    head(output, status, body.len() as u64, &[("content-type", "application/xml")])?;
    output.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests;

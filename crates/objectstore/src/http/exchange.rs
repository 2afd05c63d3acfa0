//! One request and its answer on a connection.

use runtime::time::{self, Duration, Instant};

use super::body::{self, Pace};
use super::response::Length;
use super::{Head, Request, Sink};
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};

/// The head of an answer, at most.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// What a store says about an error, at most.
const COMPLAINT_BYTES_MAX: usize = 64 << 10;
/// Where sending fails, the store may have said why, and is given so long to.
const COMPLAINT_WAIT: Duration = Duration::from_secs(1);
/// Bodies up to this are sent together with the head.
const TOGETHER_BYTES_MAX: usize = 16 << 10;

/// When an attempt is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'a> {
    /// So long after the request was sent the first byte of the answer has come.
    pub(crate) first_byte: Duration,
    /// And the rest so fast.
    pub(crate) pace: Pace<'a>,
}

/// The answer to a request. The body of a success is in the sink, that of an error here.
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) complaint: Vec<u8>,
    /// Whether the connection can be used again.
    pub(crate) keeps: bool,
}

/// How far an exchange has come when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing of an answer has come.
    Silent,
    /// Something has.
    Answered,
}

/// An exchange that failed.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) stage: Stage,
    /// What the answer had said, if its head had come.
    pub(crate) head: Option<Head>,
}

impl Failure {
    fn silent(error: Error) -> Failure {
        Failure { error: error.ambiguous(), stage: Stage::Silent, head: None }
    }
}

/// Sends a request and receives its answer. `admit` looks at the head of a success before its body
/// is taken. After a failure the connection is of no use.
pub(crate) async fn exchange(
    connection: &mut Connection,
    request: &Request<'_>,
    sink: &mut Sink,
    times: &Times<'_>,
    admit: impl FnOnce(&Head, &mut Sink) -> Result<()>,
) -> std::result::Result<Answer, Failure> {
    let mut times = *times;
    let sent = send(connection, request, times.pace.deadline).await;
    if sent.is_err() {
        times.first_byte = times.first_byte.min(COMPLAINT_WAIT);
    }
    let is_sent = sent.is_ok();
    let head = match (head_in_time(connection, &times).await, sent) {
        (Ok(head), Ok(())) => head,
        // An error can be told before all was sent; a success cannot.
        (Ok(head), Err(_)) if head.status >= 300 => head,
        (_, Err(error)) | (Err(error), Ok(())) => return Err(Failure::silent(error)),
    };
    let received = receive(connection, request, &head, sink, &times, admit).await;
    match received {
        Ok(Body { complaint, is_whole }) => {
            // What was not sent would be missing in front of the next request.
            let keeps = head.keeps && is_sent && is_whole && connection.is_clean();
            Ok(Answer { head, complaint, keeps })
        }
        Err(error) => {
            let error = error.ambiguous();
            Err(Failure { error, stage: Stage::Answered, head: Some(head) })
        }
    }
}

async fn send(connection: &mut Connection, request: &Request<'_>, deadline: Instant) -> Result<()> {
    let mut head = request.head();
    head.extend_from_slice(request.before().as_bytes());
    let is_short = request.body.len() <= TOGETHER_BYTES_MAX;
    if is_short {
        head.extend_from_slice(request.body);
        head.extend_from_slice(request.after().as_bytes());
    }
    let sent = async {
        connection.send_text(head, deadline).await?;
        if is_short {
            return Ok(());
        }
        connection.send_body(request.body, deadline).await?;
        match request.after().is_empty() {
            true => Ok(()),
            false => connection.send_text(request.after().as_bytes().to_vec(), deadline).await,
        }
    };
    sent.await.map_err(|error| Error::io("sending the request", &error))
}

/// The head of the answer, unless the attempt is given up for another one.
async fn head_in_time(connection: &mut Connection, times: &Times<'_>) -> Result<Head> {
    let head = receive_head(connection, times);
    let Some(turn) = times.pace.turn else { return head.await };
    let slow = || Err(Error::new(ErrorKind::TimedOut, "the answer takes longer than usual"));
    turn.wait(head).await.unwrap_or_else(slow)
}

async fn receive_head(connection: &mut Connection, times: &Times<'_>) -> Result<Head> {
    let mut until = times.pace.deadline.min(time::now() + times.first_byte);
    loop {
        let parsed = match connection.pending().is_empty() {
            true => None,
            false => Head::parse(connection.pending())?,
        };
        if let Some((head, len)) = parsed {
            connection.consume(len);
            // Others may come before the answer.
            if head.status >= 200 {
                return Ok(head);
            }
            continue;
        }
        if connection.pending().len() > HEAD_BYTES_MAX {
            return Err(Error::protocol("the head of the answer does not end"));
        }
        match connection.fill(until).await {
            Ok(0) => {
                let what = "the connection ended before the answer";
                return Err(Error::new(ErrorKind::Connection, what));
            }
            Ok(_) => until = times.pace.until(),
            Err(error) => return Err(Error::io("waiting for the answer", &error)),
        }
    }
}

/// What came behind the head, other than into the sink.
struct Body {
    complaint: Vec<u8>,
    /// The connection stands where the next answer begins.
    is_whole: bool,
}

/// Receives the body: into the sink, or as what the store says about an error.
async fn receive(
    connection: &mut Connection,
    request: &Request<'_>,
    head: &Head,
    sink: &mut Sink,
    times: &Times<'_>,
    admit: impl FnOnce(&Head, &mut Sink) -> Result<()>,
) -> Result<Body> {
    let pace = times.pace;
    let is_success = head.status < 300;
    if is_success {
        admit(head, sink)?;
    }
    let is_bodiless = request.method == "HEAD" || matches!(head.status, 204 | 304);
    if is_bodiless {
        return Ok(Body { complaint: Vec::new(), is_whole: true });
    }
    if is_success {
        // An answer without a body may forget to say so.
        let is_whole = head.length != Length::Unknown;
        if is_whole || sink.room() > 0 {
            body::receive(connection, head.length, sink, pace).await?;
        }
        return Ok(Body { complaint: Vec::new(), is_whole });
    }
    let mut complaint = Sink::growing(COMPLAINT_BYTES_MAX);
    // The status says enough where the rest cannot be read.
    let is_whole = body::receive(connection, head.length, &mut complaint, pace).await.is_ok();
    Ok(Body { complaint: complaint.bytes().to_vec(), is_whole })
}

//! `COPY .. FROM STDIN`: the client's messages become the input of the statement. What goes the other
//! way is in `out`.

mod out;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use engine::{
    COPY_CHUNKS, Client, Copy, CopyFormat, PipeSender, SqlError, SqlResult, Statement,
    StatementResult, pipe,
};

use crate::connection::Connection;
use crate::frame::Input;
use crate::stream::Stream;

/// Bytes that are handed over together, at least, when more has come.
const CHUNK_BYTES: usize = 64 << 10;

impl Connection {
    /// Runs a COPY that the client feeds: the statement and the client's messages go on together.
    pub(crate) async fn copy_in(&mut self, copy: Copy) -> io::Result<SqlResult<StatementResult>> {
        let is_binary = copy.options.format == CopyFormat::Binary;
        let statement = Statement::Copy(copy);
        match self.session.start_copy_in(&statement) {
            Ok(columns) => self.output.copy_response(b'G', is_binary, columns),
            Err(error) => return Ok(Err(error)),
        }
        self.flush().await?;
        let (sender, receiver) = pipe(COPY_CHUNKS);
        let client = Client { input: Some(receiver), ..Client::default() };
        let feed = feed(&mut self.input, &mut self.stream, sender);
        let (fed, result) = both(feed, self.session.run(statement, client)).await;
        self.pass_notices();
        self.has_run();
        fed.map(|told| told.and(result))
    }
}

/// What two pieces of work give that go on in turns.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut first = None;
    let second = poll_fn(|cx| {
        if first.is_none()
            && let Poll::Ready(done) = one.as_mut().poll(cx)
        {
            first = Some(done);
        }
        other.as_mut().poll(cx)
    });
    let second = second.await;
    match first {
        Some(first) => (first, second),
        None => (one.await, second),
    }
}

/// Passes the client's data on until it has no more. The inner error is the client's own.
async fn feed(
    input: &mut Input,
    stream: &mut Stream,
    sender: PipeSender<Vec<u8>>,
) -> io::Result<SqlResult<()>> {
    let mut gathered = vec![];
    loop {
        // What has come goes on together: a message is often a row, and each hand-over a switch.
        if !gathered.is_empty() && (gathered.len() >= CHUNK_BYTES || !input.has_frame()) {
            send(&sender, &mut gathered).await;
        }
        let Some(frame) = input.next(stream).await? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if frame.tag == b'd' {
            gathered.extend_from_slice(&frame.body);
            continue;
        }
        if !gathered.is_empty() {
            send(&sender, &mut gathered).await;
        }
        match frame.tag {
            b'c' => {
                sender.finish();
                return Ok(Ok(()));
            }
            b'f' => {
                let why = String::from_utf8_lossy(&frame.body);
                let message = format!("COPY from stdin failed: {}", why.trim_end_matches('\0'));
                sender.fail(message.clone());
                return Ok(Err(SqlError::new(types::SqlState::QUERY_CANCELED, message)));
            }
            // Flush and Sync may come in between.
            b'H' | b'S' => {}
            tag => {
                let message = format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                sender.fail(message.clone());
                return Ok(Err(SqlError::new(types::SqlState::PROTOCOL_VIOLATION, message)));
            }
        }
    }
}

/// Passes on what was gathered. A statement that takes no more has failed, and says why at its end.
async fn send(sender: &PipeSender<Vec<u8>>, gathered: &mut Vec<u8>) {
    let _ = sender.send(std::mem::take(gathered)).await;
}

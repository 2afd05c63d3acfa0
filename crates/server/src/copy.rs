//! `COPY .. FROM STDIN`: the client's messages become the input of the statement. What goes the other
//! way is in `out`.

mod out;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use engine::{CopyFormat, CopySource, SqlError, SqlResult, Statement};
use runtime::sync::{Semaphore, SemaphorePermit};

use crate::connection::Connection;

/// Bytes that are handed over together, at least, when more has come.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks that wait for the statement to read them: a client that sends faster waits.
const CHUNK_COUNT_MAX: usize = 16;

#[derive(Default)]
struct Chunks {
    waiting: VecDeque<(Vec<u8>, SemaphorePermit)>,
    ended: bool,
    failed: Option<String>,
    /// The statement reads no more.
    closed: bool,
}

#[derive(Default)]
struct Pipe {
    chunks: Mutex<Chunks>,
    filled: Condvar,
}

impl Pipe {
    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the client's data goes.
pub(crate) struct Source {
    pipe: Arc<Pipe>,
    room: Semaphore,
}

/// What the statement reads.
struct Reader {
    pipe: Arc<Pipe>,
    current: Vec<u8>,
    taken: usize,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.current.len() {
            let mut chunks = self.pipe.chunks();
            if let Some((bytes, room)) = chunks.waiting.pop_front() {
                drop(chunks);
                drop(room);
                (self.current, self.taken) = (bytes, 0);
                continue;
            }
            if let Some(why) = chunks.failed.take() {
                return Err(io::Error::other(why));
            }
            if chunks.ended {
                return Ok(0);
            }
            drop(self.pipe.filled.wait(chunks).unwrap_or_else(PoisonError::into_inner));
        }
        let count = into.len().min(self.current.len() - self.taken);
        into[..count].copy_from_slice(&self.current[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut chunks = self.pipe.chunks();
        chunks.closed = true;
        chunks.waiting.clear();
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.pipe.chunks().ended = true;
        self.pipe.filled.notify_all();
    }
}

/// Both ends of a pipe.
fn pipe() -> (Source, Reader) {
    let pipe = Arc::new(Pipe::default());
    let reader = Reader { pipe: pipe.clone(), current: Vec::new(), taken: 0 };
    (Source { pipe, room: Semaphore::new(CHUNK_COUNT_MAX) }, reader)
}

impl Source {
    async fn push(&self, bytes: Vec<u8>) {
        let room = self.room.acquire().await;
        let mut chunks = self.pipe.chunks();
        if !chunks.closed {
            chunks.waiting.push_back((bytes, room));
            self.pipe.filled.notify_one();
        }
    }

    fn fail(&self, why: String) {
        self.pipe.chunks().failed = Some(why);
    }
}

impl Connection {
    /// Asks the client for the data of a COPY; `None` when they come from elsewhere.
    pub(crate) fn copy_in(
        &mut self,
        statement: &Statement,
    ) -> SqlResult<Option<(Source, Box<dyn Read + Send>)>> {
        let Statement::Copy(copy) = statement else { return Ok(None) };
        if copy.source != CopySource::Stdin {
            return Ok(None);
        }
        let session = self.session.as_ref().expect("no statement runs now");
        let columns = session.start_copy_in(statement)?;
        let is_binary = copy.options.format == CopyFormat::Binary;
        self.output.copy_response(b'G', is_binary, columns);
        let (source, reader) = pipe();
        Ok(Some((source, Box::new(reader))))
    }

    /// Passes the client's data on until it has no more. The inner error is the client's own.
    pub(crate) async fn feed(&mut self, source: Source) -> io::Result<SqlResult<()>> {
        let mut gathered = vec![];
        loop {
            // What has come goes on together: a message is often a row, and each hand-over a switch.
            if !gathered.is_empty() && (gathered.len() >= CHUNK_BYTES || !self.input.has_frame()) {
                source.push(std::mem::take(&mut gathered)).await;
            }
            let Some(frame) = self.input.next(&mut self.stream).await? else {
                source.fail("the client is gone".to_owned());
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            if frame.tag == b'd' {
                gathered.extend_from_slice(&frame.body);
                continue;
            }
            if !gathered.is_empty() {
                source.push(std::mem::take(&mut gathered)).await;
            }
            match frame.tag {
                b'c' => return Ok(Ok(())),
                b'f' => {
                    let why = String::from_utf8_lossy(&frame.body);
                    let message = format!("COPY from stdin failed: {}", why.trim_end_matches('\0'));
                    source.fail(message.clone());
                    return Ok(Err(SqlError::new(types::SqlState::QUERY_CANCELED, message)));
                }
                // Flush and Sync may come in between.
                b'H' | b'S' => {}
                tag => {
                    let message =
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                    source.fail(message.clone());
                    return Ok(Err(SqlError::new(types::SqlState::PROTOCOL_VIOLATION, message)));
                }
            }
        }
    }
}

//! `COPY .. FROM STDIN`: the client's messages become the input of the statement. What goes the other
//! way is in `out`.

mod out;

use std::io;

use engine::{
    COPY_CHUNKS, CopyFormat, CopySource, PipeReceiver, PipeSender, SqlError, SqlResult, Statement,
    pipe,
};

use crate::connection::Connection;

/// Bytes that are handed over together, at least, when more has come.
const CHUNK_BYTES: usize = 64 << 10;

/// Both ends of the data of a `COPY .. FROM STDIN`.
pub(crate) type CopyPipe = (PipeSender<Vec<u8>>, PipeReceiver<Vec<u8>>);

impl Connection {
    /// Asks the client for the data of a COPY; `None` when they come from elsewhere.
    pub(crate) fn copy_in(&mut self, statement: &Statement) -> SqlResult<Option<CopyPipe>> {
        let Statement::Copy(copy) = statement else { return Ok(None) };
        if copy.source != CopySource::Stdin {
            return Ok(None);
        }
        let session = self.session.as_ref().expect("no statement runs now");
        let columns = session.start_copy_in(statement)?;
        let is_binary = copy.options.format == CopyFormat::Binary;
        self.output.copy_response(b'G', is_binary, columns);
        Ok(Some(pipe(COPY_CHUNKS)))
    }

    /// Passes the client's data on until it has no more. The inner error is the client's own.
    pub(crate) async fn feed(&mut self, sender: PipeSender<Vec<u8>>) -> io::Result<SqlResult<()>> {
        let mut gathered = vec![];
        loop {
            // What has come goes on together: a message is often a row, and each hand-over a switch.
            if !gathered.is_empty() && (gathered.len() >= CHUNK_BYTES || !self.input.has_frame()) {
                send(&sender, &mut gathered).await;
            }
            let Some(frame) = self.input.next(&mut self.stream).await? else {
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
                    let message =
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                    sender.fail(message.clone());
                    return Ok(Err(SqlError::new(types::SqlState::PROTOCOL_VIOLATION, message)));
                }
            }
        }
    }
}

/// Passes on what was gathered. A statement that takes no more has failed, and says why at its end.
async fn send(sender: &PipeSender<Vec<u8>>, gathered: &mut Vec<u8>) {
    let _ = sender.send(std::mem::take(gathered)).await;
}

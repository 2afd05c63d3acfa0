//! The server that a replica follows: a client of the protocol that asks for a copy, then for what
//! is archived as it comes.

mod link;

use std::path::Path;

use engine::{Inbox, ReplicaFigures, Shipment, SqlError, SqlResult, SqlState};
use runtime::IoBuf;
use runtime::fs::{File, OpenOptions};

use crate::frame::Frame;
use crate::replication::{BYTES, FORMAT, POSITION, REPLY, SEGMENT, WHOLE};
use link::Link;

/// Work in a task.
type LocalFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + 'a>>;

/// How the server that a replica follows is reached.
#[derive(Clone)]
pub struct Upstream {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// A role that may replicate.
    pub user: String,
    /// Its password, where one is asked for.
    pub password: Option<String>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Upstream({}:{})", self.host, self.port)
    }
}

impl engine::Upstream for Upstream {
    fn copy<'a>(&'a self, path: &'a Path) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let mut link = Link::open(self).await?;
            link.query(&format!("BASE_BACKUP FORMAT {FORMAT}")).await?;
            let options = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
            let file = File::open(path, options).await.map_err(failed)?;
            let mut at = 0;
            while let Some(frame) = link.copied().await? {
                let len = frame.body.len() as u64;
                let written = file.write_all_at(IoBuf::copy_of(&frame.body), at).await.0;
                written.map_err(failed)?;
                at += len;
            }
            file.sync_data().await.map_err(failed)
        })
    }

    fn receive<'a>(
        &'a self,
        folder: &'a Path,
        copy: &'a Path,
        told: &'a (dyn Fn() -> ReplicaFigures + 'a),
        came: &'a (dyn Fn() + 'a),
    ) -> LocalFuture<'a, SqlError> {
        Box::pin(async move {
            match self.received(folder, copy, (told, came)).await {
                Err(error) => error,
                Ok(()) => SqlError::new(SqlState("08006"), "the server has ended it"),
            }
        })
    }

    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl Upstream {
    async fn received(
        &self,
        folder: &Path,
        copy: &Path,
        (told, came): (&dyn Fn() -> ReplicaFigures, &dyn Fn()),
    ) -> SqlResult<()> {
        let unusable =
            |error: engine::FollowError| SqlError::new(SqlState("55000"), error.to_string());
        let mut inbox = Inbox::open(folder, copy).await.map_err(unusable)?;
        let place = inbox.place();
        let mut link = Link::open(self).await?;
        let (line, checkpoint, offset) = (place.line, place.checkpoint, place.offset);
        let command = format!("START_REPLICATION {line:X} {checkpoint} {offset} FORMAT {FORMAT}");
        link.query(&command).await?;
        loop {
            let Some(frame) = link.copied().await? else { return Ok(()) };
            match decoded(frame) {
                // The first one says where it begins.
                Some(Said::Shipment(Shipment::Segment(known)))
                    if known == inbox.place().checkpoint => {}
                Some(Said::Shipment(shipment)) => {
                    inbox.take(shipment).await.map_err(unusable)?;
                    came();
                }
                Some(Said::Position) => link.send(&reply(&told())).await?,
                None => {
                    let message = "the server says what is not understood";
                    return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message));
                }
            }
        }
    }
}

fn failed(error: std::io::Error) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("could not write the copy: {error}"))
}

/// A message of the server.
enum Said {
    Shipment(Shipment),
    Position,
}

fn decoded(frame: Frame) -> Option<Said> {
    let (kind, rest) = frame.body.split_first()?;
    Some(match *kind {
        SEGMENT => Said::Shipment(Shipment::Segment(u64::from_be_bytes(rest.try_into().ok()?))),
        BYTES => Said::Shipment(Shipment::Bytes(rest.to_vec())),
        WHOLE => Said::Shipment(Shipment::Whole),
        POSITION => Said::Position,
        _ => return None,
    })
}

/// How far the replica is, as it says it.
fn reply(figures: &ReplicaFigures) -> Vec<u8> {
    let (received, replayed) = (figures.received, figures.replayed);
    let words = [received.checkpoint, received.bytes, replayed.checkpoint, replayed.bytes];
    std::iter::once(REPLY).chain(words.iter().flat_map(|word| word.to_be_bytes())).collect()
}

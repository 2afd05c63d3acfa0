//! Replicas of this server: a copy of the file, then what is archived, as it comes
//! (`docs/format/archive.md`, section 7).

use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use engine::{
    Courier, Notice, ReplicaSeen, SegmentPlace, Shipment, Shown, SqlError, SqlResult, SqlState,
};
use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};
use runtime::net::Address;
use runtime::sync::Cancel;
use runtime::time::{self, Instant};

use crate::connection::Connection;
use crate::drain::{self, Stage};
use crate::log::Severity;
use crate::message::Reader;

/// The form of what is sent; another one is refused.
pub(crate) const FORMAT: u32 = 1;

/// Kinds of what is sent, each the first byte of a `CopyData`.
pub(crate) const SEGMENT: u8 = b'B';
pub(crate) const BYTES: u8 = b'D';
pub(crate) const WHOLE: u8 = b'W';
pub(crate) const POSITION: u8 = b'K';
/// The kind of a replica's messages.
pub(crate) const REPLY: u8 = b'r';

/// How often the archive is asked for more.
const LOOK: Duration = Duration::from_millis(10);

/// How often a replica is told how far the server is.
const TELL: Duration = Duration::from_secs(1);

/// How often it is asked whether a connection is to end that works or sends.
const PULSE: Duration = Duration::from_millis(100);

/// Bytes of the copy that are sent at a time.
const COPY_BYTES: u64 = 256 << 10;

/// A request of a replica.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Copy,
    Stream(SegmentPlace),
}

impl Command {
    fn parse(text: &str) -> SqlResult<Command> {
        let wrong = || {
            let message = format!("syntax error in replication command \"{text}\"");
            SqlError::new(SqlState::SYNTAX_ERROR, message)
        };
        let words: Vec<String> =
            text.trim_end_matches(';').split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (place, format) = match *words {
            ["BASE_BACKUP", "FORMAT", format] => (None, format),
            ["START_REPLICATION", line, checkpoint, offset, "FORMAT", format] => {
                let line = u64::from_str_radix(line, 16).map_err(|_| wrong())?;
                let number = |digits: &str| digits.parse().map_err(|_| wrong());
                let (checkpoint, offset) = (number(checkpoint)?, number(offset)?);
                (Some(SegmentPlace { line, checkpoint, offset }), format)
            }
            _ => return Err(wrong()),
        };
        if format.parse() != Ok(FORMAT) {
            let message = format!("replication in format {format} is not known here");
            return Err(SqlError::unsupported(message)
                .with_hint("Replica and primary are to be of the same version."));
        }
        Ok(place.map_or(Command::Copy, Command::Stream))
    }
}

impl Connection {
    /// Refuses a role that may not follow the server, and a server that cannot be followed.
    ///
    /// # Errors
    /// 42501, 0A000 for a replica, 55000 without an archive.
    pub(crate) fn check_replication(&self) -> SqlResult<()> {
        if !self.session.may_replicate() {
            let message = "must be superuser or replication role to follow the server";
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        let db = self.shared.db();
        if db.is_in_recovery() {
            let message = "a replica cannot be followed";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Follow its primary."));
        }
        self.archive_folder().map(drop)
    }

    fn archive_folder(&self) -> SqlResult<PathBuf> {
        self.shared.db().archive_folder().ok_or_else(|| {
            let message = "the server is not archived, so it cannot be followed";
            SqlError::new(SqlState("55000"), message)
                .with_hint("Start it with --archive FOLDER: replicas get what is there.")
        })
    }

    /// Answers what a replica asks for.
    pub(crate) async fn replication_command(&mut self, body: &[u8]) -> io::Result<()> {
        let mut reader = Reader(body);
        let command = reader.string().and_then(Command::parse);
        let done = match command {
            Ok(Command::Copy) => Box::pin(self.send_backup()).await?,
            Ok(Command::Stream(place)) => Box::pin(self.stream_segments(place)).await?,
            Err(error) => Err(error),
        };
        match done {
            Ok(tag) => self.output.command_complete(tag),
            Err(error) => self.fail(&error),
        }
        self.ready().await
    }

    fn shown(&self, state: &'static str) -> Shown {
        let session = &self.session;
        let address = match &self.peer {
            Address::Tcp(address) => Some(address.ip().to_string()),
            Address::Unix(_) => None,
        };
        let pid = session.activity().signals().map_or(0, |signals| signals.pid);
        let seen = ReplicaSeen {
            pid,
            user: session.user().to_owned(),
            application_name: session.application_name().to_owned(),
            address,
            entered_us: session.activity().entered_us,
            state,
            ..ReplicaSeen::default()
        };
        self.shared.db().activities().replicas.enter(seen)
    }

    /// Sends a copy of the file, which is made in the folder of the archive and removed then.
    async fn send_backup(&mut self) -> io::Result<SqlResult<&'static str>> {
        let folder = match self.archive_folder() {
            Ok(folder) => folder,
            Err(error) => return Ok(Err(error)),
        };
        let shown = self.shown("backup");
        let name = format!("copy-{}", time::unix_us());
        let path = folder.join(name);
        let sent = match self.make_backup(&path).await {
            Err(error) => Err(error),
            Ok(Err(error)) => Ok(Err(error)),
            Ok(Ok(_)) => self.send_file(&path).await,
        };
        fs::remove(&path).await.ok();
        drop(shown);
        sent
    }

    /// Makes the copy, and says each second that it still does: a replica takes a server for gone
    /// that is silent.
    async fn make_backup(&mut self, path: &Path) -> io::Result<SqlResult<u64>> {
        let (db, cancel, leaving) = (self.shared.db(), Cancel::new(), self.leaving());
        let mut work = db.back_up_within(path, &cancel);
        let mut told = time::now();
        loop {
            if let Ok(made) = time::timeout(PULSE, &mut work).await {
                return Ok(made);
            }
            let is_due = told.elapsed() >= TELL;
            let said = if is_due { self.say_alive().await } else { Ok(()) };
            if said.is_err() || leaving() {
                cancel.cancel();
                drop(work.await);
                said?;
                return self.part_from_replica().await;
            }
            if is_due {
                told = time::now();
            }
        }
    }

    async fn say_alive(&mut self) -> io::Result<()> {
        self.output.notice(&Notice::information("the copy is being made"));
        self.push().await
    }

    async fn send_file(&mut self, path: &Path) -> io::Result<SqlResult<&'static str>> {
        let file = File::open(path, OpenOptions { read: true, ..OpenOptions::default() }).await?;
        // A server that is killed meanwhile leaves nothing of it.
        fs::remove(path).await?;
        let (len, leaving) = (file.len().await?, self.leaving());
        self.output.copy_response(b'H', true, 0);
        let mut at = 0;
        while at < len {
            if leaving() {
                return self.part_from_replica().await;
            }
            let count = COPY_BYTES.min(len - at);
            let (read, piece) = file.read_exact_at(IoBuf::alloc(count as usize), at).await;
            read?;
            self.output.copy_data(piece.as_slice());
            self.push().await?;
            at += count;
        }
        self.output.empty(b'c');
        Ok(Ok("BASE_BACKUP"))
    }

    /// True if a replica is to go: it comes again, so the end of the server does not wait for it.
    fn leaving(&self) -> impl Fn() -> bool + use<> {
        let (shared, ending) = (self.shared.clone(), self.ending());
        move || ending() || shared.drain.stage() != Stage::Open
    }

    /// Sends what waits to be sent, unless the connection is to end meanwhile: the replica may take
    /// nothing more.
    async fn push(&mut self) -> io::Result<()> {
        let leaving = self.leaving();
        {
            let mut sent = pin!(self.flush());
            loop {
                match time::timeout(PULSE, sent.as_mut()).await {
                    Ok(sent) => return sent,
                    Err(_) if leaving() => break,
                    Err(_) => {}
                }
            }
        }
        self.give_up()
    }

    /// Nothing more is said behind a message of which nobody knows how much has been sent.
    fn give_up<T>(&mut self) -> io::Result<T> {
        self.output.bytes.clear();
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Tells a replica that its connection ends in the midst of a copy, if it listens.
    async fn part_from_replica<T>(&mut self) -> io::Result<T> {
        let farewell = drain::farewell();
        self.record_error(&farewell, Severity::Fatal);
        self.output.error(&farewell, "FATAL");
        drop(time::timeout(PULSE, self.flush()).await);
        self.give_up()
    }

    /// Sends what is archived from a place on, until the replica or the server ends it.
    async fn stream_segments(
        &mut self,
        place: SegmentPlace,
    ) -> io::Result<SqlResult<&'static str>> {
        let folder = match self.archive_folder() {
            Ok(folder) => folder,
            Err(error) => return Ok(Err(error)),
        };
        let mut courier = match Courier::open(&folder, place, self.shared.db().archived_to()).await
        {
            Ok(courier) => courier,
            Err(error) => return Ok(Err(not_there(&error.to_string()))),
        };
        let (shown, leaving) = (self.shown("catchup"), self.leaving());
        self.output.copy_response(b'W', true, 0);
        self.output.copy_data(&segment(place.checkpoint));
        let mut told = None::<Instant>;
        loop {
            if leaving() {
                self.output.empty(b'c');
                return Ok(Ok("START_REPLICATION"));
            }
            match courier.next(self.shared.db().archived_to()).await {
                Ok(Some(shipment)) => {
                    self.output.copy_data(&encoded(shipment));
                    self.push().await?;
                    continue;
                }
                Ok(None) => {}
                Err(error) => return Ok(Err(not_there(&error.to_string()))),
            }
            let db = self.shared.db();
            let (now, line) = (db.log_position(), db.archive_line());
            if line != 0 && line != place.line {
                return Ok(Err(not_there("the archive has begun anew behind the replica")));
            }
            shown.change(|seen| (seen.state, seen.sent) = ("streaming", now));
            if told.is_none_or(|told| told.elapsed() >= TELL) {
                told = Some(time::now());
                self.output.copy_data(&position(now, time::unix_us()));
            }
            self.push().await?;
            if !self.hear(&shown).await? {
                return Ok(Ok("START_REPLICATION"));
            }
        }
    }

    /// Takes what the replica says, if that comes soon; false at its end.
    async fn hear(&mut self, shown: &Shown) -> io::Result<bool> {
        if !self.input.has_frame() && time::timeout(LOOK, self.stream.readable()).await.is_err() {
            return Ok(true);
        }
        let Some(frame) = self.input.next(&mut self.stream).await? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match frame.tag {
            b'd' => {
                if let Some((received, replayed)) = replied(&frame.body) {
                    shown.change(|seen| {
                        (seen.received, seen.replayed) = (received, replayed);
                        seen.replied_us = Some(time::unix_us());
                    });
                }
                Ok(true)
            }
            b'c' => {
                self.output.empty(b'c');
                Ok(false)
            }
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn not_there(why: &str) -> SqlError {
    SqlError::new(SqlState("55000"), why.to_owned()).with_hint("The replica needs a new copy.")
}

fn segment(checkpoint: u64) -> Vec<u8> {
    [&[SEGMENT][..], &checkpoint.to_be_bytes()].concat()
}

fn encoded(shipment: Shipment) -> Vec<u8> {
    match shipment {
        Shipment::Segment(checkpoint) => segment(checkpoint),
        Shipment::Bytes(bytes) => [&[BYTES][..], &bytes].concat(),
        Shipment::Whole => vec![WHOLE],
    }
}

/// Two positions, or one with a time: each two numbers.
fn position(now: engine::LogPosition, time_us: i64) -> Vec<u8> {
    let (checkpoint, bytes) = (now.checkpoint.to_be_bytes(), now.bytes.to_be_bytes());
    [&[POSITION][..], &checkpoint, &bytes, &time_us.to_be_bytes()].concat()
}

fn replied(body: &[u8]) -> Option<(engine::LogPosition, engine::LogPosition)> {
    let rest = body.strip_prefix(&[REPLY])?;
    let (words, []) = rest.as_chunks::<8>() else { return None };
    let [a, b, c, d] = *words else { return None };
    let place = |checkpoint, bytes| engine::LogPosition {
        checkpoint: u64::from_be_bytes(checkpoint),
        bytes: u64::from_be_bytes(bytes),
    };
    Some((place(a, b), place(c, d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_others_refused() {
        let place = SegmentPlace { line: 0x1f, checkpoint: 7, offset: 12 };
        assert_eq!(Command::parse("BASE_BACKUP FORMAT 1;").unwrap(), Command::Copy);
        let stream = Command::parse("start_replication 1F 7 12 format 1").unwrap();
        assert_eq!(stream, Command::Stream(place));
        let states = [
            "",
            "SELECT 1",
            "BASE_BACKUP",
            "BASE_BACKUP FORMAT 2",
            "START_REPLICATION x 1 2 FORMAT 1",
        ]
        .map(|text| Command::parse(text).unwrap_err().state.0);
        assert_eq!(states, ["42601", "42601", "42601", "0A000", "42601"]);
    }

    #[test]
    fn replies_come_back_and_others_are_none() {
        let words: Vec<u8> = [1u64, 2, 3, 4].iter().flat_map(|word| word.to_be_bytes()).collect();
        let body = [&[REPLY][..], &words].concat();
        let (received, replayed) = replied(&body).unwrap();
        assert_eq!((received.checkpoint, received.bytes), (1, 2));
        assert_eq!((replayed.checkpoint, replayed.bytes), (3, 4));
        assert!(replied(&body[..body.len() - 1]).is_none());
        assert!(replied(b"x").is_none());
    }
}

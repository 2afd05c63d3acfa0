//! A client that speaks the PostgreSQL protocol over the simulated network.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use runtime::net::{Address, Socket};
use rustls::ClientConfig;

use crate::channel::Channel;

/// Where the server listens.
pub const SERVER: &str = "127.0.0.1:5432";
/// Protocol 3.0, and the number that stands in its place in a cancel request.
const PROTOCOL: u32 = 3 << 16;
const CANCEL_REQUEST: u32 = 80_877_102;

/// An error as a client is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub state: String,
    pub message: String,
}

/// What has come of an answer: all of it, or what came before the connection ended.
#[derive(Debug, Default)]
pub struct Reply {
    pub rows: Vec<Vec<String>>,
    /// One for each statement that was acknowledged.
    pub tags: Vec<String>,
    pub refusal: Option<Refusal>,
    /// Whether the server waits for the next query.
    pub is_ready: bool,
}

/// What names a session to a cancel request.
#[derive(Clone, Debug)]
pub struct CancelKey {
    pub pid: i32,
    secret: Vec<u8>,
}

/// A connection that is logged in.
pub struct Wire {
    channel: Channel,
    input: Vec<u8>,
    pub key: CancelKey,
}

async fn connected() -> io::Result<Socket> {
    Socket::connect(&Address::Tcp(SERVER.parse().expect("an address"))).await
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Adds a message with its length.
fn message(into: &mut Vec<u8>, tag: u8, body: &[u8]) {
    into.push(tag);
    into.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    into.extend_from_slice(body);
}

/// Asks the server to cancel what a session does, on a connection of its own.
pub async fn cancel(key: CancelKey) -> io::Result<()> {
    let socket = connected().await?;
    let mut bytes = (12 + key.secret.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
    bytes.extend_from_slice(&key.pid.to_be_bytes());
    bytes.extend_from_slice(&key.secret);
    socket.send_all(&bytes).await?;
    match socket.recv(&mut [0; 8]).await? {
        0 => Ok(()),
        count => Err(invalid(format!("{count} bytes in answer to a cancel request"))),
    }
}

impl Wire {
    /// Connects and logs in, encrypted or not.
    ///
    /// # Errors
    /// What became of the connection; a refusal of the server is `PermissionDenied`.
    pub async fn open(encryption: Option<&Arc<ClientConfig>>) -> io::Result<Wire> {
        let socket = connected().await?;
        let channel = match encryption {
            Some(config) => Channel::encrypted(socket, config).await?,
            None => Channel::plain(socket),
        };
        let key = CancelKey { pid: 0, secret: vec![] };
        let mut wire = Wire { channel, input: vec![], key };
        let body = b"user\0simulated\0\0";
        let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
        bytes.extend_from_slice(&PROTOCOL.to_be_bytes());
        bytes.extend_from_slice(body);
        wire.channel.send_all(&bytes).await?;
        let mut reply = Reply::default();
        let ended = wire.read(&mut reply).await;
        match reply.refusal {
            Some(refusal) => Err(io::Error::new(ErrorKind::PermissionDenied, refusal.state)),
            None => ended.map(|()| wire),
        }
    }

    /// Sends a text of statements; the answer is still to be read.
    pub async fn ask(&mut self, sql: &str) -> io::Result<()> {
        let mut bytes = vec![];
        message(&mut bytes, b'Q', format!("{sql}\0").as_bytes());
        self.channel.send_all(&bytes).await
    }

    /// The same by the extended protocol: parsed, bound to the bounds of its keys as parameters, executed; the
    /// rows of a query are fetched a few at a time.
    pub async fn ask_extended(&mut self, sql: &str) -> io::Result<()> {
        // What a cursor goes over has no parameters.
        let (sql, values) = match sql.starts_with("declare") {
            true => (sql.to_owned(), vec![]),
            false => with_parameters(sql),
        };
        let mut bytes = vec![];
        message(&mut bytes, b'P', format!("\0{sql}\0\0\0").as_bytes());
        message(&mut bytes, b'B', &bound(&values));
        let limits: &[u32] = if sql.starts_with("select") { &[2, 5, 0] } else { &[0] };
        for limit in limits {
            message(&mut bytes, b'E', &[&[0], &limit.to_be_bytes()[..]].concat());
        }
        message(&mut bytes, b'S', b"");
        self.channel.send_all(&bytes).await
    }

    /// Closes a cursor by the extended protocol.
    pub async fn ask_to_close(&mut self, cursor: &str) -> io::Result<()> {
        let mut bytes = vec![];
        message(&mut bytes, b'C', format!("P{cursor}\0").as_bytes());
        message(&mut bytes, b'S', b"");
        self.channel.send_all(&bytes).await
    }

    /// Says that nothing more will be asked.
    pub fn half_close(&self) {
        // A connection that is gone already says so when the answer is read.
        self.channel.half_close().ok();
    }

    /// Says good-bye and closes.
    pub async fn leave(mut self) -> io::Result<()> {
        let mut bytes = vec![];
        message(&mut bytes, b'X', b"");
        self.channel.send_all(&bytes).await
    }

    /// Reads until the server waits for the next query, into `reply`, which holds what has come also
    /// when the connection ends before that.
    pub async fn read(&mut self, reply: &mut Reply) -> io::Result<()> {
        while !reply.is_ready {
            let (tag, body) = self.next().await?;
            self.take(reply, tag, &body)?;
        }
        Ok(())
    }

    async fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        loop {
            if let Some((head, rest)) = self.input.split_at_checked(5) {
                let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                let body_len =
                    len.checked_sub(4).ok_or_else(|| invalid(format!("length {len}")))?;
                if rest.len() >= body_len {
                    let frame = (head[0], rest[..body_len].to_vec());
                    self.input.drain(..5 + body_len);
                    return Ok(frame);
                }
            }
            let mut bytes = vec![0; 4096];
            match self.channel.recv(&mut bytes).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => self.input.extend_from_slice(&bytes[..count]),
            }
        }
    }

    fn take(&mut self, reply: &mut Reply, tag: u8, body: &[u8]) -> io::Result<()> {
        match tag {
            b'Z' => reply.is_ready = true,
            b'C' => reply.tags.push(strings(body).remove(0)),
            b'D' => reply.rows.push(row(body)?),
            b'E' => reply.refusal = Some(refusal(body)),
            b'K' => {
                let (pid, secret) =
                    body.split_at_checked(4).ok_or_else(|| invalid("a key".into()))?;
                let pid = i32::from_be_bytes([pid[0], pid[1], pid[2], pid[3]]);
                self.key = CancelKey { pid, secret: secret.to_vec() };
            }
            // Authentication, parameters, notices, descriptions; parsed, bound, closed, no data.
            b'R' | b'S' | b'N' | b'T' | b'1' | b'2' | b'3' | b'n' => {}
            // There may be more rows.
            b's' => {}
            tag => return Err(invalid(format!("message {}", char::from(tag)))),
        }
        Ok(())
    }
}

/// The statement with parameters in place of the numbers that its keys are compared with, and these.
fn with_parameters(sql: &str) -> (String, Vec<String>) {
    let (mut text, mut values) = (String::new(), vec![]);
    for word in sql.split(' ') {
        let is_bound = text.ends_with(">= ") || text.ends_with("< ");
        if is_bound && word.bytes().all(|byte| byte.is_ascii_digit()) {
            values.push(word.to_owned());
            text += &format!("${} ", values.len());
        } else {
            text += &format!("{word} ");
        }
    }
    (text, values)
}

/// The body of a message that binds the unnamed statement to values, all of them as texts.
fn bound(values: &[String]) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend_from_slice(&[0; 2]);
    body
}

/// The texts of a message that end with zeros.
fn strings(body: &[u8]) -> Vec<String> {
    body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

fn refusal(body: &[u8]) -> Refusal {
    let fields = strings(body);
    let field = |code: char| {
        let found = fields.iter().find_map(|field| field.strip_prefix(code));
        found.unwrap_or_default().to_owned()
    };
    Refusal { state: field('C'), message: field('M') }
}

/// The values of a row as texts; a null is an empty one.
fn row(body: &[u8]) -> io::Result<Vec<String>> {
    let short = || invalid("a row that is too short".into());
    let (_, mut rest) = body.split_at_checked(2).ok_or_else(short)?;
    let mut values = vec![];
    while !rest.is_empty() {
        let (len, after) = rest.split_at_checked(4).ok_or_else(short)?;
        let len = i32::from_be_bytes([len[0], len[1], len[2], len[3]]).max(0) as usize;
        let (value, after) = after.split_at_checked(len).ok_or_else(short)?;
        values.push(String::from_utf8_lossy(value).into_owned());
        rest = after;
    }
    Ok(values)
}

//! A connection to a server, as its client: start-up, password, one query.

use std::io;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::{SqlError, SqlResult, SqlState};
use runtime::net::{Address, Socket, resolve};
use runtime::time;

use super::Upstream;
use crate::frame::{Frame, Input};
use crate::message::Reader;
use crate::output::{Output, string};
use crate::scram;
use crate::stream::Stream;

/// A server says each second how far it is, or that it still makes a copy: one that is silent for
/// so long is gone.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a server has to answer a connection.
const CONNECT: Duration = Duration::from_secs(10);

const PROTOCOL_3_0: i32 = 3 << 16;

/// Bytes of a nonce.
const NONCE_BYTES: usize = 18;

/// Fewest rounds of a proof: RFC 7677's number. A server that asks for fewer makes the password
/// easier to guess for who reads the exchange.
const ITERATIONS_MIN: u32 = 4096;

/// Most rounds of a proof: a second of a processor. They are computed before the server has shown
/// that it knows the password, so anybody who answers at its address may ask for them; and each
/// attempt to connect computes them again.
const ITERATIONS_MAX: u32 = 1_000_000;

/// Longest message of a server: a piece of a copy or of a segment is 256 KiB at most.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// A connection that is logged in.
pub(super) struct Link {
    stream: Stream,
    input: Input,
    output: Output,
}

impl Link {
    /// Connects, and logs in.
    ///
    /// # Errors
    /// 08001 when the server cannot be reached; what it says.
    pub async fn open(upstream: &Upstream) -> SqlResult<Link> {
        let opened = time::timeout(CONNECT, Link::connected(upstream)).await;
        opened.unwrap_or_else(|_| {
            Err(SqlError::new(SqlState("08001"), "the server does not answer in time"))
        })
    }

    async fn connected(upstream: &Upstream) -> SqlResult<Link> {
        let unreachable = |error: io::Error| {
            let message = format!("could not connect to {}: {error}", upstream.host);
            SqlError::new(SqlState("08001"), message)
        };
        let mut outcome = Err(io::ErrorKind::NotFound.into());
        for ip in resolve(&upstream.host, ()).await.map_err(unreachable)? {
            outcome = Socket::connect(&Address::Tcp((ip, upstream.port).into())).await;
            if outcome.is_ok() {
                break;
            }
        }
        let stream = Stream::new(outcome.map_err(unreachable)?);
        let input = Input::of_server(MESSAGE_BYTES_MAX);
        let mut link = Link { stream, input, output: Output::default() };
        link.log_in(upstream).await?;
        Ok(link)
    }

    async fn log_in(&mut self, upstream: &Upstream) -> SqlResult<()> {
        let mut body = PROTOCOL_3_0.to_be_bytes().to_vec();
        let parameters = [
            ("user", upstream.user.as_str()),
            ("replication", "true"),
            ("application_name", "dovetail replica"),
        ];
        for (name, value) in parameters {
            string(&mut body, name);
            string(&mut body, value);
        }
        body.push(0);
        self.output.bytes.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        self.output.bytes.append(&mut body);
        loop {
            let frame = self.next().await?;
            match frame.tag {
                b'R' => self.authenticate(&frame.body, upstream).await?,
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    async fn authenticate(&mut self, body: &[u8], upstream: &Upstream) -> SqlResult<()> {
        let mut reader = Reader(body);
        match reader.i32()? {
            0 => Ok(()),
            10 => {
                let password = upstream.password.as_deref().ok_or_else(|| {
                    let message = "the server asks for a password";
                    SqlError::new(SqlState("28P01"), message)
                        .with_hint("Name a file with it: --replica-password-file.")
                })?;
                self.prove(password).await
            }
            other => {
                let message = format!("authentication method {other} is not known here");
                Err(SqlError::unsupported(message))
            }
        }
    }

    /// SCRAM-SHA-256 without channel binding.
    async fn prove(&mut self, password: &str) -> SqlResult<()> {
        let nonce = STANDARD.encode(runtime::entropy::<NONCE_BYTES>());
        let bare = format!("n=,r={nonce}");
        let first = format!("n,,{bare}");
        self.output.message(b'p', |body| {
            string(body, scram::PLAIN);
            body.extend_from_slice(&(first.len() as i32).to_be_bytes());
            body.extend_from_slice(first.as_bytes());
        });
        let answer = self.challenge(11).await?;
        let (salt, iterations, server_nonce) = parsed(&answer, &nonce).ok_or_else(malformed)?;
        check_iterations(iterations)?;
        let unproved = format!("c=biws,r={server_nonce}");
        let covered = format!("{bare},{answer},{unproved}");
        let (proof, signature) =
            engine::scram_proof(password, &salt, iterations, covered.as_bytes()).await;
        let second = format!("{unproved},p={}", STANDARD.encode(proof));
        self.output.message(b'p', |body| body.extend_from_slice(second.as_bytes()));
        let last = self.challenge(12).await?;
        match last == format!("v={}", STANDARD.encode(signature)) {
            true => Ok(()),
            false => Err(SqlError::new(SqlState("28000"), "the server does not know the password")),
        }
    }

    /// The text of the server's next step in SCRAM.
    async fn challenge(&mut self, code: i32) -> SqlResult<String> {
        let frame = self.next().await?;
        let mut reader = Reader(&frame.body);
        if frame.tag != b'R' || reader.i32()? != code {
            return Err(malformed());
        }
        String::from_utf8(reader.0.to_vec()).map_err(|_| malformed())
    }

    /// Asks for something that comes by COPY.
    pub async fn query(&mut self, text: &str) -> SqlResult<()> {
        self.output.message(b'Q', |body| string(body, text));
        let frame = self.next().await?;
        match frame.tag {
            b'H' | b'W' => Ok(()),
            _ => Err(malformed()),
        }
    }

    /// The next message of the COPY; none at its end.
    pub async fn copied(&mut self) -> SqlResult<Option<Frame>> {
        let frame = self.next().await?;
        match frame.tag {
            b'd' => Ok(Some(frame)),
            b'c' => Ok(None),
            _ => Err(malformed()),
        }
    }

    /// Says something beside what comes.
    pub async fn send(&mut self, data: &[u8]) -> SqlResult<()> {
        self.output.copy_data(data);
        self.flush().await
    }

    async fn flush(&mut self) -> SqlResult<()> {
        let flushed = crate::connection::flush(&mut self.stream, &mut self.output);
        let stuck = |_| lost(io::ErrorKind::TimedOut.into());
        time::timeout(SILENCE, flushed).await.map_err(stuck)?.map_err(lost)
    }

    /// The next message that says something. A server that works at something says now and then
    /// that it does.
    ///
    /// # Errors
    /// 08006 when it is silent, or gone.
    async fn next(&mut self) -> SqlResult<Frame> {
        self.flush().await?;
        loop {
            let next = self.input.next_unless_silent(&mut self.stream, SILENCE).await;
            let frame = next.map_err(lost)?;
            let frame = frame.ok_or_else(|| lost(io::ErrorKind::UnexpectedEof.into()))?;
            match frame.tag {
                b'E' => return Err(refused(&frame.body)),
                b'N' | b'S' | b'K' => {}
                _ => return Ok(frame),
            }
        }
    }
}

/// Salt, rounds and nonce of the server's first message.
fn parsed(answer: &str, nonce: &str) -> Option<(Vec<u8>, u32, String)> {
    let mut parts = answer.split(',');
    let server_nonce = parts.next()?.strip_prefix("r=")?;
    let salt = STANDARD.decode(parts.next()?.strip_prefix("s=")?).ok()?;
    let iterations = parts.next()?.strip_prefix("i=")?.parse().ok()?;
    let is_own = server_nonce.starts_with(nonce) && server_nonce.len() > nonce.len();
    is_own.then(|| (salt, iterations, server_nonce.to_owned()))
}

/// Refuses numbers of rounds that no honest server asks for.
fn check_iterations(iterations: u32) -> SqlResult<()> {
    if (ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
        return Ok(());
    }
    let message = format!("the server asks for {iterations} rounds of SCRAM-SHA-256");
    Err(SqlError::new(SqlState("08001"), message)
        .with_detail(format!("From {ITERATIONS_MIN} to {ITERATIONS_MAX} are computed."))
        .with_hint(
            "See to it that this is the primary, and give its role a password by ALTER ROLE.",
        ))
}

/// The error that the server reports.
fn refused(body: &[u8]) -> SqlError {
    let mut reader = Reader(body);
    let (mut message, mut hint) = (String::new(), None);
    while let Ok(field @ 1..) = reader.u8() {
        let Ok(text) = reader.string() else { break };
        match field {
            b'M' => message = text.to_owned(),
            b'H' => hint = Some(text.to_owned()),
            _ => {}
        }
    }
    let error = SqlError::new(SqlState("08006"), message);
    hint.map_or(error.clone(), |hint| error.with_hint(hint))
}

fn lost(error: io::Error) -> SqlError {
    if error.kind() == io::ErrorKind::TimedOut {
        return SqlError::new(SqlState("08006"), "the server is silent");
    }
    SqlError::new(SqlState("08006"), format!("the connection is lost: {error}"))
}

fn malformed() -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, "the server does not speak the protocol")
}

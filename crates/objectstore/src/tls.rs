//! TLS on a connection to a store. The library keeps the state of the protocol and decrypts in place;
//! the bytes go over the runtime's sockets. Certificates are always verified.

use std::sync::Arc;
use std::{fmt, io};

use runtime::net::Socket;
use runtime::time::{self, Duration, Instant};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
};
pub(crate) use rustls::{ClientConfig as Config, pki_types::ServerName};

use crate::connection::within;
use crate::error::{Error, Result};

pub(crate) type Name = ServerName<'static>;

/// Encrypted bytes that wait to be decrypted, at most: some records of 16 KiB.
const INCOMING_BYTES: usize = 256 << 10;
/// Room for a message of a handshake; more is taken when it is asked for.
const OUTGOING_BYTES: usize = 4 << 10;

/// Which authorities are trusted.
#[derive(Clone, Default)]
pub struct Trust {
    extra: Vec<u8>,
    only_extra: bool,
}

impl Trust {
    /// The authorities that browsers trust, and those of `pem`.
    pub fn with_pem(pem: impl Into<Vec<u8>>) -> Trust {
        Trust { extra: pem.into(), only_extra: false }
    }

    /// Those of `pem` and no others.
    pub fn only_pem(pem: impl Into<Vec<u8>>) -> Trust {
        Trust { extra: pem.into(), only_extra: true }
    }

    pub(crate) fn config(&self) -> Result<Arc<Config>> {
        let mut roots = rustls::RootCertStore::empty();
        if !self.only_extra {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for certificate in CertificateDer::pem_slice_iter(&self.extra) {
            let certificate =
                certificate.map_err(|error| Error::invalid(format!("a certificate: {error}")))?;
            let added = roots.add(certificate);
            added.map_err(|error| Error::invalid(format!("a certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(Error::invalid("no authority is trusted: there is no certificate"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = Config::builder_with_details(provider, Arc::new(Clock));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| Error::invalid(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust(..)")
    }
}

/// The runtime's clock, by which certificates expire.
#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let us = u64::try_from(time::unix_us()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_micros(us)))
    }
}

/// The encrypted side of a connection.
pub(crate) struct Channel {
    connection: UnbufferedClientConnection,
    /// Received; from `start` to `end` not yet decrypted.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    outgoing: Vec<u8>,
    is_ended: bool,
}

/// What a channel needs to go on.
enum Need {
    /// Bytes from the peer.
    Bytes,
    /// To send what is in `outgoing`.
    Flush,
    /// Nothing: hands are shaken, and all that was there is decrypted.
    Nothing,
}

fn wrong(error: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {error}"))
}

impl Channel {
    /// Shakes hands.
    pub(crate) async fn open(
        config: &Arc<Config>,
        name: &Name,
        socket: &Socket,
        deadline: Instant,
    ) -> io::Result<Channel> {
        let connection =
            UnbufferedClientConnection::new(config.clone(), name.clone()).map_err(wrong)?;
        let mut channel = Channel {
            connection,
            incoming: vec![0; INCOMING_BYTES],
            start: 0,
            end: 0,
            outgoing: Vec::new(),
            is_ended: false,
        };
        loop {
            let stepped = channel.step(&mut |_| {});
            // What is wrong is told to the peer too.
            if !channel.outgoing.is_empty() {
                channel.flush(socket, deadline).await?;
            }
            match stepped? {
                Need::Nothing => return Ok(channel),
                Need::Flush => {}
                Need::Bytes if channel.receive(socket, 1, deadline).await? == 0 => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Need::Bytes => {}
            }
        }
    }

    /// Lets the protocol take the next step with what has come; `take` gets what is decrypted.
    fn step(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<Need> {
        let status = self.connection.process_tls_records(&mut self.incoming[self.start..self.end]);
        let mut discard = status.discard;
        let need = match status.state.map_err(wrong)? {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record.map_err(wrong)?;
                    discard += record.discard;
                    take(record.payload);
                }
                Need::Flush
            }
            ConnectionState::EncodeTlsData(mut data) => {
                encode_handshake(&mut self.outgoing, &mut data)?;
                Need::Flush
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                Need::Flush
            }
            ConnectionState::WriteTraffic(_) => Need::Nothing,
            ConnectionState::BlockedHandshake => Need::Bytes,
            ConnectionState::PeerClosed | ConnectionState::Closed => {
                self.is_ended = true;
                Need::Nothing
            }
            other => return Err(wrong(format!("unexpected state {other:?}"))),
        };
        self.start += discard;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        Ok(need)
    }

    /// Decrypts what has come, a record at a time, until `is_enough` says so.
    fn decrypt(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut count = 0;
        while self.start < self.end && count == 0 && !self.is_ended {
            let step = self.step(&mut |bytes| {
                count += bytes.len();
                take(bytes);
            });
            if !matches!(step?, Need::Flush) {
                break;
            }
        }
        Ok(())
    }

    /// Receives encrypted bytes, woken when `wake_bytes` have come. 0 is the end of the stream.
    async fn receive(
        &mut self,
        socket: &Socket,
        wake_bytes: usize,
        deadline: Instant,
    ) -> io::Result<usize> {
        if self.start > 0 {
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.incoming.len() {
            return Err(wrong("a record is too long"));
        }
        socket.wake_at(wake_bytes.clamp(1, INCOMING_BYTES / 2))?;
        within(deadline, socket.readable()).await?;
        let received = within(deadline, socket.recv(&mut self.incoming[self.end..])).await?;
        self.end += received;
        self.is_ended |= received == 0;
        Ok(received)
    }

    /// Receives decrypted bytes into `into`; what does not fit goes to `rest`. 0 is the end of the
    /// stream.
    pub(crate) async fn recv(
        &mut self,
        socket: &Socket,
        into: &mut [u8],
        rest: &mut Vec<u8>,
        deadline: Instant,
    ) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            let before = filled;
            self.decrypt(|bytes| {
                let count = bytes.len().min(into.len() - filled);
                into[filled..filled + count].copy_from_slice(&bytes[..count]);
                rest.extend_from_slice(&bytes[count..]);
                filled += count;
            })?;
            if filled == into.len() || self.is_ended {
                return Ok(filled);
            }
            if filled > before {
                continue;
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
            self.flush(socket, deadline).await?;
            // At least as many encrypted bytes are to come as plain ones, without those that are here.
            let least = (into.len() - filled).saturating_sub(self.end - self.start);
            match self.receive(socket, least, deadline).await {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::TimedOut && filled > 0 => {
                    return Ok(filled);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives some decrypted bytes into `pending`; 0 is the end of the stream.
    pub(crate) async fn recv_pending(
        &mut self,
        socket: &Socket,
        pending: &mut Vec<u8>,
        deadline: Instant,
    ) -> io::Result<usize> {
        let filled = pending.len();
        loop {
            self.decrypt(|bytes| pending.extend_from_slice(bytes))?;
            if pending.len() > filled || self.is_ended {
                return Ok(pending.len() - filled);
            }
            self.flush(socket, deadline).await?;
            self.receive(socket, 1, deadline).await?;
        }
    }

    /// Sends bytes, encrypted.
    pub(crate) async fn send(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(16 << 10) {
            self.encrypt(piece)?;
            let sent = socket.send_all(&self.outgoing).await;
            self.outgoing.clear();
            sent?;
        }
        Ok(())
    }

    fn encrypt(&mut self, piece: &[u8]) -> io::Result<()> {
        loop {
            let status = self.connection.process_tls_records(&mut []);
            match status.state.map_err(wrong)? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    return encode(&mut self.outgoing, |room| match traffic.encrypt(piece, room) {
                        Err(EncryptError::InsufficientSize(size)) => Ok(Err(size)),
                        Err(error) => Err(wrong(error)),
                        Ok(count) => Ok(Ok(count)),
                    });
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    encode_handshake(&mut self.outgoing, &mut data)?;
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                other => return Err(wrong(format!("nothing can be sent in state {other:?}"))),
            }
        }
    }

    async fn flush(&mut self, socket: &Socket, deadline: Instant) -> io::Result<()> {
        let sent = within(deadline, socket.send_all(&self.outgoing)).await;
        self.outgoing.clear();
        sent
    }

    /// Whether all that has come was taken, and more can.
    pub(crate) fn is_clean(&self) -> bool {
        !self.is_ended && self.start == self.end
    }
}

/// Appends a message of the handshake to `out`.
fn encode_handshake(
    out: &mut Vec<u8>,
    data: &mut EncodeTlsData<'_, ClientConnectionData>,
) -> io::Result<()> {
    encode(out, |room| match data.encode(room) {
        Err(EncodeError::InsufficientSize(size)) => Ok(Err(size)),
        Err(error) => Err(wrong(error)),
        Ok(count) => Ok(Ok(count)),
    })
}

/// Appends what `write` makes to `out`, with as much room as it asks for.
fn encode(
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> io::Result<std::result::Result<usize, InsufficientSizeError>>,
) -> io::Result<()> {
    let filled = out.len();
    let mut room = OUTGOING_BYTES;
    loop {
        out.resize(filled + room, 0);
        match write(&mut out[filled..])? {
            Ok(count) => {
                out.truncate(filled + count);
                return Ok(());
            }
            Err(size) if size.required_size > room => room = size.required_size,
            Err(_) => return Err(wrong("the library wants room that it has")),
        }
    }
}

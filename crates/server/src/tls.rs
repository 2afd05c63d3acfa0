//! TLS: the server's certificate, and the bytes of an encrypted connection. The library keeps the
//! state of the protocol and does no I/O; the bytes go over the runtime's sockets.

mod binding;

use std::io::{self, Read, Write};
use std::sync::Arc;

use runtime::net::Socket;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// The protocol's name in a handshake without `SSLRequest` before it.
const ALPN: &[u8] = b"postgresql";

/// The first byte of a handshake: no length of a start-up packet begins with it.
pub(crate) const HANDSHAKE: u8 = 0x16;

/// Bytes received at once from a client.
const CHUNK_BYTES: usize = 8 << 10;
/// Bytes received at once while hands are shaken: there may be thousands that say nothing.
const STRANGER_CHUNK_BYTES: usize = 1 << 10;
/// Bytes encrypted at once: a record's.
const RECORD_BYTES: usize = 16 << 10;

/// A certificate with its key.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    binding: Option<Vec<u8>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls(..)")
    }
}

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_string())
}

impl Tls {
    /// The chain of certificates, the server's own first, and its private key, both as PEM.
    ///
    /// # Errors
    /// `InvalidInput` for text that holds none, and for a key that does not fit.
    pub fn new(certificates: &[u8], key: &[u8]) -> io::Result<Tls> {
        let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| invalid(format!("the certificate: {error}")))?;
        let Some(own) = chain.first() else { return Err(invalid("there is no certificate")) };
        let binding = binding::endpoint_hash(own);
        // The error of a key may quote it.
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|_| invalid("the private key cannot be read"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(invalid)?;
        let builder = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut config = builder.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                invalid("the private key is not the certificate's")
            }
            error => invalid(error),
        })?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Tls { config: Arc::new(config), binding })
    }
}

/// An encrypted connection.
pub(crate) struct Channel {
    connection: ServerConnection,
    /// Received and not yet decrypted.
    incoming: Vec<u8>,
    /// Encrypted and not yet sent.
    outgoing: Vec<u8>,
    binding: Option<Vec<u8>>,
}

impl Channel {
    /// Shakes hands; `received` has come already. Without `SSLRequest` before it, the client must
    /// name the protocol, so that no other protocol can be made to speak to this one.
    pub async fn accept(
        tls: &Tls,
        socket: &Socket,
        received: Vec<u8>,
        direct: bool,
    ) -> io::Result<Channel> {
        let connection = ServerConnection::new(tls.config.clone()).map_err(io::Error::other)?;
        let binding = tls.binding.clone();
        let mut channel = Channel { connection, incoming: received, outgoing: Vec::new(), binding };
        while channel.connection.is_handshaking() {
            if channel.incoming.is_empty() && channel.fill(socket).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let decrypted = channel.decrypt();
            // What is wrong is told to the client too.
            channel.flush(socket).await?;
            decrypted?;
        }
        channel.flush(socket).await?;
        if direct && channel.connection.alpn_protocol() != Some(ALPN) {
            channel.finish(socket).await?;
            let message = "received direct SSL connection request without ALPN protocol negotiation extension";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(channel)
    }

    /// The hash that binds a password's proof to this channel.
    pub fn binding(&self) -> Option<Vec<u8>> {
        self.binding.clone()
    }

    /// Version and cipher.
    pub fn description(&self) -> String {
        let version = self.connection.protocol_version();
        let version = version.and_then(|version| version.as_str()).unwrap_or("unknown");
        let cipher = self.connection.negotiated_cipher_suite().map(|suite| suite.suite());
        let cipher = cipher.and_then(|cipher| cipher.as_str()).unwrap_or("unknown");
        // The library's names have no dots, and say the version twice.
        format!("{} {}", version.replace('_', "."), cipher.replace("TLS13_", "TLS_"))
    }

    async fn fill(&mut self, socket: &Socket) -> io::Result<usize> {
        let filled = self.incoming.len();
        let chunk = match self.connection.is_handshaking() {
            true => STRANGER_CHUNK_BYTES,
            false => CHUNK_BYTES,
        };
        self.incoming.resize(filled + chunk, 0);
        let received = socket.recv(&mut self.incoming[filled..]).await;
        self.incoming.truncate(filled + *received.as_ref().unwrap_or(&0));
        received
    }

    /// Hands what was received to the protocol, as much as it takes.
    fn decrypt(&mut self) -> io::Result<()> {
        let mut rest = self.incoming.as_slice();
        let taken = self.connection.read_tls(&mut rest)?;
        self.incoming.drain(..taken);
        let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        self.connection.process_new_packets().map(drop).map_err(wrong)
    }

    /// Whether bytes have come that nobody has asked for yet.
    pub fn has_received(&mut self) -> bool {
        let decrypted = self.connection.process_new_packets();
        // What is wrong with them is told to who receives.
        !self.incoming.is_empty() || decrypted.map_or(true, |s| s.plaintext_bytes_to_read() > 0)
    }

    /// Receives some bytes; none at the end of the stream.
    pub async fn recv(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many clients hang up without a word.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if self.incoming.is_empty() && self.fill(socket).await? == 0 {
                return Ok(0);
            }
            let decrypted = self.decrypt();
            self.flush(socket).await?;
            decrypted?;
        }
    }

    pub async fn send_all(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<()> {
        for record in bytes.chunks(RECORD_BYTES) {
            self.connection.writer().write_all(record)?;
            self.flush(socket).await?;
        }
        Ok(())
    }

    /// Says that nothing more will come.
    pub async fn finish(&mut self, socket: &Socket) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush(socket).await
    }

    async fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            self.outgoing.clear();
            self.connection.write_tls(&mut self.outgoing)?;
            socket.send_all(&self.outgoing).await?;
        }
        Ok(())
    }
}

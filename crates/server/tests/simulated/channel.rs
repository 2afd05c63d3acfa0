//! The bytes of a client's connection, in the clear or encrypted.
//!
//! The keys of TLS are not the seed's: its library draws them from the system. So bytes differ from run to run, but
//! not how many there are of them: key shares and signatures have one length each (X25519, Ed25519).

use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, LazyLock};

use runtime::net::{Shutdown, Socket};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use server::Tls;

/// Asks the server to encrypt what follows.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// The name that the certificate vouches for.
const NAME: &str = "localhost";

/// A certificate, with what a server and its clients make of it.
pub struct Own {
    pub tls: Tls,
    pub client: Arc<ClientConfig>,
}

/// The certificate of all servers here.
pub static OWN: LazyLock<Own> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let mut asked = rcgen::CertificateParams::new([NAME.to_owned()]).expect("a name");
    // By chance it would have another length now and then.
    asked.serial_number = Some(1_u64.into());
    let made = asked.self_signed(&key).expect("a certificate");
    let tls = Tls::new(made.pem().as_bytes(), key.serialize_pem().as_bytes());
    Own { tls: tls.expect("a certificate with its key"), client: client(made.der()) }
});

fn client(certificate: &CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // How long a session can be resumed is a matter of the wall clock.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// A connection to a server.
pub struct Channel {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Channel {
    /// A connection in the clear.
    pub fn plain(socket: Socket) -> Channel {
        Channel { socket, tls: None }
    }

    /// Asks for encryption, and shakes hands.
    pub async fn encrypted(socket: Socket, config: &Arc<ClientConfig>) -> io::Result<Channel> {
        socket.send_all(&SSL_REQUEST).await?;
        let mut answer = [0];
        match socket.recv(&mut answer).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            // A server without descriptors says so in the clear.
            _ if answer != *b"S" => return Err(ErrorKind::ConnectionRefused.into()),
            _ => {}
        }
        let name = ServerName::try_from(NAME).expect("a name");
        let tls = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
        let mut channel = Channel { socket, tls: Some(Box::new(tls)) };
        channel.flush().await?;
        while channel.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            if channel.fill().await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(channel)
    }

    /// Receives some bytes; none at the end.
    pub async fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(tls) = &mut self.tls else { return self.socket.recv(into).await };
            match tls.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The connection has ended without a word.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.fill().await? == 0 {
                return Ok(0);
            }
        }
    }

    /// Sends all of it.
    pub async fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.socket.send_all(bytes).await };
        tls.writer().write_all(bytes)?;
        self.flush().await
    }

    /// Ends what is sent.
    pub fn half_close(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    /// Receives what comes next of what is encrypted; how much.
    async fn fill(&mut self) -> io::Result<usize> {
        let mut bytes = vec![0; 4096];
        let count = self.socket.recv(&mut bytes).await?;
        let Some(tls) = &mut self.tls else { return Ok(count) };
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            tls.read_tls(&mut rest)?;
            let wrong = |error| io::Error::new(ErrorKind::InvalidData, error);
            tls.process_new_packets().map_err(wrong)?;
        }
        self.flush().await?;
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
            let mut bytes = vec![];
            tls.write_tls(&mut bytes)?;
            self.socket.send_all(&bytes).await?;
        }
        Ok(())
    }
}

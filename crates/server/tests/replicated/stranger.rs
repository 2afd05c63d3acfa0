//! Servers that are no good primaries, and replicas that are no good clients, byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A server that answers at an address with what a test has it say.
pub struct Stranger(TcpListener);

impl Stranger {
    pub fn new() -> Stranger {
        Stranger(TcpListener::bind("127.0.0.1:0").expect("a listener"))
    }

    pub fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    /// The next client, of which the start-up message is taken.
    pub fn client(&self) -> Peer {
        let mut peer = Peer(self.0.accept().expect("a client").0);
        peer.body();
        peer
    }
}

/// The other end of a connection.
pub struct Peer(pub TcpStream);

impl Peer {
    /// Connects as the superuser, who need not prove it, and may replicate.
    pub fn replica_of(address: SocketAddr) -> Peer {
        let mut peer = Peer(TcpStream::connect(address).expect("connected"));
        let mut body = (3i32 << 16).to_be_bytes().to_vec();
        body.extend_from_slice(b"user\0dovetail\0replication\0true\0\0");
        peer.0.write_all(&(body.len() as i32 + 4).to_be_bytes()).expect("sent");
        peer.0.write_all(&body).expect("sent");
        while peer.message().0 != b'Z' {}
        peer
    }

    pub fn say(&mut self, tag: u8, body: &[u8]) {
        let len = (body.len() as i32 + 4).to_be_bytes();
        self.0.write_all(&[&[tag][..], &len, body].concat()).expect("sent");
    }

    /// The next message, with its kind.
    pub fn message(&mut self) -> (u8, Vec<u8>) {
        let mut tag = [0];
        self.0.read_exact(&mut tag).expect("a message");
        (tag[0], self.body())
    }

    fn body(&mut self) -> Vec<u8> {
        let mut len = [0; 4];
        self.0.read_exact(&mut len).expect("a length");
        let mut body = vec![0; i32::from_be_bytes(len) as usize - 4];
        self.0.read_exact(&mut body).expect("a message");
        body
    }

    /// Lets the other end in without a password, and takes its query.
    pub fn let_in(&mut self) -> Vec<u8> {
        self.say(b'R', &0i32.to_be_bytes());
        self.say(b'Z', b"I");
        let (tag, query) = self.message();
        assert_eq!(tag, b'Q');
        query
    }
}

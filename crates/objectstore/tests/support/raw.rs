//! A server that says what a test wants, byte by byte, over the runtime's sockets.
#![allow(dead_code, reason = "not every file of tests needs all of it")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use runtime::net::{Address, Listener, Socket};
use runtime::{spawn, time};

/// What is said to a request.
#[derive(Clone, Debug)]
pub struct Say {
    /// Pieces, and how long the server waits before each.
    pub pieces: Vec<(Duration, Vec<u8>)>,
    /// The body of the request is taken first.
    pub takes_body: bool,
    /// The connection ends after the last piece.
    pub closes: bool,
}

impl Say {
    /// Head and body at once. The head's lines end with `\n` only; it has no length unless it says one.
    pub fn raw(head: &str, body: &[u8]) -> Say {
        let mut bytes = format!("HTTP/1.1 {head}\n\n").replace('\n', "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Say { pieces: vec![(Duration::ZERO, bytes)], takes_body: true, closes: false }
    }

    /// The same with the length of the body.
    pub fn whole(head: &str, body: &[u8]) -> Say {
        Say::raw(&format!("{head}\ncontent-length: {}", body.len()), body)
    }

    /// And more, a while later.
    pub fn then(mut self, wait: Duration, bytes: &[u8]) -> Say {
        self.pieces.push((wait, bytes.to_vec()));
        self
    }
}

/// Serves at an address of the system's choice; `answer` gets the number of the connection, from 0 on,
/// and the first line of the request. The endpoint's URL.
pub fn serve(answer: impl Fn(usize, &str) -> Say + 'static) -> String {
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listener = Listener::bind(&address).expect("a free address");
    let url = format!("http://{}", listener.local_address());
    let (answer, count) = (Rc::new(answer), Cell::new(0));
    drop(spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (answer, number) = (answer.clone(), count.replace(count.get() + 1));
            drop(spawn(async move {
                while answer_one(&socket, |line| answer(number, line)).await.is_some() {}
            }));
        }
    }));
    url
}

async fn answer_one(socket: &Socket, answer: impl Fn(&str) -> Say) -> Option<()> {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        // A byte at a time: what is not taken is to stay with the kernel.
        match socket.recv(&mut chunk[..1]).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let say = answer(head.lines().next().expect("a line"));
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut left: usize = length.map_or(0, |text| text.parse().expect("a length"));
    while say.takes_body && left > 0 {
        let most = left.min(chunk.len());
        match socket.recv(&mut chunk[..most]).await {
            Ok(count) if count > 0 => left -= count,
            _ => return None,
        }
    }
    for (wait, piece) in &say.pieces {
        time::sleep(*wait).await;
        socket.send_all(piece).await.ok()?;
    }
    (!say.closes).then_some(())
}

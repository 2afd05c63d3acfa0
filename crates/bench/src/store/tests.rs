//! What the store answers, and that it is as slow as it is told to be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::{Speed, serve};

struct Stand {
    address: String,
    folder: PathBuf,
}

impl Stand {
    fn new(name: &str, speed: Speed) -> Stand {
        let folder = format!("dovetail-store-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(folder.join("d")).expect("a folder");
        std::fs::write(folder.join("d/object"), (0..=255).collect::<Vec<u8>>()).expect("a file");
        let (sender, receiver) = channel();
        let served = folder.clone();
        std::thread::spawn(move || {
            serve(served, speed, |url| sender.send(url.to_owned()).expect("heard"))
        });
        let url = receiver.recv().expect("a URL");
        Stand { address: url.trim_start_matches("http://").to_owned(), folder }
    }

    /// The status, the head and the body.
    fn ask(&self, request: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        let mut socket = TcpStream::connect(&self.address).expect("a connection");
        let head = request.replace('|', "\r\n");
        let length = body.len();
        let head = format!("{head}\r\ncontent-length: {length}\r\n\r\n");
        socket.write_all(head.as_bytes()).expect("sent");
        socket.write_all(body).expect("sent");
        socket.shutdown(std::net::Shutdown::Write).expect("no more");
        let mut socket = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(socket.read_line(&mut head).expect("a line"), 0, "a head ends: {head}");
        }
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().expect("a length"));
        // Not to the end of the connection: what counts is when the bytes have come.
        let mut body = vec![0; if request.starts_with("HEAD") { 0 } else { length }];
        socket.read_exact(&mut body).expect("a body");
        (status, head, body)
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn objects_are_put_on_conditions_and_read_by_ranges() {
    let stand = Stand::new("answers", Speed::default());
    let table: [(&str, u16, &[u8]); 18] = [
        ("GET /b/d/object HTTP/1.1|Range: bytes=1-3", 206, &[1, 2, 3]),
        ("GET /b/d/object HTTP/1.1|range: bytes=254-", 206, &[254, 255]),
        ("GET /b/d/object HTTP/1.1|range: bytes=-1", 206, &[255]),
        ("GET /b/d/object HTTP/1.1|range: bytes=254-999", 206, &[254, 255]),
        ("GET /b/d/object HTTP/1.1|range: bytes=256-300", 416, b"*"),
        ("GET /b/d/none HTTP/1.1", 404, b"*"),
        ("GET /b/../d/object HTTP/1.1", 400, b"*"),
        ("GET /b/d/%2e%2e/object HTTP/1.1", 400, b"*"),
        ("HEAD /b/d/object HTTP/1.1", 200, b""),
        ("HEAD /b/d HTTP/1.1", 404, b""),
        ("PUT /b/e/new HTTP/1.1|content-encoding: aws-chunked", 501, b"*"),
        ("PUT /b/e/new HTTP/1.1|transfer-encoding: chunked", 501, b"*"),
        ("PUT /b/e/new HTTP/1.1|if-none-match: *", 200, b""),
        ("PUT /b/e/new HTTP/1.1|if-none-match: *", 412, b"*"),
        ("PUT /b/e/new HTTP/1.1|if-match: \"0\"", 412, b"*"),
        ("PUT /b/e/new HTTP/1.1|if-match: \"1\"", 200, b""),
        ("GET /b/e/new HTTP/1.1|if-match: \"2\"", 200, b"put"),
        ("DELETE /b/e/new HTTP/1.1", 204, b""),
    ];
    for (request, status, expected) in table {
        let sent: &[u8] = if request.starts_with("PUT") { b"put" } else { b"" };
        let (found, head, body) = stand.ask(request, sent);
        assert_eq!(found, status, "{request}: {head}");
        assert!(expected == b"*" || body == expected, "{request}: {body:?}");
    }
    let (_, head, _) = stand.ask("HEAD /b/d/object HTTP/1.1", b"");
    assert!(head.contains("content-length: 256\r\n") && head.contains("etag: \"0\""), "{head}");
    assert_eq!(stand.ask("GET /b/e/new HTTP/1.1", b"").0, 404);
}

/// No clock of the machine can make this faster.
#[test]
fn answers_are_at_least_as_slow_as_they_are_to_be() {
    let speed = |latency, rate, cap| Speed {
        latency: Duration::from_millis(latency),
        rate,
        cap,
        straggler_of: 0,
    };
    let table = [
        ("late", speed(30, 0, 0), 30),
        ("slow", speed(0, 2560, 0), 100),
        ("full", speed(0, 0, 2560), 100),
    ];
    for (name, speed, least) in table {
        let (stand, begun) = (Stand::new(name, speed), Instant::now());
        assert_eq!(stand.ask("GET /b/d/object HTTP/1.1", b"").2.len(), 256);
        assert!(begun.elapsed() >= Duration::from_millis(least), "{name}: {:?}", begun.elapsed());
    }
}

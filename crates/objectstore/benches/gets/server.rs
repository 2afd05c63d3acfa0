//! A server of one object: by the kernel alone where nothing is in between, late and slow where that is
//! asked for.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{OBJECT_BYTES, argument, number};

/// What is injected.
#[derive(Clone, Copy)]
struct Speed {
    latency: Duration,
    /// Bytes a second of one connection; 0 for as fast as it can.
    rate: usize,
    /// One request of so many is ten times as slow; 0 for none.
    straggler_of: usize,
}

/// Serves until it is killed.
pub fn serve() {
    let folder = PathBuf::from(argument("serve").expect("a folder"));
    let share: f64 = number("stragglers", 0.0);
    let speed = Speed {
        latency: Duration::from_millis(number("latency-ms", 0)),
        rate: number("rate-mib", 0) << 20,
        straggler_of: if share > 0.0 { (1.0 / share).round() as usize } else { 0 },
    };
    let tls = argument("tls").map(|_| config(&folder));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let scheme = if tls.is_some() { "https" } else { "http" };
    println!("{scheme}://{}", listener.local_addr().expect("an address"));
    let (path, requests) = (folder.join("object"), Arc::new(AtomicUsize::new(0)));
    for socket in listener.incoming() {
        let (socket, path, tls) = (socket.expect("accepted"), path.clone(), tls.clone());
        let requests = requests.clone();
        thread::spawn(move || match tls {
            None => answer_all(&mut Plain(BufReader::new(socket)), &path, speed, &requests),
            Some(tls) => {
                let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
                let stream = BufReader::new(StreamOwned::new(connection, socket));
                answer_all(&mut Secure(stream), &path, speed, &requests)
            }
        });
    }
}

fn config(folder: &Path) -> Arc<ServerConfig> {
    let cert = CertificateDer::from_pem_file(folder.join("cert")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join("key")).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![cert], key).expect("a pair"))
}

/// A connection, on which bytes of a file are sent as well as they can be.
trait Client {
    fn line(&mut self, line: &mut String) -> io::Result<usize>;
    fn text(&mut self, text: &str) -> io::Result<()>;
    fn file(&mut self, file: &File, count: usize) -> io::Result<()>;
}

struct Plain(BufReader<TcpStream>);
struct Secure(BufReader<StreamOwned<ServerConnection, TcpStream>>);

impl Client for Plain {
    fn line(&mut self, line: &mut String) -> io::Result<usize> {
        self.0.read_line(line)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    /// `io::copy` has the kernel send the file.
    fn file(&mut self, mut file: &File, count: usize) -> io::Result<()> {
        io::copy(&mut (&mut file).take(count as u64), self.0.get_mut()).map(drop)
    }
}

impl Client for Secure {
    fn line(&mut self, line: &mut String) -> io::Result<usize> {
        self.0.read_line(line)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    fn file(&mut self, mut file: &File, count: usize) -> io::Result<()> {
        let mut bytes = vec![0; count];
        file.read_exact(&mut bytes)?;
        let stream = self.0.get_mut();
        // In pieces: what waits to be sent is bounded.
        bytes.chunks(64 << 10).try_for_each(|piece| stream.write_all(piece))?;
        stream.flush()
    }
}

/// Until the connection ends.
fn answer_all(
    client: &mut impl Client,
    path: &Path,
    speed: Speed,
    requests: &AtomicUsize,
) -> io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        let (mut line, mut from) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if client.line(&mut line)? == 0 {
                return Ok(());
            }
            // All ranges that are asked for go to the end of the object.
            let range = line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-'));
            from = range.map_or(from, |(from, _)| from.parse().expect("a number"));
        }
        let turn = requests.fetch_add(1, Relaxed);
        let is_slow = speed.straggler_of > 0 && turn.is_multiple_of(speed.straggler_of);
        let slower = if is_slow { 10 } else { 1 };
        thread::sleep(speed.latency * slower);
        let (count, last) = (OBJECT_BYTES - from, OBJECT_BYTES - 1);
        client.text(&format!(
            "HTTP/1.1 206 Partial Content\r\ncontent-length: {count}\r\n\
             content-range: bytes {from}-{last}/{OBJECT_BYTES}\r\netag: \"one\"\r\n\r\n"
        ))?;
        file.seek(SeekFrom::Start(from as u64))?;
        send(client, &file, count, speed.rate / slower as usize)?;
    }
}

/// Sends so many bytes of a file, a piece every 10 ms where there is a rate.
fn send(client: &mut impl Client, file: &File, count: usize, rate: usize) -> io::Result<()> {
    if rate == 0 {
        return client.file(file, count);
    }
    let (begun, mut sent) = (Instant::now(), 0);
    while sent < count {
        let piece = (rate / 100).min(count - sent);
        client.file(file, piece)?;
        sent += piece;
        let due = begun + Duration::from_secs_f64(sent as f64 / rate as f64);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

//! A small object store that speaks like S3, with faults, over the runtime's sockets: in the simulation
//! and for real. It keeps all in memory.
#![allow(dead_code, unused_imports, reason = "not every file of tests needs all of it")]

mod google;
mod kept;
mod replies;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use objectstore::{Client, Credentials, S3Options, Store};
use runtime::net::{Address, Listener, Shutdown, Socket};
use runtime::{spawn, time};

pub use google::google;
pub use kept::{Kept, Watch};
pub use replies::{Question, Replies};

/// Probabilities of what goes wrong with a request, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// 500, before or after the work is done.
    pub failed: f64,
    /// 503.
    pub busy: f64,
    /// The answer to what was done is lost.
    pub lost: f64,
    /// No answer ever.
    pub silent: f64,
    /// The body ends too early.
    pub cut: f64,
    /// The length of the body is wrong.
    pub lied: f64,
    /// A bit of the body is flipped.
    pub flipped: f64,
    /// The body comes at 1 KB/s.
    pub slow: f64,
}

impl Faults {
    /// A quarter of all requests, each kind alike.
    pub fn quarter() -> Faults {
        let p = 0.25 / 8.0;
        Faults { failed: p, busy: p, lost: p, silent: p, cut: p, lied: p, flipped: p, slow: p }
    }
}

/// An object.
#[derive(Clone, Debug)]
pub struct Stored {
    pub bytes: Rc<Vec<u8>>,
    pub tag: String,
    pub writer: Option<String>,
}

/// How fast the server is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Before the first byte of each answer.
    pub latency: Duration,
    /// Bytes a second of one connection; 0 for as fast as it can.
    pub rate: u64,
    /// Probability that a request is ten times as slow.
    pub straggles: f64,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Stored>,
    uploads: BTreeMap<String, Upload>,
    tag_count: u64,
    request_count: u64,
    fault_count: u64,
    /// What was asked: method and target.
    log: Vec<String>,
    /// By which keys: their ids.
    signers: Vec<String>,
    /// Keys that are no longer good.
    expired: BTreeSet<String>,
    /// Tags are numbers without quotes.
    has_generations: bool,
}

#[derive(Default)]
struct Upload {
    writer: Option<String>,
    parts: BTreeMap<u32, Vec<u8>>,
}

/// The store.
#[derive(Clone)]
pub struct Server {
    state: Rc<RefCell<State>>,
    pub faults: Rc<RefCell<Faults>>,
    pub speed: Rc<RefCell<Speed>>,
    pub watch: Rc<RefCell<Option<Watch>>>,
    pub replies: Rc<RefCell<Option<Replies>>>,
}

/// What is asked.
#[derive(Debug)]
struct Asked {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// What is answered.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Rc<Vec<u8>>,
    from: usize,
    to: usize,
}

/// The bucket of such a server.
pub fn bucket(client: &Client, url: &str) -> Store {
    let options = S3Options {
        bucket: "bucket".to_owned(),
        endpoint: Some(url.to_owned()),
        credentials: Credentials::keys("id", "secret"),
        ..S3Options::default()
    };
    client.s3(options).expect("a store")
}

fn chance(p: f64) -> bool {
    p > 0.0 && (runtime::random_u64() >> 11) as f64 / (1u64 << 53) as f64 <= p
}

impl Server {
    /// Begins to serve at an address of the system's choice; the endpoint's URL.
    pub fn start() -> (Server, String) {
        Server::start_at("127.0.0.1:0")
    }

    pub fn start_at(address: &str) -> (Server, String) {
        let address = Address::Tcp(address.parse().expect("an address"));
        let listener = Listener::bind(&address).expect("a free address");
        let url = format!("http://{}", listener.local_address());
        let server = Server {
            state: Rc::default(),
            faults: Rc::default(),
            speed: Rc::default(),
            watch: Rc::default(),
            replies: Rc::default(),
        };
        let all = server.clone();
        drop(spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let one = all.clone();
                drop(spawn(async move { while one.serve(&socket).await.is_some() {} }));
            }
        }));
        (server, url)
    }

    pub fn object(&self, key: &str) -> Option<Stored> {
        self.state.borrow().objects.get(key).cloned()
    }

    pub fn keys(&self) -> Vec<String> {
        self.state.borrow().objects.keys().cloned().collect()
    }

    pub fn remove(&self, key: &str) {
        self.state.borrow_mut().objects.remove(key);
    }

    pub fn insert(&self, key: &str, bytes: Vec<u8>) {
        self.state.borrow_mut().store(key, bytes, None);
    }

    pub fn request_count(&self) -> u64 {
        self.state.borrow().request_count
    }

    pub fn fault_count(&self) -> u64 {
        self.state.borrow().fault_count
    }

    pub fn log(&self) -> Vec<String> {
        self.state.borrow().log.clone()
    }

    pub fn signers(&self) -> Vec<String> {
        self.state.borrow().signers.clone()
    }

    /// Requests that are signed by this key are refused from now on.
    pub fn expire(&self, key_id: &str) {
        self.state.borrow_mut().expired.insert(key_id.to_owned());
    }

    pub fn upload_count(&self) -> usize {
        self.state.borrow().uploads.len()
    }

    /// Serves one request; `None` when the connection is over.
    async fn serve(&self, socket: &Socket) -> Option<()> {
        let asked = read(socket).await?;
        self.state.borrow_mut().request_count += 1;
        self.state.borrow_mut().log.push(format!("{} {}", asked.method, asked.path));
        if self.state.borrow_mut().is_expired(&asked) {
            let mut answer = error(400, "ExpiredToken");
            // An answer to HEAD has no body.
            if asked.method == "HEAD" {
                (answer.to, answer.headers) = (0, vec![]);
            }
            return send(socket, &answer, Speed::default(), None).await;
        }
        let (faults, speed) = (*self.faults.borrow(), *self.speed.borrow());
        let strikes = |p: f64| {
            let strikes = chance(p);
            self.state.borrow_mut().fault_count += u64::from(strikes);
            strikes
        };
        if strikes(faults.busy) {
            return send(socket, &error(503, "SlowDown"), Speed::default(), None).await;
        }
        if strikes(faults.failed) {
            if runtime::random_u64().is_multiple_of(2) {
                let _ = self.state.borrow_mut().answer(&asked);
            }
            return send(socket, &error(500, "InternalError"), Speed::default(), None).await;
        }
        self.tell(&asked);
        let answer = self.answer(&asked);
        self.tell(&asked);
        if strikes(faults.lost) {
            return None;
        }
        if strikes(faults.silent) {
            let _ = socket.hung_up().await;
            return None;
        }
        let mut answer = answer;
        let mut speed = speed;
        if chance(speed.straggles) {
            speed.latency *= 10;
            speed.rate = (speed.rate / 10).max(u64::from(speed.rate > 0));
        }
        let is_body = answer.to > answer.from && asked.method == "GET";
        if is_body && strikes(faults.flipped) {
            let mut bytes = answer.body.to_vec();
            let place = answer.from + (runtime::random_u64() as usize) % (answer.to - answer.from);
            bytes[place] ^= 1 << (runtime::random_u64() % 8);
            answer.body = Rc::new(bytes);
        }
        if is_body && strikes(faults.lied) {
            answer.headers.retain(|(name, _)| name != "content-range");
            answer.to -= 1;
        }
        if is_body && strikes(faults.slow) {
            speed.rate = 1000;
        }
        let count = answer.to - answer.from;
        let cut = (is_body && strikes(faults.cut))
            .then(|| (runtime::random_u64() as usize) % count.max(1));
        send(socket, &answer, speed, cut).await
    }
}

/// Bytes that the checksum protects, as the header wants it.
fn checksum(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(crc32c::crc32c(bytes).to_be_bytes())
}

fn error(status: u16, code: &str) -> Answer {
    let text = format!(
        "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>it is so</Message>\
         <RequestId>R-{status}</RequestId></Error>"
    );
    Answer::with(status, text.into_bytes())
}

impl Answer {
    fn with(status: u16, body: Vec<u8>) -> Answer {
        let to = body.len();
        Answer { status, headers: Vec::new(), body: Rc::new(body), from: 0, to }
    }

    fn header(mut self, name: &str, value: impl Into<String>) -> Answer {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

impl State {
    /// Notes who asks.
    fn is_expired(&mut self, asked: &Asked) -> bool {
        let signature = asked.headers.get("authorization");
        let id = signature.and_then(|text| match text.split_once("Credential=") {
            Some((_, signed)) => signed.split('/').next(),
            None => text.strip_prefix("Bearer "),
        });
        let id = id.unwrap_or("nobody").to_owned();
        self.signers.push(id.clone());
        self.expired.contains(&id)
    }

    fn store(&mut self, key: &str, bytes: Vec<u8>, writer: Option<String>) -> String {
        self.tag_count += 1;
        let tag = match self.has_generations {
            true => self.tag_count.to_string(),
            false => format!("\"tag-{}\"", self.tag_count),
        };
        let stored = Stored { bytes: Rc::new(bytes), tag: tag.clone(), writer };
        self.objects.insert(key.to_owned(), stored);
        tag
    }

    fn answer(&mut self, asked: &Asked) -> Answer {
        if let Some(answer) = self.google(asked) {
            return answer;
        }
        let key = asked.path.trim_start_matches('/');
        let key = key.split_once('/').map_or("", |(_, key)| key);
        let key = unpercent(key);
        let has = |name: &str| asked.query.contains_key(name);
        match asked.method.as_str() {
            "GET" if has("list-type") => self.list(asked),
            "GET" | "HEAD" => self.get(&key, asked),
            "PUT" if has("partNumber") => self.put_part(asked),
            "PUT" => self.put(&key, asked),
            "POST" if has("uploads") => self.begin(asked),
            // A service that gives the same whatever is sent to it.
            "POST" if !has("uploadId") => self.get(&key, asked),
            "POST" => self.complete(&key, asked),
            "DELETE" if has("uploadId") => {
                self.uploads.remove(&asked.query["uploadId"]);
                Answer::with(204, vec![])
            }
            "DELETE" => {
                self.objects.remove(&key);
                Answer::with(204, vec![])
            }
            _ => error(405, "MethodNotAllowed"),
        }
    }

    fn get(&self, key: &str, asked: &Asked) -> Answer {
        let Some(object) = self.objects.get(key) else { return error(404, "NoSuchKey") };
        if asked.headers.get("if-match").is_some_and(|tag| *tag != object.tag) {
            return error(412, "PreconditionFailed");
        }
        let size = object.bytes.len();
        let mut answer = Answer { body: object.bytes.clone(), ..Answer::with(200, vec![]) };
        (answer.from, answer.to) = (0, size);
        if let Some(range) = asked.headers.get("range") {
            let (first, last) =
                range.strip_prefix("bytes=").and_then(|r| r.split_once('-')).expect("a range");
            let first: usize = first.parse().expect("a number");
            let last: usize = last.parse::<usize>().expect("a number").min(size.saturating_sub(1));
            if first >= size {
                return error(416, "InvalidRange");
            }
            (answer.from, answer.to, answer.status) = (first, last + 1, 206);
            answer = answer.header("content-range", format!("bytes {first}-{last}/{size}"));
        } else if asked.headers.contains_key("x-amz-checksum-mode") {
            answer = answer.header("x-amz-checksum-crc32c", checksum(&object.bytes));
        }
        if asked.method == "HEAD" {
            answer = answer.header("x-head-length", size.to_string());
        }
        if let Some(writer) = &object.writer {
            answer = answer.header("x-amz-meta-dovetail-write", writer.clone());
        }
        answer
            .header("ETag", object.tag.clone())
            .header("last-modified", "Fri, 24 May 2013 00:00:00 GMT")
    }

    fn holds(&self, key: &str, asked: &Asked) -> bool {
        let object = self.objects.get(key);
        let absent = asked.headers.get("if-none-match").is_none_or(|_| object.is_none());
        let matches = asked.headers.get("if-match");
        absent && matches.is_none_or(|tag| object.is_some_and(|object| object.tag == *tag))
    }

    fn put(&mut self, key: &str, asked: &Asked) -> Answer {
        if !is_intact(asked) {
            return error(400, "BadDigest");
        }
        if !self.holds(key, asked) {
            return error(412, "PreconditionFailed");
        }
        let writer = asked.headers.get("x-amz-meta-dovetail-write").cloned();
        let tag = self.store(key, asked.body.clone(), writer);
        Answer::with(200, vec![]).header("ETag", tag)
    }

    fn begin(&mut self, asked: &Asked) -> Answer {
        self.tag_count += 1;
        let id = format!("up/load+{}", self.tag_count);
        let writer = asked.headers.get("x-amz-meta-dovetail-write").cloned();
        self.uploads.insert(id.clone(), Upload { writer, parts: BTreeMap::new() });
        let text = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        Answer::with(200, text.into_bytes())
    }

    fn put_part(&mut self, asked: &Asked) -> Answer {
        let number: u32 = asked.query["partNumber"].parse().expect("a number");
        match self.uploads.get_mut(&asked.query["uploadId"]) {
            None => error(404, "NoSuchUpload"),
            Some(_) if !is_intact(asked) => error(400, "BadDigest"),
            Some(upload) => {
                upload.parts.insert(number, asked.body.clone());
                Answer::with(200, vec![]).header("ETag", format!("\"part-{number}\""))
            }
        }
    }

    fn complete(&mut self, key: &str, asked: &Asked) -> Answer {
        if !self.holds(key, asked) {
            return error(412, "PreconditionFailed");
        }
        let Some(upload) = self.uploads.remove(&asked.query["uploadId"]) else {
            return error(404, "NoSuchUpload");
        };
        let text = String::from_utf8_lossy(&asked.body);
        let told = text.matches("<PartNumber>").count();
        assert_eq!(told, upload.parts.len(), "all parts are told: {text}");
        for part in upload.parts.values() {
            assert!(text.contains(&checksum(part)), "with their checksums: {text}");
        }
        let bytes = upload.parts.into_values().flatten().collect();
        let tag = self.store(key, bytes, upload.writer);
        let text = format!(
            "<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        );
        Answer::with(200, text.into_bytes())
    }

    fn list(&self, asked: &Asked) -> Answer {
        let query = |name: &str| asked.query.get(name).map_or("", String::as_str);
        let (prefix, delimiter, from) =
            (query("prefix"), query("delimiter"), query("continuation-token"));
        let most: usize = query("max-keys").parse().expect("a number");
        let (mut out, mut count, mut next, mut last) = (String::new(), 0, None, String::new());
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
            let rest = &key[prefix.len()..];
            let group = match delimiter.is_empty() {
                true => None,
                false => rest.find(delimiter).map(|at| &key[..prefix.len() + at + delimiter.len()]),
            };
            let name = group.unwrap_or(key);
            if name <= from || name == last {
                continue;
            }
            if count == most {
                next = Some(last.clone());
                break;
            }
            count += 1;
            last = name.to_owned();
            let encoded = percent(name);
            match group {
                Some(_) => {
                    out += &format!("<CommonPrefixes><Prefix>{encoded}</Prefix></CommonPrefixes>")
                }
                None => {
                    out += &format!(
                        "<Contents><Key>{encoded}</Key><ETag>{}</ETag><Size>{}</Size>\
                         <LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>",
                        object.tag.replace('"', "&quot;"),
                        object.bytes.len()
                    );
                }
            }
        }
        let is_cut = next.is_some();
        let next = next.map(|next: String| {
            let next = next.replace('&', "&amp;").replace('<', "&lt;");
            format!("<NextContinuationToken>{next}</NextContinuationToken>")
        });
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url\
             </EncodingType><IsTruncated>{is_cut}</IsTruncated>{}{out}</ListBucketResult>",
            next.unwrap_or_default()
        );
        Answer::with(200, text.into_bytes())
    }
}

fn is_intact(asked: &Asked) -> bool {
    let told = asked.headers.get("x-amz-checksum-crc32c");
    told.is_none_or(|told| *told == checksum(&asked.body))
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes()
        .map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") })
        .collect()
}

fn unpercent(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), vec![], 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            out.push(u8::from_str_radix(&text[at + 1..at + 3], 16).expect("digits"));
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).expect("text")
}

/// Reads a request; `None` at the end of the connection.
async fn read(socket: &Socket) -> Option<Asked> {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match socket.recv(&mut chunk).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let mut lines = head.lines();
    let mut first = lines.next().expect("a line").split(' ');
    let (method, target) = (first.next().expect("a method"), first.next().expect("a target"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query = query.map(|(name, value)| (unpercent(name), unpercent(value))).collect();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length: usize =
        headers.get("content-length").map_or(0, |text| text.parse().expect("a length"));
    let mut body = bytes.split_off(end);
    while body.len() < length {
        match socket.recv(&mut chunk).await {
            Ok(count) if count > 0 => body.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    }
    assert_eq!(body.len(), length, "one request at a time");
    Some(Asked { method: method.to_owned(), path: path.to_owned(), query, headers, body })
}

/// Sends an answer; after `cut` bytes of its body the connection ends.
async fn send(socket: &Socket, answer: &Answer, speed: Speed, cut: Option<usize>) -> Option<()> {
    if !speed.latency.is_zero() {
        time::sleep(speed.latency).await;
    }
    let is_head = answer.headers.iter().any(|(name, _)| name == "x-head-length");
    let count = answer.to - answer.from;
    let mut head = format!("HTTP/1.1 {} So\r\ncontent-length: {count}\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    socket.send_all(head.as_bytes()).await.ok()?;
    if is_head {
        return Some(());
    }
    let body = &answer.body[answer.from..answer.from + cut.unwrap_or(count)];
    let piece = match speed.rate {
        0 => 256 << 10,
        // So often that 10 ms pass in between, or a byte at a time.
        rate => (rate / 100).max(1) as usize,
    };
    let begun = time::now();
    for (i, bytes) in body.chunks(piece).enumerate() {
        if speed.rate > 0 {
            let due = Duration::from_secs_f64((i * piece) as f64 / speed.rate as f64);
            time::sleep_until(begun + due).await;
        }
        socket.send_all(bytes).await.ok()?;
    }
    if cut.is_some() {
        let _ = socket.shutdown(Shutdown::Both);
        return None;
    }
    Some(())
}

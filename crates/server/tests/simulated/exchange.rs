//! One exchange of HTTP over the simulated network: a request, whole or torn, and its answer, read fast or slowly.

use std::io;
use std::time::Duration;

use runtime::net::{Address, Socket};
use runtime::time;
use stdx::Prng;

/// Asked for on the same connection before the request, sometimes.
const FIRST: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// Longest pause between the parts of a request that is torn: longer than the server waits for a head.
const PAUSE_US: u64 = 8_000_000;
/// From then on a part may come too late.
const LATE: Duration = Duration::from_secs(4);
/// The last event of a run, up to its data.
pub const END: &str = "event: end\ndata: ";
/// How long the server waits until an answer is taken.
const SEND_MAX: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
    /// All of it has come.
    pub is_whole: bool,
}

/// What has come of a request.
#[derive(Debug)]
pub struct Exchange {
    /// `None`: not even a head.
    pub answer: Option<Answer>,
    /// The request has come too late, perhaps.
    pub is_late: bool,
    /// The answer was taken too slowly, perhaps.
    pub is_slow: bool,
}

/// A request to this machine.
pub fn request(call: &str, fields: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "{call} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len}\r\n\
         {fields}\r\n{body}"
    )
}

/// Sends a request and reads until the server closes; `None`: the request was left in the midst.
///
/// # Errors
/// What has become of the connection.
pub async fn exchange(
    server: &Address,
    prng: &mut Prng,
    request: &str,
) -> io::Result<Option<Exchange>> {
    let socket = Socket::connect(server).await?;
    let is_second = prng.chance(0.2);
    let text = if is_second { format!("{FIRST}{request}") } else { request.to_owned() };
    let began = time::now();
    if prng.chance(0.3) {
        let (first, rest) = text.split_at(prng.below(text.len() as u64) as usize);
        socket.send_all(first.as_bytes()).await?;
        time::sleep(Duration::from_micros(prng.below(PAUSE_US))).await;
        if prng.chance(0.3) {
            return Ok(None);
        }
        socket.send_all(rest.as_bytes()).await?;
    } else {
        socket.send_all(text.as_bytes()).await?;
    }
    let is_late = began.elapsed() > LATE;
    let sent = time::now();
    let bytes = received(&socket, prng).await?;
    let mut rest = String::from_utf8_lossy(&bytes).into_owned();
    // One that is refused is the last.
    if is_second
        && let Some((first, len)) = answer(&rest)
        && first.status == 200
    {
        rest = rest.split_off(len);
    }
    let answer = answer(&rest).map(|(answer, _)| answer);
    Ok(Some(Exchange { answer, is_late, is_slow: sent.elapsed() > SEND_MAX }))
}

async fn received(socket: &Socket, prng: &mut Prng) -> io::Result<Vec<u8>> {
    let (most, is_slow) = (1 + prng.below(4096) as usize, prng.chance(0.2));
    let (mut bytes, mut buffer) = (vec![], vec![0; most]);
    loop {
        match socket.recv(&mut buffer).await? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
        if is_slow {
            time::sleep(Duration::from_micros(prng.below(300_000))).await;
        }
    }
}

/// The first answer of a text, and how long it is.
fn answer(text: &str) -> Option<(Answer, usize)> {
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let announced = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let body_len = announced.map_or(rest.len(), |len| len.parse().unwrap_or(usize::MAX));
    let is_whole = match announced {
        Some(_) => body_len <= rest.len(),
        // Events have no length: they end with one that says so.
        None => rest.contains(END) && rest.ends_with("\n\n"),
    };
    let body = rest.get(..body_len.min(rest.len())).unwrap_or(rest).to_owned();
    let len = head.len() + 4 + body.len();
    Some((Answer { status, body, is_whole }, len))
}

//! Addresses of endpoints: asked for once in a while, all of them used, the fast ones more often.
//! After the throughput-based resolver of AnyBlob (section 3.3 of the paper).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use runtime::sync::{Semaphore, WaitQueue};
use runtime::time::{self, Duration, Instant};

use crate::allow::AllowList;
use crate::error::{Error, ErrorKind, Result};
use crate::location::Endpoint;
use crate::lock::lock;

/// The system's resolver does not say how long its answers are good for; a minute is what stores
/// themselves ask for, or more.
const FRESH: Duration = Duration::from_secs(60);
/// An address that failed is left alone for so long, twice as long each time, as there are others.
const PENALTY: Duration = Duration::from_millis(500);
const PENALTY_DOUBLINGS_MAX: u32 = 6;
/// Each is a thread for as long as it takes, which may be longer than anybody waits.
const ASKED_AT_ONCE_MAX: usize = 16;
/// So long it is waited for new addresses of a name of which there are old ones.
const KNOWN_WAIT: Duration = Duration::from_secs(1);
/// How many names are kept.
const NAME_COUNT_MAX: usize = 256;
/// An address slower than this share of the best one gets no new connections, but for one in
/// [`SECOND_CHANCE`] tries.
const SLOW_SHARE: f64 = 0.5;
const SECOND_CHANCE: u64 = 16;
/// And so does one whose segments are smaller than this share of the largest of those that are fast: that is the
/// difference between jumbo frames and others, which the kernel pays for by the packet (section 3.3).
const SMALL_SHARE: f64 = 0.5;
/// The weight of the newest measurement.
const SMOOTHING: f64 = 0.2;

/// What is known of one address.
#[derive(Clone, Debug)]
struct Known {
    ip: IpAddr,
    /// Bytes a second of one connection; 0 where nothing was measured.
    rate: f64,
    /// Bytes of the segments that came; 0 where nothing was measured.
    segment_bytes: usize,
    /// Failures since the last success.
    failures: u32,
    /// Left alone until then.
    rests_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Name {
    known: Vec<Known>,
    asked: Option<Instant>,
    next: usize,
}

/// The addresses of all endpoints.
pub(crate) struct Resolver {
    names: Mutex<BTreeMap<String, Name>>,
    asking: Semaphore,
    asked: Arc<Asked>,
}

/// The hosts that are asked for now: each once, so that one that nobody answers for holds one thread.
#[derive(Default)]
struct Asked {
    hosts: Mutex<BTreeSet<String>>,
    waiting: WaitQueue,
}

/// The right to ask for a host; held until there is an answer.
struct Asking {
    asked: Arc<Asked>,
    host: String,
}

impl Resolver {
    pub(crate) fn new() -> Resolver {
        let asking = Semaphore::new(ASKED_AT_ONCE_MAX);
        Resolver { names: Mutex::default(), asking, asked: Arc::default() }
    }

    /// The address that the next connection goes to.
    ///
    /// # Errors
    /// `Forbidden` for one that must not be spoken to, `Connection` where there is none.
    pub(crate) async fn choose(
        &self,
        endpoint: &Endpoint,
        allow: &AllowList,
    ) -> Result<SocketAddr> {
        if !self.is_fresh(&endpoint.host) {
            self.refresh(&endpoint.host).await?;
        }
        let mut names = lock(&self.names);
        let name = names.entry(endpoint.host.clone()).or_default();
        name.known.iter().try_for_each(|known| allow.check_address(known.ip))?;
        let ip = name.choose(time::now(), runtime::random_u64());
        let ip = ip.ok_or_else(|| no_address(&endpoint.host, "it has no address"))?;
        Ok(SocketAddr::new(ip, endpoint.port))
    }

    fn is_fresh(&self, host: &str) -> bool {
        let names = lock(&self.names);
        let asked = names.get(host).and_then(|name| name.asked);
        asked.is_some_and(|asked| asked.elapsed() < FRESH)
    }

    /// Asks for a host's addresses. Where there are some it does not wait for long: names that nobody answers for hold up
    /// other new ones, but nothing that has served.
    async fn refresh(&self, host: &str) -> Result<()> {
        let asking = self.ask(host);
        if lock(&self.names).get(host).is_none_or(|name| name.known.is_empty()) {
            return asking.await;
        }
        let Ok(asked) = time::timeout(KNOWN_WAIT, asking).await else {
            if let Some(name) = lock(&self.names).get_mut(host) {
                name.asked = Some(time::now());
            }
            return Ok(());
        };
        asked
    }

    /// Asks for a host's addresses; where that fails the old ones stay.
    async fn ask(&self, host: &str) -> Result<()> {
        let asking = self.asked.waiting.wait(|| self.asked.begin(host)).await;
        if self.is_fresh(host) {
            return Ok(());
        }
        let permit = self.asking.acquire().await;
        let found = runtime::net::resolve(host, (permit, asking)).await;
        let mut names = lock(&self.names);
        if names.len() >= NAME_COUNT_MAX && !names.contains_key(host) {
            names.pop_first();
        }
        let name = names.entry(host.to_owned()).or_default();
        match found {
            Ok(found) => name.replace(&found),
            Err(_) if !name.known.is_empty() => {}
            Err(error) => return Err(no_address(host, &error.to_string())),
        }
        name.asked = Some(time::now());
        Ok(())
    }

    /// Notes how fast a connection was.
    pub(crate) fn note_rate(&self, endpoint: &Endpoint, ip: IpAddr, rate: f64) {
        self.with(endpoint, ip, |known| {
            known.rate = match known.rate {
                0.0 => rate,
                old => old + SMOOTHING * (rate - old),
            };
        });
        self.note_success(endpoint, ip);
    }

    /// Notes the size of the segments that came from an address.
    pub(crate) fn note_segments(&self, endpoint: &Endpoint, ip: IpAddr, bytes: usize) {
        self.with(endpoint, ip, |known| known.segment_bytes = bytes);
    }

    /// Notes that an address answers.
    pub(crate) fn note_success(&self, endpoint: &Endpoint, ip: IpAddr) {
        self.with(endpoint, ip, |known| (known.failures, known.rests_until) = (0, None));
    }

    /// Notes that an address did not answer.
    pub(crate) fn note_failure(&self, endpoint: &Endpoint, ip: IpAddr) {
        self.with(endpoint, ip, |known| {
            let doublings = known.failures.min(PENALTY_DOUBLINGS_MAX);
            known.failures += 1;
            known.rests_until = Some(time::now() + PENALTY * (1 << doublings));
        });
    }

    fn with(&self, endpoint: &Endpoint, ip: IpAddr, change: impl FnOnce(&mut Known)) {
        let mut names = lock(&self.names);
        let name = names.get_mut(&endpoint.host);
        let known = name.and_then(|name| name.known.iter_mut().find(|known| known.ip == ip));
        known.map(change);
    }
}

impl Asked {
    fn begin(self: &Arc<Asked>, host: &str) -> Option<Asking> {
        let is_new = lock(&self.hosts).insert(host.to_owned());
        is_new.then(|| Asking { asked: self.clone(), host: host.to_owned() })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        lock(&self.asked.hosts).remove(&self.host);
        self.asked.waiting.wake_all();
    }
}

fn no_address(host: &str, why: &str) -> Error {
    Error::new(ErrorKind::Connection, format!("the host {host:?} cannot be found: {why}"))
}

impl Name {
    /// Takes the addresses that there are now; what is known of those that stay is kept.
    fn replace(&mut self, found: &[IpAddr]) {
        let known = |ip: &IpAddr| {
            let old = self.known.iter().find(|known| known.ip == *ip).cloned();
            let (rate, segment_bytes, failures) = (0.0, 0, 0);
            old.unwrap_or(Known { ip: *ip, rate, segment_bytes, failures, rests_until: None })
        };
        self.known = found.iter().map(known).collect();
    }

    /// In turn, leaving out those that rest and, mostly, those that are slow or send small segments; if that leaves
    /// none, the one whose rest is over first.
    fn choose(&mut self, now: Instant, random: u64) -> Option<IpAddr> {
        let best = self.known.iter().map(|known| known.rate).fold(0.0, f64::max);
        let forgives = random.is_multiple_of(SECOND_CHANCE);
        let rests = |known: &Known| known.rests_until.is_some_and(|until| until > now);
        let is_slow = |known: &Known| known.rate > 0.0 && known.rate < SLOW_SHARE * best;
        let fast = self.known.iter().filter(|known| !rests(known) && !is_slow(known));
        // Large segments from an address that is slow are no reason to leave a fast one.
        let largest = fast.map(|known| known.segment_bytes).max().unwrap_or(0) as f64;
        let is_small = |known: &Known| {
            known.segment_bytes > 0 && (known.segment_bytes as f64) < SMALL_SHARE * largest
        };
        let is_good =
            |known: &Known| !rests(known) && (forgives || !is_slow(known) && !is_small(known));
        let count = self.known.len();
        for turn in 0..count {
            let place = (self.next + turn) % count;
            if is_good(&self.known[place]) {
                self.next = place + 1;
                return Some(self.known[place].ip);
            }
        }
        self.known.iter().min_by_key(|known| known.rests_until).map(|known| known.ip)
    }
}

#[cfg(test)]
mod tests;

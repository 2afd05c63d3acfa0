//! A store: one bucket or container, and what can be asked of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use runtime::time::{self, Instant};

use crate::attempt::Until;
use crate::client::Client;
use crate::credentials::Credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Head, Sink};
use crate::operation::{ListPage, ObjectInfo, Operation};
use crate::provider::Provider;
use crate::restart::Restarts;
use crate::shared::{Gate, Shared};
use crate::write::RECEIPT_BYTES_MAX;
use crate::{backoff, price, tls};

/// The document that a store answers with, at most: a page of a list has a thousand names of a
/// thousand bytes, each perhaps encoded.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// Answers that are none, after which it is not a fault of the moment.
const NONSENSE_MAX: u32 = 4;
/// Names on a page of a list, as many as all stores give.
const PAGE_OBJECTS: u32 = 1000;
/// Pages of a list without any object, at most: stores give some where objects were removed.
const EMPTY_PAGES_MAX: u32 = 100;

/// A bucket or container. Cloning gives another handle of the same; any worker may use it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    client: Client,
    provider: Arc<Provider>,
    credentials: Credentials,
    tls_name: tls::Name,
    gate: Arc<Gate>,
    /// What this handle and its clones have asked for, where somebody wants to know.
    usage: Option<Arc<Usage>>,
}

/// What was sent for one user of a store, who shares its client with others.
#[derive(Debug, Default)]
pub struct Usage {
    /// Requests sent, those that were repeated each time.
    pub attempt_count: AtomicU64,
    /// Those of them that were sent because an earlier one was slow.
    pub restart_count: AtomicU64,
    /// Bytes of bodies received.
    pub received_bytes: AtomicU64,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.provider().endpoint())
    }
}

impl Store {
    pub(crate) fn new(
        client: Client,
        provider: Provider,
        credentials: Credentials,
        tls_name: tls::Name,
        gate: Arc<Gate>,
    ) -> Store {
        let (provider, usage) = (Arc::new(provider), None);
        Store(Arc::new(Inner { client, provider, credentials, tls_name, gate, usage }))
    }

    /// Another handle of the same, whose requests are counted in `usage`, too.
    pub fn counted_in(&self, usage: Arc<Usage>) -> Store {
        let Inner { client, provider, credentials, tls_name, gate, .. } = &*self.0;
        Store(Arc::new(Inner {
            client: client.clone(),
            provider: provider.clone(),
            credentials: credentials.clone(),
            tls_name: tls_name.clone(),
            gate: gate.clone(),
            usage: Some(usage),
        }))
    }

    /// Counts an attempt, and what came of it.
    pub(crate) fn note(&self, attempts: u64, received_bytes: u64) {
        let counters = &self.client().counters;
        counters.attempts.fetch_add(attempts, Relaxed);
        counters.received_bytes.fetch_add(received_bytes, Relaxed);
        if let Some(usage) = &self.0.usage {
            usage.attempt_count.fetch_add(attempts, Relaxed);
            usage.received_bytes.fetch_add(received_bytes, Relaxed);
        }
    }

    /// Counts an attempt that is given up for another one.
    pub(crate) fn note_restart(&self) {
        self.client().counters.restarts.fetch_add(1, Relaxed);
        if let Some(usage) = &self.0.usage {
            usage.restart_count.fetch_add(1, Relaxed);
        }
    }

    /// What a get costs by the price list of the store's host, in billionths of a dollar; `None` where the
    /// host is in no list that is known.
    pub fn get_price_ndollars(&self) -> Option<u64> {
        price::of_get(&self.provider().endpoint().host)
    }

    pub(crate) fn client(&self) -> &Shared {
        &self.0.client.0
    }

    pub(crate) fn provider(&self) -> &Provider {
        &self.0.provider
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.0.credentials
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.0.gate
    }

    pub(crate) fn restarts(&self) -> &Restarts {
        &self.0.gate.restarts
    }

    pub(crate) fn tls_name(&self) -> &tls::Name {
        &self.0.tls_name
    }

    /// What the client of this store has done, for all of its stores.
    pub fn client_stats(&self) -> crate::client::ClientStats {
        self.0.client.stats()
    }

    /// Closes the client's connections that wait for a request.
    pub fn close_idle(&self) {
        self.0.client.close_idle();
    }

    /// Requests that the endpoint is sent at once now: fewer than the limit after it has asked to slow
    /// down.
    pub fn requests_allowed(&self) -> usize {
        self.0.gate.throttle.allowed()
    }

    /// When a request that begins now has to be over.
    pub(crate) fn deadline(&self) -> Instant {
        time::now() + self.client().limits.request_timeout
    }

    /// What the store says of an object.
    ///
    /// # Errors
    /// `NotFound` when there is none, and what else goes wrong.
    pub async fn head(&self, key: &str) -> Result<ObjectInfo> {
        let (head, body) = self.ask(&Operation::Head { key }, RECEIPT_BYTES_MAX).await?;
        Ok(self.provider().receipt(key, &head, &body)?.info)
    }

    /// What a server of files makes for whoever asks with this query and these headers, as catalogs do; up to
    /// `bytes_max` of it.
    ///
    /// # Errors
    /// `Invalid` of other stores, `TooLarge`, and what else goes wrong.
    pub async fn document(
        &self,
        key: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
        bytes_max: usize,
    ) -> Result<Vec<u8>> {
        let operation = Operation::Document { key, query, headers };
        Ok(self.ask(&operation, bytes_max).await?.1)
    }

    /// Removes an object. It is no error when there is none.
    ///
    /// # Errors
    /// What goes wrong.
    pub async fn delete(&self, key: &str) -> Result<()> {
        match self.ask(&Operation::Delete { key }, DOCUMENT_BYTES_MAX).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other.map(drop),
        }
    }

    /// A page of the objects whose names begin with `prefix`, in the order of their names. Names that go
    /// on behind the next `delimiter` are told once, as prefixes. `from` is the last page's `next`.
    ///
    /// # Errors
    /// What goes wrong.
    pub async fn list(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
        from: Option<&str>,
    ) -> Result<ListPage> {
        self.list_some(prefix, delimiter, from, PAGE_OBJECTS).await
    }

    /// The same with at most `count_max` objects, as far as the store obeys.
    ///
    /// # Errors
    /// What goes wrong.
    pub async fn list_some(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
        from: Option<&str>,
        count_max: u32,
    ) -> Result<ListPage> {
        let operation = Operation::List { prefix, delimiter, from, count_max };
        let (_, document) = self.ask(&operation, DOCUMENT_BYTES_MAX).await?;
        let text = String::from_utf8(document);
        let text = text.map_err(|_| Error::protocol("the list is no text"))?;
        self.provider().list(&text)
    }

    /// All objects whose names begin with `prefix`.
    ///
    /// # Errors
    /// `TooLarge` when they are more than `count_max`, `Protocol` when the pages do not end, and what
    /// else goes wrong.
    pub async fn list_all(&self, prefix: &str, count_max: usize) -> Result<Vec<ObjectInfo>> {
        let (mut objects, mut from, mut empty) = (Vec::new(), None::<String>, 0);
        loop {
            let page = self.list(prefix, None, from.as_deref()).await?;
            empty += u32::from(page.objects.is_empty());
            if empty > EMPTY_PAGES_MAX {
                return Err(Error::protocol("the list goes on and on without objects"));
            }
            objects.extend(page.objects);
            if objects.len() > count_max {
                let what = format!("the list has more than {count_max} objects");
                return Err(Error::new(ErrorKind::TooLarge, what));
            }
            match page.next {
                None => return Ok(objects),
                Some(next) if Some(&next) == from.as_ref() => {
                    return Err(Error::protocol("the list goes round in circles"));
                }
                next => from = next,
            }
        }
    }

    /// Makes a request whose answer is short; gives its head and body.
    pub(crate) async fn ask(
        &self,
        operation: &Operation<'_>,
        body_bytes_max: usize,
    ) -> Result<(Head, Vec<u8>)> {
        self.ask_until(operation, body_bytes_max, self.deadline()).await
    }

    pub(crate) async fn ask_until(
        &self,
        operation: &Operation<'_>,
        body_bytes_max: usize,
        deadline: Instant,
    ) -> Result<(Head, Vec<u8>)> {
        self.repeat(deadline, async || self.ask_once(operation, body_bytes_max, deadline).await)
            .await
    }

    pub(crate) async fn ask_once(
        &self,
        operation: &Operation<'_>,
        body_bytes_max: usize,
        deadline: Instant,
    ) -> Result<(Head, Vec<u8>)> {
        let byte_count = match operation {
            Operation::Put { payload, .. } | Operation::PutPart { payload, .. } => {
                payload.bytes.len() as u64
            }
            _ => 0,
        };
        let until = Until { request: deadline, turn: None, byte_count };
        let mut sink = Sink::growing(body_bytes_max);
        let answer = self.attempt(operation, &mut sink, &until, |_, _| Ok(())).await;
        let answer = answer.map_err(|(error, _)| error)?;
        Ok((answer.head, sink.bytes().to_vec()))
    }

    /// Makes attempts until one succeeds, fails for good, or the deadline or the budget is at its end.
    /// Between them it waits, each time longer, and as the endpoint wishes.
    pub(crate) async fn repeat<T>(
        &self,
        deadline: Instant,
        mut attempt: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        self.client().counters.requests.fetch_add(1, Relaxed);
        let gate = &self.0.gate;
        let (mut last, mut nonsense): (Option<Error>, _) = (None, 0);
        for retry in 0.. {
            let entered = time::timeout(deadline - time::now(), gate.throttle.enter()).await;
            let Ok(pass) = entered else {
                let late = || Error::new(ErrorKind::TimedOut, "no turn came before the deadline");
                return Err(last.unwrap_or_else(late).with_attempts(retry));
            };
            let error = match attempt().await {
                Ok(done) => {
                    pass.succeeded();
                    gate.budget.earn();
                    return Ok(done);
                }
                Err(error) => error.with_attempts(retry + 1),
            };
            match error.kind() {
                ErrorKind::Throttled => {
                    pass.warned(error.retry_after_s().map(time::Duration::from_secs));
                }
                // What is refused is answered well.
                _ if error.status().is_some() && !error.is_retryable() => pass.succeeded(),
                _ => {}
            }
            drop(pass);
            nonsense += u32::from(error.kind() == ErrorKind::Protocol);
            let pause = backoff::pause(&self.client().limits, retry, runtime::random_u64());
            let again = time::now() + pause;
            let is_hopeless = !error.is_retryable() || nonsense == NONSENSE_MAX;
            if is_hopeless || again >= deadline || !gate.budget.take() {
                return Err(error);
            }
            last = Some(error);
            time::sleep_until(again).await;
        }
        unreachable!("attempts are made until one ends the request")
    }
}

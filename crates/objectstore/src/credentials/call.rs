//! Asking a service that gives out keys. Such calls have nothing in common with the requests of a
//! store: a connection each, a short wait, and addresses that no store may have.

use runtime::time::{self, Duration, Instant};

use crate::allow::AllowList;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{self, Pace, Request, Sink, Times};
use crate::location::Endpoint;
use crate::shared::{Options, Shared};
use crate::tls::{Name, Trust};

/// A document with keys, at most; tokens of sessions have some thousand bytes.
const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// Bytes a second below which a service is as good as dead.
const RATE_MIN: u64 = 1 << 10;

/// Where calls go to, and which of its addresses may be spoken to.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) endpoint: Endpoint,
    pub(super) allow: AllowList,
}

impl Service {
    /// A service in the network, held to what stores are held to.
    pub(super) fn remote(endpoint: Endpoint) -> Service {
        Service { endpoint, allow: AllowList::any() }
    }

    /// A service of this machine, which may stand at an address that stores must not have.
    pub(super) fn of_this_machine(endpoint: Endpoint) -> Service {
        let allow = AllowList::only([endpoint.host.clone()]);
        Service { endpoint, allow }
    }

    /// A form that is sent to it.
    pub(super) fn form<'a>(&self, body: &'a str) -> Request<'a> {
        let path = self.endpoint.path.as_str();
        let form = "application/x-www-form-urlencoded".to_owned();
        Request {
            method: "POST",
            target: if path.is_empty() { "/" } else { path }.to_owned(),
            headers: vec![("content-type".to_owned(), form)],
            body: body.as_bytes(),
            ..Request::default()
        }
    }
}

/// What a service has answered. The body may have keys in it, so it is never shown.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer as text.
    pub(super) fn text(&self) -> Result<&str> {
        let text = std::str::from_utf8(&self.body);
        text.map_err(|_| Error::new(ErrorKind::Unavailable, "the answer is no text"))
    }
}

/// Makes calls.
pub(super) struct Caller {
    shared: Shared,
}

impl Caller {
    pub(super) fn new(trust: Trust) -> Result<Caller> {
        Ok(Caller { shared: Shared::new(Options { trust, ..Options::default() })? })
    }

    /// Sends a request, whose headers have no `host` yet, and waits so long for the whole answer.
    ///
    /// # Errors
    /// `TimedOut`, `Connection`, `Forbidden`, `Untrusted`, `Protocol`. A status is no error.
    pub(super) async fn call(
        &self,
        service: &Service,
        mut request: Request<'_>,
        wait: Duration,
    ) -> Result<Reply> {
        request.headers.push(("host".to_owned(), service.endpoint.authority()));
        if !request
            .headers
            .iter()
            .all(|(name, value)| http::is_plain(name) && http::is_plain(value))
        {
            return Err(Error::invalid("a token that is to be sent has more than one line"));
        }
        let deadline = time::now() + wait;
        let answered = time::timeout(wait, self.exchange(service, &request, deadline)).await;
        answered.unwrap_or_else(|_| {
            let what = format!("{} does not answer in {} ms", service.endpoint, wait.as_millis());
            Err(Error::new(ErrorKind::TimedOut, what))
        })
    }

    async fn exchange(
        &self,
        service: &Service,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Reply> {
        let shared = &self.shared;
        let endpoint = &service.endpoint;
        let peer = shared.resolver.choose(endpoint, &service.allow).await?;
        let name = Name::try_from(endpoint.host.clone());
        let name = name.map_err(|_| Error::invalid("the host has no name for TLS"))?;
        let secure = endpoint.is_secure.then_some((&shared.tls, &name));
        let opened = Connection::open(peer, secure, deadline).await;
        let mut connection =
            opened.map_err(|error| Error::io(&format!("connecting to {endpoint}"), &error))?;
        let mut sink = Sink::growing(DOCUMENT_BYTES_MAX);
        let times = times(deadline);
        let done = http::exchange(&mut connection, request, &mut sink, &times, |_, _| Ok(())).await;
        let answer = done.map_err(|failure| failure.error)?;
        let body = match answer.head.status < 300 {
            true => sink.bytes().to_vec(),
            false => answer.complaint,
        };
        Ok(Reply { status: answer.head.status, body })
    }
}

fn times(deadline: Instant) -> Times<'static> {
    let wait = deadline - time::now();
    let pace = Pace {
        deadline,
        latest: deadline,
        counted: 0,
        turn: None,
        stall: wait,
        rate_min: RATE_MIN,
        wake_bytes: 1,
    };
    Times { first_byte: wait, pace }
}

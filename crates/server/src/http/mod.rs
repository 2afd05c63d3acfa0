//! HTTP/1.1 on the runtime's own sockets: health, metrics, and the console.
//!
//! A connection is a task, as in the PostgreSQL protocol. All bounds (bytes of a head and a body,
//! time for a request to come and an answer to go, connections at once) are named where they are
//! kept.

mod console;
mod guard;
mod metrics;
mod request;
mod response;
mod slots;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use runtime::net::{Address, Listener, Socket};
use runtime::{spawn_on, time, worker_count};

use crate::drain::Stage;
use crate::shared::Shared;
use console::{Answer, Console};
pub use console::{ConsoleOptions, Sample};
use guard::Guard;
use request::{Input, Refusal, Request};
use response::Response;
use slots::{Slot, Slots};

/// How long accepting rests after an error: out of descriptors passes when a client leaves.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a client may take for an answer before it is given up.
const SEND_MAX: Duration = Duration::from_secs(20);

/// The error of a wait that ends because the runtime stops.
const ECANCELED: i32 = 125;

/// What all HTTP connections share.
pub(crate) struct Http {
    pub shared: Arc<Shared>,
    console: Console,
    slots: Arc<Slots>,
}

impl Http {
    pub fn new(shared: Arc<Shared>, options: &ConsoleOptions) -> Arc<Http> {
        let console = Console::new(&shared, options);
        Arc::new(Http { shared, console, slots: Arc::default() })
    }

    /// Accepts until the runtime ends.
    pub async fn accept(self: Arc<Self>, listener: Listener) {
        // Queries begin on the first worker; connections here begin at the last one.
        let mut turn = worker_count() - 1;
        loop {
            match listener.accept().await {
                Ok((socket, peer)) => {
                    let Some(slot) = self.slots.enter(&socket) else { continue };
                    let http = self.clone();
                    let serve = move || http.serve(socket, peer, slot);
                    drop(spawn_on(turn % worker_count(), serve));
                    turn += worker_count() - 1;
                }
                Err(error) if error.raw_os_error() == Some(ECANCELED) => return,
                Err(_) => time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve(self: Arc<Self>, socket: Socket, peer: Address, slot: Slot) {
        let mut input = Input::default();
        // Whatever ends a connection was told to the client, or it is gone.
        while let Ok(true) = self.answer_next(&socket, &peer, &mut input, &slot).await {}
    }

    /// Answers one request; whether another may come.
    async fn answer_next(
        &self,
        socket: &Socket,
        peer: &Address,
        input: &mut Input,
        slot: &Slot,
    ) -> io::Result<bool> {
        let request = match input.next(socket).await {
            Ok(request) => request,
            Err(Refusal::Ended) => return Ok(false),
            Err(Refusal::Status(status, why)) => {
                send(socket, &Response::text(status, why).bytes(false, true)).await?;
                return Ok(false);
            }
        };
        slot.work();
        match self.respond(&request, peer).await {
            Answer::Whole(response) => {
                slot.wait();
                let bytes = response.bytes(request.keep_alive, request.method != "HEAD");
                send(socket, &bytes).await?;
                Ok(request.keep_alive)
            }
            Answer::Events(watcher) => {
                watcher.send(socket).await?;
                Ok(false)
            }
        }
    }

    async fn respond(&self, request: &Request, peer: &Address) -> Answer {
        match request.path.as_str() {
            "/" => self.console.answer(request, peer).await,
            path if path.starts_with("/api/") => self.console.answer(request, peer).await,
            _ => Answer::Whole(self.operate(request)),
        }
    }

    /// What operators and their tools ask for.
    fn operate(&self, request: &Request) -> Response {
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Response::text(405, "only GET here");
        }
        match request.path.as_str() {
            // The process lives and its workers turn: this very answer shows it.
            "/healthz" => Response::text(200, "ok"),
            // The database was opened, and so recovered, before this address was bound.
            "/readyz" if self.shared.drain.stage() != Stage::Open => {
                Response::text(503, "stopping")
            }
            "/readyz" => Response::text(200, "ready"),
            "/metrics" => match Guard::host(request) {
                Ok(()) => Response::ok(metrics::CONTENT_TYPE, metrics::text(self)),
                Err(refusal) => refusal,
            },
            _ => Response::text(404, "there is nothing here"),
        }
    }
}

/// Sends all of an answer.
///
/// # Errors
/// The client is gone, or takes too long.
pub(crate) async fn send(socket: &Socket, bytes: &[u8]) -> io::Result<()> {
    let sent = time::timeout(SEND_MAX, socket.send_all(bytes)).await;
    sent.map_err(|_| io::ErrorKind::TimedOut)?
}

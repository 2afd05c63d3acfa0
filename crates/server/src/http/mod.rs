//! HTTP/1.1 on the runtime's own sockets: health, metrics, and the console.
//!
//! A connection is a task, as in the PostgreSQL protocol. All bounds (bytes of a head and a body,
//! time for a request to come, connections at once) are named where they are kept.

mod console;
mod guard;
mod metrics;
mod request;
mod response;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use runtime::net::{Address, Listener, Socket};
use runtime::{spawn_on, time, worker_count};

use crate::Shared;
use crate::drain::Stage;
use console::{Answer, Console};
pub use console::{ConsoleOptions, Sample};
use request::{Input, Refusal, Request};
use response::Response;

/// Connections at once; a browser opens six, a scraper one.
const CONNECTION_COUNT_MAX: usize = 256;

/// How long accepting rests after an error: out of descriptors passes when a client leaves.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The error of a wait that ends because the runtime stops.
const ECANCELED: i32 = 125;

/// What all HTTP connections share.
pub(crate) struct Http {
    pub shared: Arc<Shared>,
    console: Console,
    connection_count: AtomicUsize,
}

/// A connection that counts.
struct Place(Arc<Http>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connection_count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Http {
    pub fn new(shared: Arc<Shared>, options: &ConsoleOptions) -> Arc<Http> {
        let console = Console::new(&shared, options);
        Arc::new(Http { shared, console, connection_count: AtomicUsize::new(0) })
    }

    fn place(self: &Arc<Self>) -> Option<Place> {
        let before = self.connection_count.fetch_add(1, Ordering::Relaxed);
        let place = Place(self.clone());
        (before < CONNECTION_COUNT_MAX).then_some(place)
    }

    /// Accepts until the runtime ends.
    pub async fn accept(self: Arc<Self>, listener: Listener) {
        // Queries begin on the first worker; connections here begin at the last one.
        let mut turn = worker_count() - 1;
        loop {
            match listener.accept().await {
                Ok((socket, peer)) => {
                    let Some(place) = self.place() else { continue };
                    let http = self.clone();
                    let serve = move || http.serve(socket, peer, place);
                    drop(spawn_on(turn % worker_count(), serve));
                    turn += worker_count() - 1;
                }
                Err(error) if error.raw_os_error() == Some(ECANCELED) => return,
                Err(_) => time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve(self: Arc<Self>, socket: Socket, peer: Address, _place: Place) {
        let mut input = Input::default();
        // Whatever ends a connection was told to the client, or it is gone.
        while let Ok(true) = self.answer_next(&socket, &peer, &mut input).await {}
    }

    /// Answers one request; whether another may come.
    async fn answer_next(
        &self,
        socket: &Socket,
        peer: &Address,
        input: &mut Input,
    ) -> io::Result<bool> {
        match input.next(socket).await {
            Ok(request) => {
                let response = match self.respond(&request, peer).await {
                    Answer::Whole(response) => response,
                    Answer::Events(watcher) => {
                        watcher.send(socket).await?;
                        return Ok(false);
                    }
                };
                let keep_alive = request.keep_alive;
                let bytes = response.bytes(keep_alive, request.method != "HEAD");
                socket.send_all(&bytes).await?;
                Ok(keep_alive)
            }
            Err(Refusal::Ended) => Ok(false),
            Err(Refusal::Status(status, why)) => {
                socket.send_all(&Response::text(status, why).bytes(false, true)).await?;
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
            "/metrics" => Response::ok(metrics::CONTENT_TYPE, metrics::text(self)),
            _ => Response::text(404, "there is nothing here"),
        }
    }
}

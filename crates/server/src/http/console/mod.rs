//! The console: a page in a browser that runs a query in three modes and shows what happens.
//!
//! The page is embedded in the binary and sent as one file, which loads nothing from anywhere else.
//! It talks to the paths below `/api/`. Each run has a session of its own, of the role that has logged in if
//! somebody has to, and reads only unless both the server and the page are told otherwise.

mod events;
mod facts;
mod login;
mod page;
mod run;
mod runs;
mod throttle;
mod visitor;

use std::sync::{Arc, Mutex};

use engine::{Database, SqlError, SqlResult};
use runtime::net::Address;
use serde_json::{Value, json};

use super::guard::{Guard, secret};
use super::request::Request;
use super::response::Response;
use crate::shared::Shared;

pub(crate) use events::Watcher;
use events::Watchers;
use login::Logins;
use run::Wish;
use runs::Runs;
use throttle::Throttle;
use visitor::Visitor;

/// What the console offers.
#[derive(Clone, Default)]
pub struct ConsoleOptions {
    /// Whether statements that write are allowed.
    pub writes: bool,
    /// Queries to begin with; those that cannot be planned here are not offered.
    pub samples: Vec<Sample>,
    /// Measures how many random reads of 4 KiB the device does a second. It blocks for a second.
    pub device: Option<fn(&Database) -> SqlResult<f64>>,
    /// That figure, if it was measured already.
    pub device_reads_per_s: Option<f64>,
}

/// A query to begin with.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it asks.
    pub title: String,
    /// The statement.
    pub sql: String,
}

/// The console of a server.
pub(crate) struct Console {
    shared: Arc<Shared>,
    options: ConsoleOptions,
    guard: Guard,
    logins: Logins,
    throttle: Throttle,
    runs: Runs,
    watchers: Watchers,
    device_reads_per_s: Mutex<Option<f64>>,
}

/// The answer to a request: at once, or as it happens.
pub(crate) enum Answer {
    Whole(Response),
    Events(Watcher),
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Answer::Whole(response)
    }
}

impl Console {
    pub fn new(shared: &Arc<Shared>, options: &ConsoleOptions) -> Console {
        Console {
            shared: shared.clone(),
            options: options.clone(),
            guard: Guard::new(),
            logins: Logins::new(),
            throttle: Throttle::default(),
            runs: Runs::default(),
            watchers: Watchers::default(),
            device_reads_per_s: Mutex::new(options.device_reads_per_s),
        }
    }

    /// Answers a request for the page or below `/api/`.
    pub async fn answer(&self, request: &Request, peer: &Address) -> Answer {
        let answer = match request.path.as_str() {
            "/" => self.page(request).map(Answer::Whole),
            _ => self.api(request, peer).await,
        };
        answer.unwrap_or_else(Answer::Whole)
    }

    fn page(&self, request: &Request) -> Result<Response, Response> {
        Guard::host(request)?;
        if request.method != "GET" {
            return Err(Response::text(405, "only GET here"));
        }
        let (token, nonce) = (self.guard.issue(), secret());
        let mut response = Response::ok("text/html; charset=utf-8", page::page(&token, &nonce));
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
             connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        response.headers.push(("Content-Security-Policy", policy));
        response.headers.push(("Referrer-Policy", "no-referrer".to_owned()));
        Ok(response)
    }

    async fn api(&self, request: &Request, peer: &Address) -> Result<Answer, Response> {
        Guard::host(request)?;
        self.guard.page(request)?;
        let path: Vec<&str> = request.path.split('/').skip(2).collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET", ["who"]) => Ok(self.who(request)),
            ("POST", ["login"]) => self.log_in(request, peer).await,
            ("POST", ["logout"]) => Ok(self.log_out(request)),
            (method, path) => {
                let visitor = self.visitor(request)?;
                self.serve(method, path, request, visitor).await
            }
        }
    }

    /// Answers somebody who may be here.
    async fn serve(
        &self,
        method: &str,
        path: &[&str],
        request: &Request,
        visitor: Visitor,
    ) -> Result<Answer, Response> {
        match (method, path) {
            ("GET", ["info"]) => Ok(answer(&self.info())),
            ("GET", ["schema"]) => Ok(answer(&facts::schema(&self.shared.db()))),
            ("GET", ["samples"]) => {
                let session = self.session(&visitor).map_err(|e| refuse(&e))?;
                Ok(answer(&facts::samples(&session, &self.options.samples).await))
            }
            ("GET", ["example"]) => {
                let mut response = Response::ok("application/json", page::EXAMPLE);
                response.headers.push(("Content-Encoding", "gzip".to_owned()));
                Ok(Answer::Whole(response))
            }
            ("POST", ["device"]) => self.device().await.map(|found| answer(&found)),
            ("POST", ["run"]) => self.run(request, visitor),
            ("POST", ["runs", id, "cancel"]) => {
                self.runs.find(id, &visitor)?.cancel();
                Ok(answer(&json!({})))
            }
            ("GET", ["runs", id, "events"]) => {
                self.watchers.watch(self.runs.find(id, &visitor)?).map(Answer::Events)
            }
            _ => Err(Response::text(404, "there is nothing here")),
        }
    }

    fn run(&self, request: &Request, visitor: Visitor) -> Result<Answer, Response> {
        let wish = Wish::read(&request.body, self.options.writes).map_err(|e| refuse(&e))?;
        let session = self.session(&visitor).map_err(|e| refuse(&e))?;
        let run = self.runs.start(session, wish, visitor)?;
        Ok(answer(&json!({ "id": run.id.to_string() })))
    }

    /// Measures the device, once.
    async fn device(&self) -> Result<Value, Response> {
        let known = *lock(&self.device_reads_per_s);
        if known.is_none()
            && let Some(measure) = self.options.device
        {
            let db = self.shared.db();
            let measured = runtime::offload(move || measure(&db)).await;
            let measured = measured.map_err(|e| SqlError::internal(e.to_string()));
            let figure = measured.and_then(|figure| figure).map_err(|e| refuse(&e))?;
            *lock(&self.device_reads_per_s) = Some(figure);
        }
        Ok(self.info())
    }

    fn info(&self) -> Value {
        let device = *lock(&self.device_reads_per_s);
        facts::info(&self.shared.db(), self.options.writes, self.options.device.is_some(), device)
    }
}

fn answer(value: &Value) -> Answer {
    Answer::Whole(Response::ok("application/json", value.to_string()))
}

/// An error of the user's, in the form that the page shows.
fn refuse(error: &SqlError) -> Response {
    refuse_with(422, error)
}

/// The same with another status.
fn refuse_with(status: u16, error: &SqlError) -> Response {
    let body = run::error_value(error).to_string().into_bytes();
    Response { status, content_type: "application/json", headers: Vec::new(), body }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

//! Whether a client may connect and is who it says: the rules, then a password's proof.

use std::io;

use engine::{SqlError, SqlResult, SqlState};
use runtime::net::Address;

use crate::connection::Connection;
use crate::hba::{Candidate, Method};
use crate::scram::{self, Exchange, Refusal};
use crate::shared::Shared;

/// Answers of the server while a client logs in (`AuthenticationRequest`).
const OK: i32 = 0;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

impl Connection {
    /// Lets the client prove who it is. The inner error is for the client; after it, it is told
    /// nothing more.
    pub(crate) async fn authenticate(&mut self, user: &str) -> io::Result<SqlResult<()>> {
        let encrypted = self.stream.is_encrypted();
        let method = match method(&self.shared, &self.peer, encrypted, user) {
            Ok(method) => method,
            Err(error) => return Ok(Err(error)),
        };
        if method == Method::Scram
            && let Err(error) = self.prove(user).await?
        {
            return Ok(Err(error));
        }
        self.request(OK, b"");
        Ok(Ok(()))
    }

    fn request(&mut self, code: i32, rest: &[u8]) {
        self.output.message(b'R', |body| {
            body.extend_from_slice(&code.to_be_bytes());
            body.extend_from_slice(rest);
        });
    }

    /// Carries SCRAM out.
    async fn prove(&mut self, user: &str) -> io::Result<SqlResult<()>> {
        let binding = self.stream.binding();
        let mut mechanisms = Vec::new();
        if binding.is_some() {
            crate::output::string(&mut mechanisms, scram::PLUS);
        }
        crate::output::string(&mut mechanisms, scram::PLAIN);
        mechanisms.push(0);
        self.request(SASL, &mechanisms);
        let Some(body) = self.response().await? else { return Ok(Err(unexpected())) };
        let (mechanism, message) = match scram::initial(&body) {
            Ok(initial) => initial,
            Err(error) => return Ok(Err(error)),
        };
        let bound = match (mechanism, &binding) {
            (scram::PLAIN, _) => None,
            (scram::PLUS, Some(hash)) => Some(hash.as_slice()),
            _ => return Ok(Err(no_mechanism())),
        };
        let credentials = self.shared.db().credentials(user);
        let begun = Exchange::begin(message, credentials, bound, binding.is_some());
        let (exchange, answer) = match begun {
            Ok(begun) => begun,
            Err(refusal) => return Ok(Err(told(refusal, user))),
        };
        self.request(SASL_CONTINUE, answer.as_bytes());
        let Some(body) = self.response().await? else { return Ok(Err(unexpected())) };
        match exchange.finish(&body) {
            Ok(answer) => {
                self.request(SASL_FINAL, answer.as_bytes());
                Ok(Ok(()))
            }
            Err(refusal) => Ok(Err(told(refusal, user))),
        }
    }

    /// The client's next message of the exchange; `None` when it is something else.
    async fn response(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.flush().await?;
        let next = self.input.next_within(&mut self.stream, scram::MESSAGE_BYTES_MAX).await?;
        let frame = next.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((frame.tag == b'p').then_some(frame.body))
    }
}

/// How a client is to prove who it is, as the rules say.
///
/// # Errors
/// 28000 when they let it in by no proof at all.
pub(crate) fn method(
    shared: &Shared,
    peer: &Address,
    encrypted: bool,
    user: &str,
) -> SqlResult<Method> {
    let (db, rules) = (shared.db(), shared.rules());
    let database = db.name();
    let candidate = Candidate { peer, encrypted, database: &database, user };
    let method = match rules.as_deref() {
        Some(rules) => rules.method(&candidate, |role| db.is_member(user, role)),
        None => Some(default_method(peer, db.has_passwords())),
    };
    match method {
        Some(method @ (Method::Trust | Method::Scram)) => Ok(method),
        Some(Method::Reject) => Err(refused("pg_hba.conf rejects connection", &candidate)),
        None => Err(refused("no pg_hba.conf entry", &candidate)),
    }
}

/// Without rules: nobody from elsewhere without a password; on this machine passwords are asked for
/// as soon as any role has one.
fn default_method(peer: &Address, has_passwords: bool) -> Method {
    let is_here = match peer {
        Address::Unix(_) => true,
        Address::Tcp(peer) => peer.ip().to_canonical().is_loopback(),
    };
    if is_here && !has_passwords { Method::Trust } else { Method::Scram }
}

fn refused(why: &str, candidate: &Candidate<'_>) -> SqlError {
    let host = match candidate.peer {
        Address::Unix(_) => "[local]".to_owned(),
        Address::Tcp(peer) => peer.ip().to_canonical().to_string(),
    };
    let encryption = if candidate.encrypted { "SSL encryption" } else { "no encryption" };
    let (user, database) = (candidate.user, candidate.database);
    let message = format!(
        "{why} for host \"{host}\", user \"{user}\", database \"{database}\", {encryption}"
    );
    SqlError::new(SqlState::INVALID_AUTHORIZATION, message)
}

fn told(refusal: Refusal, user: &str) -> SqlError {
    match refusal {
        Refusal::Malformed(error) => error,
        Refusal::Wrong => wrong_password(user),
    }
}

/// 28P01: the password is wrong, there is none, or there is no such role.
pub(crate) fn wrong_password(user: &str) -> SqlError {
    let message = format!("password authentication failed for user \"{user}\"");
    SqlError::new(SqlState::INVALID_PASSWORD, message)
}

fn unexpected() -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, "expected SASL response")
}

fn no_mechanism() -> SqlError {
    let message = "client selected an invalid SASL authentication mechanism";
    SqlError::new(SqlState::PROTOCOL_VIOLATION, message)
}

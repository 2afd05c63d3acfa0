//! The beginning of a connection: encryption requests, cancel requests, the start-up message.

pub(crate) mod options;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use runtime::net::Address;
use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use crate::cancel::{self, CancelKey, Presence};
use crate::connection::Connection;
use crate::drain::{self, Stage};
use crate::message::Reader;
use crate::report::Reported;
use crate::slots::SlotRequest;
use crate::tls::HANDSHAKE;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Protocol 3.2, the newest: the major number in the upper half. From it on cancel keys are long.
const PROTOCOL_3_2: u32 = (3 << 16) + 2;

/// A client must have proved who it is by then if the configuration does not say.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

impl Connection {
    /// Carries the start-up out; false when the connection has served its purpose.
    pub(crate) async fn start(&mut self) -> io::Result<bool> {
        let limit = self.shared.db().configuration().duration("authentication_timeout");
        match time::timeout(limit.unwrap_or(STARTUP_TIMEOUT), self.greet()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn greet(&mut self) -> io::Result<bool> {
        if self.input.begins_with(&mut self.stream, HANDSHAKE).await? {
            let received = self.input.take_all();
            let Some(tls) = self.shared.tls() else { return Ok(false) };
            self.stream.encrypt(&tls, received, true).await?;
        }
        loop {
            let Some(body) = self.input.startup(&mut self.stream).await? else { return Ok(false) };
            let mut reader = Reader(&body);
            match reader.u32().map_err(|_| io::ErrorKind::InvalidData)? {
                SSL_REQUEST if !self.stream.is_encrypted() => self.answer_ssl_request().await?,
                // The client decides whether it goes on without.
                SSL_REQUEST | GSS_REQUEST => self.stream.send_all(b"N").await?,
                CANCEL_REQUEST => {
                    if let Ok(process) = reader.u32() {
                        let key = CancelKey { process, secret: reader.0.to_vec() };
                        self.shared.sessions.cancel(&key);
                    }
                    return Ok(false);
                }
                version => {
                    if let Err(error) = self.welcome(version, reader).await? {
                        self.record_refusal(&error);
                        self.output.error(&error, "FATAL");
                        return Ok(false);
                    }
                    self.flush().await?;
                    return Ok(true);
                }
            }
        }
    }

    async fn answer_ssl_request(&mut self) -> io::Result<()> {
        // Nobody can listen at a unix socket, so PostgreSQL does not encrypt there either.
        let tls = self.shared.tls().filter(|_| matches!(self.peer, Address::Tcp(_)));
        let Some(tls) = tls else { return self.stream.send_all(b"N").await };
        // What came before the handshake was sent in the clear, perhaps by somebody between.
        if !self.input.take_all().is_empty() {
            let message = "received unencrypted data after SSL request";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.stream.send_all(b"S").await?;
        self.stream.encrypt(&tls, Vec::new(), false).await
    }

    /// Answers the start-up message. The inner error is for the client.
    async fn welcome(&mut self, version: u32, reader: Reader<'_>) -> io::Result<SqlResult<()>> {
        let parameters = match self.opened(version, reader) {
            Ok(parameters) => parameters,
            Err(error) => return Ok(Err(error)),
        };
        let user = parameters.iter().find(|(name, _)| name == "user");
        let Some((_, user)) = user.filter(|(_, user)| !user.is_empty()) else {
            let message = "no PostgreSQL user name specified in startup packet";
            return Ok(Err(SqlError::new(SqlState::INVALID_AUTHORIZATION, message)));
        };
        if let Err(error) = self.authenticate(user).await? {
            return Ok(Err(error));
        }
        Ok(self.enter(user, version, &parameters))
    }

    /// Checks the version, and takes the parameters.
    fn opened(&mut self, version: u32, reader: Reader<'_>) -> SqlResult<Vec<(String, String)>> {
        if version >> 16 != 3 {
            let (major, minor) = (version >> 16, version & 0xffff);
            let message = format!(
                "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2"
            );
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let parameters = parameters(reader)?;
        let unknown: Vec<&str> = parameters
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| name.starts_with("_pq_."))
            .collect();
        if version > PROTOCOL_3_2 || !unknown.is_empty() {
            self.negotiate(version.min(PROTOCOL_3_2), &unknown);
        }
        Ok(parameters)
    }

    /// Begins the session of a role that is who it says, and tells the client what it may expect.
    fn enter(
        &mut self,
        user: &str,
        version: u32,
        parameters: &[(String, String)],
    ) -> SqlResult<()> {
        let session = &mut self.session;
        let presence = Presence::new(self.stream.socket().clone(), session.cancel_handle());
        let secret_bytes = if version < PROTOCOL_3_2 { cancel::SHORT } else { cancel::LONG };
        let key = self.shared.sessions.enter(presence.clone(), secret_bytes);
        (self.key, self.presence) = (Some(key.clone()), Some(presence.clone()));
        // The end of the server counts all that have entered before it.
        if self.shared.drain.stage() != Stage::Open {
            return Err(drain::too_late());
        }
        session.log_in(user, key.process as i32)?;
        let ended = Arc::downgrade(&presence);
        session.on_terminate(Arc::new(move || {
            if let Some(presence) = ended.upgrade() {
                presence.end();
            }
        }));
        let (superuser, limit) = (session.is_superuser(), session.connection_limit());
        self.slot = Some(self.shared.slots.take(&SlotRequest {
            role: session.user(),
            superuser,
            limit,
        })?);
        self.unauthenticated = None;
        self.input.trust(session.message_bytes_max().0, session.account().clone());
        for (name, value) in parameters {
            match name.as_str() {
                "user" | "database" => {}
                "replication" => self.replicates = is_on(value)?,
                "options" => {
                    for (name, value) in options::settings(value)? {
                        session.settings().set_at_start(&name, &value)?;
                    }
                }
                name if name.starts_with("_pq_.") => {}
                name => session.settings().set_at_start(name, value)?,
            }
        }
        if self.replicates {
            self.check_replication()?;
        }
        let session = &mut self.session;
        self.reported = Reported::begin(&mut self.output, session);
        self.output.message(b'K', |body| {
            body.extend_from_slice(&key.process.to_be_bytes());
            body.extend_from_slice(&key.secret);
        });
        self.output.ready(b'I');
        self.record_arrival();
        Ok(())
    }

    /// Tells a client of a later 3.x which version it gets, and which of its options are unknown.
    fn negotiate(&mut self, version: u32, unknown: &[&str]) {
        self.output.message(b'v', |body| {
            body.extend_from_slice(&version.to_be_bytes());
            body.extend_from_slice(&(unknown.len() as i32).to_be_bytes());
            unknown.iter().for_each(|name| crate::output::string(body, name));
        });
    }
}

/// True if a client is to be a replica. Replication of single changes is not here.
fn is_on(value: &str) -> SqlResult<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" | "" => Ok(false),
        _ => {
            let message = format!("replication \"{value}\"");
            Err(SqlError::unsupported(message))
        }
    }
}

/// The names and values of a start-up message.
pub(crate) fn parameters(mut reader: Reader<'_>) -> SqlResult<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    loop {
        let name = reader.string()?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name.to_owned(), reader.string()?.to_owned()));
    }
}

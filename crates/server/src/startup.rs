//! The beginning of a connection: encryption requests, cancel requests, the start-up message.

use std::io;
use std::time::Duration;

use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use crate::cancel::CancelKey;
use crate::connection::Connection;
use crate::message::Reader;
use crate::places::Guest;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Protocol 3.0: the major number in the upper half.
const PROTOCOL_3_0: u32 = 3 << 16;

/// A stranger must have proved who it is by then (PostgreSQL's `authentication_timeout`, which is a
/// minute: longer than any honest client needs).
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// What the server says of itself. Clients decide by these what they may use.
const PARAMETERS: &[(&str, &str)] = &[
    ("server_version", concat!("15.0 (Dovetail ", env!("CARGO_PKG_VERSION"), ")")),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
];

impl Connection {
    /// Carries the start-up out; false when the connection has served its purpose.
    pub(crate) async fn start(&mut self) -> io::Result<bool> {
        match time::timeout(STARTUP_TIMEOUT, self.greet()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn greet(&mut self) -> io::Result<bool> {
        loop {
            let Some(body) = self.input.startup(&mut self.stream).await? else { return Ok(false) };
            let mut reader = Reader(&body);
            match reader.u32().map_err(|_| io::ErrorKind::InvalidData)? {
                // No encryption here: the client decides whether it goes on.
                SSL_REQUEST | GSS_REQUEST => self.stream.send_all(b"N").await?,
                CANCEL_REQUEST => {
                    if let (Ok(process), Ok(secret)) = (reader.u32(), reader.u32()) {
                        self.shared.sessions.cancel(CancelKey { process, secret });
                    }
                    return Ok(false);
                }
                version => {
                    if let Err(error) = self.welcome(version, reader).await? {
                        self.output.error(&error, "FATAL");
                        return Ok(false);
                    }
                    self.flush().await?;
                    return Ok(true);
                }
            }
        }
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
        Ok(self.enter(user, &parameters))
    }

    /// Checks the version, and takes the parameters.
    fn opened(&mut self, version: u32, reader: Reader<'_>) -> SqlResult<Vec<(String, String)>> {
        if version >> 16 != 3 {
            let (major, minor) = (version >> 16, version & 0xffff);
            let message = format!(
                "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"
            );
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let parameters = parameters(reader)?;
        if version != PROTOCOL_3_0 {
            self.negotiate(&parameters);
        }
        Ok(parameters)
    }

    /// Begins the session of a role that is who it says, and tells the client what it may expect.
    fn enter(&mut self, user: &str, parameters: &[(String, String)]) -> SqlResult<()> {
        let session = self.session.as_mut().expect("a connection begins with a session");
        let key = self.shared.sessions.enter(session.cancel_handle());
        self.key = Some(key);
        session.log_in(user, key.process as i32)?;
        let (superuser, limit) = (session.is_superuser(), session.connection_limit());
        self.place =
            Some(self.shared.places.take(&Guest { role: session.user(), superuser, limit })?);
        self.stranger = None;
        self.input.trust();
        for (name, value) in parameters {
            match name.as_str() {
                "user" | "database" | "replication" | "options" => {}
                name if name.starts_with("_pq_.") => {}
                name => session.settings().set(name, value)?,
            }
        }
        let user = session.user().to_owned();
        for (name, value) in PARAMETERS {
            self.output.parameter_status(name, value);
        }
        self.output.parameter_status("is_superuser", if superuser { "on" } else { "off" });
        self.output.parameter_status("session_authorization", &user);
        let application = parameters.iter().find(|(name, _)| name == "application_name");
        let application = application.map_or("", |(_, value)| value.as_str());
        self.output.parameter_status("application_name", application);
        self.output.message(b'K', |body| {
            body.extend_from_slice(&key.process.to_be_bytes());
            body.extend_from_slice(&key.secret.to_be_bytes());
        });
        self.output.ready(b'I');
        Ok(())
    }

    /// Tells a client of a later 3.x that this is 3.0, and which of its options are unknown.
    fn negotiate(&mut self, parameters: &[(String, String)]) {
        let unknown: Vec<&String> =
            parameters.iter().map(|(name, _)| name).filter(|n| n.starts_with("_pq_.")).collect();
        self.output.message(b'v', |body| {
            body.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
            body.extend_from_slice(&(unknown.len() as i32).to_be_bytes());
            unknown.iter().for_each(|name| crate::output::string(body, name));
        });
    }
}

fn parameters(mut reader: Reader<'_>) -> SqlResult<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    loop {
        let name = reader.string()?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name.to_owned(), reader.string()?.to_owned()));
    }
}

//! Who uses the console: anybody while no role has to prove who it is, else who has logged in.

use std::sync::Arc;

use engine::{Session, SqlError, SqlResult, SqlState};
use runtime::net::Address;
use serde_json::{Value, json};

use super::{Answer, Console, answer, refuse_with};
use crate::authenticate;
use crate::hba::Method;
use crate::http::request::Request;
use crate::http::response::Response;
use crate::log::Severity;

/// Longest name or password that is looked at; PostgreSQL's messages bound them likewise.
const TEXT_BYTES_MAX: usize = 1024;

/// The role that a request speaks for; `None` where nobody has to log in.
pub(super) type Visitor = Option<Arc<str>>;

impl Console {
    /// Whether somebody must log in: as soon as the rules or a password could keep anybody out.
    fn wants_login(&self) -> bool {
        self.shared.db().has_passwords() || self.shared.rules().is_some()
    }

    /// Who sent a request.
    ///
    /// # Errors
    /// The response for somebody who has to log in first.
    pub(super) fn visitor(&self, request: &Request) -> Result<Visitor, Response> {
        if !self.wants_login() {
            return Ok(None);
        }
        let role = self.logins.role(&self.shared.db(), request);
        role.map(Some).ok_or_else(|| {
            let error = SqlError::new(SqlState::INVALID_AUTHORIZATION, "log in first");
            refuse_with(401, &error)
        })
    }

    /// A session of a visitor's.
    ///
    /// # Errors
    /// 28000 for a role that may not log in any more.
    pub(super) fn session(&self, visitor: &Visitor) -> SqlResult<Session> {
        let mut session = self.shared.db().session();
        if let Some(role) = visitor {
            session.log_in(role, 0)?;
        }
        session.settings().set("application_name", "console")?;
        Ok(session)
    }

    /// What the page asks first.
    pub(super) fn who(&self, request: &Request) -> Answer {
        let visitor = self.visitor(request);
        let session = visitor.as_ref().ok().and_then(|visitor| self.session(visitor).ok());
        answer(&json!({
            "login": self.wants_login(),
            "role": visitor.ok().flatten(),
            "enters": session.is_some(),
            "superuser": session.is_some_and(|session| session.is_superuser()),
        }))
    }

    /// Logs a browser in.
    ///
    /// # Errors
    /// The response for a wrong password, for too many of them, and for who may not log in at all.
    pub(super) async fn log_in(
        &self,
        request: &Request,
        peer: &Address,
    ) -> Result<Answer, Response> {
        let wish: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = |name: &str| wish[name].as_str().unwrap_or_default().to_owned();
        let (role, password) = (text("role"), text("password"));
        if role.is_empty() || role.len().max(password.len()) > TEXT_BYTES_MAX {
            return Err(Response::text(400, "a role and its password are needed"));
        }
        self.prove(&role, password, peer).await.map_err(|(status, error)| {
            let entry = self.shared.log.entry(Severity::Fatal, &*error.message);
            entry.with("client", peer.to_string()).with("sqlstate", error.state.0).write();
            refuse_with(status, &error)
        })?;
        let session = self.session(&Some(role.into())).map_err(|error| refuse_with(401, &error))?;
        let mut response = Response::ok("application/json", "{}");
        response.headers.push(("Set-Cookie", self.logins.enter(&self.shared.db(), session.user())));
        Ok(Answer::Whole(response))
    }

    /// Checks a password; the status and the error otherwise.
    async fn prove(
        &self,
        role: &str,
        password: String,
        peer: &Address,
    ) -> Result<(), (u16, SqlError)> {
        let method = authenticate::method(&self.shared, peer, false, role);
        if method.map_err(|error| (401, error))? == Method::Trust {
            return Ok(());
        }
        if !self.throttle.admit(role) {
            let message = format!("too many wrong passwords for user \"{role}\": wait a minute");
            return Err((429, SqlError::new(SqlState::INVALID_AUTHORIZATION, message)));
        }
        let credentials = self.shared.db().credentials(role);
        // The key derivation computes for milliseconds: other connections go on meanwhile.
        match runtime::offload(move || credentials.accepts(&password)).await {
            Ok(true) => {
                self.throttle.forgive(role);
                Ok(())
            }
            Ok(false) => Err((401, authenticate::wrong_password(role))),
            Err(error) => Err((500, SqlError::internal(error.to_string()))),
        }
    }

    /// Logs a browser out.
    pub(super) fn log_out(&self, request: &Request) -> Answer {
        let mut response = Response::ok("application/json", "{}");
        response.headers.push(("Set-Cookie", self.logins.leave(request)));
        Answer::Whole(response)
    }
}

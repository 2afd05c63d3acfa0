//! Who has logged in: cookies of browsers, and the roles that they stand for.
//!
//! A cookie is a secret of 256 bits, of which the server keeps the hash. It ends with the browser's
//! logout, after some time without a request, after half a day at the latest, and when the role gets
//! another password or is gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Database;
use runtime::time::{self, Instant};
use sha2::{Digest, Sha256};

use super::super::guard::secret;
use super::super::request::Request;

/// Logins that are known; the one that was not used for longest makes room.
const LOGIN_COUNT_MAX: usize = 256;
/// How long a login lasts without a request.
const REST_MAX: Duration = Duration::from_secs(30 * 60);
/// How long a login lasts at all.
const LIFE_MAX: Duration = Duration::from_secs(12 * 3600);

/// The logins of a console.
pub(super) struct Logins {
    /// The name of its cookie. Cookies do not tell ports apart: consoles of two servers on one machine
    /// must not take each other's.
    cookie: String,
    known: Mutex<VecDeque<Login>>,
}

struct Login {
    hash: [u8; 32],
    role: Arc<str>,
    /// Of the password that was shown: another password has another one.
    salt: Vec<u8>,
    begun: Instant,
    used: Instant,
}

impl Login {
    fn is_over(&self) -> bool {
        self.used.elapsed() > REST_MAX || self.begun.elapsed() > LIFE_MAX
    }
}

impl Logins {
    pub fn new() -> Logins {
        Logins { cookie: format!("dovetail-{}", &secret()[..8]), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<Login>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a role has proved who it is; the value of `Set-Cookie`.
    pub fn enter(&self, db: &Database, role: &str) -> String {
        let (secret, now) = (format!("{}{}", secret(), secret()), time::now());
        let login = Login {
            hash: Sha256::digest(&secret).into(),
            role: role.into(),
            salt: db.credentials(role).salt().to_vec(),
            begun: now,
            used: now,
        };
        let mut known = self.known();
        known.retain(|login| !login.is_over());
        if known.len() == LOGIN_COUNT_MAX {
            known.pop_front();
        }
        known.push_back(login);
        self.set(&secret, LIFE_MAX)
    }

    /// The role of the browser that sent a request, if it has logged in.
    pub fn role(&self, db: &Database, request: &Request) -> Option<Arc<str>> {
        let hash = self.hash(request)?;
        let mut known = self.known();
        known.retain(|login| !login.is_over());
        let at = known.iter().position(|login| login.hash == hash)?;
        let mut login = known.remove(at)?;
        if db.credentials(&login.role).salt() != login.salt {
            return None;
        }
        let role = login.role.clone();
        login.used = time::now();
        known.push_back(login);
        Some(role)
    }

    /// Forgets the browser's login; the value of `Set-Cookie`.
    pub fn leave(&self, request: &Request) -> String {
        if let Some(hash) = self.hash(request) {
            self.known().retain(|login| login.hash != hash);
        }
        self.set("", Duration::ZERO)
    }

    fn hash(&self, request: &Request) -> Option<[u8; 32]> {
        request.cookie(&self.cookie).map(|secret| Sha256::digest(secret).into())
    }

    fn set(&self, secret: &str, life: Duration) -> String {
        let (name, seconds) = (&self.cookie, life.as_secs());
        format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}")
    }
}

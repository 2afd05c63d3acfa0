//! What is kept of a password: SCRAM-SHA-256's verifier (RFC 5802, RFC 7677), in PostgreSQL's form
//! `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`. It checks a password and is none.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// Rounds of the key derivation; PostgreSQL's and RFC 7677's number.
const ITERATIONS: u32 = 4096;

/// Most rounds of a verifier that a client made: checking it costs the client, not us, but a
/// client that computes for minutes is of no use either.
const ITERATIONS_MAX: u32 = 10_000_000;

/// Rounds of a proof between two looks at others that wait for the worker: some 100 µs.
const ROUNDS_PER_TURN: u32 = 256;

const SALT_BYTES: usize = 16;
/// Longest salt of a verifier that a client made.
const SALT_BYTES_MAX: usize = 256;

/// What checks a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Rounds of the key derivation.
    pub iterations: u32,
    /// The salt.
    pub salt: Vec<u8>,
    /// The hash of the client's key.
    pub stored_key: [u8; 32],
    /// The key of the server's signature.
    pub server_key: [u8; 32],
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Verifier {
    /// The verifier of a password, with a salt of its own.
    pub fn of(password: &str) -> Verifier {
        Verifier::salted(password, &runtime::entropy::<SALT_BYTES>(), ITERATIONS)
    }

    /// The verifier of a password with a given salt.
    pub fn salted(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        let key = salted_password(normalised(password).as_bytes(), salt, iterations);
        let client_key = hmac(&key, &[b"Client Key"]);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&key, &[b"Server Key"]),
        }
    }

    /// Of no password: the salt follows from a name and a secret, so it is the same each time.
    fn mock(name: &str, secret: &[u8]) -> Verifier {
        let salt = hmac(secret, &[b"salt", name.as_bytes()]);
        Verifier {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: hmac(secret, &[b"stored", name.as_bytes()]),
            server_key: hmac(secret, &[b"server", name.as_bytes()]),
        }
    }

    /// Reads PostgreSQL's form; `None` for any other text.
    pub fn parse(text: &str) -> Option<Verifier> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (head, keys) = rest.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let iterations = iterations.parse().ok().filter(|n| (1..=ITERATIONS_MAX).contains(n))?;
        let salt = STANDARD.decode(salt).ok()?;
        let key = |text: &str| STANDARD.decode(text).ok()?.try_into().ok();
        (1..=SALT_BYTES_MAX).contains(&salt.len()).then_some(())?;
        Some(Verifier { iterations, salt, stored_key: key(stored)?, server_key: key(server)? })
    }

    /// Whether this is its password.
    pub(crate) fn accepts(&self, password: &str) -> bool {
        *self == Verifier::salted(password, &self.salt, self.iterations)
    }
}

/// The proof by which a client shows that it knows a password, and the signature with which the
/// server answers that it does, too: `covered` are the messages before (RFC 5802, section 3). It
/// gives way, as the server says how many rounds there are.
pub async fn scram_proof(
    password: &str,
    salt: &[u8],
    iterations: u32,
    covered: &[u8],
) -> ([u8; 32], [u8; 32]) {
    let mut rounds = Rounds::first(normalised(password).as_bytes(), salt);
    let mut left = iterations.saturating_sub(1);
    while left > 0 {
        let count = left.min(ROUNDS_PER_TURN);
        rounds.go_on(count);
        left -= count;
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
    }
    let key = rounds.sum;
    let client_key = hmac(&key, &[b"Client Key"]);
    let stored_key: [u8; 32] = Sha256::digest(client_key).into();
    let signature = hmac(&stored_key, &[covered]);
    let proof = std::array::from_fn(|at| client_key[at] ^ signature[at]);
    (proof, hmac(&hmac(&key, &[b"Server Key"]), &[covered]))
}

/// What a login is checked against: a role's verifier, or a made-up one for a name that is no role
/// or has no password, so that the two take the same way and the same time.
pub struct Credentials {
    verifier: Verifier,
    is_real: Choice,
}

impl Credentials {
    /// Of a role that has a password.
    pub fn of(verifier: Verifier) -> Credentials {
        Credentials { verifier, is_real: Choice::from(1) }
    }

    /// Of a name that has none. `secret` is the database's own.
    pub fn mock(name: &str, secret: &[u8]) -> Credentials {
        Credentials { verifier: Verifier::mock(name, secret), is_real: Choice::from(0) }
    }

    /// The salt.
    pub fn salt(&self) -> &[u8] {
        &self.verifier.salt
    }

    /// Whether this is the password. It takes as long as the key derivation, some milliseconds, for
    /// any name.
    pub fn accepts(&self, password: &str) -> bool {
        let key = Verifier::salted(password, &self.verifier.salt, self.verifier.iterations);
        bool::from(key.stored_key.ct_eq(&self.verifier.stored_key) & self.is_real)
    }

    /// Rounds of the key derivation.
    pub fn iterations(&self) -> u32 {
        self.verifier.iterations
    }

    /// The server's signature of `message`, if `proof` is that of somebody who knows the password.
    pub fn check(&self, message: &[u8], proof: &[u8; 32]) -> Option<[u8; 32]> {
        let mut client_key = hmac(&self.verifier.stored_key, &[message]);
        client_key.iter_mut().zip(proof).for_each(|(key, proof)| *key ^= proof);
        let hash: [u8; 32] = Sha256::digest(client_key).into();
        let signature = hmac(&self.verifier.server_key, &[message]);
        let equal = hash.ct_eq(&self.verifier.stored_key) & self.is_real;
        bool::from(equal).then_some(signature)
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes: &[u8]| STANDARD.encode(bytes);
        let (salt, stored) = (text(&self.salt), text(&self.stored_key));
        write!(f, "SCRAM-SHA-256${}:{salt}${stored}:{}", self.iterations, text(&self.server_key))
    }
}

/// A password as SASLprep (RFC 4013) has it; as it is when that has no answer, like PostgreSQL.
fn normalised(password: &str) -> Cow<'_, str> {
    stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password))
}

/// HMAC-SHA-256 of the parts, one after the other.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// `Hi` of RFC 5802: PBKDF2 with one block.
fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let mut rounds = Rounds::first(password, salt);
    rounds.go_on(iterations.saturating_sub(1));
    rounds.sum
}

/// The rounds of a key derivation, as far as they have come.
struct Rounds {
    keyed: Hmac<Sha256>,
    last: [u8; 32],
    sum: [u8; 32],
}

impl Rounds {
    fn first(password: &[u8], salt: &[u8]) -> Rounds {
        let keyed = Hmac::<Sha256>::new_from_slice(password).expect("a key may have any length");
        let last = Rounds::next(&keyed, &[salt, &1u32.to_be_bytes()]);
        Rounds { keyed, last, sum: last }
    }

    fn next(keyed: &Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = keyed.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    fn go_on(&mut self, count: u32) {
        for _ in 0..count {
            self.last = Rounds::next(&self.keyed, &[&self.last]);
            self.sum.iter_mut().zip(self.last).for_each(|(sum, byte)| *sum ^= byte);
        }
    }
}

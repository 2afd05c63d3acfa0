//! The server's half of SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL carries it: two messages
//! of the client, two answers. It does no I/O.
//!
//! A name that is no role goes the whole way with a made-up verifier and fails where a wrong
//! password fails, so neither the messages nor their times tell the two apart.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::Credentials;
use types::{SqlError, SqlResult, SqlState};

/// The mechanism without channel binding.
pub(crate) const PLAIN: &str = "SCRAM-SHA-256";
/// The mechanism with it.
pub(crate) const PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Longest message, as PostgreSQL's.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024;

const NONCE_BYTES: usize = 18;

/// Why an exchange ends.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is no SCRAM.
    Malformed(SqlError),
    /// The proof is wrong, or there is no such role.
    Wrong,
}

/// An exchange of which the first message is answered.
pub(crate) struct Exchange {
    credentials: Credentials,
    /// What the client's second message must repeat of its first, with the channel's binding.
    binding: Vec<u8>,
    nonce: String,
    /// The first messages of both sides, which the proof covers.
    begun: String,
}

fn malformed(detail: &str) -> Refusal {
    let error = SqlError::new(SqlState::PROTOCOL_VIOLATION, "malformed SCRAM message");
    Refusal::Malformed(error.with_detail(detail.to_owned()))
}

/// Takes `name=value` off the front of a message, up to the comma.
fn attribute<'a>(message: &mut &'a str, name: char) -> Result<&'a str, Refusal> {
    let (head, rest) = message.split_once(',').unwrap_or((message, ""));
    *message = rest;
    let value = head.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    value.ok_or_else(|| malformed(&format!("Expected attribute \"{name}\".")))
}

impl Exchange {
    /// Takes the client's first message; the exchange and the answer. `binding` is the hash of the
    /// server's certificate when the client chose the mechanism with channel binding;
    /// `offers_binding` whether it was offered.
    pub fn begin(
        message: &[u8],
        credentials: Credentials,
        binding: Option<&[u8]>,
        offers_binding: bool,
    ) -> Result<(Exchange, String), Refusal> {
        let nonce = STANDARD.encode(runtime::entropy::<NONCE_BYTES>());
        Exchange::with_nonce(message, credentials, binding, offers_binding, &nonce)
    }

    /// The same with a nonce of the caller's.
    pub fn with_nonce(
        message: &[u8],
        credentials: Credentials,
        binding: Option<&[u8]>,
        offers_binding: bool,
        own_nonce: &str,
    ) -> Result<(Exchange, String), Refusal> {
        let text = text(message)?;
        let (header, bare) = header(text)?;
        let binding = check_binding(header, binding, offers_binding)?;
        let mut rest = bare;
        if rest.starts_with("m=") {
            return Err(malformed("It requires an unsupported SCRAM extension."));
        }
        // The name in the start-up message counts, as in PostgreSQL.
        attribute(&mut rest, 'n')?;
        let nonce = attribute(&mut rest, 'r')?;
        let printable = |c: char| ('\x21'..='\x7e').contains(&c);
        if nonce.is_empty() || !nonce.chars().all(printable) {
            return Err(malformed("The nonce is not printable."));
        }
        let nonce = format!("{nonce}{own_nonce}");
        let (salt, rounds) = (STANDARD.encode(credentials.salt()), credentials.iterations());
        let answer = format!("r={nonce},s={salt},i={rounds}");
        let begun = format!("{bare},{answer}");
        Ok((Exchange { credentials, binding, nonce, begun }, answer))
    }

    /// Takes the client's second message; the answer proves the server to the client.
    pub fn finish(&self, message: &[u8]) -> Result<String, Refusal> {
        let text = text(message)?;
        let (unproved, proof) =
            text.rsplit_once(",p=").ok_or_else(|| malformed("Expected attribute \"p\"."))?;
        let mut rest = unproved;
        let binding = attribute(&mut rest, 'c')?;
        let nonce = attribute(&mut rest, 'r')?;
        if binding != STANDARD.encode(&self.binding) {
            return Err(malformed("The channel binding does not match."));
        }
        if nonce != self.nonce {
            return Err(malformed("The nonce does not match."));
        }
        let proof = STANDARD.decode(proof).ok().and_then(|p| <[u8; 32]>::try_from(p).ok());
        let proof = proof.ok_or_else(|| malformed("The proof is malformed."))?;
        let covered = format!("{},{unproved}", self.begun);
        let signature = self.credentials.check(covered.as_bytes(), &proof);
        let signature = signature.ok_or(Refusal::Wrong)?;
        Ok(format!("v={}", STANDARD.encode(signature)))
    }
}

fn text(message: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(message).map_err(|_| malformed("It is not UTF-8."))
}

/// The header that says which binding is used, and the message behind it.
fn header(text: &str) -> Result<(&str, &str), Refusal> {
    let no_header = || malformed("The header is not complete.");
    let (flag, rest) = text.split_once(',').ok_or_else(no_header)?;
    let (authorization, bare) = rest.split_once(',').ok_or_else(no_header)?;
    if !authorization.is_empty() {
        let error = SqlError::unsupported("a SCRAM authorization identity");
        return Err(Refusal::Malformed(error));
    }
    Ok((&text[..flag.len() + 2], bare))
}

/// What `c=` of the second message must be.
fn check_binding(
    header: &str,
    binding: Option<&[u8]>,
    offers_binding: bool,
) -> Result<Vec<u8>, Refusal> {
    match (header, binding) {
        ("n,,", None) => Ok(header.into()),
        // The client could bind, and believes that the server could not: somebody is between.
        ("y,,", None) if offers_binding => {
            Err(malformed("SCRAM channel binding negotiation error."))
        }
        ("y,,", None) => Ok(header.into()),
        ("p=tls-server-end-point,,", Some(hash)) => Ok([header.as_bytes(), hash].concat()),
        (header, Some(_)) if header.starts_with("p=") => {
            Err(Refusal::Malformed(SqlError::unsupported("this SCRAM channel binding type")))
        }
        _ => Err(malformed("The channel binding does not fit the mechanism.")),
    }
}

/// `SASLInitialResponse`: the mechanism and the first message.
pub(crate) fn initial(body: &[u8]) -> SqlResult<(&str, &[u8])> {
    let mut reader = crate::message::Reader(body);
    let (mechanism, len) = (reader.string()?, reader.i32()?);
    let violation = || SqlError::new(SqlState::PROTOCOL_VIOLATION, "malformed SASL message");
    let message = reader.bytes(usize::try_from(len).map_err(|_| violation())?)?;
    reader.end()?;
    Ok((mechanism, message))
}

#[cfg(test)]
mod tests;

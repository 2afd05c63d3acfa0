//! Signatures of requests: AWS Signature Version 4.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::Draft;
use crate::credentials::Keys;
use crate::date::Date;
use crate::encode::hex;

/// The hash of no bytes.
pub(super) const EMPTY_SHA256: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";

/// What the key of a signature is good for.
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) date: Date,
}

impl Scope<'_> {
    fn text(&self) -> String {
        format!("{}/{}/{}/{TERMINATOR}", self.date.day(), self.region, self.service)
    }

    /// The key for a day, a region and a service.
    pub(super) fn key(&self, secret: &str) -> [u8; 32] {
        let first = format!("AWS4{secret}");
        let day = hmac(first.as_bytes(), self.date.day().as_bytes());
        let region = hmac(&day, self.region.as_bytes());
        let service = hmac(&region, self.service.as_bytes());
        hmac(&service, TERMINATOR.as_bytes())
    }
}

pub(super) fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// Adds date, token and signature. All headers that the draft has by then are signed.
pub(super) fn sign(draft: &mut Draft<'_>, keys: &Keys, scope: &Scope<'_>, payload_hash: &str) {
    draft.header("x-amz-date", scope.date.basic());
    draft.header("x-amz-content-sha256", payload_hash);
    if let Some(token) = &keys.token {
        draft.header("x-amz-security-token", token.clone());
    }
    draft.headers.sort();
    let names: Vec<&str> = draft.headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let text = string_to_sign(draft, &names, scope, payload_hash);
    let signature = hex(&hmac(&scope.key(&keys.secret), text.as_bytes()));
    let (id, scope) = (&keys.id, scope.text());
    let value =
        format!("{ALGORITHM} Credential={id}/{scope},SignedHeaders={names},Signature={signature}");
    draft.header("authorization", value);
}

fn string_to_sign(draft: &Draft<'_>, names: &str, scope: &Scope<'_>, payload_hash: &str) -> String {
    let line = |(name, value): &(String, String)| format!("{name}:{}\n", one_space(value));
    let headers: String = draft.headers.iter().map(line).collect();
    let (method, path, query) = (draft.method, &draft.path, draft.canonical_query());
    let canonical = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{payload_hash}");
    let hash = hex(&Sha256::digest(canonical.as_bytes()));
    let date = scope.date.basic();
    format!("{ALGORITHM}\n{date}\n{}\n{hash}", scope.text())
}

/// Without spaces at the ends, and with single ones inside.
fn one_space(value: &str) -> String {
    value.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

//! Signatures of Azure: the key of the account over the request in a canonical form.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::Draft;
use super::sign::hmac;
use crate::credentials::Keys;
use crate::error::{Error, Result};

/// Adds the signature. All headers of the store's own that the draft has by then are signed.
pub(super) fn sign(draft: &mut Draft<'_>, account: &str, keys: &Keys) -> Result<()> {
    let key = BASE64_STANDARD.decode(&keys.secret);
    let key = key.map_err(|_| Error::invalid("the key of an account is in base 64"))?;
    let text = string_to_sign(draft, account);
    let signature = BASE64_STANDARD.encode(hmac(&key, text.as_bytes()));
    draft.header("authorization", format!("SharedKey {account}:{signature}"));
    Ok(())
}

pub(super) fn string_to_sign(draft: &Draft<'_>, account: &str) -> String {
    let find = |name: &str| {
        let found = draft.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let length = match draft.body.len() {
        0 => String::new(),
        length => length.to_string(),
    };
    let mut lines = vec![draft.method.to_owned()];
    lines.extend(["content-encoding", "content-language"].map(|name| find(name).to_owned()));
    lines.push(length);
    // The date is the store's own header.
    let rest = ["content-md5", "content-type", "", "if-modified-since", "if-match"];
    lines.extend(rest.map(|name| find(name).to_owned()));
    let rest = ["if-none-match", "if-unmodified-since", "range"];
    lines.extend(rest.map(|name| find(name).to_owned()));
    let own = draft.headers.iter().filter(|(name, _)| name.starts_with("x-ms-"));
    let mut own: Vec<String> = own.map(|(name, value)| format!("{name}:{value}")).collect();
    own.sort();
    lines.extend(own);
    lines.push(format!("/{account}{}", draft.path));
    let mut query: Vec<&(String, String)> = draft.query.iter().collect();
    query.sort();
    lines.extend(query.iter().map(|(name, value)| format!("{name}:{value}")));
    lines.join("\n")
}

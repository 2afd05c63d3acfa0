//! The options of `CREATE SECRET`.

use sql::parse::{CreateSecret, Secret};
use types::{SqlError, SqlResult, SqlState};

use super::stored::StoredSecret;
use crate::objects::location::{Location, Scheme};
use crate::objects::seal::key_of;
use crate::objects::stores::price_of;

/// Bytes of a value, at most: tokens of sessions have one or two thousand.
const VALUE_BYTES_MAX: usize = 16 << 10;

/// The secret that a statement describes.
///
/// # Errors
/// 22023 for options that are not known, missing or do not fit; none repeats a value but that of the
/// type and the scope.
pub(crate) fn read(create: &CreateSecret) -> SqlResult<StoredSecret> {
    let mut secret = StoredSecret { name: create.name.clone(), ..StoredSecret::default() };
    let mut scheme = None;
    for (name, value) in &create.options {
        if name == "type" {
            scheme = Some(scheme_of(value)?);
            continue;
        }
        set(&mut secret, name, value)?;
    }
    let Some(scheme) = scheme else {
        return Err(wrong("a secret has a type: s3, gcs, azure or http"));
    };
    if scheme.only_reads() {
        return of_server(secret);
    }
    let has_client = create.options.iter().any(|(name, _)| name == "credential");
    if has_client || secret.token_service.is_some() || secret.token_scope.is_some() {
        return Err(wrong("tokens are fetched for secrets of the type http only"));
    }
    if secret.key_id.is_some() != secret.secret.is_some() {
        return Err(wrong("the options key_id and secret are of use together only"));
    }
    let has_keys = secret.secret.is_some() || secret.session_token.is_some();
    if secret.uses_chain && (has_keys || !matches!(scheme, Scheme::S3 | Scheme::Google)) {
        let message =
            "a secret of the provider credential_chain is of the type s3 or gcs and has no keys";
        return Err(wrong(message));
    }
    if scheme == Scheme::Google && secret.secret.is_some() {
        return Err(wrong("a secret of the type gcs has a session_token, and no pair of keys")
            .with_hint(
                "PROVIDER credential_chain finds the key of a service account. With a pair of HMAC keys \
                 Google's buckets can be read by a secret of the type s3 with the ENDPOINT \
                 'https://storage.googleapis.com'.",
            ));
    }
    let has_place = secret.endpoint.is_some() || secret.encryption_key.is_some();
    if !has_keys && !secret.uses_chain && !has_place {
        return Err(wrong("a secret has a key_id and a secret, a session_token, or an endpoint")
            .with_hint(
                "With PROVIDER credential_chain the keys are those of the server's environment.",
            ));
    }
    if secret.account.is_some() && scheme != Scheme::Azure {
        return Err(wrong("only secrets of the type azure have an account"));
    }
    if secret.scope.is_empty() {
        secret.scope = scheme.start().to_owned();
    }
    if secret.scope != scheme.start() && Location::parse(&secret.scope)?.scheme != scheme {
        let message = format!("the scope \"{}\" is not of the secret's type", secret.scope);
        return Err(wrong(&message));
    }
    Ok(secret)
}

/// The token for a server of files or a catalog, which is sent nowhere else, or the client that tokens are asked for.
fn of_server(secret: StoredSecret) -> SqlResult<StoredSecret> {
    let (name, scope) = (secret.name.clone(), secret.scope.clone());
    let bare = StoredSecret { name, scope, ..Default::default() };
    let given = secret.clone();
    let expected = match (&secret.session_token, &secret.secret) {
        (Some(_), None) => StoredSecret { session_token: given.session_token, ..bare },
        (None, Some(_)) => StoredSecret {
            key_id: given.key_id,
            secret: given.secret,
            token_service: given.token_service,
            token_scope: given.token_scope,
            ..bare
        },
        _ => bare,
    };
    let has_any = secret.session_token.is_some() || secret.key_id.is_some();
    if !has_any || secret != expected {
        return Err(wrong(
            "a secret of the type http has a scope and a session_token, or a credential with \
             oauth2_server_uri and oauth2_scope, and no more",
        ));
    }
    match Location::parse(&secret.scope) {
        Ok(location) if location.scheme.only_reads() => Ok(secret),
        _ => Err(wrong("the scope of a secret of the type http begins with https://host")),
    }
}

/// A location that the secret is for.
pub(crate) fn example(secret: &StoredSecret) -> SqlResult<Location> {
    match secret.scope.ends_with("://") {
        true => Location::parse(&format!("{}bucket", secret.scope)),
        false => Location::parse(&secret.scope),
    }
}

fn scheme_of(value: &Secret) -> SqlResult<Scheme> {
    match value.expose().to_lowercase().as_str() {
        "s3" => Ok(Scheme::S3),
        "gcs" => Ok(Scheme::Google),
        "azure" => Ok(Scheme::Azure),
        "http" => Ok(Scheme::Https),
        _ => Err(wrong("the type of a secret is s3, gcs, azure or http")),
    }
}

fn set(secret: &mut StoredSecret, name: &str, value: &Secret) -> SqlResult<()> {
    let value = value.expose();
    // A scope of tokens is of words.
    let is_word = |byte: u8| byte.is_ascii_graphic() || byte == b' ' && name == "oauth2_scope";
    let is_printable = value.bytes().all(is_word);
    if value.is_empty() || value.len() > VALUE_BYTES_MAX || !is_printable {
        let message = format!("the value of the option \"{name}\" is empty, too long or no text");
        return Err(wrong(&message));
    }
    let place = match name {
        "key_id" => &mut secret.key_id,
        "secret" => &mut secret.secret,
        "session_token" => &mut secret.session_token,
        "endpoint" => &mut secret.endpoint,
        "region" => &mut secret.region,
        "account" => &mut secret.account,
        "oauth2_server_uri" => &mut secret.token_service,
        "oauth2_scope" => &mut secret.token_scope,
        "credential" => {
            let Some((id, key)) =
                value.split_once(':').filter(|(id, key)| !id.is_empty() && !key.is_empty())
            else {
                return Err(wrong("a credential is the id of a client, a colon and its secret"));
            };
            (secret.key_id, secret.secret) = (Some(id.to_owned()), Some(key.to_owned()));
            return Ok(());
        }
        "encryption_key" => {
            if key_of(value).is_none() {
                let message =
                    "an encryption_key is 32 bytes, as 64 hexadecimal digits or in base 64";
                return Err(wrong(message).with_hint("openssl rand -hex 32"));
            }
            &mut secret.encryption_key
        }
        "request_price" => {
            if price_of(value).is_none() {
                let message = "a request_price is what a million gets cost, in dollars";
                return Err(wrong(message).with_hint("request_price '0.40'"));
            }
            &mut secret.request_price
        }
        "scope" => {
            secret.scope = value.to_owned();
            return Ok(());
        }
        "provider" => {
            secret.uses_chain = match value.to_lowercase().as_str() {
                "credential_chain" => true,
                "config" => false,
                _ => return Err(wrong("the provider of a secret is config or credential_chain")),
            };
            return Ok(());
        }
        "path_style" => {
            secret.path_style = match value.to_lowercase().as_str() {
                "true" | "on" => true,
                "false" | "off" => false,
                _ => return Err(wrong("path_style is true or false")),
            };
            return Ok(());
        }
        _ => return Err(unknown(name)),
    };
    *place = Some(value.to_owned());
    Ok(())
}

fn unknown(name: &str) -> SqlError {
    wrong(&format!("secrets have no option \"{name}\"")).with_hint(
        "The options are type, provider, key_id, secret, session_token, endpoint, region, \
         account, path_style, encryption_key, request_price, credential, oauth2_server_uri, \
         oauth2_scope and scope.",
    )
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

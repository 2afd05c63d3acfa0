//! Files of profiles: sections of names and values.

use super::Keys;
use crate::error::{Error, Result};

/// What a profile has.
pub(super) enum Found {
    Keys(Keys),
    WebIdentity { token_file: String, role: String, session: Option<String> },
}

/// Ways to keys that profiles may name and that are not gone here.
const OTHER_WAYS: [&str; 4] =
    ["credential_process", "source_profile", "credential_source", "sso_session"];

/// The keys of a profile. No error shows a value.
pub(super) fn keys(text: &str, profile: &str) -> Result<Keys> {
    let value = |name: &str| value(text, profile, name);
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(id), Some(secret)) => Ok(Keys { id, secret, token: value("aws_session_token") }),
        _ => Err(missing(profile)),
    }
}

/// What a profile has in the first of the files that knows it; `None` when none does.
///
/// # Errors
/// `Invalid` for one key without the other, and for a way to keys that is not gone here.
pub(super) fn find(texts: &[String], profile: &str) -> Result<Option<Found>> {
    for text in texts {
        let value = |name: &str| value(text, profile, name);
        if value("aws_access_key_id").is_some() || value("aws_secret_access_key").is_some() {
            return keys(text, profile).map(|keys| Some(Found::Keys(keys)));
        }
        if let (Some(token_file), Some(role)) =
            (value("web_identity_token_file"), value("role_arn"))
        {
            let session = value("role_session_name");
            return Ok(Some(Found::WebIdentity { token_file, role, session }));
        }
        if let Some(way) = OTHER_WAYS.iter().find(|way| value(way).is_some()) {
            let what = format!("the profile {profile:?} wants {way}, which is not known here");
            return Err(Error::invalid(what));
        }
    }
    Ok(None)
}

pub(super) fn missing(profile: &str) -> Error {
    Error::invalid(format!("there is no profile {profile:?} with both of its keys"))
}

fn value(text: &str, profile: &str, name: &str) -> Option<String> {
    let mut is_ours = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = section.trim();
            is_ours = section.strip_prefix("profile ").unwrap_or(section).trim() == profile;
        } else if let Some((key, value)) = line.split_once('=')
            && is_ours
            && !line.starts_with(['#', ';'])
            && key.trim().eq_ignore_ascii_case(name)
        {
            found = Some(value.trim().to_owned());
        }
    }
    found.filter(|value| !value.is_empty())
}

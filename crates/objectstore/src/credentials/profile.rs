//! Files of profiles: sections of names and values.

use super::Keys;
use crate::error::{Error, Result};

/// The keys of a profile. No error shows a value.
pub(super) fn keys(text: &str, profile: &str) -> Result<Keys> {
    let value = |name: &str| value(text, profile, name);
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(id), Some(secret)) => Ok(Keys { id, secret, token: value("aws_session_token") }),
        _ => Err(Error::invalid(format!("there is no profile {profile:?} with both of its keys"))),
    }
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

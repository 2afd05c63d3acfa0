//! Errors of object stores as SQL errors. They name the object and never a key: the download manager
//! shows none.

use objectstore::{Error, ErrorKind};
use types::{SqlError, SqlState};

use super::location::Location;

const EXPIRED: &str = "If the time of the keys is over: run the statement again where a catalog hands them out, or \
                       give others with CREATE OR REPLACE SECRET.";

/// What a client is told of a request for an object.
pub(crate) fn of_object(error: &Error, location: &Location, name: &str) -> SqlError {
    told(error, &format!("object \"{location}/{name}\""))
}

/// The same of a request that is about no single object.
pub(crate) fn of_store(error: &Error, location: &Location) -> SqlError {
    told(error, &format!("objects at \"{location}\""))
}

fn told(error: &Error, what: &str) -> SqlError {
    let (state, hint) = match error.is_expired() {
        true => (SqlState::IO_ERROR, Some(EXPIRED)),
        false => advice(error.kind()),
    };
    let told = SqlError::new(state, format!("{what}: {error}"));
    match hint {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// What the failure counts as. A connection to a store that fails is no reason for a client to give up
/// its own, as states of the class 08 would have it.
fn advice(kind: ErrorKind) -> (SqlState, Option<&'static str>) {
    match kind {
        ErrorKind::NotFound => (SqlState::UNDEFINED_FILE, None),
        ErrorKind::Denied => (
            SqlState::INVALID_AUTHORIZATION,
            Some("Give keys for the location with CREATE OR REPLACE SECRET."),
        ),
        ErrorKind::Precondition => (SqlState("40001"), Some("Try again.")),
        ErrorKind::Forbidden => (
            SqlState::INSUFFICIENT_PRIVILEGE,
            Some("The setting object_store_hosts says which endpoints may be spoken to."),
        ),
        ErrorKind::Invalid => (SqlState::INVALID_PARAMETER_VALUE, None),
        ErrorKind::TooLarge => (SqlState::PROGRAM_LIMIT_EXCEEDED, None),
        ErrorKind::Throttled
        | ErrorKind::Unavailable
        | ErrorKind::TimedOut
        | ErrorKind::Connection
        | ErrorKind::Truncated
        | ErrorKind::Corrupt
        | ErrorKind::Protocol => (
            SqlState::IO_ERROR,
            Some("The request was repeated as long as it may be; try again later."),
        ),
        ErrorKind::Untrusted | ErrorKind::OutcomeUnknown | ErrorKind::Refused => {
            (SqlState::IO_ERROR, None)
        }
    }
}

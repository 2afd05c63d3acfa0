//! Why a request failed, whether another try can help, and what the store has said.

use std::{fmt, io};

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no such object, bucket or upload.
    NotFound,
    /// The condition of the request does not hold: somebody else was first.
    Precondition,
    /// Credentials are missing, wrong or not enough.
    Denied,
    /// The store asks to slow down.
    Throttled,
    /// The store failed.
    Unavailable,
    /// No answer in time.
    TimedOut,
    /// The connection failed, or could not be made.
    Connection,
    /// Fewer bytes came than were announced.
    Truncated,
    /// The bytes are not those that were stored.
    Corrupt,
    /// What came is no answer to what was asked.
    Protocol,
    /// More bytes than the caller allows.
    TooLarge,
    /// The request cannot be made as it is: a bad name, a bad setting.
    Invalid,
    /// The address is not allowed.
    Forbidden,
    /// The server cannot show that it is the one that was meant, or speaks no TLS.
    Untrusted,
    /// A write was sent and its answer lost; it may have been done or not.
    OutcomeUnknown,
    /// The store refuses the request for a reason of its own, which the message says.
    Refused,
}

/// Why a request failed.
#[derive(Clone)]
pub struct Error(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    kind: ErrorKind,
    message: String,
    status: Option<u16>,
    code: Option<String>,
    has_body: bool,
    request_id: Option<String>,
    retry_after_s: Option<u64>,
    attempt_count: u32,
    /// The store may have carried the request out.
    is_ambiguous: bool,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Details {
            kind,
            message: message.into(),
            status: None,
            code: None,
            has_body: false,
            request_id: None,
            retry_after_s: None,
            attempt_count: 0,
            is_ambiguous: false,
        }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Protocol, message)
    }

    pub(crate) fn io(what: &str, error: &io::Error) -> Error {
        let kind = match error.kind() {
            io::ErrorKind::TimedOut => ErrorKind::TimedOut,
            io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
            io::ErrorKind::InvalidData => ErrorKind::Protocol,
            _ => ErrorKind::Connection,
        };
        Error::new(kind, format!("{what}: {error}"))
    }

    pub(crate) fn with_status(mut self, status: u16) -> Error {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_code(mut self, code: Option<String>) -> Error {
        self.0.code = code;
        self
    }

    /// Whether the answer has said anything.
    pub(crate) fn with_body(mut self, has_body: bool) -> Error {
        self.0.has_body = has_body;
        self
    }

    pub(crate) fn with_request_id(mut self, id: Option<String>) -> Error {
        self.0.request_id = id;
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: Option<u64>) -> Error {
        self.0.retry_after_s = seconds;
        self
    }

    pub(crate) fn with_attempts(mut self, count: u32) -> Error {
        self.0.attempt_count = count;
        self
    }

    /// The request was sent, wholly or in part, and what became of it is not known.
    pub(crate) fn ambiguous(mut self) -> Error {
        self.0.is_ambiguous = true;
        self
    }

    /// The store says that the credentials of the request have expired. An answer without a body (to
    /// `HEAD`) has no code: AWS answers 400 then, which it does to nothing else that is well formed. Catalogs of Iceberg
    /// say 419.
    pub(crate) fn says_expired(&self) -> bool {
        match (&self.0.code, self.0.status) {
            (None, Some(401 | 419)) => true,
            (_, Some(_)) => self.is_expired(),
            (_, None) => false,
        }
    }

    /// Whether the time of the keys that a store was asked with is over, as far as it says so. Where others could be
    /// got, they were.
    pub fn is_expired(&self) -> bool {
        const CODES: [&str; 5] = [
            "ExpiredToken",
            "ExpiredTokenException",
            "TokenRefreshRequired",
            "InvalidTokenId",
            // Google says no more of a token than that it is none.
            "authError",
        ];
        match &self.0.code {
            Some(code) => CODES.contains(&code.as_str()),
            None => self.0.status == Some(400) && !self.0.has_body,
        }
    }

    pub(crate) fn is_ambiguous(&self) -> bool {
        self.0.is_ambiguous
    }

    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        self.0.retry_after_s
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same request may succeed at another time. Within its deadline and its budget it has
    /// been repeated already.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Throttled
                | ErrorKind::Unavailable
                | ErrorKind::TimedOut
                | ErrorKind::Connection
                | ErrorKind::Truncated
                | ErrorKind::Corrupt
                | ErrorKind::Protocol
        )
    }

    /// The HTTP status, if the store has answered.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The store's own name of the error.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// By which the store's operators find the request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How often it was tried.
    pub fn attempt_count(&self) -> u32 {
        self.0.attempt_count
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let details = [
            self.0.status.map(|status| format!("status {status}")),
            self.0.code.as_ref().map(|code| format!("code {code}")),
            self.0.request_id.as_ref().map(|id| format!("request {id}")),
            (self.0.attempt_count > 1).then(|| format!("{} attempts", self.0.attempt_count)),
        ];
        let details: Vec<String> = details.into_iter().flatten().collect();
        match details.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", details.join(", ")),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

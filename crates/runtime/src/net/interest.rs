//! What is asked of sockets, and what for.

/// What a socket is for. It decides how the scheduler treats what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody waits for short answers: these go before the work of queries.
    Client,
    /// Data in bulk, which is the work of queries itself: it is submitted and waited for like reads
    /// of a disk.
    Transfer,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes, a connection, or the end of the stream.
    Read,
    /// Room for bytes, or the end of a connection attempt.
    Write,
    /// The end of what the peer sends.
    HangUp,
}

impl Interest {
    /// The event bits of poll(2).
    pub(crate) fn events(self) -> i16 {
        match self {
            Interest::Read => libc::POLLIN,
            Interest::Write => libc::POLLOUT,
            Interest::HangUp => libc::POLLRDHUP,
        }
    }
}

/// Which half of a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Nothing more is received.
    Read,
    /// The peer sees the end of the stream.
    Write,
    /// Both.
    Both,
}

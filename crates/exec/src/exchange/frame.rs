//! Frames, of which the stream between two nodes consists: a header of 16 bytes and a payload.
//!
//! The header: four bytes of magic, the version, the kind, two bytes that are zero, the length of
//! the payload and the checksum of all that stands before it and of the payload, each of four
//! bytes, the lowest first. Rows are the stream format of the vector library (`wire`), cut into
//! payloads of a buffer's size at most. Bytes are checked here, where they are read; each that is
//! wrong is an error of 08P01.

use types::{SqlError, SqlResult, SqlState};

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 16;

/// Bytes of an error's text that travel: what is cut off is no help any more.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4096;

const MAGIC: [u8; 4] = *b"DVTX";
const VERSION: u8 = 1;
const CHECKSUM_AT: usize = 12;
const HELLO_BYTES: usize = 16;
const STATE_BYTES: usize = 5;

/// The meaning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The sender's number and its exchange: the first frame of a stream, and only that.
    Hello,
    /// A buffer of rows; more of the same batch follow.
    Part,
    /// The last buffer of a batch.
    Rows,
    /// So many buffers more may be sent.
    Credit,
    /// All rows have been sent; how many batches they were.
    End,
    /// No more rows are wanted.
    Enough,
    /// The exchange has failed at the sender.
    Error,
    /// The sender lives.
    Ping,
}

/// A header that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Bytes of the payload.
    pub(crate) len: usize,
    checksum: u32,
    covered: u32,
}

/// The nodes at the two ends of a stream, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) exchange: u64,
    pub(crate) node: u32,
    pub(crate) node_count: u32,
}

impl Kind {
    fn of(code: u8) -> Option<Kind> {
        use Kind as K;
        let kinds = [K::Hello, K::Part, K::Rows, K::Credit, K::End, K::Enough, K::Error, K::Ping];
        kinds.into_iter().find(|kind| kind.code() == code)
    }

    fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Lengths that its payload may have, where a buffer of rows has `buffer_bytes`.
    fn lens(self, buffer_bytes: usize) -> std::ops::RangeInclusive<usize> {
        match self {
            Kind::Hello => HELLO_BYTES..=HELLO_BYTES,
            Kind::Part | Kind::Rows => 1..=buffer_bytes,
            Kind::Credit => 4..=4,
            Kind::End => 8..=8,
            Kind::Enough | Kind::Ping => 0..=0,
            Kind::Error => STATE_BYTES..=STATE_BYTES + MESSAGE_BYTES_MAX,
        }
    }
}

impl Header {
    /// The header in `bytes`, of a stream whose buffers of rows have `buffer_bytes` at most.
    ///
    /// # Errors
    /// 08P01: another protocol or version, an unknown kind, a length that the kind does not have.
    pub(crate) fn read(bytes: &[u8; HEADER_BYTES], buffer_bytes: usize) -> SqlResult<Header> {
        let [m0, m1, m2, m3, version, code, zero, zeros, rest @ ..] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(violation("bytes that are no frame of an exchange"));
        }
        if version != VERSION {
            return Err(violation(format!("frames of version {version}, not {VERSION}")));
        }
        let Some(kind) = Kind::of(code).filter(|_| zero == 0 && zeros == 0) else {
            return Err(violation(format!("a frame of the unknown kind {code}")));
        };
        let [l0, l1, l2, l3, c0, c1, c2, c3] = rest;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if !kind.lens(buffer_bytes).contains(&len) {
            return Err(violation(format!("a frame {kind:?} of {len} bytes")));
        }
        let covered = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
        Ok(Header { kind, len, checksum: u32::from_le_bytes([c0, c1, c2, c3]), covered })
    }

    /// Checks a payload against the checksum.
    ///
    /// # Errors
    /// 08P01: it is another one.
    pub(crate) fn check(&self, payload: &[u8]) -> SqlResult<()> {
        match crc32c::crc32c_append(self.covered, payload) == self.checksum {
            true => Ok(()),
            false => Err(violation(format!("a frame {:?} with a wrong checksum", self.kind))),
        }
    }
}

/// Writes the header of a payload that lies behind it: `frame` has both.
///
/// # Panics
/// When the frame is shorter than a header, or longer than 32 bits can say.
pub(crate) fn seal(kind: Kind, frame: &mut [u8]) {
    let (header, payload) = frame.split_at_mut(HEADER_BYTES);
    let len = u32::try_from(payload.len()).expect("a payload is a buffer at most");
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&[VERSION, kind.code(), 0, 0]);
    header[8..CHECKSUM_AT].copy_from_slice(&len.to_le_bytes());
    let covered = crc32c::crc32c(&header[..CHECKSUM_AT]);
    let checksum = crc32c::crc32c_append(covered, payload);
    header[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
}

/// A frame of this kind with this payload.
pub(crate) fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; HEADER_BYTES];
    frame.extend_from_slice(payload);
    seal(kind, &mut frame);
    frame
}

impl Hello {
    /// As a frame.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let nodes = [self.node.to_le_bytes(), self.node_count.to_le_bytes()].concat();
        frame(Kind::Hello, &[&self.exchange.to_le_bytes()[..], &nodes].concat())
    }

    /// The payload of such a frame.
    pub(crate) fn read(payload: &[u8]) -> SqlResult<Hello> {
        let (exchange, nodes) = payload.split_at_checked(8).ok_or_else(short)?;
        let (node, node_count) = nodes.split_at_checked(4).ok_or_else(short)?;
        Ok(Hello {
            exchange: number(exchange)?,
            node: number(node)? as u32,
            node_count: number(node_count)? as u32,
        })
    }
}

/// The number in the payload of a credit or an end.
pub(crate) fn number(payload: &[u8]) -> SqlResult<u64> {
    let mut bytes = [0; 8];
    bytes.get_mut(..payload.len()).ok_or_else(short)?.copy_from_slice(payload);
    Ok(u64::from_le_bytes(bytes))
}

/// An error as a frame: its SQLSTATE and message.
pub(crate) fn error_frame(error: &SqlError) -> Vec<u8> {
    let message = error.message.as_bytes();
    let mut len = message.len().min(MESSAGE_BYTES_MAX);
    while !error.message.is_char_boundary(len) {
        len -= 1;
    }
    frame(Kind::Error, &[error.state.0.as_bytes(), &message[..len]].concat())
}

/// The error in the payload of such a frame, from a node of this number.
///
/// # Errors
/// 08P01: it is no text.
pub(crate) fn read_error(payload: &[u8], node: usize) -> SqlResult<SqlError> {
    let (code, message) = payload.split_at_checked(STATE_BYTES).ok_or_else(short)?;
    let text = std::str::from_utf8(message).ok().zip(std::str::from_utf8(code).ok());
    let Some((message, code)) = text else {
        return Err(violation("an error that is no text"));
    };
    Ok(match SqlState::of_code(code.as_bytes()) {
        Some(state) => SqlError::new(state, message).with_detail(format!("On node {node}.")),
        None => SqlError::new(SqlState::INTERNAL_ERROR, message)
            .with_detail(format!("On node {node}, with the SQLSTATE {code:?}.")),
    })
}

/// The error of a peer that breaks the protocol: it sent `what`.
pub(crate) fn violation(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, format!("a node of an exchange sent {what}"))
}

fn short() -> SqlError {
    violation("a frame of the wrong length")
}

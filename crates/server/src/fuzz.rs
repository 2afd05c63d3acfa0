//! Entry points for fuzzing: what a server makes of bytes before it acts on them. Each takes any
//! bytes, and must neither panic nor take memory by a length that they claim.
//!
//! `crates/server/tests/malformed` runs them in the gate from a seed, `fuzz/` under libFuzzer.

use std::sync::LazyLock;

use engine::{Credentials, Session, Template, Verifier};
use types::{binary, oid};

use crate::extended::parameter;
use crate::frame::{Frame, Input, MESSAGE_BYTES_MAX};
use crate::message::{self, Bind, Named, Parse, Reader};
use crate::scram::{self, Exchange};
use crate::startup;

/// Types whose binary form is read, besides those of an unknown number.
const OIDS: [u32; 24] = [
    oid::BOOL,
    oid::BYTEA,
    oid::NAME,
    oid::INT8,
    oid::INT2,
    oid::INT4,
    oid::TEXT,
    oid::FLOAT4,
    oid::FLOAT8,
    oid::UNKNOWN,
    oid::BPCHAR,
    oid::VARCHAR,
    oid::DATE,
    oid::TIME,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
    oid::INTERVAL,
    oid::NUMERIC,
    oid::UUID,
    // Arrays of int4, text, numeric and timestamp.
    1007,
    1009,
    1231,
    1115,
    // No type.
    9,
];

/// The statements whose input [`copy`] reads; they need a table `values_of_all_types`.
const COPIES: [&str; 3] = [
    "copy values_of_all_types from stdin",
    "copy values_of_all_types from stdin (format csv)",
    "copy values_of_all_types from stdin (format binary)",
];

/// The table that [`copy`] needs.
pub const COPY_TABLE: &str = "create table values_of_all_types (i int, b bigint, f float8, \
     n numeric(20, 4), t text, d date, s timestamp, o boolean)";

/// Start-up packets, one after another, with their parameters and the settings among these.
pub fn startup(bytes: &[u8]) {
    let mut input = Input::default();
    input.push(bytes);
    while let Ok(Some(body)) = input.cut_startup() {
        let mut reader = Reader(&body);
        let Ok(_version) = reader.u32() else { continue };
        let Ok(parameters) = startup::parameters(reader) else { continue };
        for (_, value) in parameters.iter().filter(|(name, _)| name == "options") {
            let _ = startup::options::settings(value);
        }
    }
}

/// Messages, which come in two pieces: the first byte says where they are cut.
pub fn framing(bytes: &[u8]) {
    let Some((at, bytes)) = bytes.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*at).min(bytes.len()));
    let mut input = Input::default();
    for piece in [first, second] {
        input.push(piece);
        while let Ok(Some(frame)) = input.cut(MESSAGE_BYTES_MAX) {
            read(&frame);
        }
    }
}

/// The two messages of a client that proves itself; a line feed stands between them.
pub fn scram(bytes: &[u8]) {
    static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::salted("pencil", b"salt", 1));
    let mut messages = bytes.splitn(2, |byte| *byte == b'\n');
    let (first, second) = (messages.next().unwrap_or_default(), messages.next());
    let first = scram::initial(first).map_or(first, |(_, message)| message);
    let credentials = Credentials::of(VERIFIER.clone());
    let begun = Exchange::with_nonce(first, credentials, None, false, "nonce");
    if let (Ok((exchange, _)), Some(second)) = (begun, second) {
        let _ = exchange.finish(second);
    }
}

/// The body of a message; the first byte is its tag.
pub fn body(bytes: &[u8]) {
    let Some((tag, body)) = bytes.split_first() else { return };
    read(&Frame { tag: *tag, body: body.to_vec(), is_too_long: false, held: None });
}

/// A value in binary format; the first byte chooses its type.
pub fn value(bytes: &[u8]) {
    let Some((at, value)) = bytes.split_first() else { return };
    let _ = binary::decode(OIDS[usize::from(*at) % OIDS.len()], value);
}

/// The input of a COPY; the first byte chooses its format. Nothing is kept. `session` is one of a
/// database with [`COPY_TABLE`].
///
/// # Panics
/// Without that table.
pub fn copy(session: &Session, bytes: &[u8]) {
    let Some((at, input)) = bytes.split_first() else { return };
    let text = COPIES[usize::from(*at) % COPIES.len()];
    let template = Template::all(text).ok().and_then(|mut all| all.pop());
    let statement = template.and_then(|template| template.bind(&[]).ok());
    let statement = statement.expect("the statement is one of ours");
    session.start_copy_in(&statement).expect("the table is there");
    let _ = session.read_copy(&statement, input);
}

/// Reads a message as far as a connection does without its session.
fn read(frame: &Frame) {
    let body = &frame.body;
    match frame.tag {
        b'P' => {
            let _ = Parse::read(body).map(|parse| Template::all(parse.text));
        }
        b'Q' => {
            let mut reader = Reader(body);
            let _ = reader.string().map(Template::all);
        }
        b'B' => {
            let Ok(bind) = Bind::read(body) else { return };
            for (at, (format, value)) in bind.parameters.iter().enumerate() {
                let _ = parameter(OIDS[at % OIDS.len()], *format, *value);
            }
        }
        b'D' | b'C' => drop(Named::read(body, "DESCRIBE")),
        b'E' => drop(message::execute(body)),
        b'p' => drop(scram::initial(body)),
        _ => {}
    }
}

//! A client of the PostgreSQL protocol in as few lines as a load needs, one thread each: blocking,
//! text format, trusted.

use std::io::{self, BufReader, Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing that these clients ask for takes as long: an answer that does not come is a hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes received at once; there are a thousand clients.
const INPUT_BYTES: usize = 4 << 10;

/// What came until the server was ready again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Rows, or lines of a COPY.
    pub row_count: usize,
    /// The SQLSTATE of the error, if one came.
    pub error: Option<String>,
}

/// A connection that has logged in.
pub(crate) struct Client {
    input: BufReader<TcpStream>,
    output: Vec<u8>,
}

/// The start-up message of a client.
pub(crate) fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0bench\0database\0bench\0\0";
    let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
    message.extend_from_slice(body);
    message
}

impl Client {
    /// Connects and logs in.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let input = BufReader::with_capacity(INPUT_BYTES, stream);
        let mut client = Client { input, output: startup() };
        let answer = client.exchange()?;
        match answer.error {
            None => Ok(client),
            Some(state) => Err(Error::other(format!("the login was refused: {state}"))),
        }
    }

    /// The socket; nothing may be under way.
    pub fn into_stream(self) -> TcpStream {
        self.input.into_inner()
    }

    /// Runs statements as text.
    pub fn simple(&mut self, text: &str) -> io::Result<Answer> {
        self.message(b'Q', &[text.as_bytes(), b"\0"]);
        self.exchange()
    }

    /// Makes a prepared statement.
    pub fn prepare(&mut self, name: &str, text: &str) -> io::Result<Answer> {
        let end = b"\0".as_slice();
        self.message(b'P', &[name.as_bytes(), end, text.as_bytes(), end, &[0, 0]]);
        self.message(b'S', &[]);
        self.exchange()
    }

    /// Runs a prepared statement of one parameter.
    pub fn execute(&mut self, name: &str, value: &str) -> io::Result<Answer> {
        let len = (value.len() as u32).to_be_bytes();
        let (counts, formats) = ([0, 0, 0, 1].as_slice(), [0, 0].as_slice());
        let bind = [b"\0", name.as_bytes(), b"\0", counts, &len, value.as_bytes(), formats];
        self.message(b'B', &bind);
        self.message(b'E', &[b"\0", &[0; 4]]);
        self.message(b'S', &[]);
        self.exchange()
    }

    fn message(&mut self, tag: u8, parts: &[&[u8]]) {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        self.output.push(tag);
        self.output.extend_from_slice(&(len as u32 + 4).to_be_bytes());
        parts.iter().for_each(|part| self.output.extend_from_slice(part));
    }

    /// Sends what waits, and takes the answer up to `ReadyForQuery`; a refused login has none.
    fn exchange(&mut self) -> io::Result<Answer> {
        self.input.get_mut().write_all(&self.output)?;
        self.output.clear();
        let mut answer = Answer::default();
        loop {
            let mut head = [0; 5];
            self.input.read_exact(&mut head)?;
            let [tag, len @ ..] = head;
            let len = (u32::from_be_bytes(len) as usize).saturating_sub(4);
            let mut body = vec![0; len];
            self.input.read_exact(&mut body)?;
            match tag {
                b'D' | b'd' => answer.row_count += 1,
                b'E' => {
                    let is_fatal = body.starts_with(b"SFATAL\0");
                    answer.error = Some(state(&body));
                    if is_fatal {
                        return Ok(answer);
                    }
                }
                b'Z' => return Ok(answer),
                _ => {}
            }
        }
    }
}

/// The SQLSTATE in the fields of an error.
fn state(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let field = fields.find(|field| field.first() == Some(&b'C'));
    field.map_or_else(String::new, |field| String::from_utf8_lossy(&field[1..]).into_owned())
}

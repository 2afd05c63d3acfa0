//! Files of the server, read and written through the runtime.

use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use runtime::IoBuf;
use runtime::fs::{File, OpenOptions};
use types::{SqlError, SqlResult, SqlState};

/// Bytes of one read.
const BLOCK_BYTES: usize = 1 << 20;

/// A file that is read.
pub(crate) struct FileReader {
    file: File,
    offset: u64,
}

impl FileReader {
    pub(crate) async fn open(path: &str) -> SqlResult<FileReader> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = File::open(Path::new(path), options).await;
        let file = file.map_err(|e| cannot_open(path, "reading", &e))?;
        Ok(FileReader { file, offset: 0 })
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let (result, buffer) = self.file.read_at(IoBuf::alloc(BLOCK_BYTES), self.offset).await;
        let count = result?;
        self.offset += count as u64;
        Ok((count > 0).then(|| buffer.as_slice()[..count].to_vec()))
    }
}

/// A file of which parts are read.
pub(crate) struct RandomFile {
    file: File,
    length: u64,
}

impl RandomFile {
    /// # Errors
    /// 58P01, 42501 and others when it cannot be opened.
    pub(crate) async fn open(path: &str) -> SqlResult<RandomFile> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = File::open(Path::new(path), options).await;
        let file = file.map_err(|e| cannot_open(path, "reading", &e))?;
        let length = file.len().await.map_err(|e| cannot_open(path, "reading", &e))?;
        Ok(RandomFile { file, length })
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of a range, which must lie in the file: no more memory is taken than there are bytes.
    pub(crate) async fn read(&self, range: Range<u64>) -> std::io::Result<Bytes> {
        if range.start > range.end || range.end > self.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let buffer = IoBuf::alloc((range.end - range.start) as usize);
        let (result, buffer) = self.file.read_exact_at(buffer, range.start).await;
        result.map(|()| Bytes::from_owner(Filled(buffer)))
    }
}

/// A buffer whose bytes are shared.
struct Filled(IoBuf);

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// What is wrong with a file that could be opened.
pub(crate) fn read_error(path: &str, error: &Error) -> SqlError {
    let state = match error.kind() {
        ErrorKind::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        _ => SqlState::IO_ERROR,
    };
    let reason = reason(error);
    SqlError::new(state, format!("could not read file \"{path}\": {reason}"))
}

/// A file that is written from its beginning; what was in it is gone.
pub(super) struct FileWriter {
    file: File,
    offset: u64,
}

impl FileWriter {
    /// # Errors
    /// 42602 for a path that is not absolute, 42501 and others when it cannot be opened, 55006 when
    /// somebody has locked it, as a database does with its own file.
    pub(super) async fn create(path: &str) -> SqlResult<FileWriter> {
        if !Path::new(path).is_absolute() {
            let message = "relative path not allowed for COPY to file";
            return Err(SqlError::new(SqlState("42602"), message));
        }
        let options =
            OpenOptions { write: true, create: true, lock: true, ..OpenOptions::default() };
        let file = File::open(Path::new(path), options).await.map_err(|e| match e.kind() {
            ErrorKind::WouldBlock => {
                let message = format!("could not open file \"{path}\" for writing: it is in use");
                SqlError::new(SqlState::OBJECT_IN_USE, message)
            }
            _ => cannot_open(path, "writing", &e),
        })?;
        file.set_len(0).await.map_err(|e| cannot_open(path, "writing", &e))?;
        Ok(FileWriter { file, offset: 0 })
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut buffer = IoBuf::alloc(bytes.len());
        buffer.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        self.file.write_all_at(buffer, self.offset).await.0?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// The error in PostgreSQL's words.
fn cannot_open(path: &str, what: &str, error: &Error) -> SqlError {
    let state = match error.kind() {
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        ErrorKind::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        _ => SqlState::IO_ERROR,
    };
    let reason = reason(error);
    SqlError::new(state, format!("could not open file \"{path}\" for {what}: {reason}"))
}

/// The system's words without its number.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

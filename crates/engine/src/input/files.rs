//! Files of the server and objects, read and written through the runtime.

use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use runtime::IoBuf;
use runtime::fs::{File, OpenOptions};
use types::{SqlError, SqlResult, SqlState};

use crate::objects::file::ObjectFile;
use crate::objects::stream::ObjectStream;
use crate::objects::tally::Tally;

/// Bytes of one read.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// A file that is read from its begin to its end.
pub(crate) enum FileReader {
    /// One of the server, and up to where it was read.
    Local(File, u64),
    /// An object.
    Object(ObjectStream),
}

impl FileReader {
    /// One of the server.
    ///
    /// # Errors
    /// 58P01, 42501 and others when it cannot be opened.
    pub(crate) async fn open(path: &str) -> SqlResult<FileReader> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = File::open(Path::new(path), options).await;
        let file = file.map_err(|e| cannot_open(path, "reading", &e))?;
        Ok(FileReader::Local(file, 0))
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<Vec<u8>>> {
        match self {
            FileReader::Object(stream) => {
                Ok(stream.next().await?.map(|bytes| bytes.as_ref().to_vec()))
            }
            FileReader::Local(file, offset) => {
                let (result, buffer) = file.read_at(IoBuf::alloc(BLOCK_BYTES), *offset).await;
                let count = result.map_err(|error| no_input(&error.to_string()))?;
                *offset += count as u64;
                Ok((count > 0).then(|| buffer.as_slice()[..count].to_vec()))
            }
        }
    }
}

/// 58030 for input that cannot be read.
pub(crate) fn no_input(why: &str) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("could not read COPY input: {why}"))
}

/// A file of which parts are read.
pub(crate) struct RandomFile {
    path: String,
    source: RandomSource,
    length: u64,
}

pub(crate) enum RandomSource {
    Local(File),
    Object(ObjectFile),
}

impl RandomFile {
    /// One of the server.
    ///
    /// # Errors
    /// 58P01, 42501 and others when it cannot be opened.
    pub(crate) async fn open(path: &str) -> SqlResult<RandomFile> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = File::open(Path::new(path), options).await;
        let file = file.map_err(|e| cannot_open(path, "reading", &e))?;
        let length = file.len().await.map_err(|e| cannot_open(path, "reading", &e))?;
        Ok(RandomFile { path: path.to_owned(), source: RandomSource::Local(file), length })
    }

    /// An object.
    pub(crate) fn of_object(path: &str, object: ObjectFile) -> RandomFile {
        let length = object.length();
        RandomFile { path: path.to_owned(), source: RandomSource::Object(object), length }
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether it is no file of the server.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.source, RandomSource::Object(_))
    }

    /// The bytes of a range, which must lie in the file: no more memory is taken than there are bytes.
    ///
    /// # Errors
    /// 58030 and others when they cannot be read.
    pub(crate) async fn read(&self, range: Range<u64>) -> SqlResult<Bytes> {
        let read = self.read_all(std::slice::from_ref(&range), &Tally::default()).await?;
        Ok(read.into_iter().next().map(|(_, bytes)| bytes).unwrap_or_default())
    }

    /// The bytes of ranges, each within one of those that are given back.
    ///
    /// # Errors
    /// As [`RandomFile::read`].
    pub(crate) async fn read_all(
        &self,
        ranges: &[Range<u64>],
        tally: &Tally,
    ) -> SqlResult<Vec<(Range<u64>, Bytes)>> {
        if ranges.iter().any(|range| range.start > range.end || range.end > self.length) {
            return Err(read_error(&self.path, &ErrorKind::UnexpectedEof.into()));
        }
        match &self.source {
            RandomSource::Object(object) => object.fetch(ranges, tally).await,
            RandomSource::Local(file) => {
                let mut read = Vec::with_capacity(ranges.len());
                for range in ranges {
                    let buffer = IoBuf::alloc((range.end - range.start) as usize);
                    let (result, buffer) = file.read_exact_at(buffer, range.start).await;
                    result.map_err(|error| read_error(&self.path, &error))?;
                    read.push((range.clone(), Bytes::from_owner(Filled(buffer))));
                }
                Ok(read)
            }
        }
    }
}

/// A buffer whose bytes are shared.
pub(crate) struct Filled(IoBuf);

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
pub(crate) struct FileWriter {
    file: File,
    offset: u64,
}

impl FileWriter {
    /// # Errors
    /// 42602 for a path that is not absolute, 42501 and others when it cannot be opened, 55006 when
    /// somebody has locked it, as a database does with its own file.
    pub(crate) async fn create(path: &str) -> SqlResult<FileWriter> {
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

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut buffer = IoBuf::alloc(bytes.len());
        buffer.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        self.file.write_all_at(buffer, self.offset).await.0?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// The error in PostgreSQL's words.
pub(crate) fn cannot_open(path: &str, what: &str, error: &Error) -> SqlError {
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
pub(crate) fn reason(error: &Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

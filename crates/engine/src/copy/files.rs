//! Files of the server, read and written through the runtime.

use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;

use runtime::fs::{File, OpenOptions};
use runtime::{Handle, IoBuf};
use types::{SqlError, SqlResult, SqlState};

use crate::database::Database;

/// Bytes of one read or write.
const BLOCK_BYTES: usize = 1 << 20;

/// A file that is read.
pub(crate) struct FileReader {
    handle: Handle,
    file: File,
    offset: u64,
}

impl FileReader {
    pub(crate) fn open(db: &Database, path: &str) -> SqlResult<FileReader> {
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = open(db, path, options).map_err(|e| cannot_open(path, "reading", &e))?;
        Ok(FileReader { handle: db.handle(), file, offset: 0 })
    }
}

impl Read for FileReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let (file, offset) = (self.file.clone(), self.offset);
        let wanted = out.len().min(BLOCK_BYTES);
        let (result, buffer) = self
            .handle
            .block_on(move || async move { file.read_at(IoBuf::alloc(wanted), offset).await });
        let count = result?;
        out[..count].copy_from_slice(&buffer.as_slice()[..count]);
        self.offset += count as u64;
        Ok(count)
    }
}

/// A file that is written from its beginning; what was in it is gone.
pub(crate) struct FileWriter {
    handle: Handle,
    file: File,
    offset: u64,
}

impl FileWriter {
    /// # Errors
    /// 42602 for a path that is not absolute, 42501 and others when it cannot be opened, 55006 when
    /// somebody has locked it, as a database does with its own file.
    pub(crate) fn create(db: &Database, path: &str) -> SqlResult<FileWriter> {
        if !Path::new(path).is_absolute() {
            let message = "relative path not allowed for COPY to file";
            return Err(SqlError::new(SqlState("42602"), message));
        }
        let options =
            OpenOptions { write: true, create: true, lock: true, ..OpenOptions::default() };
        let file = open(db, path, options).map_err(|e| match e.kind() {
            ErrorKind::WouldBlock => {
                let message = format!("could not open file \"{path}\" for writing: it is in use");
                SqlError::new(SqlState::OBJECT_IN_USE, message)
            }
            _ => cannot_open(path, "writing", &e),
        })?;
        let (handle, emptied) = (db.handle(), file.clone());
        let cut = handle.block_on(move || async move { emptied.set_len(0).await });
        cut.map_err(|e| cannot_open(path, "writing", &e))?;
        Ok(FileWriter { handle, file, offset: 0 })
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(BLOCK_BYTES);
        let mut buffer = IoBuf::alloc(count);
        buffer.as_mut_slice()[..count].copy_from_slice(&bytes[..count]);
        let (file, offset) = (self.file.clone(), self.offset);
        let (result, _) =
            self.handle.block_on(move || async move { file.write_all_at(buffer, offset).await });
        result?;
        self.offset += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn open(db: &Database, path: &str, options: OpenOptions) -> std::io::Result<File> {
    let name = path.to_owned();
    db.handle().block_on(move || async move { File::open(Path::new(&name), options).await })
}

/// The error in PostgreSQL's words.
fn cannot_open(path: &str, what: &str, error: &Error) -> SqlError {
    let state = match error.kind() {
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        ErrorKind::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        _ => SqlState::IO_ERROR,
    };
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    SqlError::new(state, format!("could not open file \"{path}\" for {what}: {reason}"))
}

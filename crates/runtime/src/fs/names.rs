//! Names in directories. A name is durable only after `sync_dir` of its directory.

use std::io;
use std::path::Path;

use super::file::File;
use super::identity::Identity;
use super::transfers::meta;
use crate::buf::IoBuf;
use crate::fs::options::OpenOptions;
use crate::op::{Answer, Meta};

/// Gives a file another name, replacing what had it.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    meta(Meta::Rename(from, to)).await.map(drop)
}

/// Removes a file's name.
pub async fn remove(path: impl AsRef<Path>) -> io::Result<()> {
    meta(Meta::Remove(path.as_ref().to_owned())).await.map(drop)
}

/// True when the name exists.
pub async fn exists(path: impl AsRef<Path>) -> io::Result<bool> {
    match meta(Meta::Exists(path.as_ref().to_owned())).await? {
        Answer::Bool(exists) => Ok(exists),
        _ => unreachable!("exists answers yes or no"),
    }
}

/// The identity of the thing behind a name.
///
/// # Errors
/// `NotFound` when there is none; others of the system.
pub async fn identity(path: impl AsRef<Path>) -> io::Result<Identity> {
    match meta(Meta::Identity(path.as_ref().to_owned())).await? {
        Answer::Identity(identity) => Ok(identity),
        _ => unreachable!("an identity is the answer"),
    }
}

/// Creates a directory and its parents; existing ones are fine.
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    meta(Meta::CreateDir(path.as_ref().to_owned())).await.map(drop)
}

/// Makes the names in a directory durable.
pub async fn sync_dir(path: impl AsRef<Path>) -> io::Result<()> {
    meta(Meta::SyncDir(path.as_ref().to_owned())).await.map(drop)
}

/// The names in a directory, sorted.
pub async fn list(path: impl AsRef<Path>) -> io::Result<Vec<String>> {
    match meta(Meta::List(path.as_ref().to_owned())).await? {
        Answer::Names(names) => Ok(names),
        _ => unreachable!("list answers with names"),
    }
}

/// The whole content of a small file.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = File::open(path, OpenOptions { read: true, ..OpenOptions::default() }).await?;
    let len = file.len().await?;
    let len = usize::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    let (result, buf) = file.read_exact_at(IoBuf::alloc(len), 0).await;
    result.map(|()| buf.as_slice().to_vec())
}

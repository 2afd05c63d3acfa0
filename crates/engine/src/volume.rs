//! Members of a database that nobody has open: `dovetail volume`.

use std::future::Future;
use std::path::{Path, PathBuf};

use storage::{MemberInfo, StorageError, StoreOptions};
use types::SqlResult;

use crate::database::open::started;
use crate::options::Options;
use crate::{door, fault};

/// Memory for pages: none is read.
const POOL_BYTES: usize = 1 << 20;

/// The members of a database, the first one first; none where it lies in one file. From an ordinary
/// thread, as those below.
///
/// # Errors
/// Those of opening the database.
pub fn members(path: &Path, options: &Options) -> SqlResult<Vec<MemberInfo>> {
    waited(path, options, |path, options| async move { storage::members(&path, &options).await })
}

/// Takes a file or device in as a member; a file that is not there is made. A database in one file
/// becomes one of members.
///
/// # Errors
/// 55006 for one in use; 22023 for one that is foreign, the database's own or can be none; 58030
/// and the like. The members are those that there were then.
pub fn add_member(path: &Path, options: &Options, member: &Path) -> SqlResult<()> {
    let member = member.to_owned();
    waited(path, options, |path, options| async move {
        storage::add_member(&path, &options, &member).await
    })
}

/// Moves what lies on a member to the others, and lets it go.
///
/// # Errors
/// 22023 for one that is none, or the first; 53100 where the others have no room.
pub fn remove_member(path: &Path, options: &Options, member: &Path) -> SqlResult<()> {
    let member = member.to_owned();
    waited(path, options, |path, options| async move {
        storage::remove_member(&path, &options, &member).await
    })
}

fn waited<T: Send + 'static, F: Future<Output = Result<T, StorageError>> + 'static>(
    path: &Path,
    options: &Options,
    work: impl FnOnce(PathBuf, StoreOptions) -> F + Send,
) -> SqlResult<T> {
    let runtime = started(options)?;
    let (file, of_store) = (path.to_owned(), options.of_store(POOL_BYTES)?);
    let done = door::wait(&runtime.handle(), || Box::pin(work(file, of_store)));
    done.map_err(|error| fault::of_file(error, path))
}

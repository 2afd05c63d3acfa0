//! A database that follows another one: what is archived there is put into a copy, and sessions
//! read it.
//!
//! Commits of rows are put into the trees of the state that is open, as versions beside those who
//! read ([`crate::versions::replay`]). When more has come, a checkpoint with what no commit says,
//! the copy's state is opened as a store of its own beside the one before, and sessions go on to it
//! between two transactions ([`crate::succession`]). Nobody who reads is in the way of what comes:
//! open states keep what lies where an image goes. It is seen later, though, while as many
//! states are in use as may be open.

mod fault;
mod receiver;
mod task;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use exec::LocalFuture;
use runtime::sync::Cancel;
use runtime::{RemoteHandle, Runtime};
use storage::{FollowError, Follower, StoreOptions};
use types::{SqlError, SqlResult, SqlState};

use crate::database::Database;
use crate::database::open::{Opened, started, stores_of};
use crate::database::states::{self, States};
use crate::door;
use crate::memory::{POOL_BYTES_MIN, Shares};
use crate::options::Options;
use crate::replication::{Attendant, ReplicaFigures};
use crate::succession::{STATES_MAX, Succession};
use fault::refused;
use receiver::{Receiver, copied};
use task::{Task, first_opened, note_position, opened};

/// Where a replica gets from what its folder lacks.
pub trait Upstream: Send + Sync {
    /// Makes the file that the replica begins with, in a task.
    fn copy<'a>(&'a self, path: &'a Path) -> LocalFuture<'a, SqlResult<()>>;

    /// Brings what comes into the folder, until that is over; why it is. `told` says how far the
    /// replica's folder and its sessions are; `came` is called whenever bytes have come.
    fn receive<'a>(
        &'a self,
        folder: &'a Path,
        copy: &'a Path,
        told: &'a (dyn Fn() -> ReplicaFigures + 'a),
        came: &'a (dyn Fn() + 'a),
    ) -> LocalFuture<'a, SqlError>;

    /// Its name, for messages and figures.
    fn name(&self) -> String;
}

/// Options of a replica: the archive that it follows, and how that comes to it.
#[derive(Clone)]
pub struct ReplicaOptions {
    /// The folder of the other database's archive, or one of the replica's own that gets the same.
    pub folder: PathBuf,
    /// The server that brings it there, where nobody else does.
    pub upstream: Option<Arc<dyn Upstream>>,
    /// Is told in a sentence what becomes of the replica; must not block.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Is cancelled by who does not wait for the start any more, of which the copy is a part.
    pub ending: Cancel,
}

impl ReplicaOptions {
    /// The name of the server or the folder that is followed.
    fn source(&self) -> String {
        let name = self.upstream.as_ref().map(|upstream| upstream.name());
        name.unwrap_or_else(|| self.folder.display().to_string())
    }
}

/// A replica: the tasks that follow, and its database.
pub struct Replica {
    states: States,
    tasks: Vec<RemoteHandle<()>>,
    /// Last: it ends when nobody has a state any more.
    runtime: Arc<Runtime>,
}

impl Replica {
    /// Opens a copy, which is a backup of a database that is archived, and follows the archive.
    /// From an ordinary thread.
    ///
    /// # Errors
    /// 55000 when the copy cannot follow this archive, 58P01 without a copy, 57P01 when it is to
    /// end before it has begun, and those of opening a database.
    pub fn start(path: &Path, follow: &ReplicaOptions, options: &Options) -> SqlResult<Replica> {
        let shares = Shares::of(options)?;
        let store_options = options.of_store((shares.pool / STATES_MAX).max(POOL_BYTES_MIN))?;
        let (promoted, runtime) = (options.of_store(shares.pool)?, started(options)?);
        let (states, handle) = (Succession::new(), runtime.handle());
        states.status.change(|figures| figures.source = follow.source());
        let mut tasks = vec![];
        if let Some(upstream) = &follow.upstream {
            let (first, file) = (upstream.clone(), path.to_owned());
            let ending = follow.ending.clone();
            door::wait(&handle, || Box::pin(async move { copied(&*first, &file, &ending).await }))?;
            let receiver = Receiver::new(&states, upstream, follow, path);
            tasks.push(handle.spawn_on(0, move || receiver.run()));
        }
        let (places, heard) = ((path, follow), states.status.attendant());
        let (follower, opened) = match first_state(&handle, places, heard, options, &store_options)
        {
            Ok(opened) => opened,
            Err(error) => {
                states.status.stop();
                ended(&handle, tasks);
                return Err(error);
            }
        };
        states::begin(&states, (path, options), (shares, opened), runtime.clone());
        note_position(&states, &follower);
        let database = states::last(&states).expect("it has begun");
        let task = Task {
            states: states.clone(),
            options: store_options,
            promoted,
            path: path.to_owned(),
            owns_folder: follow.upstream.is_some(),
            tell: follow.tell.clone(),
            max_delay: Box::new(max_delay_of(&database)),
        };
        tasks.push(handle.spawn_on(0, move || watched(task, follower)));
        Ok(Replica { states, tasks, runtime })
    }

    /// The database in its last state.
    pub fn database(&self) -> Database {
        states::last(&self.states).expect("there is a state until the end")
    }

    /// Has it become a database of its own, with all that the archive has.
    pub fn promote(&self) {
        self.states.status.attendant().promote();
    }
}

impl Drop for Replica {
    /// Waits for the tasks, one of which has the file.
    fn drop(&mut self) {
        self.states.status.stop();
        ended(&self.runtime.handle(), std::mem::take(&mut self.tasks));
        // The states know the succession: without this none of them would ever go.
        drop(self.states.close());
    }
}

/// Follows, and tells when that ends by a defect: sessions would see an old state for ever, and
/// nobody would know.
async fn watched(task: Task, follower: Follower) {
    let tell = task.tell.clone();
    if runtime::spawn(task.run(follower)).await.is_err() {
        tell("the replica does not go on: its task has ended by a defect of the program");
    }
}

/// `max_standby_streaming_delay` as it is now; `None`: for ever.
fn max_delay_of(database: &Database) -> impl Fn() -> Option<Duration> + Send + use<> {
    let configuration = database.configuration_now();
    move || configuration().duration("max_standby_streaming_delay")
}

/// The copy, and the state in which it is found.
fn first_state(
    handle: &runtime::Handle,
    (path, follow): (&Path, &ReplicaOptions),
    heard: Attendant,
    options: &Options,
    store_options: &StoreOptions,
) -> SqlResult<(Follower, Opened)> {
    let (path, follow) = (path.to_owned(), follow.clone());
    let (options, stores) = (store_options.clone(), stores_of(&options.configuration));
    door::wait(handle, || {
        Box::pin(async move {
            forget_request(&path).await?;
            let mut follower = first_opened(&path, &follow, &heard).await?;
            let (store, mut snapshot) = opened(&mut follower, &options).await?;
            snapshot.stores = stores;
            Ok((follower, (store, snapshot)))
        })
    })
}

/// The file by which a server that follows is asked to end that.
pub fn request_path(copy: &Path) -> PathBuf {
    copy.with_added_extension("promote")
}

/// Removes what asked a server to end that is gone: nobody waits for it any more.
async fn forget_request(copy: &Path) -> SqlResult<()> {
    let request = request_path(copy);
    let failed = |error: std::io::Error| SqlError::new(SqlState::IO_ERROR, error.to_string());
    match runtime::fs::exists(&request).await.map_err(failed)? {
        true => runtime::fs::remove(&request).await.map_err(failed),
        false => Ok(()),
    }
}

/// Makes a copy that follows another database one of its own, while no server has it. From an
/// ordinary thread.
///
/// # Errors
/// 55006 while one has it, 55000 when it follows nothing.
pub fn promote(path: &Path, options: &Options) -> SqlResult<()> {
    let (runtime, file) = (started(options)?, path.to_owned());
    let released =
        door::wait(&runtime.handle(), || Box::pin(async move { storage::release(&file).await }));
    released.map_err(|error| match error {
        FollowError::NotArchived => {
            let message = format!("\"{}\" follows no other database", path.display());
            SqlError::new(SqlState("55000"), message)
        }
        error => refused(error, path),
    })
}

/// Waits for tasks that were told to end.
fn ended(handle: &runtime::Handle, tasks: Vec<RemoteHandle<()>>) {
    for task in tasks {
        door::wait(handle, || Box::pin(async move { drop(task.await) }));
    }
}

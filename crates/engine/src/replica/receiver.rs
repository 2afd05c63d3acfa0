//! Has what is archived elsewhere brought to the replica's own folder.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use runtime::sync::Cancel;
use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use super::task::{PAUSE, PAUSE_MAX};
use super::{ReplicaOptions, Upstream};
use crate::database::states::States;

/// Has somebody bring what is archived elsewhere.
pub(super) struct Receiver {
    states: States,
    upstream: Arc<dyn Upstream>,
    folder: PathBuf,
    path: PathBuf,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Receiver {
    pub fn new(
        states: &States,
        upstream: &Arc<dyn Upstream>,
        follow: &ReplicaOptions,
        path: &Path,
    ) -> Receiver {
        Receiver {
            states: states.clone(),
            upstream: upstream.clone(),
            folder: follow.folder.clone(),
            path: path.to_owned(),
            tell: follow.tell.clone(),
        }
    }

    /// Begins anew whenever it has ended, after a pause that grows while nothing comes.
    pub async fn run(self) {
        let (status, mut pause, mut last) = (&self.states.status, PAUSE, String::new());
        let figures = || status.attendant().figures();
        let came = || status.change(|figures| figures.came_at = Some(time::now()));
        loop {
            let began = time::now();
            let receiving = self.upstream.receive(&self.folder, &self.path, &figures, &came);
            let Some(error) = until(receiving, status.ordered()).await else { return };
            if began.elapsed() > PAUSE_MAX {
                pause = PAUSE;
            }
            let said = error.message.clone();
            if last != said {
                last.clone_from(&said);
                (self.tell)(&format!("the connection to {}: {said}", self.upstream.name()));
            }
            status.change(|figures| {
                figures.state = "waiting";
                figures.error = Some(said);
            });
            if until(time::sleep(pause), status.ordered()).await.is_none() {
                return;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// The output of a future, unless that is to end before.
async fn until<T, E>(work: impl Future<Output = T>, end: impl Future<Output = E>) -> Option<T> {
    let (mut work, mut end) = (pin!(work), pin!(end));
    poll_fn(move |cx| {
        if end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Makes the file that a replica begins with, unless it is there. Of a copy that is not whole
/// nothing stays.
pub(super) async fn copied(upstream: &dyn Upstream, path: &Path, ending: &Cancel) -> SqlResult<()> {
    let failed = |error: std::io::Error| SqlError::new(SqlState::IO_ERROR, error.to_string());
    if runtime::fs::exists(path).await.map_err(failed)? {
        return Ok(());
    }
    let unfinished = path.with_added_extension("copy");
    if runtime::fs::exists(&unfinished).await.map_err(failed)? {
        runtime::fs::remove(&unfinished).await.map_err(failed)?;
    }
    let made = until(upstream.copy(&unfinished), ending.cancelled()).await;
    if let Err(error) = made.unwrap_or_else(|| Err(ended_early())) {
        drop(runtime::fs::remove(&unfinished).await);
        return Err(error);
    }
    runtime::fs::rename(&unfinished, path).await.map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    runtime::fs::sync_dir(folder.unwrap_or(Path::new("."))).await.map_err(failed)
}

/// The error of a replica that is to end before it has anything to show.
pub(super) fn ended_early() -> SqlError {
    SqlError::new(SqlState::ADMIN_SHUTDOWN, "the replica was stopped before it had begun")
}

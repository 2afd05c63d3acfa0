//! Has what is archived elsewhere brought to the replica's own folder.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use super::task::{PAUSE, PAUSE_MAX};
use super::{ReplicaOptions, Upstream};
use crate::database::states::States;
use crate::replication::Order;

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
        loop {
            let began = time::now();
            let receiving = self.upstream.receive(&self.folder, &self.path, &figures);
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

/// The output of a future, unless something is ordered before.
async fn until<T>(work: impl Future<Output = T>, order: impl Future<Output = Order>) -> Option<T> {
    let (mut work, mut order) = (pin!(work), pin!(order));
    poll_fn(move |cx| {
        if order.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Makes the file that a replica begins with, unless it is there.
pub(super) async fn copied(upstream: &dyn Upstream, path: &Path) -> SqlResult<()> {
    let failed = |error: std::io::Error| SqlError::new(SqlState::IO_ERROR, error.to_string());
    if runtime::fs::exists(path).await.map_err(failed)? {
        return Ok(());
    }
    let unfinished = path.with_added_extension("copy");
    if runtime::fs::exists(&unfinished).await.map_err(failed)? {
        runtime::fs::remove(&unfinished).await.map_err(failed)?;
    }
    upstream.copy(&unfinished).await?;
    runtime::fs::rename(&unfinished, path).await.map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    runtime::fs::sync_dir(folder.unwrap_or(Path::new("."))).await.map_err(failed)
}

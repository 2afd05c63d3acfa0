//! Whoever opens a database learns how far its recovery has come, if it takes long.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use runtime::time;
use storage::{RecoveryPhase, RecoveryStep, Store};

/// Recovery that is shorter is not spoken of, and nobody is told more often.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// Who is told how far recovery has come: in a sentence, every two seconds.
#[derive(Clone)]
pub struct RecoveryWatch(Arc<dyn Fn(&str) + Send + Sync>);

impl RecoveryWatch {
    /// One that is told by a call, which must not block.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> RecoveryWatch {
        RecoveryWatch(Arc::new(tell))
    }
}

impl fmt::Debug for RecoveryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryWatch")
    }
}

/// What `opening` gives; meanwhile somebody is told, so often, how far it has come.
pub(crate) async fn watched<T>(
    opening: impl Future<Output = T>,
    step: impl Fn() -> RecoveryStep,
    watch: Option<&RecoveryWatch>,
    every: Duration,
) -> T {
    let (mut opening, began) = (pin!(opening), time::now());
    let Some(RecoveryWatch(tell)) = watch else { return opening.await };
    loop {
        if let Ok(opened) = time::timeout(every, opening.as_mut()).await {
            return opened;
        }
        tell(&said(step(), began.elapsed()));
    }
}

fn said(step: RecoveryStep, elapsed: Duration) -> String {
    let RecoveryStep { phase, done, total } = step;
    let what = match phase {
        RecoveryPhase::Opening => "the file is being opened".to_owned(),
        RecoveryPhase::DoubleWrite => {
            format!("{done} of {total} pages of the double-write buffer are in place")
        }
        RecoveryPhase::Log => format!("{done} of {total} bytes of the log are read"),
        RecoveryPhase::Changes => format!("{done} of {total} logged changes are in place"),
        RecoveryPhase::Checkpoint => "a checkpoint is being made".to_owned(),
    };
    format!("recovery in progress, elapsed time: {:.1} s: {what}", elapsed.as_secs_f64())
}

/// The path beside which files lie for what does not fit memory: that of the database, unless it is
/// a device. Beside that they would be in memory. Those that a process left are removed, unless the
/// database stays unchanged.
pub(crate) async fn scratch_of(path: &Path, store: &Store, is_unchanged: bool) -> PathBuf {
    let is_device = store.members().first().is_some_and(|first| first.size_bytes > 0);
    let scratch = match is_device {
        true => std::env::temp_dir()
            .join(format!("dovetail{}", path.to_string_lossy().replace('/', "-"))),
        false => path.to_owned(),
    };
    if !is_unchanged {
        remove_leftovers(&scratch).await;
    }
    scratch
}

/// Removes what sorts and queries of a process that died left behind.
pub(crate) async fn remove_leftovers(path: &Path) {
    let Some(directory) = path.parent() else { return };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let starts = ["sort-", "spill-"].map(|kind| {
        let start = path.with_added_extension(kind);
        start.file_name().unwrap_or_default().to_string_lossy().into_owned()
    });
    for name in runtime::fs::list(directory).await.unwrap_or_default() {
        if starts.iter().any(|start| name.starts_with(start)) {
            runtime::fs::remove(directory.join(name)).await.ok();
        }
    }
}

#[cfg(test)]
mod tests;

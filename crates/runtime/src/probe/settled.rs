//! When a device has settled after writes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::offload::offload;
use crate::time::{now, sleep, unix_us};

/// Waits until nothing was written to the file for the time `quiet`, no longer than `patience`: a device that is
/// still busy with what it was given a moment ago gives less than it can. Whether the file has become quiet. To be
/// called inside of a task, of a machine that is not simulated.
///
/// # Errors
/// Those of the file system.
pub async fn settled(
    path: impl AsRef<Path>,
    quiet: Duration,
    patience: Duration,
) -> io::Result<bool> {
    let (path, deadline) = (path.as_ref().to_owned(), now() + patience);
    loop {
        let file = path.clone();
        let written = offload(move || modified_us(&file)).await.map_err(io::Error::other)??;
        // A clock that was set back makes no file wait for ever: `patience` ends it.
        let since = unix_us().saturating_sub(written).max(0);
        let left = quiet.saturating_sub(Duration::from_micros(since as u64));
        if left.is_zero() {
            return Ok(true);
        }
        let patience_left = deadline - now();
        if patience_left.is_zero() {
            return Ok(false);
        }
        sleep(left.min(patience_left)).await;
    }
}

/// When the file was written last, in microseconds since 1970.
fn modified_us(path: &Path) -> io::Result<i64> {
    let modified = fs::metadata(path)?.modified()?;
    Ok(modified.duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_micros() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::runtime::Runtime;

    #[test]
    fn it_waits_for_a_file_that_is_written_and_not_for_ever() {
        let path = std::env::temp_dir().join(format!("dovetail-settled-{}", std::process::id()));
        fs::write(&path, "written now").unwrap();
        let runtime = Runtime::start(Config { workers: 1, ..Config::default() }).unwrap();
        let (long, short) = (Duration::from_secs(3600), Duration::from_millis(20));
        let ask = |quiet, patience| {
            let path = path.clone();
            runtime.block_on(move || async move {
                let began = now();
                (settled(path, quiet, patience).await.unwrap(), began.elapsed())
            })
        };
        let (is_quiet, waited) = ask(long, short);
        assert!(!is_quiet && waited >= short, "{waited:?}");
        let (is_quiet, waited) = ask(short, long);
        assert!(is_quiet && waited < long, "{waited:?}");
        fs::remove_file(path).unwrap();
    }
}

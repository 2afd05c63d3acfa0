//! What the tests share: runtimes of each kind, and directories of their own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use runtime::{Config, RingChoice, Runtime};

/// A directory that is removed at the end of the test.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dovetail-runtime-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        TempDir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A runtime of the machine with `workers` workers; `None` if this machine refuses io_uring.
pub fn start(ring: RingChoice, workers: usize) -> Option<Runtime> {
    let uring = matches!(ring, RingChoice::Uring);
    match Runtime::start(Config { ring, workers, seed: 7, ..Config::default() }) {
        Ok(runtime) => Some(runtime),
        Err(error) if uring => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test on both ways to the real disk.
pub fn on_both(workers: usize, test: impl Fn(&Runtime)) {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        if let Some(runtime) = start(ring, workers) {
            test(&runtime);
        }
    }
}

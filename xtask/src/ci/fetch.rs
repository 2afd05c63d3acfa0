//! Downloads of what the scripts need, while cargo builds. What cannot be had is no failure here:
//! the script that misses it skips its tests, counts them and says why.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// The scripts, each of which fetches by the argument `--fetch`.
const SCRIPTS: &[(&str, &str)] = &[
    ("python3", "tests/clickbench/run.py"),
    ("python3", "crates/python/tests/run.py"),
    ("bash", "tests/clients/run.sh"),
    ("bash", "tests/objects/run.sh"),
];

/// A registry that does not answer costs a script no more than this.
const SCRIPT_S: &str = "600";

/// Downloads that are under way.
pub struct Fetching(JoinHandle<()>);

/// Begins to fetch.
pub fn begin(root: &Path) -> Fetching {
    let root = root.to_path_buf();
    Fetching(std::thread::spawn(move || SCRIPTS.iter().for_each(|script| fetch(&root, script))))
}

impl Fetching {
    /// Waits until nothing is fetched any more.
    pub fn end(self) {
        // A panic there is a download that failed, and a test that is skipped for it.
        let _ = self.0.join();
    }
}

fn fetch(root: &Path, (program, script): &(&str, &str)) {
    let mut command = Command::new("timeout");
    command
        .current_dir(root)
        .args([SCRIPT_S, program, script, "--fetch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        println!("not all could be fetched that {script} asks for");
    }
}

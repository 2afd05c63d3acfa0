//! The store as a process of its own.

use std::io::{self, BufRead, BufReader, Error};
use std::path::Path;
use std::process::{Child as Process, Command, Stdio};

use crate::store::Speed;

/// A process that is killed when it is dropped.
pub(super) struct Child {
    process: Process,
    pub(super) url: String,
}

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Child {
    /// Starts `bench store` of `program` over a folder.
    pub(super) fn store(program: &Path, folder: &Path, speed: Speed) -> io::Result<Child> {
        let mut command = Command::new(program);
        command.args(["bench", "store", "--folder"]).arg(folder);
        for (flag, value) in [
            ("--latency-ms", speed.latency.as_millis() as u64),
            ("--rate-mib", speed.rate >> 20),
            ("--cap-mib", speed.cap >> 20),
            ("--straggler-of", speed.straggler_of),
        ] {
            command.args([flag, &value.to_string()]);
        }
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or_else(|| Error::other("it has no output"))?;
        let mut child = Child { process, url: String::new() };
        BufReader::new(output).read_line(&mut child.url)?;
        child.url = child.url.trim().to_owned();
        match child.url.starts_with("http://") {
            true => Ok(child),
            false => Err(Error::other("the store did not start")),
        }
    }
}

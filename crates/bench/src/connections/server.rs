//! A server of its own, in another process, so that its memory is its own too.

use std::fs::{self, File};
use std::io::{self, Error};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to listen.
const START_MAX: Duration = Duration::from_secs(30);

/// A server that runs; it is killed when dropped.
pub(crate) struct Server {
    process: Child,
    log: PathBuf,
    pub address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Server {
    /// Starts `binary` over a new database, with more flags.
    pub fn start(binary: &Path, database: &Path, flags: &[&str]) -> io::Result<Server> {
        let log = database.with_extension("log");
        let process = Command::new(binary)
            .args(["serve", "--no-http", "--listen", "127.0.0.1:0"])
            .args(flags)
            .arg("--data")
            .arg(database)
            .stderr(File::create(&log)?)
            .stdout(Stdio::null())
            .spawn()?;
        let address = ([127, 0, 0, 1], 0).into();
        let mut server = Server { process, log, address };
        server.address = server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> io::Result<SocketAddr> {
        let deadline = Instant::now() + START_MAX;
        loop {
            let log = fs::read_to_string(&self.log)?;
            let rest = log.split_once("Listening at ").map(|(_, rest)| rest);
            let address = rest.and_then(|rest| rest.split(". ").next()?.parse().ok());
            if let Some(address) = address {
                return Ok(address);
            }
            if Instant::now() > deadline || self.process.try_wait()?.is_some() {
                return Err(Error::other(format!("the server did not start:\n{log}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Resident memory in bytes.
    ///
    /// # Errors
    /// The server is gone.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib << 10).ok_or_else(|| Error::other("the server has ended"))
    }

    /// The median of resident memory over some seconds, in bytes: it breathes.
    pub fn resident_bytes_over(&self, seconds: u64) -> io::Result<f64> {
        let mut samples = vec![];
        for _ in 0..seconds.max(1) * 5 {
            samples.push(self.resident_bytes()? as f64);
            thread::sleep(Duration::from_millis(200));
        }
        Ok(crate::figure::median_of(&samples))
    }

    /// Whether a panic is in the log.
    pub fn has_panicked(&self) -> io::Result<bool> {
        Ok(fs::read_to_string(&self.log)?.contains("panicked"))
    }
}

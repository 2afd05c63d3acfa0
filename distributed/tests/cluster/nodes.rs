//! Workers as processes, and as tasks of this one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use distributed::cluster::{Cluster, address};
use distributed::local::Local;
use distributed::worker;
use tokio::net::TcpListener;

use crate::data;

/// The command.
pub const COMMAND: &str = env!("CARGO_BIN_EXE_dovetail-cluster");

/// A worker that is a process; it ends with this.
pub struct Process {
    child: Child,
    pub address: String,
}

impl Process {
    /// A worker over a copy of the file.
    pub fn start() -> Process {
        Process::over(&data::copy())
    }

    /// A worker over this file.
    pub fn over(file: &Path) -> Process {
        let mut command = Command::new(COMMAND);
        command.args(["worker", "--listen", "127.0.0.1:0", "--memory", "128", "--database"]);
        let mut child = command.arg(file).stdout(Stdio::piped()).spawn().expect("a process");
        let output = child.stdout.take().expect("its output");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Process { child, address }
    }

    /// Stops it without an end, as a machine that hangs.
    pub fn stop(&self) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-STOP", &id]).status().expect("a signal");
        assert!(status.success());
    }

    /// Kills it as a power cut does.
    pub fn kill(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three processes.
pub fn three() -> Vec<Process> {
    (0..3).map(|_| Process::start()).collect()
}

/// Their addresses as the command takes them.
pub fn addresses(workers: &[Process]) -> String {
    workers.iter().map(|worker| worker.address.as_str()).collect::<Vec<_>>().join(",")
}

/// A coordinator over them.
pub fn coordinator(workers: &[Process]) -> Cluster {
    let urls = workers.iter().map(|worker| address(&worker.address).expect("an address"));
    Cluster::new(&data::local(), urls.collect(), 2).expect("a coordinator")
}

/// A coordinator over three workers in this process, with their databases.
pub async fn in_process() -> (Cluster, Vec<Local>) {
    let (mut urls, mut locals) = (vec![], vec![]);
    for _ in 0..3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let bound = listener.local_addr().expect("its address");
        let local = data::local();
        locals.push(local.clone());
        tokio::spawn(async move { worker::serve(&local, listener).await });
        urls.push(address(&bound.to_string()).expect("an address"));
    }
    (Cluster::new(&data::local(), urls, 2).expect("a coordinator"), locals)
}

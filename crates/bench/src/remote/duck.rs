//! DuckDB with its httpfs, in a process of its own that is asked line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const SCRIPT: &str = include_str!("duck.py");

/// Its threads wait for the network, so there are more than cores: its documentation advises two to five times.
const THREADS_A_CORE: usize = 4;

pub(super) struct Duck {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it is.
    pub(super) version: String,
}

/// What one query took.
pub(super) struct DuckRun {
    pub(super) ms: f64,
    pub(super) cpu_s: f64,
    pub(super) rows: usize,
}

impl Drop for Duck {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Duck {
    /// # Errors
    /// Why it is not to be had.
    pub(super) fn start(python: &Path, memory: usize, workers: usize) -> Result<Duck, String> {
        let threads = (workers * THREADS_A_CORE).to_string();
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT, &format!("{}MiB", memory >> 20), &threads]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = command.spawn();
        let mut process = process.map_err(|e| format!("{}: {e}", python.display()))?;
        let ends = process.stdin.take().zip(process.stdout.take());
        let (input, output) = ends.ok_or("it has no ends")?;
        let output = BufReader::new(output);
        let mut duck = Duck { process, input, output, version: String::new() };
        let first = duck.answer()?;
        duck.version =
            first["version"].as_str().unwrap_or("a version that it does not tell").into();
        Ok(duck)
    }

    /// A table that is one Parquet file at `url`.
    pub(super) fn view(&mut self, name: &str, url: &str) -> Result<(), String> {
        let text = format!("create view {name} as select * from read_parquet('{url}')");
        self.run(&text).map(drop)
    }

    /// Runs a statement and takes all of its rows.
    pub(super) fn run(&mut self, text: &str) -> Result<DuckRun, String> {
        let asked = writeln!(self.input, "{}", json!({ "query": text }));
        asked.map_err(|error| format!("duckdb: {error}"))?;
        let answer = self.answer()?;
        let number = |name: &str| answer[name].as_f64().ok_or(format!("duckdb tells no {name}"));
        Ok(DuckRun { ms: number("ms")?, cpu_s: number("cpu_s")?, rows: number("rows")? as usize })
    }

    fn answer(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| "it ended without an answer".to_owned())?;
        match answer["error"].as_str() {
            None => Ok(answer),
            Some(why) => Err(why.to_owned()),
        }
    }
}

//! What gets of 16 MiB cost, over loopback: the server on one core, the client on another.
//!
//! `cargo bench -p objectstore -- [--figure=N] [--rounds=5] [--gets=256]`. CPU time is the client's
//! alone. Each line is the median, the least and the most of so many rounds, in which all lines of a
//! figure take turns. Two cores are needed, `taskset`, and for the comparisons `curl` and `bash`, and a Python
//! with `obstore` (`--python=PATH`), the binding of the `object_store` crate: that needs another runtime, which
//! nothing here may link.
//!
//! 1. GB/s and CPU seconds per GB by requests in flight, beside `curl --parallel` and the `object_store` crate
//!    with its default client on the same server.
//! 2. With 30 ms before each answer and 50 MiB/s for each connection: throughput against the paper's
//!    model (section 2.8), and the number in flight that is found against fixed ones.
//! 3. With one answer of twenty ten times as slow: the 99th percentile with slow gets begun again and
//!    without, and the requests that this takes.
//! 4. The cost of TLS, and of sealing and opening chunks.
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock and at processes")]

mod client;
mod report;
mod server;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use client::Measured;
use report::{median, print};

pub(crate) const OBJECT_BYTES: usize = 16 << 20;
const IN_FLIGHT: [usize; 5] = [1, 4, 16, 64, 256];
/// What figure 2 injects.
const LATENCY_MS: usize = 30;
const RATE_MIB: usize = 50;
/// Figure 3: requests in flight, and gets for each.
const HEDGED_IN_FLIGHT: usize = 16;
const HEDGED_TURNS: usize = 25;

pub(crate) fn argument(name: &str) -> Option<String> {
    let start = format!("--{name}=");
    std::env::args().find_map(|argument| argument.strip_prefix(&start).map(str::to_owned))
}

pub(crate) fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    argument(name).map_or(default, |text| text.parse().ok().expect("a number"))
}

fn main() {
    if argument("serve").is_some() {
        server::serve();
    } else if let Some(url) = argument("client") {
        println!("{}", client::measure(&url));
    } else if argument("seal").is_some() {
        println!("{}", client::seal());
    } else {
        compare();
    }
}

fn compare() {
    let rounds = number("rounds", 5);
    let files = Files::make();
    let wanted = number("figure", 0);
    let figures: [fn(&Files, usize); 4] = [transfer, model, stragglers, encryption];
    for (figure, place) in figures.iter().zip(1..) {
        if wanted == 0 || wanted == place {
            figure(&files, rounds);
        }
    }
}

/// The object, and what the server of TLS shows; gone with this program at the latest.
struct Files(PathBuf);

impl Files {
    fn make() -> Files {
        let folder = std::env::temp_dir().join(format!("dovetail-gets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        std::fs::write(folder.join("object"), vec![42; OBJECT_BYTES]).expect("a temporary file");
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
        let made = made.expect("a certificate");
        std::fs::write(folder.join("cert"), made.cert.pem()).expect("a temporary file");
        std::fs::write(folder.join("key"), made.signing_key.serialize_pem()).expect("a file");
        Files(folder)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server on the first core.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(files: &Files, arguments: &[String]) -> Server {
        let mut command = pinned(0);
        command.arg(format!("--serve={}", files.0.display())).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("taskset");
        let (mut line, output) = (String::new(), child.stdout.take().expect("it is piped"));
        BufReader::new(output).read_line(&mut line).expect("a URL");
        Server { child, url: line.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// This program on one core.
fn pinned(core: usize) -> Command {
    let mut command = Command::new("taskset");
    let ours = std::env::current_exe().expect("this program has a path");
    command.args(["-c", &core.to_string()]).arg::<&Path>(ours.as_ref());
    command
}

fn run(mut command: Command) -> Option<Measured> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Measured::parse(&String::from_utf8(output.stdout).ok()?)
}

/// A client on the second core.
fn ours(url: &str, in_flight: usize, gets: usize, more: &[String]) -> Option<Measured> {
    let mut command = pinned(1);
    command.arg(format!("--client={url}")).arg(format!("--in-flight={in_flight}"));
    command.arg(format!("--gets={gets}")).args(more);
    command.args(argument("wake").map(|wake| format!("--wake={wake}")));
    run(command)
}

/// curl makes its connections within what is measured; it throws the bytes away.
fn curl(url: &str, in_flight: usize, gets: usize) -> Option<Measured> {
    let script = format!(
        "TIMEFORMAT='%R %U %S'; {{ time taskset -c 1 curl -s -o /dev/null --parallel \
         --parallel-immediate --parallel-max {in_flight} '{url}/object?[1-{gets}]' 2>/dev/null ; }} 2>&1"
    );
    let mut command = Command::new("bash");
    command.arg("-c").arg(script);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [seconds, user_s, system_s] = numbers.as_slice() else { return None };
    Some(Measured { seconds: *seconds, cpu_s: user_s + system_s, gets, ..Measured::default() })
}

/// The `object_store` crate, each object in one buffer; starting Python is not measured.
fn object_store(url: &str, in_flight: usize, gets: usize) -> Option<Measured> {
    let mut command = Command::new("taskset");
    let python = argument("python").unwrap_or_else(|| "python3".to_owned());
    command.args(["-c", "1", &python, "-c", include_str!("obstore.py"), url]);
    command.args([in_flight.to_string(), gets.to_string()]).stderr(Stdio::null());
    run(command)
}

fn transfer(files: &Files, rounds: usize) {
    let (server, gets) = (Server::start(files, &[]), number("gets", 256));
    println!("\n1. {gets} gets of 16 MiB a round, {rounds} rounds");
    let mut best = 0f64;
    for in_flight in IN_FLIGHT {
        let (mut us, mut them, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            us.extend(ours(&server.url, in_flight, gets, &[]));
            them.extend(curl(&server.url, in_flight, gets));
            others.extend(object_store(&server.url, in_flight, gets));
        }
        print(&format!("dovetail, {in_flight} in flight"), &us);
        print(&format!("curl, {in_flight} in flight"), &them);
        print(&format!("object_store, {in_flight} in flight"), &others);
        let rates = |all: &[Measured]| median(all.iter().map(Measured::gb_s));
        best = best.max(rates(&us));
        let cpu = |all: &[Measured]| median(all.iter().map(Measured::cpu_s_gb));
        let share = |others: &[Measured]| match others.is_empty() {
            true => "-".to_owned(),
            false => format!("{:.2}", cpu(&us) / cpu(others)),
        };
        println!(
            "    {:.2} of the best so far; {} of curl's CPU; {} of object_store's",
            rates(&us) / best,
            share(&them),
            share(&others)
        );
    }
}

fn model(files: &Files, rounds: usize) {
    let slow = [format!("--latency-ms={LATENCY_MS}"), format!("--rate-mib={RATE_MIB}")];
    let server = Server::start(files, &slow);
    println!("\n2. {LATENCY_MS} ms before each answer, {RATE_MIB} MiB/s for each connection");
    let one_s = LATENCY_MS as f64 / 1e3 + OBJECT_BYTES as f64 / ((RATE_MIB << 20) as f64);
    let mut best = 0f64;
    for in_flight in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let fixed = ["--adapts=0".to_owned(), format!("--requests={in_flight}")];
        let runs = (0..rounds).filter_map(|_| ours(&server.url, in_flight, 4 * in_flight, &fixed));
        let runs: Vec<Measured> = runs.collect();
        print(&format!("{in_flight} in flight"), &runs);
        let (rate, modelled) = (
            median(runs.iter().map(Measured::gb_s)),
            in_flight as f64 * OBJECT_BYTES as f64 / 1e9 / one_s,
        );
        best = best.max(rate);
        println!("    {:.2} of the model's {modelled:.2} GB/s", rate / modelled);
    }
    let adapts = ["--adapts=1".to_owned(), "--warm=4".to_owned()];
    let runs = (0..rounds).filter_map(|_| ours(&server.url, 256, 1024, &adapts));
    let runs: Vec<Measured> = runs.collect();
    print("as many as are found", &runs);
    let rate = median(runs.iter().map(Measured::gb_s));
    let allowed = median(runs.iter().map(|run| run.allowed));
    println!("    {:.2} of the best fixed number; {allowed} in flight at the end", rate / best);
}

fn stragglers(files: &Files, rounds: usize) {
    let slow = ["--latency-ms=10", "--rate-mib=50", "--stragglers=0.05"].map(str::to_owned);
    let (server, gets) = (Server::start(files, &slow), HEDGED_IN_FLIGHT * HEDGED_TURNS);
    println!(
        "\n3. One answer of twenty ten times as slow; {gets} gets, {HEDGED_IN_FLIGHT} in flight"
    );
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (share, runs) in [("0.05", &mut with), ("0", &mut without)] {
            let share = [format!("--restarts={share}"), "--adapts=0".to_owned()];
            runs.extend(ours(&server.url, HEDGED_IN_FLIGHT, gets, &share));
        }
    }
    print("begun again", &with);
    print("waited for", &without);
    let ratios = with.iter().zip(&without).map(|(with, without)| with.p99_ms / without.p99_ms);
    let more = with.iter().map(|run| run.attempts / run.gets as f64 - 1.0);
    println!(
        "    99th percentile: {:.2} of that without; {:.1} % more requests",
        median(ratios),
        100.0 * median(more)
    );
}

fn encryption(files: &Files, rounds: usize) {
    let (plain, gets) = (Server::start(files, &[]), number("gets", 128));
    let secure = Server::start(files, &["--tls=1".to_owned()]);
    println!("\n4. {gets} gets of 16 MiB, 16 in flight, and as many chunks of 1 MiB");
    let trust = [format!("--trust={}", files.0.join("cert").display())];
    let (mut clear, mut tls, mut sealing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        clear.extend(ours(&plain.url, 16, gets, &[]));
        tls.extend(ours(&secure.url, 16, gets, &trust));
        let mut seal = pinned(1);
        seal.arg("--seal=1").arg(format!("--gets={gets}"));
        sealing.extend(run(seal));
    }
    print("in clear", &clear);
    print("TLS", &tls);
    print("sealed and opened, no network", &sealing);
}

//! GB/s and CPU seconds per GB of gets of 16 MiB over loopback: the server on one core, the client on
//! another, beside `curl --parallel` on the same server in the same rounds.
//!
//! `cargo bench -p objectstore -- [--rounds=3] [--gets=128] [--wake=BYTES]`. CPU time is the client's
//! alone. Two cores are needed, `taskset`, and for the comparison `curl` and `bash`.
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock and at processes")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use objectstore::{Client, Limits, Options};
use runtime::{Config, IoBuf, Runtime};

const OBJECT_BYTES: usize = 16 << 20;
const IN_FLIGHT: [usize; 5] = [1, 4, 16, 64, 256];

fn argument(name: &str) -> Option<String> {
    let start = format!("--{name}=");
    std::env::args().find_map(|argument| argument.strip_prefix(&start).map(str::to_owned))
}

fn number(name: &str, default: usize) -> usize {
    argument(name).map_or(default, |text| text.parse().expect("a number"))
}

fn main() {
    if let Some(path) = argument("serve") {
        serve(Path::new(&path));
    } else if let Some(url) = argument("client") {
        let (seconds, cpu_s) = measure(&url, number("in-flight", 16), number("gets", 128));
        println!("{seconds} {cpu_s}");
    } else {
        compare();
    }
}

/// Answers every request with the object, by the kernel alone: `io::copy` has it send the file.
fn serve(path: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("{}", listener.local_addr().expect("an address").port());
    for socket in listener.incoming() {
        let (socket, path) = (socket.expect("accepted"), path.to_owned());
        thread::spawn(move || answer_all(socket, &path));
    }
}

/// Until the connection ends.
fn answer_all(socket: TcpStream, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut requests = BufReader::new(socket.try_clone()?);
    let mut socket = socket;
    loop {
        let (mut line, mut from) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
            // All ranges that are asked for go to the end of the object.
            let range = line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-'));
            from = range.map_or(from, |(from, _)| from.parse().expect("a number"));
        }
        let (count, last) = (OBJECT_BYTES - from, OBJECT_BYTES - 1);
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\ncontent-length: {count}\r\n\
             content-range: bytes {from}-{last}/{OBJECT_BYTES}\r\netag: \"one\"\r\n\r\n"
        );
        socket.write_all(head.as_bytes())?;
        file.seek(SeekFrom::Start(from as u64))?;
        io::copy(&mut (&file).take(count as u64), &mut socket)?;
    }
}

/// Processor time of this process in seconds, summed over its threads.
fn used_s() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("the system tells of its threads");
    let on_core_ns = threads.filter_map(|thread| {
        let path = thread.ok()?.path().join("schedstat");
        std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    });
    on_core_ns.sum::<f64>() / 1e9
}

/// Seconds and processor seconds of so many gets, so many at once, each into memory that is used again.
fn measure(url: &str, in_flight: usize, get_count: usize) -> (f64, f64) {
    let mut limits = Limits { requests_max: 512, idle_connections_max: 512, ..Limits::default() };
    limits.wake_bytes = number("wake", limits.wake_bytes);
    let client = Client::new(Options { limits, ..Options::default() }).expect("a client");
    let store = client.http(url).expect("a store");
    let runtime = Runtime::start(Config { workers: 1, pin: false, ..Config::default() });
    let runtime = runtime.expect("a runtime");
    runtime.block_on(move || async move {
        let run = |count: usize, bufs: Vec<IoBuf>| {
            let each = bufs.into_iter().enumerate().map(|(i, mut buf)| {
                let store = store.clone();
                let turns = count / in_flight + usize::from(i < count % in_flight);
                runtime::spawn(async move {
                    for _ in 0..turns {
                        let got = store.get_into("object", 0..OBJECT_BYTES as u64, buf, 0).await;
                        buf = got.1;
                        got.0.expect("got");
                    }
                    buf
                })
            });
            each.collect::<Vec<_>>()
        };
        let mut bufs: Vec<IoBuf> = (0..in_flight).map(|_| IoBuf::alloc(OBJECT_BYTES)).collect();
        // The first gets make the connections and touch the memory.
        let mut warm = Vec::new();
        for task in run(in_flight, std::mem::take(&mut bufs)) {
            warm.push(task.await.expect("ended"));
        }
        let (begun, used) = (Instant::now(), used_s());
        for task in run(get_count, warm) {
            task.await.expect("ended");
        }
        (begun.elapsed().as_secs_f64(), used_s() - used)
    })
}

fn ours() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

/// The server, on the first core, and its port.
fn start_server(path: &Path) -> (Child, u16) {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(ours()).arg(format!("--serve={}", path.display()));
    let mut child = command.stdout(Stdio::piped()).spawn().expect("taskset");
    let mut line = String::new();
    let output = child.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("a port");
    (child, line.trim().parse().expect("a port"))
}

/// GB/s and CPU seconds per GB of a client on the second core; it prints seconds and CPU seconds.
fn run_client(mut command: Command, gets: usize) -> Option<(f64, f64)> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let gb = (gets * OBJECT_BYTES) as f64 / 1e9;
    match numbers.as_slice() {
        [seconds, cpu_s] => Some((gb / seconds, cpu_s / gb)),
        [seconds, user_s, system_s] => Some((gb / seconds, (user_s + system_s) / gb)),
        _ => None,
    }
}

fn our_client(url: &str, in_flight: usize, gets: usize) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "1"]).arg(ours()).arg(format!("--client={url}"));
    command.arg(format!("--in-flight={in_flight}")).arg(format!("--gets={gets}"));
    if let Some(wake) = argument("wake") {
        command.arg(format!("--wake={wake}"));
    }
    command
}

/// curl makes its connections within what is measured; it throws the bytes away.
fn curl(url: &str, in_flight: usize, gets: usize) -> Command {
    let script = format!(
        "TIMEFORMAT='%R %U %S'; {{ time taskset -c 1 curl -s -o /dev/null --parallel --parallel-immediate \
         --parallel-max {in_flight} '{url}/object?[1-{gets}]' 2>/dev/null ; }} 2>&1"
    );
    let mut command = Command::new("bash");
    command.arg("-c").arg(script);
    command
}

fn compare() {
    let (rounds, gets) = (number("rounds", 3), number("gets", 256));
    let path = std::env::temp_dir().join(format!("dovetail-gets-{}", std::process::id()));
    std::fs::write(&path, vec![42; OBJECT_BYTES]).expect("a temporary file");
    let (mut server, port) = start_server(&path);
    let url = format!("http://127.0.0.1:{port}");
    println!("{gets} gets of 16 MiB a round; median of {rounds} rounds, minimum and maximum");
    for in_flight in IN_FLIGHT {
        let (mut us, mut them) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            us.extend(run_client(our_client(&url, in_flight, gets), gets));
            them.extend(run_client(curl(&url, in_flight, gets), gets));
        }
        print(&format!("dovetail, {in_flight} in flight"), us);
        print(&format!("curl, {in_flight} in flight"), them);
    }
    // Both are gone with this program at the latest.
    let _ = (server.kill(), server.wait(), std::fs::remove_file(&path));
}

fn print(name: &str, figures: Vec<(f64, f64)>) {
    let column = |pick: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => "not to be had".to_owned(),
            [first, .., last] => format!("{:.2} ({first:.2}-{last:.2})", values[values.len() / 2]),
            [one] => format!("{one:.2}"),
        }
    };
    println!("{name:<28} {} GB/s, {} CPU s/GB", column(|f| f.0), column(|f| f.1));
}

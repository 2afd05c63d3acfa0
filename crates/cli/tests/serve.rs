//! `dovetail serve` as whoever runs it sees it: configuration, signals, log, exit code.
#![allow(clippy::disallowed_methods, reason = "a test of a program has files, clocks and threads")]

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("dovetail-serve-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A server that runs.
struct Running {
    process: Child,
    lines: Receiver<String>,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn command(folder: &Folder, config: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command.args(["serve", "--no-http", "--listen", "127.0.0.1:0", "--memory", "64MB", "--config"]);
    command.arg(config).current_dir(&folder.0).stderr(Stdio::piped());
    command
}

fn start(mut command: Command) -> Running {
    let mut process = command.spawn().expect("the server starts");
    let stderr = BufReader::new(process.stderr.take().expect("piped"));
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
    });
    let mut running = Running { process, lines, port: 0 };
    let line = running.line("Listening at 127.0.0.1:");
    let port = line.split("Listening at 127.0.0.1:").nth(1).and_then(|rest| rest.split('.').next());
    running.port = port.and_then(|port| port.parse().ok()).expect("a port");
    running
}

impl Running {
    /// The next line of the log with this in it.
    fn line(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20));
            let line = line.unwrap_or_else(|_| panic!("no line with {part}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().expect("kill runs").success());
    }

    fn client(&self) -> Client {
        let login = format!("host=127.0.0.1 port={} user=x", self.port);
        Client::connect(&login, NoTls).expect("connected")
    }

    fn exit_code(mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().expect("a status") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server does not end");
    }
}

fn show(client: &mut Client, name: &str) -> String {
    client.query_one(&format!("show {name}"), &[]).expect("shown").get(0)
}

#[test]
fn a_setting_comes_from_file_environment_flag_and_session() {
    let folder = Folder::new("order");
    let text = "statement_timeout = \"1s\"\nlock_timeout = \"1s\"\nidle_session_timeout = 60000\n\
                max_connections = 5\n";
    let config = folder.file("c.toml", text);
    let mut command = command(&folder, &config);
    command.env("DOVETAIL_LOCK_TIMEOUT", "2s").env("DOVETAIL_STATEMENT_TIMEOUT", "2s");
    command.args(["--statement-timeout", "3s"]);
    let server = start(command);
    let mut client = server.client();
    assert_eq!(show(&mut client, "idle_session_timeout"), "1min");
    assert_eq!(show(&mut client, "lock_timeout"), "2s");
    assert_eq!(show(&mut client, "statement_timeout"), "3s");
    let row = client
        .query_one(
            "select string_agg(name || ':' || source, ' ' order by name) from pg_settings \
             where name in ('idle_session_timeout', 'lock_timeout', 'statement_timeout', 'work_mem')",
            &[],
        )
        .expect("a row");
    let sources = "idle_session_timeout:configuration file lock_timeout:environment variable \
                   statement_timeout:command line work_mem:default";
    assert_eq!(row.get::<_, &str>(0), sources);
    client.batch_execute("set statement_timeout = '4s'").expect("set");
    assert_eq!(show(&mut client, "statement_timeout"), "4s");
    client.batch_execute("reset statement_timeout").expect("reset");
    assert_eq!(show(&mut client, "statement_timeout"), "3s");
}

#[test]
fn sighup_reloads_and_says_what_waits_for_a_restart() {
    let folder = Folder::new("reload");
    let config = folder.file("c.toml", "lock_timeout = \"1s\"\n");
    let server = start(command(&folder, &config));
    let mut client = server.client();
    folder.file("c.toml", "lock_timeout = \"2s\"\nmax_connections = 7\nlog_format = \"json\"\n");
    server.signal("-HUP");
    assert!(server.line("\"log_format\"").contains("changed to \"json\""));
    folder.file("c.toml", "lock_timeout = \"3s\"\nmax_conections = 7\n");
    assert_eq!(show(&mut client, "lock_timeout"), "2s");
    assert_eq!(show(&mut client, "max_connections"), "1000");
    server.signal("-HUP");
    let line = server.line("the configuration is as it was");
    assert!(line.starts_with('{') && line.contains("max_conections"), "{line}");
    assert!(line.contains("Perhaps you meant \\\"max_connections\\\"."), "{line}");
    assert_eq!(show(&mut client, "lock_timeout"), "2s");
}

/// What the server answers when it is asked for encryption.
fn offers_tls(server: &Running) -> u8 {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).expect("sent");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("an answer");
    answer[0]
}

#[test]
fn sighup_reads_rules_and_certificate_anew() {
    let folder = Folder::new("files");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    folder.file("server.pem", &made.cert.pem());
    let key = folder.file("server.key", &made.signing_key.serialize_pem());
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("set");
    folder.file("hba", "host all all all trust\n");
    let config = folder.file("c.toml", "hba = \"hba\"\n");
    let server = start(command(&folder, &config));
    let login = format!("host=127.0.0.1 port={} user=x", server.port);
    assert_eq!(offers_tls(&server), b'N');
    // A key that others may read is refused, and so is all that came with it.
    folder.file("hba", "host all all all reject\n");
    folder.file("c.toml", "hba = \"hba\"\ntls_cert = \"server.pem\"\ntls_key = \"server.key\"\n");
    server.signal("-HUP");
    assert!(server.line("the configuration is as it was").contains("group or world access"));
    Client::connect(&login, NoTls).expect("the old rules");
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("set");
    server.signal("-HUP");
    server.line("parameter \"tls_key\" changed");
    assert_eq!(offers_tls(&server), b'S');
    let error = Client::connect(&login, NoTls).map(drop).expect_err("the new rules");
    assert_eq!(error.code().map(|code| code.code()), Some("28000"));
    // The file has the same name and says something else.
    folder.file("hba", "host all all all trust\n");
    server.signal("-HUP");
    server.line("reloading configuration files");
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = Client::connect(&login, NoTls) {
        assert!(Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sigterm_drains_and_the_second_one_does_not_wait() {
    let folder = Folder::new("drain");
    let config = folder.file("c.toml", "drain = 15\n");
    let server = start(command(&folder, &config));
    let mut within = server.client();
    within.batch_execute("create table t (a int); insert into t values (1)").expect("created");
    within.batch_execute("begin; select 1").expect("begun");
    server.signal("-TERM");
    server.line("Stopping: signal 15.");
    within.batch_execute("select 2").expect("the block goes on");
    let begun = Instant::now();
    server.signal("-TERM");
    server.line("Cancelling what still runs.");
    assert_eq!(server.exit_code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10), "it did not wait");
    let error = within.batch_execute("select 3").expect_err("sent away");
    assert!(error.code().is_none_or(|code| code.code() == "57P01"), "{error:?}");
    let server = start(command(&folder, &config));
    let row = server.client().query_one("select count(*) from t", &[]).expect("a row");
    assert_eq!(row.get::<_, i64>(0), 1);
    server.signal("-TERM");
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn sigterm_ends_a_replica_that_waits_for_its_copy() {
    let folder = Folder::new("waits");
    let config = folder.file("config.toml", "");
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = silent.local_addr().expect("an address").to_string();
    let mut command = command(&folder, &config);
    command.args(["--data", "copy.dovetail", "--replica-of", &address]);
    let process = command.stderr(Stdio::null()).spawn().expect("the server starts");
    let running = Running { process, lines: channel().1, port: 0 };
    let waiting = silent.accept().expect("it connects");
    running.signal("-TERM");
    // A primary that is silent for too long would be an error of the start, and give 1.
    assert_eq!(running.exit_code(), Some(0));
    drop(waiting);
}

#[test]
fn a_long_insert_ends_as_a_whole_with_the_server() {
    let folder = Folder::new("insert");
    let config = folder.file("c.toml", "drain = 60\n");
    let server = start(command(&folder, &config));
    let mut busy = server.client();
    busy.batch_execute("create table t (a bigint); insert into t values (1)").expect("created");
    let inserting = std::thread::spawn(move || {
        busy.batch_execute("insert into t select i from generate_series(1, 1000000000000) s(i)")
    });
    let mut other = server.client();
    let running = "select count(*) from pg_stat_activity where state = 'active' \
                   and query like 'insert into t select%'";
    while other.query_one(running, &[]).expect("a row").get::<_, i64>(0) == 0 {
        assert!(!inserting.is_finished(), "the statement has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.signal("-TERM");
    server.line("Stopping: signal 15.");
    assert!(!inserting.is_finished(), "what runs may go on");
    server.signal("-TERM");
    server.line("Cancelling what still runs.");
    let error = inserting.join().expect("no panic").expect_err("cancelled");
    let code = error.code().map(|code| code.code().to_owned());
    assert!(matches!(code.as_deref(), Some("57014" | "57P01")), "{error:?}");
    assert_eq!(server.exit_code(), Some(0));
    let server = start(command(&folder, &config));
    let row = server.client().query_one("select count(*) from t", &[]).expect("a row");
    assert_eq!(row.get::<_, i64>(0), 1, "nothing half done");
}

#[test]
fn what_is_wrong_with_the_configuration_ends_the_start() {
    let folder = Folder::new("wrong");
    let cases: [(&str, &[&str], &str); 6] = [
        ("lissten = \"x\"", &[], "Perhaps you meant \"listen\"."),
        ("memory = \"much\"", &[], "invalid value for parameter \"memory\": \"much\" in file"),
        ("", &["--statement-timeout", "soon"], "invalid value for parameter \"statement_timeout\""),
        ("", &["--statment-timeout", "1s"], "--statement-timeout"),
        ("tls_cert = \"server.pem\"", &[], "tls_cert needs tls_key"),
        ("pool = \"64MB\"", &[], "pool must be smaller than memory"),
    ];
    for (text, flags, expected) in cases {
        let config = folder.file("c.toml", text);
        let output = command(&folder, &config).args(flags).output().expect("it ends");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(expected), "{text} {flags:?}: {said}");
    }
}

#[test]
fn a_folder_for_data_means_the_file_in_it() {
    let folder = Folder::new("folder");
    let config = folder.file("c.toml", "");
    let mut command = command(&folder, &config);
    command.arg("--data").arg(&folder.0);
    let server = start(command);
    assert!(folder.0.join("main.dovetail").exists());
    drop(server);
}

#[test]
fn help_says_what_it_is_about() {
    let help = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_dovetail")).args(arguments).output();
        String::from_utf8(output.expect("it ends").stdout).expect("text")
    };
    let cases = [
        ("", "Dovetail is a SQL database"),
        ("quickstart", "Begin here"),
        ("sql", "Open a database file in a SQL shell"),
        ("serve", "Serve a database to PostgreSQL clients"),
        ("tpch", "Load the data of the benchmark TPC-H"),
        ("bench", "Measure"),
        ("check", "Check a database file"),
        ("doctor", "Explain which I/O back end"),
    ];
    for (name, expected) in cases {
        let arguments: Vec<&str> = [name, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        assert!(help(&arguments).starts_with(expected), "{name}: {}", help(&arguments));
    }
    // Where a command takes data, they are a file.
    for name in [&["quickstart"][..], &["tpch", "load"], &["serve"], &["bench", "ooo"]] {
        let help = help(&[name, &["--help"]].concat());
        let line = help.split("--data").nth(1).unwrap_or_default();
        assert!(line.contains("Database file"), "{name:?}: {help}");
    }
}

#[test]
fn help_lists_all_settings() {
    let output = Command::new(env!("CARGO_BIN_EXE_dovetail")).args(["serve", "--help"]).output();
    let help = String::from_utf8(output.expect("it ends").stdout).expect("text");
    for setting in engine::Setting::all().filter(|setting| setting.is_given_at_start()) {
        assert!(
            help.contains(&format!("--{}", setting.flag())),
            "{} is not in {help}",
            setting.name
        );
    }
}

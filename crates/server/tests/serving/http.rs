//! Health and metrics as a scraper sees them, and what a stranger may send.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use engine::Database;
use serde_json::{Value, json};
use server::{Address, ConsoleOptions, Server, ServerOptions};

/// A server over an empty database; it ends with the test's process.
fn serve(name: &str) -> SocketAddr {
    serve_with(name, "", false).1
}

/// The same over what `setup` makes; `writes` as `--console-writes`.
fn serve_with(name: &str, setup: &str, writes: bool) -> (Database, SocketAddr) {
    let folder = std::env::temp_dir().join(format!("dovetail-http-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = Database::create(&folder.join("t.dovetail"), pg::options()).expect("a database");
    let http_listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    db.session().execute(setup).expect("set up");
    let console = ConsoleOptions { writes, ..ConsoleOptions::default() };
    let options = ServerOptions { http_listen, console, ..ServerOptions::default() };
    let server = Server::start(&db, &options).expect("a server");
    let Address::Tcp(address) = server.http_addresses()[0] else { panic!("not TCP") };
    // The last handle must not be dropped on a worker.
    std::mem::forget((db.clone(), server));
    std::fs::remove_dir_all(&folder).ok();
    (db, address)
}

/// Sends `text` and returns all that comes until the server closes.
fn talk(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // The server may refuse and close before it has read all.
    let _ = stream.write_all(text.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

fn get(address: SocketAddr, path: &str) -> String {
    talk(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

#[test]
fn health_and_metrics_answer() {
    let address = serve("health");
    assert!(get(address, "/healthz").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/readyz").ends_with("\r\n\r\nready\n"));
    assert!(get(address, "/nothing").starts_with("HTTP/1.1 404 "));
    let metrics = get(address, "/metrics");
    let body = metrics.split_once("\r\n\r\n").expect("a head").1;
    assert!(body.ends_with("# EOF\n"), "{body}");
    assert!(body.contains("dovetail_build_info{version="), "{body}");
    check_open_metrics(body);
}

#[test]
fn figures_are_for_names_of_this_machine_only() {
    let address = serve("names");
    let cases = [
        ("localhost:8432", true),
        ("127.0.0.1", true),
        ("[::1]:8432", true),
        ("evil.example", false),
        ("localhost:80@evil.example", false),
        ("[::1]evil.example", false),
        ("localhost:80:80", false),
        ("", false),
    ];
    for path in ["/metrics", "/"] {
        for (host, is_ours) in cases {
            let expected = if is_ours { "200" } else { "421" };
            let answer = api(address, &format!("GET {path}"), host, "", "");
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {expected} ")),
                "{path} {host}: {answer}"
            );
        }
        let twice = api(address, &format!("GET {path}"), "localhost", "Host: localhost\r\n", "");
        assert!(twice.starts_with("HTTP/1.1 400 "), "{twice}");
        let none = talk(address, &format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert!(none.starts_with("HTTP/1.1 421 "), "{none}");
    }
    // A probe asks by whatever name it knows, and learns nothing.
    for path in ["GET /healthz", "GET /readyz"] {
        assert!(api(address, path, "pod-7", "", "").starts_with("HTTP/1.1 200 "), "{path}");
    }
}

#[test]
fn half_requests_keep_nobody_out() {
    let address = serve("half");
    // More than there are places; each sends something, so that none is merely slow to begin.
    let half = |_| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n").expect("sent");
        stream
    };
    let held: Vec<TcpStream> = (0..300).map(half).collect();
    for path in ["/healthz", "/readyz", "/metrics", "/"] {
        let answer = get(address, path);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    // The first ones had to go; the last ones may still go on.
    let mut last = held.last().expect("there are some");
    last.write_all(b"Connection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    last.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("ok\n"), "{answer}");
}

/// Each sample belongs to the family declared last; counters end in `_total`; values are numbers.
fn check_open_metrics(body: &str) {
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, of) = declared.split_once(' ').expect("a kind");
            (family, kind) = (name.to_owned(), of.to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let name = name.split('{').next().expect("a name");
            let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{line}"));
            let known: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "info" => &["_info"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            assert!(known.contains(&suffix), "{line}");
            assert!(value.parse::<f64>().is_ok_and(|v| v >= 0.0), "{line}");
        }
    }
}

#[test]
fn connections_are_kept_and_pipelined() {
    let address = serve("keep");
    let two = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\
               HEAD /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = talk(address, two);
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert!(!answer.ends_with("ready\n"), "{answer}");
}

#[test]
fn bad_requests_are_refused() {
    let address = serve("bad");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(40_000));
    let cases = [
        ("nonsense\r\n\r\n", "HTTP/1.1 400 "),
        (long.as_str(), "HTTP/1.1 431 "),
        ("POST /healthz HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", "HTTP/1.1 413 "),
        ("DELETE /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 405 "),
        // The head never ends: an answer comes when the time is over.
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n", "HTTP/1.1 408 "),
    ];
    for (text, expected) in cases {
        let answer = talk(address, text);
        assert!(answer.starts_with(expected), "{}: {answer}", &text[..text.len().min(60)]);
    }
}

/// The token of a fresh page.
fn token(address: SocketAddr) -> String {
    let page = get(address, "/");
    assert!(page.contains("Content-Security-Policy: default-src 'none'; script-src 'nonce-"));
    let rest = page.split("name=\"dovetail-token\" content=\"").nth(1).expect("a token");
    rest.split('"').next().expect("a token").to_owned()
}

/// A request to the console; `fields` are further header fields, each with its line end.
fn api(address: SocketAddr, call: &str, host: &str, fields: &str, body: &str) -> String {
    let len = body.len();
    let text = format!(
        "{call} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {len}\r\n\
         {fields}\r\n{body}"
    );
    talk(address, &text)
}

#[test]
fn the_console_answers_its_own_pages_only() {
    let address = serve("guard");
    let token = token(address);
    let shown = format!("X-Dovetail-Token: {token}\r\n");
    let foreign = format!("{shown}Origin: http://evil.example\r\n");
    let own = format!("{shown}Origin: http://localhost:1\r\n");
    let same = format!("{shown}Sec-Fetch-Site: same-origin\r\n");
    let cross = format!("{shown}Sec-Fetch-Site: cross-site\r\n");
    let cases = [
        ("localhost:1", shown.as_str(), "HTTP/1.1 200 "),
        ("localhost:1", own.as_str(), "HTTP/1.1 200 "),
        ("localhost:1", "", "HTTP/1.1 403 "),
        ("localhost:1", "X-Dovetail-Token: 0123\r\n", "HTTP/1.1 403 "),
        ("localhost:1", foreign.as_str(), "HTTP/1.1 403 "),
        ("localhost:1", same.as_str(), "HTTP/1.1 200 "),
        ("localhost:1", cross.as_str(), "HTTP/1.1 403 "),
        ("evil.example", shown.as_str(), "HTTP/1.1 421 "),
    ];
    for (host, fields, expected) in cases {
        let answer = api(address, "GET /api/info", host, fields, "");
        assert!(answer.starts_with(expected), "{host} {fields}: {answer}");
    }
    assert!(api(address, "GET /", "evil.example", "", "").starts_with("HTTP/1.1 421 "));
}

#[test]
fn no_number_of_pages_makes_another_one_too_old() {
    let address = serve("tokens");
    let shown = format!("X-Dovetail-Token: {}\r\n", token(address));
    for _ in 0..1100 {
        token(address);
    }
    let answer = api(address, "GET /api/info", "localhost", &shown, "");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn runs_are_started_watched_and_refused() {
    let address = serve("runs");
    let shown = format!("X-Dovetail-Token: {}\r\n", token(address));
    let run = |body: &str| api(address, "POST /api/run", "localhost", &shown, body);
    let started =
        run(r#"{"sql": "select g, g * 2 as d from generate_series(1, 300) g", "mode": "ooo"}"#);
    assert!(started.starts_with("HTTP/1.1 200 "), "{started}");
    let id = started.rsplit("\"id\":\"").next().expect("an id").trim_end_matches("\"}");
    let events = api(address, &format!("GET /api/runs/{id}/events"), "localhost", &shown, "");
    assert!(events.contains("event: plan\n") && events.contains("event: tick\n"), "{events}");
    let end = events.split("event: end\ndata: ").nth(1).expect("an end");
    let end: serde_json::Value = serde_json::from_str(end.trim()).expect("JSON");
    assert_eq!(end["status"], "done", "{end}");
    assert_eq!(end["result"]["row_count"], 300);
    assert_eq!(end["result"]["rows"].as_array().map(Vec::len), Some(200));
    assert_eq!(end["result"]["rows"][1], serde_json::json!(["2", "4"]));
    assert_eq!(end["result"]["numeric"], serde_json::json!([true, true]));
    let refused = [
        (r#"{"sql": "create table x (a int)", "mode": "ooo"}"#, "25006"),
        (r#"{"sql": "select 1; select 2", "mode": "ooo"}"#, "0A000"),
        (r#"{"sql": "selekt", "mode": "ooo"}"#, "42601"),
        (r#"{"sql": "select 1", "mode": "sideways"}"#, "22023"),
        (r#"{"sql": "select 1", "mode": "static", "partitions": 99999}"#, "22023"),
        ("{", "22023"),
    ];
    for (body, state) in refused {
        let answer = run(body);
        assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains(state), "{body}: {answer}");
    }
}

/// A page of the console with the cookie that it got, if any.
struct Page {
    address: SocketAddr,
    fields: String,
}

impl Page {
    fn open(address: SocketAddr) -> Page {
        Page { address, fields: format!("X-Dovetail-Token: {}\r\n", token(address)) }
    }

    /// The status and the body of an answer.
    fn call(&self, call: &str, body: &Value) -> (u16, Value) {
        status_and_body(&api(self.address, call, "localhost", &self.fields, &body.to_string()))
    }

    /// Logs in; the status and the SQLSTATE of a refusal.
    fn log_in(&mut self, role: &str, password: &str) -> (u16, String) {
        let wish = json!({ "role": role, "password": password }).to_string();
        let answer = api(self.address, "POST /api/login", "localhost", &self.fields, &wish);
        if let Some(cookie) = answer.split("Set-Cookie: ").nth(1) {
            let (pair, rest) = cookie.split_once("; ").expect("attributes");
            assert!(rest.starts_with("Path=/; HttpOnly; SameSite=Strict; Max-Age="), "{rest}");
            self.fields += &format!("Cookie: other=1; {pair}\r\n");
        }
        let (status, body) = status_and_body(&answer);
        (status, body["state"].as_str().unwrap_or_default().to_owned())
    }

    /// Runs a statement; how it ended, or the refusal. Further members of the wish are in `more`.
    fn run(&self, sql: &str, more: &Value) -> (u16, Value) {
        let mut wish = json!({ "sql": sql, "mode": "ooo" });
        wish.as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        let (status, body) = self.call("POST /api/run", &wish);
        match body["id"].as_str() {
            Some(id) => (status, self.end(id).expect("the run is this page's")),
            None => (status, body),
        }
    }

    /// How a run ended.
    fn end(&self, id: &str) -> Option<Value> {
        let call = format!("GET /api/runs/{id}/events");
        let events = api(self.address, &call, "localhost", &self.fields, "");
        let end = events.split("event: end\ndata: ").nth(1)?;
        Some(serde_json::from_str(end.trim()).expect("JSON"))
    }
}

fn status_and_body(answer: &str) -> (u16, Value) {
    let status = answer.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").expect("a head").1;
    (status, serde_json::from_str(body).unwrap_or_default())
}

const ROLES: &str = "create table t (a int); alter role dovetail password 'secret'; \
                     create role ann login password 'pencil'; create role ben password 'x'";

#[test]
fn with_passwords_the_console_asks_for_a_login() {
    let (db, address) = serve_with("login", ROLES, false);
    let mut page = Page::open(address);
    let who = page.call("GET /api/who", &json!({})).1;
    assert_eq!(who, json!({"login": true, "role": null, "enters": false, "superuser": false}));
    for call in ["GET /api/info", "GET /api/schema", "GET /api/runs/1/events", "POST /api/device"] {
        assert_eq!(page.call(call, &json!({})).0, 401, "{call}");
    }
    assert_eq!(page.run("select 1", &json!({})).0, 401);
    // A wrong password, no such role, no password, a role that may not log in.
    let refused = [("ann", "wrong", "28P01"), ("nobody", "wrong", "28P01"), ("ann", "", "28P01")];
    for (role, password, state) in refused {
        assert_eq!(page.log_in(role, password), (401, state.to_owned()), "{role}");
    }
    assert_eq!(page.log_in("ben", "x"), (401, "28000".to_owned()));
    let stolen = Page { address, fields: "Origin: http://evil.example\r\n".to_owned() };
    let wish = json!({ "role": "ann", "password": "pencil" });
    assert_eq!(stolen.call("POST /api/login", &wish).0, 403, "another site's page cannot log in");

    assert_eq!(page.log_in("ann", "pencil").0, 200);
    let who = page.call("GET /api/who", &json!({})).1;
    assert_eq!(who, json!({"login": true, "role": "ann", "enters": true, "superuser": false}));
    let (status, end) = page.run("select current_user", &json!({}));
    assert_eq!((status, &end["result"]["rows"][0]), (200, &json!(["ann"])), "{end}");
    assert_eq!(page.run("select * from t", &json!({})).1["error"]["state"], "42501");
    let (status, refusal) = page.run("select 1", &json!({ "cold": true }));
    assert_eq!((status, &refusal["state"]), (422, &json!("42501")), "the pool is everybody's");

    // A cookie alone, as another site's page could have it sent, does nothing.
    let cookie = page.fields.split_once("\r\n").expect("two fields").1.to_owned();
    let forged = Page { address, fields: cookie };
    assert_eq!(forged.call("GET /api/info", &json!({})).0, 403);
    let mut owner = Page::open(address);
    assert_eq!(owner.log_in("dovetail", "secret").0, 200);
    assert!(page.end("1").is_some() && owner.end("1").is_none(), "a run is its role's alone");
    assert_eq!(owner.run("select count(*) from t", &json!({ "cold": true })).1["status"], "done");

    assert_eq!(page.call("POST /api/logout", &json!({})).0, 200);
    assert_eq!(page.call("GET /api/info", &json!({})).0, 401, "the server forgot the cookie");
    db.session().execute("alter role dovetail password 'other'").expect("changed");
    assert_eq!(owner.call("GET /api/info", &json!({})).0, 401, "the password is another one");
}

#[test]
fn passwords_cannot_be_tried_fast() {
    let (_, address) = serve_with("throttle", ROLES, false);
    let mut page = Page::open(address);
    let mut tried = (0..100).map(|_| page.log_in("ann", "wrong").0);
    assert!(tried.any(|status| status == 429), "nobody stops a hundred attempts");
    assert_eq!(page.log_in("ann", "pencil").0, 429, "the right one is an attempt too");
    assert_eq!(page.log_in("dovetail", "secret").0, 200, "others are not kept out");
}

#[test]
fn an_error_says_where_it_is() {
    let page = Page::open(serve("place"));
    // While it is parsed, and while it is planned; letters are counted, not bytes.
    assert_eq!(page.run("select 'é', selekt 1", &json!({})).1["position"], 20);
    let run = page.run("select 'é',\n  nosuch", &json!({})).1;
    assert_eq!((&run["error"]["state"], &run["error"]["position"]), (&json!("42703"), &json!(15)));
}

/// What a query can do without being a statement that writes.
const EFFECTS: [&str; 11] = [
    "select setval('s', 7)",
    "select nextval('s')",
    "explain analyze select nextval('s')",
    "with n as (select nextval('s') as n) select n from n",
    "select n from (select nextval('s') as n) numbers",
    "select set_config('work_mem', '8MB', false)",
    "select pg_terminate_backend(0)",
    "select pg_cancel_backend(0)",
    "select pg_advisory_lock(1)",
    "select pg_try_advisory_xact_lock(1)",
    "select pg_stat_statements_reset()",
];

#[test]
fn writing_needs_the_server_s_leave_and_the_page_s_switch() {
    let sql = "create table made (a int)";
    let setup = "create sequence s";
    let (_, address) = serve_with("reads", setup, false);
    let page = Page::open(address);
    for switch in [json!({}), json!({ "writes": true })] {
        assert_eq!(page.run(sql, &switch).1["state"], "25006");
        for query in EFFECTS {
            let run = page.run(query, &switch).1;
            assert_eq!(run["error"]["state"], "25006", "{query}: {run}");
        }
    }
    let next = page.run("select last_value, is_called from s", &json!({})).1;
    assert_eq!(next["result"]["rows"][0], json!(["1", "f"]), "no number was given out");
    for query in ["select random() < 2", "select pg_sleep(0)", "select current_setting('work_mem')"]
    {
        assert_eq!(page.run(query, &json!({})).1["status"], "done", "{query}");
    }
    let (_, address) = serve_with("writes", setup, true);
    let page = Page::open(address);
    assert_eq!(page.run(sql, &json!({})).1["state"], "25006");
    assert_eq!(page.run(sql, &json!({ "writes": true })).1["status"], "done");
    assert_eq!(page.run("select nextval('s')", &json!({})).1["error"]["state"], "25006");
    assert_eq!(page.run("select nextval('s')", &json!({ "writes": true })).1["status"], "done");
}

//! Keys that are fetched, from services of our own in the simulation: where they come from, that they
//! are renewed in time, and that nothing waits for a service that is silent.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;
#[path = "support/services.rs"]
mod services;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use objectstore::{
    AllowList, AzureOptions, Client, CredentialChain, Credentials, Error, ErrorKind, Options,
    S3Options, SessionKeys, Store, TokenClient, Trust,
};
use runtime::fs::{File, OpenOptions};
use runtime::sim::Disk;
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn, time};
use server::Server;
use services::{Asked, Service, document, moment};

const METADATA: &str = "169.254.169.254:80";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
const HOUR_S: i64 = 3600;

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let ring = RingChoice::Sim(Disk::new(20));
    let config = Config { workers: 1, ring, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(test)
}

fn chain(variables: &[(&str, &str)]) -> objectstore::Result<CredentialChain> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    CredentialChain::from_variables(variable, Trust::default())
}

fn open(url: &str, credentials: impl Into<Credentials>) -> Store {
    let options = S3Options {
        bucket: "bucket".to_owned(),
        endpoint: Some(url.to_owned()),
        credentials: credentials.into(),
        ..S3Options::default()
    };
    Client::new(Options::default()).expect("a client").s3(options).expect("a store")
}

/// A store with one object, asked with the keys of a chain.
fn store(variables: &[(&str, &str)]) -> (Server, Store) {
    let (server, url) = Server::start();
    server.insert("object", vec![7; 100]);
    (server, open(&url, chain(variables).expect("a chain")))
}

async fn write(path: &str, text: &str) {
    let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.expect("a file");
    let mut buf = IoBuf::alloc(text.len());
    buf.as_mut_slice().copy_from_slice(text.as_bytes());
    file.write_all_at(buf, 0).await.0.expect("written");
}

/// What a metadata service answers whose keys are good for `life_s` and are other ones each time.
fn metadata(life_s: i64) -> impl Fn(&Asked) -> Option<(u16, String)> {
    let issued = Cell::new(0);
    move |asked| {
        let has_token = asked.headers.get("x-aws-ec2-metadata-token").is_some_and(|t| t == "T=");
        let role = asked.target.strip_prefix(ROLES);
        Some(match (asked.method.as_str(), role) {
            ("PUT", None) if asked.target == "/latest/api/token" => {
                assert_eq!(asked.headers["x-aws-ec2-metadata-token-ttl-seconds"], "21600");
                (200, "T=".to_owned())
            }
            ("GET", Some(_)) if !has_token => (401, String::new()),
            ("GET", Some("")) => (200, "the-role\n".to_owned()),
            ("GET", Some("the-role")) => {
                issued.set(issued.get() + 1);
                (200, document(&format!("M{}", issued.get()), &moment(life_s)))
            }
            _ => (404, String::new()),
        })
    }
}

fn shows_no_secret(error: &Error) {
    let shown = format!("{error} {error:?}");
    for secret in ["hunter2", "token-", "identity-", "T="] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn a_machine_has_a_role_and_its_keys_are_renewed_beside_the_requests() {
    simulated(|| async {
        let service = Service::start(METADATA, metadata(HOUR_S));
        let (server, store) = store(&[]);
        for _ in 0..3 {
            store.get("object").await.expect("got");
        }
        assert_eq!(service.count(), 3, "a token, a name and keys, once: {:?}", service.asked());
        assert_eq!(server.signers(), ["M1"; 3]);
        // Five minutes before the end they are due: one fetch, for which nobody waits.
        time::sleep(Duration::from_secs(3600 - 290)).await;
        let gets = (0..20).map(|_| {
            let store = store.clone();
            spawn(async move { store.get("object").await.map(drop) })
        });
        for get in gets.collect::<Vec<_>>() {
            get.await.expect("ended").expect("got");
        }
        time::sleep(Duration::from_secs(1)).await;
        assert_eq!(service.count(), 6, "one fetch for all");
        assert_eq!(server.signers()[3], "M1", "who asked first did not wait");
        store.get("object").await.expect("got");
        assert_eq!(server.signers().last().expect("one"), "M2");
    });
}

#[test]
fn when_renewal_fails_the_old_keys_serve_to_their_end() {
    simulated(|| async {
        let is_broken = Rc::new(Cell::new(false));
        let (broken, answer) = (is_broken.clone(), metadata(HOUR_S));
        let service = Service::start(METADATA, move |asked| match broken.get() {
            true => Some((500, "hunter2".to_owned())),
            false => answer(asked),
        });
        let (server, store) = store(&[]);
        store.get("object").await.expect("got");
        is_broken.set(true);
        time::sleep(Duration::from_secs(3600 - 200)).await;
        let before = service.count();
        for _ in 0..50 {
            store.get("object").await.expect("the old keys are good");
            time::sleep(Duration::from_millis(100)).await;
        }
        let tries = service.count() - before;
        assert!((1..=2).contains(&tries), "a failed one is left alone for a while: {tries}");
        time::sleep(Duration::from_secs(300)).await;
        let until = time::now() + Duration::from_secs(20);
        let got = time::timeout(Duration::from_secs(20), store.get("object")).await;
        assert!(got.is_err() && time::now() >= until, "it goes on trying, within its deadline");
        is_broken.set(false);
        time::sleep(Duration::from_secs(5)).await;
        store.get("object").await.expect("got");
        assert_eq!(server.signers().last().expect("one"), "M2");
        assert!(server.signers().iter().all(|id| id != "nobody"), "never unsigned");
    });
}

#[test]
fn a_silent_service_holds_nobody_up() {
    simulated(|| async {
        let _silent = Service::start(METADATA, |_| None);
        let (server, store) = store(&[]);
        let begun = time::now();
        let error = store.get("object").await.expect_err("no keys");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(begun.elapsed() < Duration::from_millis(1100), "{:?}", begun.elapsed());
        let begun = time::now();
        store.get("object").await.expect_err("still none");
        assert!(begun.elapsed() < Duration::from_millis(10), "it is not asked again at once");
        assert_eq!(server.request_count(), 0, "nothing is sent without a signature");
    });
}

#[test]
fn without_any_source_it_is_said_so() {
    simulated(|| async {
        let service = Service::start(METADATA, metadata(HOUR_S));
        let (server, off) = store(&[("AWS_EC2_METADATA_DISABLED", "TRUE")]);
        let error = off.get("object").await.expect_err("no keys");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!((service.count(), server.request_count()), (0, 0));
        // Nobody listens there at all.
        let (_server, gone) = store(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")]);
        let error = gone.get("object").await.expect_err("no keys");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        let client = Client::new(Options::default()).expect("a client");
        assert_eq!(
            client.http("http://169.254.169.254").expect_err("not for stores").kind(),
            ErrorKind::Forbidden
        );
    });
}

#[test]
fn what_a_store_calls_expired_is_renewed_once() {
    simulated(|| async {
        let service = Service::start(METADATA, metadata(HOUR_S));
        let (server, store) = store(&[]);
        store.get("object").await.expect("got");
        time::sleep(Duration::from_secs(60)).await;
        server.expire("M1");
        store.put("other", b"body").await.expect("put with the next keys");
        assert_eq!(server.signers(), ["M1", "M1", "M2"]);
        time::sleep(Duration::from_secs(60)).await;
        server.expire("M2");
        // The answer to HEAD says nothing but its status.
        store.head("object").await.expect("asked with the next keys");
        assert_eq!(server.signers()[3..], ["M2", "M3"]);
        time::sleep(Duration::from_secs(60)).await;
        (3..6).for_each(|i| server.expire(&format!("M{i}")));
        let error = store.get("object").await.expect_err("all are refused");
        assert_eq!(error.code(), Some("ExpiredToken"), "{error}");
        assert_eq!(server.signers()[5..], ["M3", "M4"], "one more, not ever more");
        store.get("object").await.expect_err("still");
        assert_eq!(server.signers()[7..], ["M4"], "young keys are not renewed");
        assert_eq!(service.count(), 4 * 3);
    });
}

#[test]
fn keys_that_are_given_are_not_renewed() {
    simulated(|| async {
        let service = Service::start(METADATA, metadata(HOUR_S));
        let (server, url) = Server::start();
        server.insert("object", vec![7; 100]);
        server.expire("id");
        let store = open(&url, Credentials::session("id", "secret", "token"));
        let error = store.get("object").await.expect_err("refused");
        assert_eq!((error.attempt_count(), server.request_count()), (1, 1), "{error}");
        assert_eq!(service.count(), 0, "a chain that nobody named is not asked");
    });
}

#[test]
fn a_container_shows_the_token_of_a_file() {
    simulated(|| async {
        write("/token", "first\n").await;
        let service = Service::start("169.254.170.2:80", |asked| {
            match asked.headers.get("authorization").map(String::as_str) {
                Some("first") => Some((200, document("C1", &moment(900)))),
                Some("other") => Some((200, document("C2", &moment(900)))),
                _ => Some((403, "hunter2".to_owned())),
            }
        });
        let variables = [
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials?id=1"),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"),
        ];
        let (server, store) = store(&variables);
        store.get("object").await.expect("got");
        assert_eq!(service.asked()[0].target, "/v2/credentials?id=1");
        write("/token", "other\n").await;
        time::sleep(Duration::from_secs(1000)).await;
        store.get("object").await.expect("got");
        assert_eq!(server.signers(), ["C1", "C2"], "it waited: the old ones were over");
        write("/token", "wrong\n").await;
        time::sleep(Duration::from_secs(1000)).await;
        let error = store.get("object").await.expect_err("the token is not taken");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        shows_no_secret(&error);
    });
}

fn identity(asked: &Asked) -> Option<(u16, String)> {
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/"));
    let refused = |status, code: &str| {
        let text = format!("<ErrorResponse><Error><Code>{code}</Code><Message>identity-1 hunter2");
        Some((status, text + "</Message></Error></ErrorResponse>"))
    };
    let has = |field: &str| asked.body.split('&').any(|part| part == field);
    assert!(has("Action=AssumeRoleWithWebIdentity") && has("Version=2011-06-15"), "{asked:?}");
    assert!(has("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx"), "{asked:?}");
    if has("WebIdentityToken=identity-1") {
        let end = moment(900);
        return Some((
            200,
            format!(
                "<AssumeRoleWithWebIdentityResponse xmlns=\"x\"><AssumeRoleWithWebIdentityResult>\
                 <Credentials><AccessKeyId>W1</AccessKeyId><SecretAccessKey>hunter2</SecretAccessKey>\
                 <SessionToken>token-w</SessionToken><Expiration>{end}</Expiration></Credentials>\
                 </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
            ),
        ));
    }
    match has("WebIdentityToken=identity-2") {
        true => refused(400, "ExpiredTokenException"),
        false => refused(400, "IDPCommunicationError"),
    }
}

#[test]
fn a_web_identity_assumes_a_role() {
    simulated(|| async {
        let _service = Service::start("127.0.0.1:8001", identity);
        let variables = [
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/identity"),
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"),
            ("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:8001"),
        ];
        let fetch = async |token: &str| {
            write("/identity", token).await;
            chain(&variables).expect("a chain").expires_s().await
        };
        let end = fetch("identity-1").await.expect("keys");
        assert_eq!(end, Some(time::unix_us() / 1_000_000 + 900));
        let error = fetch("identity-2").await.expect_err("refused");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
        shows_no_secret(&error);
        let error = fetch("identity-3").await.expect_err("refused");
        assert!(error.is_retryable(), "{error}");
        shows_no_secret(&error);
        write(
            "/config",
            "[profile p]\nrole_arn = arn:aws:iam::1:role/x\n\
                          web_identity_token_file = /identity\n",
        )
        .await;
        write("/identity", "identity-1").await;
        let (server, store) = store(&[
            ("AWS_PROFILE", "p"),
            ("AWS_CONFIG_FILE", "/config"),
            ("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:8001"),
        ]);
        store.get("object").await.expect("got");
        assert_eq!(server.signers(), ["W1"], "a profile may name one, too");
    });
}

#[test]
fn the_first_source_that_is_set_up_is_used() {
    simulated(|| async {
        let _machine = Service::start(METADATA, metadata(HOUR_S));
        let _container =
            Service::start("127.0.0.1:8002", |_| Some((200, document("C1", &moment(900)))));
        let _identity = Service::start("127.0.0.1:8001", identity);
        write("/identity", "identity-1").await;
        write("/keys", "[p]\naws_access_key_id = P1\naws_secret_access_key = s\n").await;
        let all = [
            ("AWS_ACCESS_KEY_ID", "E1"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_PROFILE", "p"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/keys"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/identity"),
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"),
            ("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:8001"),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:8002/keys"),
        ];
        for (left_out, expected) in [(0, "E1"), (2, "P1"), (4, "W1"), (7, "C1"), (8, "M1")] {
            let (server, store) = store(&all[left_out..]);
            store.get("object").await.expect("got");
            assert_eq!(server.signers(), [expected], "without {left_out}");
        }
    });
}

#[test]
fn a_source_that_fails_is_not_passed_over() {
    simulated(|| async {
        let service = Service::start(METADATA, metadata(HOUR_S));
        let check = async |variables: &[(&str, &str)]| {
            let (server, store) = store(variables);
            let error = store.get("object").await.expect_err("no keys");
            assert!(!error.is_retryable(), "{error}");
            assert_eq!((server.request_count(), service.count()), (0, 0), "{error}");
        };
        let files = ("AWS_SHARED_CREDENTIALS_FILE", "/keys");
        write("/keys", "[half]\naws_access_key_id = H\n[sso]\nsso_session = s\n").await;
        for profile in ["half", "sso", "missing"] {
            check(&[("AWS_PROFILE", profile), files]).await;
        }
        check(&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/gone"), ("AWS_ROLE_ARN", "r")]).await;
    });
}

/// A client of a token service at this URL.
fn client(url: &str, secret: &str) -> objectstore::Result<CredentialChain> {
    let client = TokenClient {
        url: url.to_owned(),
        id: "me".to_owned(),
        secret: secret.to_owned(),
        scope: Some("a b".to_owned()),
    };
    CredentialChain::of_client(client, AllowList::any(), Trust::default())
}

/// What a token service answers whose tokens are other ones each time.
fn tokens(life: &'static str) -> impl Fn(&Asked) -> Option<(u16, String)> {
    let issued = Cell::new(0);
    move |asked| {
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/v1/oauth/tokens"));
        let form = "grant_type=client_credentials&client_id=me&client_secret=hunter2%26";
        if asked.body != format!("{form}&scope=a%20b") {
            return Some((401, "hunter2".to_owned()));
        }
        issued.set(issued.get() + 1);
        let token = format!("token-{}", issued.get());
        Some((200, format!("{{\"access_token\": \"{token}\", {life}}}")))
    }
}

const TOKENS: &str = "http://127.0.0.1:8001/v1/oauth/tokens";

/// A server of files that is asked with the tokens of a client.
fn with_tokens(url: &str, secret: &str) -> Store {
    let chain = client(TOKENS, secret).expect("a client");
    let stores = Client::new(Options::default()).expect("a client");
    stores.http_as(&format!("{url}/catalog"), chain.into()).expect("a store")
}

#[test]
fn a_client_has_tokens_that_are_renewed_before_they_expire() {
    // An hour, also where it is not said.
    for life in [
        "\"token_type\": \"Bearer\", \"expires_in\": 3600",
        "\"token_type\": \"bearer\", \"expires_in\": \"3600\"",
        "\"scope\": \"catalog\"",
    ] {
        simulated(move || async move {
            let service = Service::start("127.0.0.1:8001", tokens(life));
            let (server, url) = Server::start();
            server.insert("object", vec![7; 100]);
            let store = with_tokens(&url, "hunter2&");
            for _ in 0..3 {
                store.get("object").await.expect("got");
            }
            assert_eq!((service.count(), server.signers()), (1, vec!["token-1".to_owned(); 3]));
            // Five minutes before its end another one is asked for, for which nobody waits.
            time::sleep(Duration::from_secs(3600 - 290)).await;
            store.get("object").await.expect("got");
            time::sleep(Duration::from_secs(60)).await;
            store.get("object").await.expect("got");
            assert_eq!(
                (service.count(), &server.signers()[3..]),
                (2, &["token-1".to_owned(), "token-2".to_owned()][..])
            );
            // One that is revoked is replaced.
            server.expire("token-2");
            store.get("object").await.expect("got");
            assert_eq!(server.signers()[5..], ["token-2", "token-3"]);
        });
    }
}

#[test]
fn a_catalog_says_by_a_status_that_a_token_has_expired() {
    simulated(|| async {
        let service = Service::start("127.0.0.1:8001", tokens("\"expires_in\": 3600"));
        let is_over = Rc::new(Cell::new(false));
        let over = is_over.clone();
        let _catalog = Service::start("127.0.0.1:8002", move |asked| {
            let is_old = asked.headers["authorization"] == "Bearer token-1";
            let wrong = "{\"error\": {\"message\": \"hunter2\", \"code\": 419}}";
            match is_old && over.get() {
                true => Some((419, wrong.to_owned())),
                false => Some((200, "{}".to_owned())),
            }
        });
        let store = with_tokens("http://127.0.0.1:8002", "hunter2&");
        store.get("v1/config").await.expect("got");
        is_over.set(true);
        let error = store.get("v1/config").await.expect_err("another one would be refused, too");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        shows_no_secret(&error);
        time::sleep(Duration::from_secs(60)).await;
        store.get("v1/config").await.expect("got with the next one");
        assert_eq!(service.count(), 2);
    });
}

#[test]
fn the_secret_of_a_client_is_told_to_nobody_else() {
    simulated(|| async {
        let _service = Service::start("127.0.0.1:8001", tokens("\"expires_in\": 3600"));
        let (server, url) = Server::start();
        let error = with_tokens(&url, "other").get("object").await.expect_err("refused");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
        shows_no_secret(&error);
        assert_eq!(server.request_count(), 0, "nothing is asked without a token");
        // It is not sent in clear, nor to the services of a machine; tokens go to no store of S3.
        for (url, kind) in [
            ("http://tokens.test/v1", ErrorKind::Invalid),
            ("ftp://127.0.0.1", ErrorKind::Invalid),
            ("https://", ErrorKind::Invalid),
            ("https://169.254.169.254/token", ErrorKind::Forbidden),
        ] {
            let error = client(url, "hunter2").expect_err(url);
            assert_eq!(error.kind(), kind, "{url}");
            shows_no_secret(&error);
        }
        let options = S3Options {
            bucket: "bucket".to_owned(),
            credentials: client(TOKENS, "x").expect("a client").into(),
            ..S3Options::default()
        };
        let refused = Client::new(Options::default()).expect("a client").s3(options);
        assert_eq!(refused.expect_err("of AWS").kind(), ErrorKind::Invalid);
        let named = TokenClient { url: TOKENS.to_owned(), ..TokenClient::default() };
        assert_eq!(format!("{named:?}"), "TokenClient(..)");
        let only = AllowList::only(["other.test"]);
        let error = CredentialChain::of_client(named, only, Trust::default());
        assert_eq!(error.expect_err("not listed").kind(), ErrorKind::Forbidden);
    });
}

/// Keys of this number, good for so many seconds.
fn session(number: u32, life_s: Option<i64>) -> SessionKeys {
    let now_s = time::unix_us() / 1_000_000;
    let (id, secret) = (format!("H{number}"), "hunter2".to_owned());
    SessionKeys { id, secret, token: None, expires_s: life_s.map(|life| now_s + life) }
}

/// A store with keys that are handed out: these first, and `count` times others.
fn handed_out(first: SessionKeys, life_s: Option<i64>, count: u32) -> (Server, Store) {
    let (server, url) = Server::start();
    server.insert("object", vec![7; 100]);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let again = move || {
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 2;
        let next = (number <= count + 1).then(|| session(number, life_s));
        let next: std::pin::Pin<Box<dyn Future<Output = _>>> = Box::pin(async { Ok(next) });
        next
    };
    let chain = CredentialChain::handed_out(first, Box::new(again)).expect("a chain");
    (server, open(&url, chain))
}

#[test]
fn keys_that_are_handed_out_are_followed_by_others() {
    simulated(|| async {
        // Before their end, which nobody waits for.
        let (server, store) = handed_out(session(1, Some(HOUR_S)), Some(HOUR_S), 9);
        store.get("object").await.expect("got");
        time::sleep(Duration::from_secs(3600 - 290)).await;
        for _ in 0..2 {
            store.get("object").await.expect("got");
            time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(server.signers(), ["H1", "H1", "H2"]);
        // Those whose time is over when they come, and those that a store calls expired at once.
        let (server, store) = handed_out(session(1, Some(-1)), None, 9);
        store.get("object").await.expect("got");
        assert_eq!(server.signers(), ["H2"]);
        let (server, store) = handed_out(session(1, None), None, 9);
        server.expire("H1");
        store.get("object").await.expect("got");
        assert_eq!(server.signers(), ["H1", "H2"]);
        // The next ones are no better, and are not asked for again and again.
        server.expire("H2");
        let error = store.get("object").await.expect_err("expired");
        assert!(error.is_expired() && !error.is_retryable(), "{error}");
        assert_eq!(server.signers()[2..], ["H2"]);
        // There are no others any more.
        let (server, store) = handed_out(session(1, None), None, 0);
        server.expire("H1");
        let error = store.get("object").await.expect_err("none");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        shows_no_secret(&error);
        assert_eq!(format!("{:?}", session(1, None)), "SessionKeys(..)");
    });
}

#[test]
fn what_is_of_no_use_is_refused_at_once() {
    simulated(|| async {
        let wrong: [&[(&str, &str)]; 8] = [
            &[("AWS_ACCESS_KEY_ID", "E1")],
            &[("AWS_WEB_IDENTITY_TOKEN_FILE", "/identity")],
            // Secrets are not sent in clear to somebody else.
            &[
                ("AWS_WEB_IDENTITY_TOKEN_FILE", "/identity"),
                ("AWS_ROLE_ARN", "r"),
                ("AWS_ENDPOINT_URL_STS", "http://sts.test"),
            ],
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys.test/hunter2")],
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.169.254/hunter2")],
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "ftp://127.0.0.1/hunter2")],
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.test/hunter2")],
            &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "169.254.169.254")],
        ];
        for variables in wrong {
            let error = chain(variables).expect_err("of no use");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{variables:?}: {error}");
            shows_no_secret(&error);
        }
        for url in ["http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1", "https://keys.test/v1"]
        {
            chain(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)]).expect(url);
        }
        let credentials = Credentials::from(chain(&[]).expect("a chain"));
        assert_eq!(format!("{credentials:?}"), "Fetched(CredentialChain(..))");
        let client = Client::new(Options::default()).expect("a client");
        let (account, container) = ("account".to_owned(), "container".to_owned());
        let options = AzureOptions { account, container, credentials, ..AzureOptions::default() };
        assert_eq!(client.azure(options).expect_err("AWS's").kind(), ErrorKind::Invalid);
    });
}

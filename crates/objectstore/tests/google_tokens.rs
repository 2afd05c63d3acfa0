//! Tokens of Google, from services of our own in the simulation: a service account's, a user's, and those of a
//! machine; that they are renewed, and that nothing secret is shown.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;
#[path = "support/services.rs"]
mod services;

use std::cell::Cell;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use objectstore::{Client, CredentialChain, ErrorKind, GoogleOptions, Options, Store, Trust};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use runtime::fs::{File, OpenOptions};
use runtime::sim::Disk;
use runtime::{Config, IoBuf, RingChoice, Runtime, time};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use server::Server;
use services::{Asked, Service};

const KEY: &str = include_str!("support/google.pem");
const TOKENS: &str = "127.0.0.1:4711";
const METADATA: &str = "169.254.169.254:80";

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let ring = RingChoice::Sim(Disk::new(20));
    let config = Config { workers: 1, ring, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(test)
}

fn chain(variables: &[(&str, &str)]) -> CredentialChain {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    CredentialChain::google_from_variables(variable, Trust::default()).expect("a chain")
}

/// A store with one object, asked with the tokens of a chain.
fn store(variables: &[(&str, &str)]) -> (Server, Store) {
    let (server, url) = Server::start();
    let server = server.of_google();
    server.insert("object", vec![7; 100]);
    let (bucket, endpoint) = ("bucket".to_owned(), Some(url));
    let credentials = chain(variables).into();
    let options = GoogleOptions { bucket, endpoint, credentials };
    let client = Client::new(Options::default()).expect("a client");
    (server, client.google(options).expect("a store"))
}

async fn write(path: &str, document: &Value) {
    let text = document.to_string();
    let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.expect("a file");
    let mut buf = IoBuf::alloc(text.len());
    buf.as_mut_slice().copy_from_slice(text.as_bytes());
    file.write_all_at(buf, 0).await.0.expect("written");
}

/// Tokens with numbers, good for an hour; `looks` sees what is sent for them.
fn tokens(looks: impl Fn(&Asked) + 'static) -> impl Fn(&Asked) -> Option<(u16, String)> {
    let issued = Cell::new(0);
    move |asked| {
        looks(asked);
        issued.set(issued.get() + 1);
        let token = format!("T{}", issued.get());
        let answer = json!({ "access_token": token, "expires_in": 3599, "token_type": "Bearer" });
        Some((200, answer.to_string()))
    }
}

fn field<'a>(asked: &'a Asked, name: &str) -> &'a str {
    let mut pairs = asked.body.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).expect("a field").1
}

fn account() -> Value {
    json!({
        "type": "service_account",
        "client_email": "robot@project.iam.gserviceaccount.com",
        "private_key_id": "k1",
        "private_key": KEY,
        "token_uri": format!("http://{TOKENS}/token"),
    })
}

#[test]
fn a_service_account_signs_who_it_is() {
    simulated(|| async {
        let service = Service::start(
            TOKENS,
            tokens(|asked| {
                assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/token"));
                let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
                assert_eq!(field(asked, "grant_type"), grant);
                let (signed, signature) =
                    field(asked, "assertion").rsplit_once('.').expect("a signature");
                let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).expect("base 64");
                let key = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).expect("a key");
                let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("a key");
                UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public())
                    .verify(signed.as_bytes(), &decode(signature))
                    .expect("it is signed by the key");
                let (header, claims) = signed.split_once('.').expect("two parts");
                let part = |text| serde_json::from_slice::<Value>(&decode(text)).expect("JSON");
                let (header, claims) = (part(header), part(claims));
                assert_eq!(header, json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" }));
                assert_eq!(claims["iss"], "robot@project.iam.gserviceaccount.com");
                assert_eq!(claims["aud"], format!("http://{TOKENS}/token"));
                let scope = "https://www.googleapis.com/auth/devstorage.read_write";
                assert_eq!(claims["scope"], scope);
                let life = claims["exp"].as_i64().zip(claims["iat"].as_i64());
                assert_eq!(life.map(|(end, begin)| end - begin), Some(3600));
            }),
        );
        write("/key.json", &account()).await;
        let (server, store) = store(&[("GOOGLE_APPLICATION_CREDENTIALS", "/key.json")]);
        for _ in 0..3 {
            store.get("object").await.expect("got");
        }
        assert_eq!((server.signers(), service.count()), (vec!["T1".to_owned(); 3], 1));
        time::sleep(Duration::from_secs(3599 - 290)).await;
        store.get("object").await.expect("got");
        time::sleep(Duration::from_secs(1)).await;
        store.get("object").await.expect("got");
        assert_eq!(server.signers()[3..], ["T1", "T2"], "it is renewed beside the requests");
        time::sleep(Duration::from_secs(60)).await;
        server.expire("T2");
        store.get("object").await.expect("got with the next one");
        assert_eq!(server.signers().last().map(String::as_str), Some("T3"));
    });
}

#[test]
fn a_user_has_a_token_for_others() {
    simulated(|| async {
        let service = Service::start(
            TOKENS,
            tokens(|asked| {
                assert_eq!(field(asked, "grant_type"), "refresh_token");
                assert_eq!(field(asked, "client_id"), "id");
                assert_eq!(field(asked, "client_secret"), "hunter2");
                assert_eq!(field(asked, "refresh_token"), "r%2F1");
            }),
        );
        let user = json!({
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": "hunter2",
            "refresh_token": "r/1",
            "token_uri": format!("http://{TOKENS}/token"),
        });
        write("/gcloud/application_default_credentials.json", &user).await;
        let (server, store) = store(&[("CLOUDSDK_CONFIG", "/gcloud")]);
        store.get("object").await.expect("got");
        assert_eq!((server.signers(), service.count()), (vec!["T1".to_owned()], 1));
    });
}

#[test]
fn a_machine_has_an_account() {
    simulated(|| async {
        let service = Service::start(
            METADATA,
            tokens(|asked| {
                let path = "/computeMetadata/v1/instance/service-accounts/default/token";
                assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", path));
                assert_eq!(asked.headers["metadata-flavor"], "Google");
            }),
        );
        let (server, store) = store(&[("HOME", "/nobody")]);
        store.get("object").await.expect("got");
        assert_eq!((server.signers(), service.count()), (vec!["T1".to_owned()], 1));
    });
}

#[test]
fn without_a_source_nothing_is_sent() {
    simulated(|| async {
        let (server, store) = store(&[("NO_GCE_CHECK", "true")]);
        let error = store.get("object").await.expect_err("no token");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!(server.request_count(), 0);
    });
}

#[test]
fn files_that_are_of_no_use_are_refused_and_not_shown() {
    let mut in_clear = account();
    in_clear["token_uri"] = json!("http://tokens.example.com/token");
    let mut no_key = account();
    no_key["private_key"] = json!("hunter2");
    let mut nobody = account();
    nobody.as_object_mut().expect("an object").remove("client_email");
    let federated = json!({ "type": "external_account", "token": "hunter2" });
    let files = [json!("hunter2"), json!({}), federated, in_clear, no_key, nobody];
    for document in files {
        simulated(move || async move {
            write("/key.json", &document).await;
            let (server, store) = store(&[("GOOGLE_APPLICATION_CREDENTIALS", "/key.json")]);
            let error = store.get("object").await.expect_err("of no use");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2") && !shown.contains("PRIVATE"), "{shown}");
            assert_eq!(server.request_count(), 0);
        });
    }
}

#[test]
fn tokens_of_google_are_for_google() {
    let client = Client::new(Options::default()).expect("a client");
    let error = client.http_as("https://files.example.com", chain(&[]).into());
    assert_eq!(error.expect_err("another store").kind(), ErrorKind::Invalid);
}

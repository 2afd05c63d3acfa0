//! Endpoints that are read, and texts that are none.

use super::*;

#[test]
fn endpoints_are_read() {
    let check = |url: &str, expected: Option<(&str, &str)>| {
        let read = Endpoint::parse(url).ok();
        let read = read.map(|endpoint| (endpoint.to_string(), endpoint.authority()));
        let expected = expected.map(|(url, host)| (url.to_owned(), host.to_owned()));
        assert_eq!(read, expected, "{url}");
    };
    check("http://localhost:9000", Some(("http://localhost:9000", "localhost:9000")));
    check("https://S3.Example.com/", Some(("https://s3.example.com", "s3.example.com")));
    check("https://a.b:443/x/y/", Some(("https://a.b/x/y", "a.b")));
    check("http://[::1]:80/", Some(("http://[::1]", "[::1]")));
    check("http://[::1]:81", Some(("http://[::1]:81", "[::1]:81")));
    for wrong in [
        "s3://bucket",
        "http://",
        "http://a b",
        "http://user:secret@host",
        "http://host:0",
        "http://host:+1",
        "http://host:99999",
        "http://[::1",
        "http://[x]",
        "http://host/?query",
        "http://host/a b",
        "http://a..b",
        "http://host\r\nx: y",
    ] {
        check(wrong, None);
    }
}

#[test]
fn what_is_refused_is_not_shown_with_its_secrets() {
    for url in [
        "https://user:hidden@host/x",
        "https://hidden@host:99999",
        "https://account.example.com/box?sv=1&sig=hidden",
        "https://host/path#hidden",
        "https://host?sig=hidden",
        "http://us er:hidden/@host/a b",
        "hidden://host",
        "hidden",
        "user:hidden@host",
        "//hidden@host",
        "https://[hidden]/x",
        "HTTPS://user:hidden@host/x",
    ] {
        let error = Endpoint::parse(url).expect_err(url).to_string();
        assert!(!error.contains("hidden"), "{url}: {error}");
    }
    let error = Endpoint::parse("https://store.example.com:99999/x?y").expect_err("a bad port");
    assert!(error.to_string().contains("https://store.example.com:99999"), "{error}");
}

//! Heads of requests, good and bad.

use super::{Refusal, parse};

fn check(text: &str) -> Result<Option<(String, usize)>, u16> {
    let parsed = parse(text.as_bytes()).and_then(|parsed| {
        parsed.map(|(request, _)| request.body_len().map(|len| (request.path, len))).transpose()
    });
    parsed.map_err(|refusal| match refusal {
        Refusal::Status(status, _) => status,
        Refusal::Ended => 0,
    })
}

#[test]
fn heads_are_read_and_refused() {
    let cases: [(&str, Result<Option<(&str, usize)>, u16>); 9] = [
        ("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", Ok(Some(("/a", 0)))),
        ("POST /a HTTP/1.1\r\ncontent-length: 7\r\n\r\n", Ok(Some(("/a", 7)))),
        ("GET /a HTTP/1.1\r\nHos", Ok(None)),
        ("SELECT 1\r\n\r\n", Err(400)),
        ("POST / HTTP/1.1\r\ncontent-length: +7\r\n\r\n", Err(400)),
        ("POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", Err(413)),
        ("POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", Err(400)),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", Err(501)),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", Err(400)),
    ];
    for (text, expected) in cases {
        let expected = expected.map(|some| some.map(|(path, len)| (path.to_owned(), len)));
        assert_eq!(check(text), expected, "{text}");
    }
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
    assert_eq!(check(&many), Err(431));
}

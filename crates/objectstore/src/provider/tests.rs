//! The published examples of signatures, and what is refused.

mod endpoints;
mod google;

use super::sign::{Scope, hmac, sign};
use super::*;
use crate::credentials::Keys;
use crate::date::Date;
use crate::operation::{Condition, Payload};

/// From "Authenticating Requests: Using the Authorization Header" of the documentation of S3.
fn keys() -> Keys {
    Keys {
        id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        token: None,
    }
}

fn signature(mut draft: Draft<'_>, hash: &str) -> String {
    draft.header("host", "examplebucket.s3.amazonaws.com");
    let date = Date::of_unix_s(1_369_353_600);
    let (region, service) = ("us-east-1", "s3");
    sign(&mut draft, &keys(), &Scope { region, service, date }, hash);
    let request = draft.finish().expect("a request");
    let (_, authorization) = request.headers.last().expect("signed");
    let start =
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,";
    assert!(authorization.starts_with(start), "{authorization}");
    authorization.rsplit_once('=').expect("a signature").1.to_owned()
}

const EMPTY: &str = super::sign::EMPTY_SHA256;

#[test]
fn signatures_are_those_of_the_documentation() {
    let mut get = Draft::new("GET", "/test.txt".to_owned());
    get.header("range", "bytes=0-9");
    let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    assert_eq!(signature(get, EMPTY), expected);

    let mut put = Draft::new("PUT", encode::percent("/test$file.text", true));
    put.header("date", "Fri, 24 May 2013 00:00:00 GMT");
    put.header("x-amz-storage-class", "REDUCED_REDUNDANCY");
    let hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
    assert_eq!(signature(put, hash), expected);

    let mut lifecycle = Draft::new("GET", "/".to_owned());
    lifecycle.ask("lifecycle", "");
    let expected = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543";
    assert_eq!(signature(lifecycle, EMPTY), expected);

    let mut list = Draft::new("GET", "/".to_owned());
    list.ask("prefix", "J");
    list.ask("max-keys", "2");
    let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
    assert_eq!(signature(list, EMPTY), expected);
}

#[test]
fn the_key_of_a_day_is_that_of_the_documentation() {
    let date = Date::of_unix_s(1_440_892_800);
    let (region, service) = ("us-east-1", "iam");
    let scope = Scope { region, service, date };
    let key = scope.key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
    let expected = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9";
    assert_eq!(encode::hex(&key), expected);
    // RFC 4231, test case 2.
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(encode::hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
}

fn azure() -> Azure {
    let endpoint = Endpoint::parse("https://acc.blob.core.windows.net").expect("an endpoint");
    Azure { endpoint, account: "acc".to_owned(), container: "box".to_owned() }
}

#[test]
fn azure_signs_the_canonical_form() {
    let bytes = b"hello";
    let payload = Payload { bytes, crc32c: 0, sha256: None };
    let condition = Condition::Absent;
    let mut draft = Draft::new("PUT", "/box/a%20b".to_owned());
    draft.body = payload.bytes;
    draft.header("x-ms-version", "2021-12-02");
    draft.header("x-ms-date", "Fri, 24 May 2013 00:00:00 GMT");
    draft.header("if-none-match", "*");
    draft.ask("comp", "block");
    draft.ask("blockid", "QQ==");
    let expected = "PUT\n\n\n5\n\n\n\n\n\n*\n\n\nx-ms-date:Fri, 24 May 2013 00:00:00 GMT\n\
                    x-ms-version:2021-12-02\n/acc/box/a%20b\nblockid:QQ==\ncomp:block";
    assert_eq!(super::shared_key::string_to_sign(&draft, "acc"), expected);
    let put =
        Operation::Put { key: "a b", payload: &payload, condition: &condition, write_id: None };
    let credentials = Credentials::keys("acc", "c2VjcmV0");
    let request = azure().request(&put, &credentials, 1_369_353_600).expect("a request");
    let (_, authorization) = request.headers.last().expect("signed");
    assert!(authorization.starts_with("SharedKey acc:"), "{authorization}");
    let wrong = Credentials::keys("acc", "no base 64!");
    assert!(azure().request(&put, &wrong, 0).is_err());
}

#[test]
fn lists_of_azure_are_read() {
    let provider = Provider::Azure(azure());
    let page = provider.list(
        "<?xml version=\"1.0\"?><EnumerationResults><Blobs><Blob><Name>a/1</Name><Properties>\
         <Last-Modified>Fri, 24 May 2013 00:00:00 GMT</Last-Modified><Etag>0x8D</Etag>\
         <Content-Length>7</Content-Length></Properties></Blob><BlobPrefix><Name>a/b/</Name></BlobPrefix>\
         </Blobs><NextMarker>more</NextMarker></EnumerationResults>",
    );
    let page = page.expect("a page");
    assert_eq!((page.prefixes, page.next), (vec!["a/b/".to_owned()], Some("more".to_owned())));
    let object = ObjectInfo {
        key: "a/1".to_owned(),
        size: 7,
        tag: Some("\"0x8D\"".to_owned()),
        modified_s: Some(1_369_353_600),
    };
    assert_eq!(page.objects, [object]);
    for wrong in ["", "<a/>", "<EnumerationResults>", "{}"] {
        assert!(provider.list(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_token_is_not_sent_in_clear() {
    let get = Operation::Get { key: "k", range: None, tag: None };
    let token = Credentials::bearer("t");
    for (url, is_sent) in [
        ("https://store.example.com", true),
        ("http://store.example.com", false),
        ("http://10.0.0.1:9000", false),
        ("http://localhost.example.com", false),
        ("http://localhost:9000", true),
        ("http://127.0.0.1:9000", true),
        ("http://[::1]:9000", true),
    ] {
        let endpoint = Endpoint::parse(url).expect("an endpoint");
        let (bucket, region) = ("bucket".to_owned(), "auto".to_owned());
        let bucket_in_path = Some(bucket.clone());
        let s3 = S3 { endpoint: endpoint.clone(), bucket_in_path, region, checksums: true };
        let google = Google { endpoint: endpoint.clone(), bucket };
        let azure = Azure { endpoint, ..azure() };
        let providers = [Provider::S3(s3), Provider::Azure(azure), Provider::Google(google)];
        for provider in providers {
            let request = provider.request(&get, &token, 0);
            let request =
                request.map(|request| String::from_utf8_lossy(&request.head()).to_string());
            match request {
                Ok(head) => assert!(is_sent && head.contains("Bearer t"), "{url}: {head}"),
                Err(error) => {
                    assert!(!is_sent && error.kind() == crate::ErrorKind::Invalid, "{url}: {error}")
                }
            }
        }
    }
}

#[test]
fn a_pause_is_asked_for_in_seconds_or_by_a_date() {
    for (value, seconds) in [
        ("7", Some(7)),
        ("Fri, 24 May 2013 00:01:30 GMT", Some(90)),
        ("Thu, 23 May 2013 00:00:00 GMT", None),
        ("-1", None),
        ("soon", None),
    ] {
        let head = format!("HTTP/1.1 503 So\r\nretry-after: {value}\r\n\r\n");
        let (head, _) = Head::parse(head.as_bytes()).expect("a head").expect("all of it");
        assert_eq!(complaint::retry_after_s(&head, 1_369_353_600), seconds, "{value}");
    }
}

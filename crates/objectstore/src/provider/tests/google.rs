//! How Google is asked, and what its documents mean.

use super::super::google::{join, page, receipt};
use super::super::*;
use crate::operation::{Condition, Payload};

fn bucket() -> Google {
    let endpoint = Endpoint::parse("https://storage.googleapis.com").expect("an endpoint");
    Google { endpoint, bucket: "bucket".to_owned() }
}

fn head(operation: &Operation<'_>) -> String {
    let request = bucket().request(operation, &Credentials::bearer("t")).expect("a request");
    String::from_utf8(request.head()).expect("text")
}

#[test]
fn each_operation_is_asked_for_by_its_own_address() {
    let (payload, condition) =
        (Payload { bytes: b"x", crc32c: 1, sha256: None }, Condition::Matches("17".to_owned()));
    let (key, upload, number, payload) = ("a/ü b", "id", 3, &payload);
    let (tag, fields) =
        (Some("17".to_owned()), "fields=name%2Csize%2Cgeneration%2Cupdated%2Cmetadata");
    let objects = "/storage/v1/b/bucket/o";
    for (operation, line) in [
        (
            Operation::Get { key, range: Some(5..10), tag },
            format!("GET {objects}/a%2F%C3%BC%20b?alt=media&ifGenerationMatch=17 HTTP/1.1"),
        ),
        (Operation::Head { key }, format!("GET {objects}/a%2F%C3%BC%20b?{fields} HTTP/1.1")),
        (Operation::Delete { key }, format!("DELETE {objects}/a%2F%C3%BC%20b HTTP/1.1")),
        (
            Operation::Put { key, payload, condition: &Condition::Absent, write_id: None },
            format!(
                "POST /upload{objects}?{fields}&ifGenerationMatch=0&uploadType=multipart HTTP/1.1"
            ),
        ),
        (
            Operation::PutPart { key, upload, number, payload },
            format!("POST /upload{objects}?{fields}&uploadType=multipart HTTP/1.1"),
        ),
        (
            Operation::JoinParts { key, upload, number, payload },
            format!(
                "POST {objects}/a%2F%C3%BC%20b.id.000003.dovetail-part/compose?{fields} HTTP/1.1"
            ),
        ),
        (
            Operation::CompleteUpload {
                key,
                upload,
                payload,
                condition: &condition,
                write_id: "w",
            },
            format!("POST {objects}/a%2F%C3%BC%20b/compose?{fields}&ifGenerationMatch=17 HTTP/1.1"),
        ),
    ] {
        let head = head(&operation);
        assert_eq!(head.lines().next(), Some(line.as_str()));
        assert!(head.contains("authorization: Bearer t\r\n"), "{head}");
    }
    let list =
        Operation::List { prefix: "a/", delimiter: Some("/"), from: Some("n"), count_max: 9 };
    let list = head(&list);
    for part in ["delimiter=%2F", "maxResults=9", "pageToken=n", "prefix=a%2F"] {
        assert!(list.contains(part), "{list}");
    }
}

#[test]
fn an_upload_has_its_metadata_in_front() {
    let payload = Payload { bytes: b"bytes", crc32c: 1, sha256: None };
    let put = Operation::Put {
        key: "a\"b",
        payload: &payload,
        condition: &Condition::None,
        write_id: Some("w"),
    };
    let request = bucket().request(&put, &Credentials::Anonymous).expect("a request");
    let kind = request.headers.iter().find(|(name, _)| name == "content-type").expect("a type");
    let boundary = kind.1.strip_prefix("multipart/related; boundary=").expect("a boundary");
    let metadata = r#"{"crc32c":"AAAAAQ==","metadata":{"dovetail-write":"w"},"name":"a\"b"}"#;
    let around = request.around.as_ref().expect("metadata");
    assert!(around.before.contains(&format!("\r\n\r\n{metadata}\r\n--{boundary}\r\n")));
    assert_eq!(around.after, format!("\r\n--{boundary}--\r\n"));
    let length = around.before.len() + 5 + around.after.len();
    let head = String::from_utf8(request.head()).expect("text");
    assert!(head.ends_with(&format!("content-length: {length}\r\n\r\n")), "{head}");
    let again = bucket().request(&put, &Credentials::Anonymous).expect("a request");
    let again = again.around.expect("metadata");
    assert_ne!(around.after, again.after, "nobody knows the boundary before");
}

#[test]
fn parts_are_named_in_their_order() {
    let part = |number| Part { number, tag: "1".to_owned(), crc32c: String::new() };
    let document = join("k", "u", &[part(2), part(10_001)], Some("w"));
    let expected = r#"{"destination":{"contentType":"application/octet-stream","metadata":{"dovetail-write":"w"}},"sourceObjects":[{"name":"k.u.000002.dovetail-part"},{"name":"k.u.010001.dovetail-part"}]}"#;
    assert_eq!(document, expected);
}

#[test]
fn documents_are_read_or_refused() {
    let object = r#"{"name":"a/1","size":"7","generation":"17","updated":"2013-05-24T00:00:00.000Z","metadata":{"dovetail-write":"w"}}"#;
    let found = receipt(object.as_bytes()).expect("a receipt");
    let info = ObjectInfo {
        key: "a/1".to_owned(),
        size: 7,
        tag: Some("17".to_owned()),
        modified_s: Some(1_369_353_600),
    };
    assert_eq!((&found.info, found.write_id.as_deref()), (&info, Some("w")));
    let text = format!(
        r#"{{"kind":"storage#objects","items":[{object}],"prefixes":["a/b/"],"nextPageToken":"n"}}"#
    );
    let found = page(&text).expect("a page");
    assert_eq!((found.objects, found.next.as_deref()), (vec![info], Some("n")));
    assert_eq!(found.prefixes, ["a/b/"]);
    assert_eq!(page(r#"{"kind":"storage#objects"}"#).expect("a page"), ListPage::default());
    for wrong in [
        "",
        "{}",
        r#"{"kind":"storage#object"}"#,
        r#"{"kind":"storage#objects","items":{}}"#,
        r#"{"kind":"storage#objects","items":[{"name":"a"}]}"#,
        r#"{"kind":"storage#objects","items":[{"name":"a","generation":"1","size":"x"}]}"#,
        r#"{"kind":"storage#objects","prefixes":[1]}"#,
    ] {
        assert!(page(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn complaints_are_understood() {
    let complaint = |status: u16, reason: &str| {
        let head = format!("HTTP/1.1 {status} So\r\n\r\n");
        let (head, _) = Head::parse(head.as_bytes()).expect("a head").expect("all of it");
        let body = format!(r#"{{"error":{{"message":"no","errors":[{{"reason":"{reason}"}}]}}}}"#);
        Provider::Google(bucket()).complaint(&head, body.as_bytes())
    };
    use crate::ErrorKind::{Denied, NotFound, Precondition, Throttled};
    for (status, reason, kind) in [
        (412, "conditionNotMet", Precondition),
        (404, "notFound", NotFound),
        (403, "forbidden", Denied),
        (403, "rateLimitExceeded", Throttled),
        (429, "rateLimitExceeded", Throttled),
    ] {
        let error = complaint(status, reason);
        assert_eq!((error.kind(), error.code()), (kind, Some(reason)));
        assert!(!error.says_expired());
    }
    assert!(complaint(401, "authError").says_expired());
    // What other servers say in such documents may be anything.
    let (head, _) = Head::parse(b"HTTP/1.1 403 So\r\n\r\n").expect("a head").expect("all of it");
    let endpoint = Endpoint::parse("https://h").expect("an endpoint");
    let body = br#"{"error":{"message":"hunter2"}}"#;
    let error = Provider::Plain(endpoint).complaint(&head, body);
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

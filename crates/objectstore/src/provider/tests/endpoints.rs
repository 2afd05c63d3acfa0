//! The documented forms of the endpoints of stores that speak S3: where the bucket stands, and what is signed.

use super::super::*;
use crate::client::{Client, S3Options, Style};
use crate::shared::Options;

fn get(endpoint: Option<&str>, region: &str, style: Style) -> String {
    let client = Client::new(Options::default()).expect("a client");
    let options = S3Options {
        bucket: "lake".to_owned(),
        region: region.to_owned(),
        endpoint: endpoint.map(str::to_owned),
        style,
        ..S3Options::default()
    };
    let store = client.s3(options).expect("a store");
    let get = Operation::Get { key: "a b", range: None, tag: None };
    let keys = Credentials::keys("id", "secret");
    let request = store.provider().request(&get, &keys, 0).expect("a request");
    String::from_utf8(request.head()).expect("text")
}

#[test]
fn a_bucket_stands_where_its_store_has_it() {
    let (automatic, path, host) = (Style::Auto, Style::Path, Style::Virtual);
    for (endpoint, region, style, target, name) in [
        (None, "eu-central-1", automatic, "/a%20b", "lake.s3.eu-central-1.amazonaws.com"),
        (None, "eu-central-1", path, "/lake/a%20b", "s3.eu-central-1.amazonaws.com"),
        // IBM Cloud Object Storage.
        (
            Some("https://s3.eu-de.cloud-object-storage.appdomain.cloud"),
            "eu-de",
            automatic,
            "/a%20b",
            "lake.s3.eu-de.cloud-object-storage.appdomain.cloud",
        ),
        (
            Some("https://s3.private.us-south.cloud-object-storage.appdomain.cloud"),
            "us-south",
            path,
            "/lake/a%20b",
            "s3.private.us-south.cloud-object-storage.appdomain.cloud",
        ),
        // Oracle: one host has buckets in the path only, another one in the host.
        (
            Some("https://ns1.compat.objectstorage.eu-frankfurt-1.oci.customer-oci.com"),
            "eu-frankfurt-1",
            automatic,
            "/lake/a%20b",
            "ns1.compat.objectstorage.eu-frankfurt-1.oci.customer-oci.com",
        ),
        (
            Some("https://ns1.compat.objectstorage.us-phoenix-1.oraclecloud.com"),
            "us-phoenix-1",
            automatic,
            "/lake/a%20b",
            "ns1.compat.objectstorage.us-phoenix-1.oraclecloud.com",
        ),
        (
            Some("https://vhcompat.objectstorage.eu-frankfurt-1.oci.customer-oci.com"),
            "eu-frankfurt-1",
            automatic,
            "/a%20b",
            "lake.vhcompat.objectstorage.eu-frankfurt-1.oci.customer-oci.com",
        ),
        // MinIO, Ceph and others.
        (Some("http://10.0.0.1:9000"), "us-east-1", automatic, "/lake/a%20b", "10.0.0.1:9000"),
        (Some("http://minio:9000"), "us-east-1", automatic, "/lake/a%20b", "minio:9000"),
        (Some("https://s3.example.com"), "us-east-1", host, "/a%20b", "lake.s3.example.com"),
    ] {
        let head = get(endpoint, region, style);
        let shown = format!("{endpoint:?}: {head}");
        assert!(head.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{shown}");
        assert!(head.contains(&format!("host: {name}\r\n")), "{shown}");
        let scope = format!("Credential=id/19700101/{region}/s3/aws4_request,SignedHeaders=host;");
        assert!(head.contains(&scope), "{shown}");
    }
}

#[test]
fn google_by_the_interface_of_s3_takes_no_conditions() {
    use crate::operation::{Condition, Payload};
    for (host, takes) in [
        ("storage.googleapis.com", false),
        ("bucket.storage.googleapis.com", false),
        ("storage.me-central2.rep.googleapis.com", false),
        ("storage.notgoogleapis.com", true),
        ("s3.example.com", true),
    ] {
        let endpoint = Endpoint::parse(&format!("https://{host}")).expect("an endpoint");
        let (bucket_in_path, region) = (Some("lake".to_owned()), "auto".to_owned());
        let s3 = S3 { endpoint, bucket_in_path, region, checksums: true };
        let payload = Payload { bytes: b"x", crc32c: 1, sha256: None };
        for condition in [Condition::None, Condition::Absent, Condition::Matches("x".to_owned())] {
            let is_put = takes || condition == Condition::None;
            let (key, payload, condition) = ("k", &payload, &condition);
            let put = Operation::Put { key, payload, condition, write_id: None };
            let request = s3.request(&put, &Credentials::keys("id", "secret"), 0);
            assert_eq!(request.is_ok(), is_put, "{host} {condition:?}");
        }
    }
}

//! Whose prices a host has.

use super::of_get;

#[test]
fn hosts_have_the_prices_of_their_stores_and_others_none() {
    let table = [
        ("lake.s3.eu-central-1.amazonaws.com", Some(400)),
        ("s3.amazonaws.com", Some(400)),
        ("storage.googleapis.com", Some(400)),
        ("account.blob.core.windows.net", Some(500)),
        ("s3.us.cloud-object-storage.appdomain.cloud", Some(420)),
        ("x.compat.objectstorage.eu-frankfurt-1.oraclecloud.com", Some(340)),
        ("0123.r2.cloudflarestorage.com", Some(360)),
        ("127.0.0.1", None),
        ("minio.example.com", None),
        ("notamazonaws.com", None),
        ("amazonaws.com.example.com", None),
    ];
    for (host, price) in table {
        assert_eq!(of_get(host), price, "{host}");
    }
}

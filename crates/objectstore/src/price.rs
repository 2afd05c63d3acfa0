//! What stores ask for a get, by the names of their hosts: list prices of their standard classes, of the regions
//! where they are lowest. Contracts have others.

/// The end of a host's name, and billionths of a dollar for one get.
const PRICES: [(&str, u64); 6] = [
    // S3 Standard: $0.0004 for 1,000.
    ("amazonaws.com", 400),
    // Google Cloud Storage, operations of class B: $0.0004 for 1,000.
    ("googleapis.com", 400),
    // Azure Blob Storage, hot: $0.005 for 10,000.
    ("blob.core.windows.net", 500),
    // IBM Cloud Object Storage, class B: $0.0042 for 10,000.
    ("cloud-object-storage.appdomain.cloud", 420),
    // OCI Object Storage: $0.0034 for 10,000.
    ("oraclecloud.com", 340),
    // Cloudflare R2, class B: $0.36 for a million.
    ("r2.cloudflarestorage.com", 360),
];

/// Billionths of a dollar for a get from this host.
pub(crate) fn of_get(host: &str) -> Option<u64> {
    let is_of = |end: &str| host.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    PRICES.iter().find(|(end, _)| is_of(end)).map(|(_, price)| *price)
}

#[cfg(test)]
mod tests;

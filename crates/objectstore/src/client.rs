//! A client, which opens stores that share connections, addresses, limits and trust.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustls::pki_types::ServerName;

use crate::credentials::{Credentials, Gives};
use crate::error::{Error, Result};
use crate::location::Endpoint;
use crate::provider::{Azure, Google, Provider, S3};
use crate::shared::{Options, Shared};
use crate::store::Store;

/// Connections to stores. Cloning gives another handle of the same; any worker may use it.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Shared>);

/// What a client has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Requests of callers.
    pub request_count: u64,
    /// Requests sent for them.
    pub attempt_count: u64,
    /// Connections made.
    pub connection_count: u64,
    /// Attempts given up for being slow, and begun again elsewhere.
    pub restart_count: u64,
    /// Bytes of bodies received.
    pub received_bytes: u64,
    /// Bytes of bodies sent.
    pub sent_bytes: u64,
    /// Bytes of the segments in which the last large answer came: about 1,450, or 8,400 and more where the whole path
    /// takes jumbo frames. 0 where it is not known.
    pub segment_bytes: usize,
    /// Connections that wait for a request now.
    pub idle_connection_count: usize,
}

/// Where a bucket's name stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// In the host, unless that is an address or one of Oracle's that has none below it, or the name has dots (no
    /// certificate fits those).
    #[default]
    Auto,
    /// In the path.
    Path,
    /// In the host.
    Virtual,
}

/// A bucket of S3, or of anything that speaks like it.
#[derive(Clone, Debug, Default)]
pub struct S3Options {
    /// The bucket.
    pub bucket: String,
    /// Its region; `us-east-1` where it is empty.
    pub region: String,
    /// Where requests go, if not to AWS.
    pub endpoint: Option<String>,
    /// Where the bucket's name stands.
    pub style: Style,
    /// Who asks.
    pub credentials: Credentials,
    /// No checksums are sent or asked for: for servers that refuse them.
    pub no_checksums: bool,
}

/// A bucket of Google Cloud Storage, by its JSON interface.
#[derive(Clone, Debug, Default)]
pub struct GoogleOptions {
    /// The bucket.
    pub bucket: String,
    /// Where requests go, if not to Google.
    pub endpoint: Option<String>,
    /// A token that is given or fetched.
    pub credentials: Credentials,
}

/// A container of Azure Blob Storage.
#[derive(Clone, Debug, Default)]
pub struct AzureOptions {
    /// The account.
    pub account: String,
    /// The container.
    pub container: String,
    /// Where requests go, if not to Azure. An emulator's has the account in its path.
    pub endpoint: Option<String>,
    /// The account's name and key, or a token.
    pub credentials: Credentials,
}

impl Client {
    /// A client without connections yet.
    ///
    /// # Errors
    /// `Invalid` for limits of 0 and for certificates that cannot be read.
    pub fn new(options: Options) -> Result<Client> {
        Ok(Client(Arc::new(Shared::new(options)?)))
    }

    /// A bucket of S3.
    ///
    /// # Errors
    /// `Invalid` for bad names, `Forbidden` for an endpoint that is not allowed.
    pub fn s3(&self, options: S3Options) -> Result<Store> {
        let S3Options { bucket, region, endpoint, style, credentials, no_checksums } = options;
        check_name("bucket", &bucket)?;
        let region = if region.is_empty() { "us-east-1".to_owned() } else { region };
        check_name("region", &region)?;
        let usual = || format!("https://s3.{region}.amazonaws.com");
        let endpoint = Endpoint::parse(&endpoint.unwrap_or_else(usual))?;
        let s3 = place(endpoint, bucket, style, region, !no_checksums)?;
        self.store(Provider::S3(s3), credentials)
    }

    /// A bucket of Google Cloud Storage.
    ///
    /// # Errors
    /// As [`Client::s3`].
    pub fn google(&self, options: GoogleOptions) -> Result<Store> {
        let GoogleOptions { bucket, endpoint, credentials } = options;
        check_name("bucket", &bucket)?;
        let endpoint = endpoint.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
        let endpoint = Endpoint::parse(&endpoint)?;
        self.store(Provider::Google(Google { endpoint, bucket }), credentials)
    }

    /// A container of Azure.
    ///
    /// # Errors
    /// As [`Client::s3`].
    pub fn azure(&self, options: AzureOptions) -> Result<Store> {
        let AzureOptions { account, container, endpoint, credentials } = options;
        check_name("account", &account)?;
        check_name("container", &container)?;
        let usual = || format!("https://{account}.blob.core.windows.net");
        let endpoint = Endpoint::parse(&endpoint.unwrap_or_else(usual))?;
        self.store(Provider::Azure(Azure { endpoint, account, container }), credentials)
    }

    /// A server of files, whose objects can be read. `url` stands in front of all names.
    ///
    /// # Errors
    /// As [`Client::s3`].
    pub fn http(&self, url: &str) -> Result<Store> {
        self.http_as(url, Credentials::Anonymous)
    }

    /// The same asked by the bearer of a token; it takes no other credentials.
    ///
    /// # Errors
    /// As [`Client::s3`].
    pub fn http_as(&self, url: &str, credentials: Credentials) -> Result<Store> {
        self.store(Provider::Plain(Endpoint::parse(url)?), credentials)
    }

    fn store(&self, provider: Provider, credentials: Credentials) -> Result<Store> {
        let fits = match (&provider, &credentials) {
            (Provider::S3(_), Credentials::Fetched(chain)) => chain.gives() == Gives::Keys,
            (Provider::Plain(_), Credentials::Fetched(chain)) => chain.gives() == Gives::Tokens,
            (Provider::Google(_), Credentials::Fetched(chain)) => {
                chain.gives() == Gives::GoogleTokens
            }
            (Provider::Azure(_), Credentials::Fetched(_)) => false,
            (Provider::Google(_), Credentials::Keys(_)) => false,
            _ => true,
        };
        if !fits {
            let what = "stores of S3 take keys, given or fetched, or a token; Google and servers of files take \
                        tokens of theirs, given or fetched; Azure takes what is given";
            return Err(Error::invalid(what));
        }
        self.0.allow.check_host(provider.endpoint())?;
        if let Ok(address) = provider.endpoint().host.parse() {
            self.0.allow.check_address(address)?;
        }
        let name = ServerName::try_from(provider.endpoint().host.clone());
        let name = name.map_err(|_| Error::invalid("the host has no name for TLS"))?;
        let gate = self.0.gate(provider.endpoint());
        Ok(Store::new(self.clone(), provider, credentials, name, gate))
    }

    /// Closes the connections that wait for a request.
    pub fn close_idle(&self) {
        self.0.pool.clear();
    }

    /// What it has done.
    pub fn stats(&self) -> ClientStats {
        let counters = &self.0.counters;
        ClientStats {
            request_count: counters.requests.load(Relaxed),
            attempt_count: counters.attempts.load(Relaxed),
            connection_count: counters.connections.load(Relaxed),
            restart_count: counters.restarts.load(Relaxed),
            received_bytes: counters.received_bytes.load(Relaxed),
            sent_bytes: counters.sent_bytes.load(Relaxed),
            segment_bytes: counters.segment_bytes.load(Relaxed),
            idle_connection_count: self.0.pool.idle_count(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.stats())
    }
}

/// In the names of Oracle's hosts that have no names of buckets below them.
const PATHS_ONLY: &str = ".compat.objectstorage.";

/// Where a bucket's requests go.
fn place(
    endpoint: Endpoint,
    bucket: String,
    style: Style,
    region: String,
    checksums: bool,
) -> Result<S3> {
    let has_labels = endpoint.host.contains('.') && !endpoint.host.contains(PATHS_ONLY);
    let fits_host = !endpoint.is_address() && has_labels && !bucket.contains('.');
    let in_host = match style {
        Style::Auto => fits_host,
        Style::Path => false,
        Style::Virtual => true,
    };
    if in_host && endpoint.is_address() {
        return Err(Error::invalid(
            "an address has no names below it: the bucket goes into the path",
        ));
    }
    let (endpoint, bucket_in_path) = match in_host {
        true => (Endpoint::parse(&endpoint.below(&bucket).to_string())?, None),
        false => (endpoint, Some(bucket)),
    };
    Ok(S3 { endpoint, bucket_in_path, region, checksums })
}

fn check_name(what: &str, name: &str) -> Result<()> {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-._$".contains(&byte);
    let is_name = (1..=255).contains(&name.len()) && name.bytes().all(is_inside);
    match is_name && !name.starts_with('.') {
        true => Ok(()),
        false => Err(Error::invalid(format!("{name:?} is no name of a {what}"))),
    }
}

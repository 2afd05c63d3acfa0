//! The connections of a database to object stores, and a bucket that was opened with the keys that a
//! location has.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use objectstore::{
    AllowList, AzureOptions, Client, CredentialChain, Credentials, DataKey, GoogleOptions, Limits,
    Options, S3Options, Store, Style, TokenClient, Trust,
};
use types::{SqlError, SqlResult, SqlState};

use super::fault::of_store;
use super::leases::Leases;
use super::location::{Location, Scheme};
use super::seal::{Seal, key_of};
use crate::secrets::stored::StoredSecret;

/// A request with all its repetitions: whoever runs a statement waits no longer for a store that is not
/// there.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a catalog gives tokens, unless its secret says another place, and what they are for, as the specification of
/// REST catalogs has it.
const TOKENS: &str = "v1/oauth/tokens";
const TOKEN_SCOPE: &str = "catalog";

/// Clients that have tokens: as many as there may be secrets.
const CLIENTS_MAX: usize = 1000;

/// The connections; clones are the same. They are made when the first location is opened.
#[derive(Clone, Default)]
pub(crate) struct Stores(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The hosts that may be spoken to; none stands for all.
    hosts: Vec<String>,
    /// Lists of a table that are kept.
    snapshots: usize,
    client: OnceLock<Client>,
    /// Keys that are found and renewed, for all secrets of S3 that want it, and tokens for those of Google.
    chain: OnceLock<CredentialChain>,
    google_chain: OnceLock<CredentialChain>,
    /// Tokens of clients, which are good for several statements.
    clients: Mutex<BTreeMap<[String; 4], CredentialChain>>,
    /// Lists of tables that were replaced and are still read by.
    leases: Leases,
}

/// A location that was opened.
#[derive(Clone)]
pub(crate) struct Bucket {
    pub(crate) store: Store,
    pub(crate) location: Location,
    /// By which tables there are encrypted.
    pub(crate) key: Option<Arc<DataKey>>,
    /// What encrypts the objects of the table that it was opened for.
    pub(crate) seal: Option<Seal>,
    /// What a get costs there, in billionths of a dollar; 0 where nobody has said.
    pub(crate) get_price_ndollars: u64,
}

impl Bucket {
    /// The same for a table that is encrypted under this number, or is not.
    ///
    /// # Errors
    /// 28000 without its key, 55000 with a key for a table that is not encrypted.
    pub(crate) fn of_table(mut self, sealed: Option<&str>) -> SqlResult<Bucket> {
        self.seal = match (&self.key, sealed) {
            (None, None) => None,
            (Some(key), Some(table)) => Some(Seal::new(key, table)?),
            (None, Some(_)) => return Err(no_key(&self.location)),
            (Some(_), None) => return Err(not_sealed(&self.location)),
        };
        Ok(self)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.location)
    }
}

impl Stores {
    /// Connections to these hosts only; to all, where none is named. Of each table that is written so many
    /// lists are kept.
    pub(crate) fn new(hosts: Vec<String>, snapshots: usize) -> Stores {
        Stores(Arc::new(Inner { hosts, snapshots, ..Inner::default() }))
    }

    /// Whether only some hosts may be spoken to.
    pub(crate) fn has_hosts(&self) -> bool {
        !self.0.hosts.is_empty()
    }

    /// Lists of a table that are kept.
    pub(crate) fn snapshots(&self) -> usize {
        self.0.snapshots
    }

    /// Lists of tables that were replaced and are still read by.
    pub(crate) fn leases(&self) -> &Leases {
        &self.0.leases
    }

    fn client(&self) -> SqlResult<&Client> {
        if let Some(client) = self.0.client.get() {
            return Ok(client);
        }
        let allow = self.allow();
        let limits = Limits { request_timeout: REQUEST_TIMEOUT, ..Limits::default() };
        let client = Client::new(Options { limits, allow, ..Options::default() });
        let client = client.map_err(|error| SqlError::internal(error.to_string()))?;
        Ok(self.0.client.get_or_init(|| client))
    }

    fn allow(&self) -> AllowList {
        match self.0.hosts.is_empty() {
            true => AllowList::any(),
            false => AllowList::only(self.0.hosts.iter().cloned()),
        }
    }

    /// Tokens for the client of a secret.
    fn tokens(&self, secret: &StoredSecret, location: &Location) -> SqlResult<CredentialChain> {
        let usual = || format!("{}/{TOKENS}", secret.scope.trim_end_matches('/'));
        let url = secret.token_service.clone().unwrap_or_else(usual);
        let (id, key) = (secret.key_id.clone(), secret.secret.clone());
        let client = TokenClient {
            url,
            id: id.unwrap_or_default(),
            secret: key.unwrap_or_default(),
            scope: secret.token_scope.clone().or_else(|| Some(TOKEN_SCOPE.to_owned())),
        };
        let scope = client.scope.clone().unwrap_or_default();
        let known = [client.url.clone(), client.id.clone(), client.secret.clone(), scope];
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = clients.get(&known) {
            return Ok(chain.clone());
        }
        let chain = CredentialChain::of_client(client, self.allow(), Trust::default());
        let chain = chain.map_err(|error| of_store(&error, location))?;
        // Secrets that have changed leave theirs behind.
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(known, chain.clone());
        Ok(chain)
    }

    /// What the environment has for stores of this kind.
    fn chain(&self, scheme: Scheme) -> SqlResult<CredentialChain> {
        let is_google = scheme == Scheme::Google;
        let kept = if is_google { &self.0.google_chain } else { &self.0.chain };
        if let Some(chain) = kept.get() {
            return Ok(chain.clone());
        }
        let found = match is_google {
            true => CredentialChain::google_from_environment(Trust::default()),
            false => CredentialChain::from_environment(Trust::default()),
        };
        let chain = found.map_err(|error| {
            SqlError::new(SqlState::INVALID_AUTHORIZATION, "the environment gives no credentials")
                .with_detail(error.to_string())
        })?;
        Ok(kept.get_or_init(|| chain).clone())
    }

    /// Opens a location with the keys that belong to it. Nothing is sent yet.
    ///
    /// # Errors
    /// 42501 for an endpoint that may not be spoken to, 22023 for what no store is named, 28000 where
    /// keys are needed and there are none.
    pub(crate) fn open(
        &self,
        secret: Option<&StoredSecret>,
        location: &Location,
    ) -> SqlResult<Bucket> {
        let none = StoredSecret::default();
        let secret = secret.unwrap_or(&none);
        let has_client = location.scheme.only_reads() && secret.secret.is_some();
        let credentials = match (secret.uses_chain, has_client) {
            (true, _) => self.chain(location.scheme)?.into(),
            (_, true) => self.tokens(secret, location)?.into(),
            (false, false) => credentials(secret),
        };
        self.open_as(credentials, secret, location)
    }

    /// The same with other credentials than those of the secret, which says where the store is.
    ///
    /// # Errors
    /// As [`Stores::open`].
    pub(crate) fn open_as(
        &self,
        credentials: Credentials,
        secret: &StoredSecret,
        location: &Location,
    ) -> SqlResult<Bucket> {
        let client = self.client()?;
        let (bucket, endpoint) = (location.bucket.clone(), secret.endpoint.clone());
        let store = match location.scheme {
            Scheme::S3 => client.s3(S3Options {
                bucket,
                region: secret.region.clone().unwrap_or_default(),
                endpoint,
                style: if secret.path_style { Style::Path } else { Style::Auto },
                credentials,
                no_checksums: false,
            }),
            Scheme::Google => client.google(GoogleOptions { bucket, endpoint, credentials }),
            Scheme::Azure => {
                let account = secret.account.clone().or_else(|| secret.key_id.clone());
                let Some(account) = account else { return Err(no_account(location)) };
                client.azure(AzureOptions { account, container: bucket, endpoint, credentials })
            }
            Scheme::Http | Scheme::Https => client.http_as(&location.to_string(), credentials),
        };
        let store = store.map_err(|error| of_store(&error, location))?;
        let key = match &secret.encryption_key {
            None => None,
            Some(text) => Some(Arc::new(key_of(text).ok_or_else(|| {
                let message = "the encryption_key of a secret is no key";
                SqlError::new(SqlState::DATA_CORRUPTED, message)
            })?)),
        };
        let told = secret.request_price.as_deref().and_then(price_of);
        let get_price_ndollars = told.or_else(|| store.get_price_ndollars()).unwrap_or(0);
        Ok(Bucket { store, location: location.clone(), key, seal: None, get_price_ndollars })
    }
}

/// Billionths of a dollar for a get, where a million cost so many dollars.
pub(crate) fn price_of(text: &str) -> Option<u64> {
    let dollars = text.parse::<f64>().ok().filter(|dollars| (0.0..=1e6).contains(dollars))?;
    let price = (dollars * 1e3).round() as u64;
    // A price for a thousand would else be none.
    (price > 0 || dollars == 0.0).then_some(price)
}

fn credentials(secret: &StoredSecret) -> Credentials {
    match (&secret.key_id, &secret.secret, &secret.session_token) {
        (Some(id), Some(key), Some(token)) => Credentials::session(id, key, token),
        (Some(id), Some(key), None) => Credentials::keys(id, key),
        (_, _, Some(token)) => Credentials::bearer(token),
        _ => Credentials::Anonymous,
    }
}

/// 28000
fn no_key(location: &Location) -> SqlError {
    let message = format!("the table at \"{location}\" is encrypted");
    SqlError::new(SqlState::INVALID_AUTHORIZATION, message)
        .with_hint("The secret for its location needs the option encryption_key.")
}

/// 55000: somebody may have put a table of their own in the place of an encrypted one.
fn not_sealed(location: &Location) -> SqlError {
    let message = format!("the table at \"{location}\" is not encrypted");
    SqlError::new(SqlState("55000"), message)
        .with_detail("The secret for its location has an encryption_key.")
        .with_hint("Give the table a secret of its own, with its location as the scope.")
}

fn no_account(location: &Location) -> SqlError {
    let message = format!("no secret names the account of \"{location}\"");
    SqlError::new(SqlState::INVALID_AUTHORIZATION, message)
        .with_hint("CREATE SECRET name (type azure, key_id 'account', secret 'key')")
}

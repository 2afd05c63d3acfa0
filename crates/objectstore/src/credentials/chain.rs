//! Credentials that are fetched: the first source that is set up is asked, and what it has issued is
//! used until shortly before its end.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use runtime::sync::WaitQueue;
use runtime::time::{self, Duration, Instant};

use super::call::Caller;
use super::client::{Grant, TokenClient};
use super::container::Container;
use super::google::{AccountFile, GoogleMetadata};
use super::handed::{self, Handing, SessionKeys};
use super::issued::Issued;
use super::metadata::Metadata;
use super::profile::{self, Found};
use super::web_identity::WebIdentity;
use super::{Credentials, Keys, Variables, keys_of_variables, read};
use crate::allow::AllowList;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::lock;
use crate::tls::Trust;

/// Keys are renewed when so little of their time is left, or a quarter of it where that is less. The
/// services have new ones by then.
const EARLY_S: i64 = 300;
/// A source that has failed is not asked again before.
const FAILURE_REST: Duration = Duration::from_secs(5);
/// Keys this young that a store calls expired are not renewed: it would say so of the next ones, too.
const RENEWED_AGE_MIN: Duration = Duration::from_secs(10);

/// Where keys come from, as the tools of AWS find them: the environment's own keys, a profile, a web
/// identity, a container's service, the metadata service of the machine, in this order; and where tokens of
/// Google come from, as its libraries find them. The first that is set up is used; when it fails that is an
/// error, and no other one is asked. Cloning gives another handle of the same.
#[derive(Clone)]
pub struct CredentialChain(Arc<Inner>);

struct Inner {
    sources: Vec<Source>,
    gives: Gives,
    caller: Caller,
    state: Mutex<State>,
    waiting: WaitQueue,
}

enum Source {
    Environment(Keys),
    Profile(Profile),
    WebIdentity(WebIdentity),
    Container(Container),
    Metadata(Metadata),
    Client(Grant),
    GoogleAccount(AccountFile),
    GoogleMetadata(GoogleMetadata),
    HandedOut(Handing),
}

/// What a chain has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// Keys for stores that speak S3.
    Keys,
    /// Tokens for servers of files.
    Tokens,
    /// Tokens for Google.
    GoogleTokens,
}

/// A profile that may be there.
struct Profile {
    /// The more important one first.
    files: Vec<PathBuf>,
    name: String,
    /// It was asked for by its name, so it has to be there.
    is_named: bool,
    /// What a web identity of the profile needs of the environment.
    region: Option<String>,
    token_service: Option<String>,
}

#[derive(Default)]
struct State {
    issued: Option<Arc<Held>>,
    is_fetching: bool,
    /// The last try has failed, and when.
    failure: Option<(Error, Instant)>,
    has_issued: bool,
}

/// Keys that are in use.
pub(crate) struct Held {
    pub(super) credentials: Credentials,
    issued: Issued,
    /// `None` for those that were there before anything was fetched.
    fetched: Option<Instant>,
    fetched_s: i64,
}

/// The one fetch in flight. When it ends, however it does, the next one may begin.
struct Fetching(Arc<Inner>);

impl Drop for Fetching {
    fn drop(&mut self) {
        lock(&self.0.state).is_fetching = false;
        self.0.waiting.wake_all();
    }
}

fn unix_s() -> i64 {
    time::unix_us().div_euclid(1_000_000)
}

impl Held {
    fn left_s(&self) -> Option<i64> {
        self.issued.expires_s.map(|end| end - unix_s())
    }

    fn is_valid(&self) -> bool {
        self.left_s().is_none_or(|left| left > 0)
    }

    fn is_due(&self) -> bool {
        let life = self.issued.expires_s.map_or(0, |end| end - self.fetched_s);
        self.left_s().is_some_and(|left| left < EARLY_S.min(life / 4).max(1))
    }
}

impl CredentialChain {
    /// By the variables of this process's environment. The token service is trusted by `trust`.
    ///
    /// # Errors
    /// `Invalid` for variables that are of no use, as one key without the other.
    pub fn from_environment(trust: Trust) -> Result<CredentialChain> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        CredentialChain::from_variables(variable, trust)
    }

    /// By variables that are given; an empty one is as good as none.
    ///
    /// # Errors
    /// As [`CredentialChain::from_environment`].
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
        trust: Trust,
    ) -> Result<CredentialChain> {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        CredentialChain::of_sources(sources(&variable)?, Gives::Keys, trust)
    }

    /// Tokens of Google by the variables of this process's environment. The token service is trusted by `trust`.
    ///
    /// # Errors
    /// `Invalid` for variables that are of no use.
    pub fn google_from_environment(trust: Trust) -> Result<CredentialChain> {
        CredentialChain::google_from_variables(|name| std::env::var(name).ok(), trust)
    }

    /// By variables that are given; an empty one is as good as none. The sources are the file that
    /// `GOOGLE_APPLICATION_CREDENTIALS` names (the key of a service account, or a user's token), the one that gcloud
    /// has written, and the metadata service of the machine, in this order.
    ///
    /// # Errors
    /// As [`CredentialChain::google_from_environment`].
    pub fn google_from_variables(
        variable: impl Fn(&str) -> Option<String>,
        trust: Trust,
    ) -> Result<CredentialChain> {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let file = AccountFile::from_variables(&variable).map(Source::GoogleAccount);
        let metadata = GoogleMetadata::from_variables(&variable)?.map(Source::GoogleMetadata);
        let sources = file.into_iter().chain(metadata).collect();
        CredentialChain::of_sources(sources, Gives::GoogleTokens, trust)
    }

    /// Tokens for a client, from a service that is to be among the hosts that are allowed. They are for servers of files.
    ///
    /// # Errors
    /// `Invalid` for a service that is none or would be told the secret in clear, `Forbidden`.
    pub fn of_client(
        client: TokenClient,
        allow: AllowList,
        trust: Trust,
    ) -> Result<CredentialChain> {
        let sources = vec![Source::Client(Grant::new(client, allow)?)];
        CredentialChain::of_sources(sources, Gives::Tokens, trust)
    }

    /// Keys that were handed out, and how others are got: shortly before the end of these, or when a store calls them
    /// expired.
    ///
    /// # Errors
    /// `Invalid`
    pub fn handed_out(keys: SessionKeys, again: Handing) -> Result<CredentialChain> {
        let issued = Issued::from(keys);
        let (credentials, fetched_s) = (issued.credentials.clone(), unix_s());
        let held = Held { credentials, issued, fetched: None, fetched_s };
        let state = State { issued: Some(Arc::new(held)), ..State::default() };
        let (state, waiting) = (Mutex::new(state), WaitQueue::new());
        let (sources, caller) = (vec![Source::HandedOut(again)], Caller::new(Trust::default())?);
        let gives = Gives::Keys;
        Ok(CredentialChain(Arc::new(Inner { sources, gives, caller, state, waiting })))
    }

    fn of_sources(sources: Vec<Source>, gives: Gives, trust: Trust) -> Result<CredentialChain> {
        let (state, waiting) = (Mutex::default(), WaitQueue::new());
        let caller = Caller::new(trust)?;
        Ok(CredentialChain(Arc::new(Inner { sources, gives, caller, state, waiting })))
    }

    /// What it has, and for whom.
    pub(crate) fn gives(&self) -> Gives {
        self.0.gives
    }

    /// The keys that are good now; waits only when there are none.
    ///
    /// # Errors
    /// `Denied` when no source is set up; what has gone wrong with the one that is.
    pub(super) async fn current(&self) -> Result<Arc<Held>> {
        self.0.waiting.wait(|| self.look()).await
    }

    /// Fetches keys unless there are some, and tells until when they are good, in seconds since 1970;
    /// `None` for keys without an end.
    ///
    /// # Errors
    /// As for a request that is made with them.
    pub async fn expires_s(&self) -> Result<Option<i64>> {
        Ok(self.current().await?.issued.expires_s)
    }

    /// What there is now, which starts a fetch when it is time to. `None` while one has to be awaited.
    fn look(&self) -> Option<Result<Arc<Held>>> {
        let mut state = lock(&self.0.state);
        let valid = state.issued.clone().filter(|held| held.is_valid());
        let failure = state.failure.as_ref();
        let failed = failure.filter(|(_, moment)| moment.elapsed() < FAILURE_REST);
        let failed = failed.map(|(error, _)| error.clone());
        let is_due = valid.as_ref().is_none_or(|held| held.is_due());
        let begins = is_due && failed.is_none() && !state.is_fetching;
        state.is_fetching |= begins;
        drop(state);
        if begins {
            self.begin();
        }
        match (valid, failed) {
            (Some(held), _) => Some(Ok(held)),
            (None, Some(error)) => Some(Err(error)),
            (None, None) => None,
        }
    }

    /// Fetches in a task of its own: those who have keys go on meanwhile, and whoever leaves disturbs
    /// nobody.
    fn begin(&self) {
        let fetching = Fetching(self.0.clone());
        drop(runtime::spawn(async move {
            let done = fetching.0.fetch().await;
            fetching.0.note(done);
        }));
    }

    /// A store calls these keys expired. Whether it is worth asking again: there will be others.
    pub(super) fn renew(&self, refused: &Arc<Held>) -> bool {
        let mut state = lock(&self.0.state);
        match &state.issued {
            Some(held) if Arc::ptr_eq(held, refused) => {
                if held.fetched.is_some_and(|fetched| fetched.elapsed() < RENEWED_AGE_MIN) {
                    return false;
                }
                state.issued = None;
                true
            }
            _ => true,
        }
    }
}

impl Inner {
    fn note(&self, done: Result<Issued>) {
        let mut state = lock(&self.state);
        match done {
            Ok(issued) => {
                let credentials = issued.credentials.clone();
                let (fetched, fetched_s) = (Some(time::now()), unix_s());
                state.issued = Some(Arc::new(Held { credentials, issued, fetched, fetched_s }));
                state.failure = None;
                state.has_issued = true;
            }
            Err(error) => state.failure = Some((error, time::now())),
        }
    }

    /// Asks the first source that is set up.
    async fn fetch(&self) -> Result<Issued> {
        for source in &self.sources {
            let fetched = source.fetch(&self.caller).await;
            let issued = match fetched {
                Ok(None) => continue,
                Ok(Some(issued)) => issued,
                Err(error) => return Err(self.explain(source, error)),
            };
            if issued.expires_s.is_some_and(|end| end <= unix_s()) {
                let what = format!("{}: the keys that came have expired", source.name());
                return Err(Error::new(ErrorKind::Unavailable, what));
            }
            return Ok(issued);
        }
        let what = "there are no credentials: no source of any is set up";
        Err(Error::new(ErrorKind::Denied, what))
    }

    /// A machine without a metadata service is the usual one: that no keys were found there is no
    /// failure of the moment, unless there were some.
    fn explain(&self, source: &Source, error: Error) -> Error {
        let is_absent = matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Connection);
        let is_metadata = matches!(source, Source::Metadata(_) | Source::GoogleMetadata(_));
        let kind = match is_metadata && is_absent && !lock(&self.state).has_issued {
            true => ErrorKind::Denied,
            // To slow down, or that an answer is none, is nothing that the store has said.
            false if error.is_retryable() => ErrorKind::Unavailable,
            false => error.kind(),
        };
        Error::new(kind, format!("no credentials from {}: {error}", source.name()))
    }
}

impl Source {
    fn name(&self) -> &'static str {
        match self {
            Source::Environment(_) => "the environment",
            Source::Profile(_) => "the profile",
            Source::WebIdentity(_) => "the web identity",
            Source::Container(_) => "the container's service",
            Source::Metadata(_) | Source::GoogleMetadata(_) => {
                "the metadata service, and no other source is set up"
            }
            Source::GoogleAccount(_) => "the account's file",
            Source::Client(_) => "the token service",
            Source::HandedOut(_) => "whoever has handed them out",
        }
    }

    /// `None` when it is not set up.
    async fn fetch(&self, caller: &Caller) -> Result<Option<Issued>> {
        match self {
            Source::Environment(keys) => Ok(Some(keys.clone().into())),
            Source::Profile(profile) => profile.fetch(caller).await,
            Source::WebIdentity(identity) => identity.fetch(caller).await.map(Some),
            Source::Container(container) => container.fetch(caller).await.map(Some),
            Source::Metadata(metadata) => metadata.fetch(caller).await.map(Some),
            Source::Client(grant) => grant.fetch(caller).await.map(Some),
            Source::GoogleAccount(file) => file.fetch(caller).await,
            Source::GoogleMetadata(metadata) => metadata.fetch(caller).await.map(Some),
            Source::HandedOut(again) => handed::next(again).await.map(Some),
        }
    }
}

impl Profile {
    fn from_variables(variable: Variables<'_>) -> Option<Profile> {
        let of_home = |name: &str| variable("HOME").map(|home| PathBuf::from(home).join(name));
        let file = |given: &str, usual: &str| {
            variable(given).map(PathBuf::from).or_else(|| of_home(usual))
        };
        let keys = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        let config = file("AWS_CONFIG_FILE", ".aws/config");
        let files: Vec<PathBuf> = keys.into_iter().chain(config).collect();
        let named = variable("AWS_PROFILE");
        let is_named = named.is_some();
        let name = named.unwrap_or_else(|| "default".to_owned());
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let token_service = variable("AWS_ENDPOINT_URL_STS");
        let is_possible = is_named || !files.is_empty();
        is_possible.then_some(Profile { files, name, is_named, region, token_service })
    }

    async fn fetch(&self, caller: &Caller) -> Result<Option<Issued>> {
        let mut texts = Vec::new();
        for path in &self.files {
            if runtime::fs::exists(path).await.unwrap_or(false) {
                texts.push(read(path).await?);
            }
        }
        match profile::find(&texts, &self.name)? {
            Some(Found::Keys(keys)) => Ok(Some(keys.into())),
            Some(Found::WebIdentity { token_file, role, session }) => {
                let variable = |name: &str| match name {
                    "AWS_REGION" => self.region.clone(),
                    "AWS_ENDPOINT_URL_STS" => self.token_service.clone(),
                    _ => None,
                };
                let identity = WebIdentity::new(token_file.into(), role, session, &variable)?;
                identity.fetch(caller).await.map(Some)
            }
            None if self.is_named => Err(profile::missing(&self.name)),
            None => Ok(None),
        }
    }
}

fn sources(variable: Variables<'_>) -> Result<Vec<Source>> {
    let environment = keys_of_variables(variable)?.map(Source::Environment);
    let sources = [
        environment,
        Profile::from_variables(variable).map(Source::Profile),
        WebIdentity::from_variables(variable)?.map(Source::WebIdentity),
        Container::from_variables(variable)?.map(Source::Container),
        Metadata::from_variables(variable)?.map(Source::Metadata),
    ];
    Ok(sources.into_iter().flatten().collect())
}

impl fmt::Debug for CredentialChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialChain(..)")
    }
}

impl PartialEq for CredentialChain {
    fn eq(&self, other: &CredentialChain) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CredentialChain {}

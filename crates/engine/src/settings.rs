//! Settings: each is defined once, in a table, from which `SET`, `SHOW`, `pg_settings`, the flags of
//! `dovetail serve`, its environment, its configuration file and `docs/settings.md` derive.

pub(crate) mod commit;
pub(crate) mod configuration;
pub(crate) mod document;
pub(crate) mod kept;
pub(crate) mod planner;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod setting;
pub(crate) mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use exec::Mode;
use plan::catalog::TableStorage;
use plan::codegen::Start;
use sql::{DeviceProfile, InFlight};
use types::zone::Zone;
use types::{SqlError, SqlResult, SqlState};

use crate::device;
use crate::device::Device;
use commit::SynchronousCommit;
use configuration::{Configuration, Origin};
use setting::{Context, Home, Kind, Setting, Unset};
use value::Value;

/// How queries are decomposed into tasks (anagodb, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionMode {
    /// One task, one request in flight.
    Serial,
    /// The driving scan is split once.
    Static,
    /// Split wherever the work can be split.
    OutOfOrder,
}

impl ExecutionMode {
    /// All modes, in the order of the demonstration.
    pub const ALL: [ExecutionMode; 3] =
        [ExecutionMode::Serial, ExecutionMode::Static, ExecutionMode::OutOfOrder];

    /// As `SET execution_mode` takes it.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionMode::Serial => "serial",
            ExecutionMode::Static => "static",
            ExecutionMode::OutOfOrder => "ooo",
        }
    }
}

impl std::str::FromStr for ExecutionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<ExecutionMode, String> {
        let found = ExecutionMode::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("mode must be serial, static or ooo, not \"{text}\""))
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `execution_mode`
    pub execution_mode: ExecutionMode,
    /// `static_partitions`
    pub static_partitions: usize,
    /// `max_tasks`
    pub max_tasks: usize,
    /// `lookup_batch_rows`
    pub lookup_batch_rows: usize,
    /// `work_mem`, in bytes; 0 is no limit but the database's.
    pub work_mem: usize,
    /// `device_profile`, unless it is that of the database.
    pub(crate) device: Option<DeviceProfile>,
    /// `enable_hashjoin`
    pub enable_hashjoin: bool,
    /// `enable_indexnestloop`
    pub enable_indexnestloop: bool,
    /// `enable_seqscan`
    pub enable_seqscan: bool,
    /// `enable_indexscan`
    pub enable_indexscan: bool,
    /// `enable_indexonlyscan`
    pub enable_indexonlyscan: bool,
    /// `enable_rowprogram`
    pub enable_rowprogram: bool,
    /// `jit`: when expressions become machine code; `None`: never.
    pub(crate) jit: Option<Start>,
    /// `plan_cache_mode`
    pub(crate) plan_cache: PlanCache,
    /// `default_table_storage`
    pub default_table_storage: TableStorage,
    /// `application_name`: kept for clients that set it.
    pub application_name: String,
    /// `statement_timeout`; 0 is none. Kept by the server.
    pub statement_timeout_ms: u64,
    /// `lock_timeout`; 0 is none.
    pub lock_timeout_ms: u64,
    /// `idle_in_transaction_session_timeout`; 0 is none. Kept by the server.
    pub idle_in_transaction_ms: u64,
    /// `idle_session_timeout`; 0 is none. Kept by the server.
    pub idle_session_ms: u64,
    /// `IntervalStyle`. Kept by the server.
    pub interval_style: types::text::IntervalStyle,
    /// `synchronous_commit`
    pub(crate) synchronous_commit: SynchronousCommit,
    /// `TimeZone`, with its name.
    pub(crate) zone: (Zone, String),
    /// `is_superuser`
    pub(crate) is_superuser: bool,
    /// `in_hot_standby`
    pub(crate) in_recovery: bool,
    /// `search_path`
    pub(crate) search_path: SearchPath,
    /// What clients set and nothing here depends on.
    kept: Arc<BTreeMap<&'static str, Value>>,
    given: Arc<Given>,
    /// What `SET LOCAL` put another value in front of, and whether the session was given it.
    hidden: Arc<BTreeMap<&'static str, (Value, bool)>>,
    /// Counts the changes, for those who tell clients of them.
    change_count: u64,
    /// What the server was started with; `None` in the settings that are its own.
    configuration: Option<Arc<Configuration>>,
}

/// The schemas that names without one are found in.
#[derive(Clone, Debug)]
pub(crate) struct SearchPath {
    text: Arc<str>,
    /// Each statement asks for it.
    finds_public: bool,
}

impl SearchPath {
    fn of(text: &str) -> SearchPath {
        let mut schemas = text.split(',').map(str::trim);
        let finds_public = schemas.any(|schema| match schema.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"') == Some("public"),
            None => schema == "public",
        });
        SearchPath { text: text.into(), finds_public }
    }
}

/// When plans for all values serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PlanCache {
    /// Where they cost as much as one for the values at hand.
    #[default]
    Auto,
    /// Wherever there is one, from the first execution on.
    ForceGeneric,
    /// Never, and no statement is known by its text.
    ForceCustom,
}

/// What a session was given, by name.
#[derive(Clone, Debug, Default)]
struct Given {
    /// By the client when it connected: `RESET` goes back to these.
    at_start: BTreeMap<&'static str, Value>,
    /// Since then.
    since: BTreeSet<&'static str>,
}

/// The values that the tables of settings name.
static DEFAULTS: LazyLock<Settings> = LazyLock::new(|| {
    let mut settings = Settings {
        execution_mode: ExecutionMode::OutOfOrder,
        static_partitions: 0,
        max_tasks: 0,
        lookup_batch_rows: 0,
        work_mem: 0,
        device: None,
        enable_hashjoin: false,
        enable_indexnestloop: false,
        enable_seqscan: false,
        enable_indexscan: false,
        enable_indexonlyscan: false,
        enable_rowprogram: false,
        jit: None,
        plan_cache: PlanCache::Auto,
        default_table_storage: TableStorage::default(),
        application_name: String::new(),
        statement_timeout_ms: 0,
        lock_timeout_ms: 0,
        idle_in_transaction_ms: 0,
        idle_session_ms: 0,
        interval_style: types::text::IntervalStyle::default(),
        synchronous_commit: SynchronousCommit::default(),
        zone: utc(),
        is_superuser: true,
        in_recovery: false,
        search_path: SearchPath::of(""),
        kept: Arc::default(),
        given: Arc::default(),
        hidden: Arc::default(),
        change_count: 0,
        configuration: None,
    };
    for setting in Setting::all() {
        settings.put(setting, setting.default());
    }
    settings
});

impl Default for Settings {
    fn default() -> Settings {
        DEFAULTS.clone()
    }
}

impl Setting {
    /// All settings: of the server, of sessions, and those that cannot be changed.
    pub fn all() -> impl Iterator<Item = &'static Setting> {
        server::SERVER
            .iter()
            .chain(session::SETTINGS)
            .chain(planner::PLANNER)
            .chain(server::PRESETS)
    }

    /// All settings, ordered by name.
    pub fn sorted() -> Vec<&'static Setting> {
        let mut all: Vec<_> = Setting::all().collect();
        all.sort_by_key(|setting| setting.name.to_ascii_lowercase());
        all
    }

    /// The setting of this name.
    ///
    /// # Errors
    /// 42704 when there is none, with the name that is nearest.
    pub fn find(name: &str) -> SqlResult<&'static Setting> {
        Setting::all().find(|setting| setting.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            let error = SqlError::new(SqlState::UNDEFINED_OBJECT, message);
            match stdx::nearest(name, Setting::all().map(|setting| setting.name)) {
                Some(near) => error.with_hint(format!("Perhaps you meant \"{near}\".")),
                None => error.with_hint("SHOW ALL lists the settings."),
            }
        })
    }
}

impl Settings {
    /// The settings of a session of a server with this configuration.
    pub(crate) fn of(configuration: &Arc<Configuration>) -> Settings {
        let configuration_of = Some(configuration.clone());
        Settings { configuration: configuration_of, ..configuration.session.clone() }
    }

    /// The server's configuration is another one: what the session was not given itself follows it.
    pub(crate) fn follow(&mut self, configuration: &Arc<Configuration>) {
        let mut fresh = Settings::of(configuration);
        for (name, value) in self.given.at_start.iter() {
            fresh.put_by_name(name, value.clone());
        }
        for name in self.given.since.iter() {
            fresh.put_by_name(name, self.value_by_name(name));
        }
        fresh.given = self.given.clone();
        fresh.hidden = self.hidden.clone();
        fresh.is_superuser = self.is_superuser;
        fresh.in_recovery = self.in_recovery;
        fresh.change_count = self.change_count + 1;
        *self = fresh;
    }

    /// True if the database follows another one, and is only read.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// The database follows another one, or does not any more; whether that is new.
    pub(crate) fn set_in_recovery(&mut self, in_recovery: bool) -> bool {
        let is_new = self.in_recovery != in_recovery;
        self.in_recovery = in_recovery;
        self.change_count += u64::from(is_new);
        is_new
    }

    fn put_by_name(&mut self, name: &str, value: Value) {
        if let Ok(setting) = Setting::find(name) {
            self.put(setting, value);
        }
    }

    fn value_by_name(&self, name: &str) -> Value {
        Setting::find(name).map_or_else(|_| Value::Text(String::new()), |found| self.value(found))
    }

    /// Stores a value that the setting may have.
    pub(crate) fn put(&mut self, setting: &'static Setting, value: Value) {
        self.change_count += 1;
        match setting.home {
            Home::Field(_, set) | Home::Shared { set, .. } => set(self, value),
            Home::Kept => {
                Arc::make_mut(&mut self.kept).insert(setting.name, value);
            }
            Home::Server | Home::Fixed(_) => {}
        }
    }

    /// The value now.
    pub(crate) fn value(&self, setting: &'static Setting) -> Value {
        let found = match setting.home {
            Home::Field(get, _) | Home::Shared { get, .. } => Some(get(self)),
            Home::Kept => self.kept.get(setting.name).cloned(),
            Home::Server => self.configuration.as_ref().map(|c| c.value(setting)),
            Home::Fixed(_) => None,
        };
        found.unwrap_or_else(|| setting.default())
    }

    /// The word of a choice that is kept.
    pub(crate) fn kept_word(&self, setting: &'static Setting) -> &str {
        match (self.kept.get(setting.name), setting.unset) {
            (Some(value), _) => value.text(),
            (None, Unset::Is(word)) => word,
            (None, Unset::Cores) => "",
        }
    }

    /// Gives a choice that is kept a word, unless it has that and goes back to no other one.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn keep_word(&mut self, setting: &'static Setting, word: &str) -> SqlResult<()> {
        match self.kept_word(setting) == word && !self.hidden.contains_key(setting.name) {
            true => Ok(()),
            false => self.set(setting.name, word),
        }
    }

    /// The same of one that is `on` or `off`.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn keep_flag(&mut self, setting: &'static Setting, is_on: bool) -> SqlResult<()> {
        match self.is_kept_on(setting) == is_on && !self.hidden.contains_key(setting.name) {
            true => Ok(()),
            false => self.set(setting.name, if is_on { "on" } else { "off" }),
        }
    }

    /// True if a setting that is kept is `on`.
    pub(crate) fn is_kept_on(&self, setting: &'static Setting) -> bool {
        match self.kept.get(setting.name) {
            Some(value) => value.flag(),
            None => setting.unset == Unset::Is("on"),
        }
    }

    /// As `pg_settings` has it: without the unit.
    pub fn plain(&self, setting: &'static Setting) -> String {
        match setting.kind {
            Kind::Device => self.shown(setting),
            _ => self.value(setting).plain(),
        }
    }

    /// As `SHOW` has it.
    pub(crate) fn shown(&self, setting: &'static Setting) -> String {
        match (setting.kind, &self.device, self.known_device()) {
            (Kind::Device, Some(profile), _) => device::text::shown(profile, "set"),
            (Kind::Device, None, Some(known)) => known.shown(),
            _ => self.value(setting).shown(setting.kind),
        }
    }

    fn known_device(&self) -> Option<&Arc<Device>> {
        self.configuration.as_ref()?.device.as_ref()
    }

    /// The profile by which reads are priced.
    pub(crate) fn device_profile(&self) -> DeviceProfile {
        let known = || self.known_device().map(|device| device.profile()).unwrap_or_default();
        self.device.unwrap_or_else(known)
    }

    /// True if names without a schema are found in `public`: no other schema is there.
    pub(crate) fn finds_public(&self) -> bool {
        self.search_path.finds_public
    }

    /// How many reads a query has in flight.
    pub(crate) fn in_flight(&self) -> InFlight {
        match self.execution_mode {
            ExecutionMode::Serial => InFlight::AtMost(1),
            ExecutionMode::Static => InFlight::AtMost(self.static_partitions),
            ExecutionMode::OutOfOrder => InFlight::Many,
        }
    }

    fn accept(&self, name: &str, value: &str) -> SqlResult<(&'static Setting, Value)> {
        let setting = Setting::find(name)?;
        if device::probing::asks_to_probe(name, value) {
            return Err(value::invalid(setting.name, value)
                .with_hint("The statement SET device_profile = 'probe' probes the device."));
        }
        match setting.context {
            Context::Session => Ok((setting, setting.parse(value)?)),
            _ => Err(setting.unchangeable()),
        }
    }

    /// `SET name = value`.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a value that cannot be, 55P02 for a setting of the server.
    pub fn set(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let (setting, value) = self.accept(name, value)?;
        self.put(setting, value);
        Arc::make_mut(&mut self.given).since.insert(setting.name);
        Arc::make_mut(&mut self.hidden).remove(setting.name);
        Ok(())
    }

    /// `SET LOCAL name = value`, or to what `RESET` goes back to.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set_local(&mut self, name: &str, value: Option<&str>) -> SqlResult<()> {
        let setting = Setting::find(name)?;
        let before = (self.value(setting), self.given.since.contains(setting.name));
        let before = self.hidden.get(setting.name).cloned().unwrap_or(before);
        match value {
            Some(value) => self.set(name, value)?,
            None => self.reset(name)?,
        }
        Arc::make_mut(&mut self.hidden).insert(setting.name, before);
        Ok(())
    }

    /// The transaction block has ended: what `SET LOCAL` hid is there again.
    pub(crate) fn end_local(&mut self) {
        for (name, (value, given)) in std::mem::take(Arc::make_mut(&mut self.hidden)) {
            self.put_by_name(name, value);
            let since = &mut Arc::make_mut(&mut self.given).since;
            if given {
                since.insert(name)
            } else {
                since.remove(name)
            };
        }
    }

    /// The client gives the value when it connects: `RESET` goes back to it.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set_at_start(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let (setting, value) = self.accept(name, value)?;
        self.put(setting, value.clone());
        Arc::make_mut(&mut self.given).at_start.insert(setting.name, value);
        Ok(())
    }

    /// The role that statements run as is another one.
    pub(crate) fn set_superuser(&mut self, is_superuser: bool) {
        self.change_count += 1;
        self.is_superuser = is_superuser;
    }

    /// How often the settings, or the roles of the session, have changed.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// `SHOW name`.
    ///
    /// # Errors
    /// 42704 for an unknown name.
    pub fn show(&self, name: &str) -> SqlResult<String> {
        Ok(self.shown(Setting::find(name)?))
    }

    /// `RESET name`, or of all when `name` is `all`.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn reset(&mut self, name: &str) -> SqlResult<()> {
        if name.eq_ignore_ascii_case("all") {
            Setting::all().filter(|s| s.context == Context::Session).for_each(|s| self.unset(s));
            return Ok(());
        }
        let setting = Setting::find(name)?;
        if setting.context != Context::Session {
            return Err(setting.unchangeable());
        }
        self.unset(setting);
        Ok(())
    }

    fn unset(&mut self, setting: &'static Setting) {
        self.put(setting, self.reset_value(setting));
        Arc::make_mut(&mut self.given).since.remove(setting.name);
        Arc::make_mut(&mut self.hidden).remove(setting.name);
    }

    /// What `RESET` goes back to.
    pub fn reset_value(&self, setting: &'static Setting) -> Value {
        if let Home::Shared { with, get, .. } = setting.home
            && let Ok(owner) = Setting::find(with)
        {
            let mut reset = self.clone();
            reset.put(owner, self.reset_value(owner));
            return get(&reset);
        }
        if let Some(value) = self.given.at_start.get(setting.name) {
            return value.clone();
        }
        match &self.configuration {
            Some(configuration) => configuration.value(setting),
            None => setting.default(),
        }
    }

    /// Where the value comes from.
    pub fn origin(&self, setting: &'static Setting) -> Origin {
        if self.given.since.contains(setting.name) {
            return Origin::Session;
        }
        if self.given.at_start.contains_key(setting.name) {
            return Origin::Client;
        }
        let configuration = self.configuration.as_ref();
        configuration.map_or(Origin::Default, |configuration| configuration.origin(setting))
    }

    /// Whether the server must be restarted before a value holds that the file has now.
    pub fn waits_for_restart(&self, setting: &'static Setting) -> bool {
        self.configuration.as_ref().is_some_and(|c| c.waits_for_restart(setting))
    }

    /// The decomposition policy for `exec`.
    pub(crate) fn mode(&self) -> Mode {
        match self.execution_mode {
            ExecutionMode::Serial => Mode::Serial,
            ExecutionMode::Static => Mode::Static { partitions: self.static_partitions },
            ExecutionMode::OutOfOrder => Mode::OutOfOrder,
        }
    }
}

#[cfg(test)]
mod tests;

/// The zone that sessions begin with.
pub(crate) fn utc() -> (Zone, String) {
    (Zone::UTC, "UTC".to_owned())
}
